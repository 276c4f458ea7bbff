//! Mapping by an integer program, written with good_lp. The solver is microlp by default, HiGHS
//! with the feature `highs`, or an executable of the user (`cbc`, `glpsol`) that reads an LP file.
//!
//! The program has one binary variable for each vertex and block. For each edge and level of the
//! machine it has one variable, which is 1 if the ends are in different groups of that level. The
//! distance of two blocks is the sum of the steps of the levels that separate them, so this is the
//! exact cost with few variables. A short search gives the initial solution, which is also the
//! answer if the solver runs out of time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use good_lp::solvers::WithTimeLimit;
#[cfg(feature = "highs")]
use good_lp::solvers::highs::highs as linked;
#[cfg(not(feature = "highs"))]
use good_lp::solvers::microlp::microlp as linked;
use good_lp::{
    Expression, ProblemVariables, ResolutionError, Solution, SolutionStatus, SolverModel, Variable,
    WithInitialSolution, WithMipGap, variable,
};

use super::external::ExternalSolver;
use super::lp_format;
use super::{Context, Found, auto};
use crate::bound::levels::levels;
use crate::error::Error;
use crate::feasibility::is_feasible;
use crate::instance::{Instance, NO_LIMIT};

/// Largest number of binary variables. Building a larger program takes too long.
const LARGEST: usize = 20_000;

/// Time limit of the solver if the caller gave none.
const DEFAULT: Duration = Duration::from_secs(10);

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    let inst = context.inst;
    // An unavailable solver is an error even if the instance does not need a solver.
    let path = context.solver;
    let external = path.map(|path| ExternalSolver::new(path, context.launch));
    let external = external.transpose().map_err(Error::Solver)?;
    let start = auto::brief(context);
    if inst.k() < 2 || inst.len() < 2 {
        return Ok(start.into());
    }
    if inst.len() * inst.k() > LARGEST {
        let warning =
            "the network is too large for an integer program; a short search was used instead";
        context.warnings.push(warning.to_owned());
        return Ok(start.into());
    }
    let program = Program::new(inst);
    let left = context
        .budget
        .stop_at()
        .map_or(DEFAULT, |end| end.saturating_duration_since(Instant::now()));
    let solved = match external {
        Some(external) => program.external(&external, left),
        None => program.inside(inst, &start, left),
    };
    let known = inst.cost(&start);
    let feasible = is_feasible(inst, &start);
    let late = "the solver ran out of time; the best mapping found before it started is used";
    let (block, complete) = match solved {
        Ok(Some(answer)) => answer,
        Ok(None) => {
            context.warnings.push(late.to_owned());
            return Ok(start.into());
        }
        // If the initial solution is feasible, the solver is wrong, which the next arm reports.
        Err(ResolutionError::Infeasible) if !feasible => {
            context.log.push("solver: infeasible".to_owned());
            return Ok(start.into());
        }
        Err(ResolutionError::Infeasible) => {
            let message = "it reports that no mapping exists, but one exists";
            return Err(Error::Solver(message.to_owned()));
        }
        Err(error) => return Err(Error::Solver(error.to_string())),
    };
    let cost = inst.cost(&block);
    let answer_is_feasible = is_feasible(inst, &block);
    let better = answer_is_feasible && (cost < known || !feasible);
    context.log.push(format!(
        "solver: cost {cost}, complete {complete}, start {known}"
    ));
    if !complete {
        let message = match better {
            true => "the solver ran out of time; the best mapping that it found is used",
            false => late,
        };
        context.warnings.push(message.to_owned());
    } else if !answer_is_feasible {
        let message = "its answer breaks the rules of the integer program";
        return Err(Error::Solver(message.to_owned()));
    }
    // The solvers compute in floating point, so a large cost is not exact. The claim of an external
    // solver is not a proof.
    let bound = (complete && context.solver.is_none() && cost < 1 << 40).then_some(cost);
    Ok(Found {
        block: if better { block } else { start },
        bound,
        examined: false,
    })
}

/// Block of each vertex, and whether the solver claims that no mapping is better. `None` if the
/// time was over before the solver found a mapping.
type Solved = Result<Option<(Vec<u32>, bool)>, ResolutionError>;

struct Program {
    variables: ProblemVariables,
    objective: Expression,
    rules: Vec<good_lp::Constraint>,
    /// `vertex * k + block`.
    placed: Vec<Variable>,
    k: usize,
}

impl Program {
    fn new(inst: &Instance) -> Self {
        let (n, k, d) = (inst.len(), inst.k(), inst.dims());
        let mut variables = ProblemVariables::new();
        let placed: Vec<Variable> = (0..n * k)
            .map(|_| variables.add(variable().binary()))
            .collect();
        let at = |v: u32, b: u32| placed[v as usize * k + b as usize];
        let mut rules = Vec::new();
        for v in 0..n as u32 {
            let sum: Expression = (0..k as u32).map(|b| at(v, b)).sum();
            rules.push(sum.eq(1.0));
            for b in (0..k as u32).filter(|&b| !inst.is_allowed(v, b)) {
                rules.push(Expression::from(at(v, b)).leq(0.0));
            }
            let apart = inst.apart.get(v as usize).into_iter().flatten();
            for &(u, layer) in apart.filter(|e| e.0 < v) {
                let same = |a: u32, b: u32| inst.shared.same(layer, a, b);
                for b in 0..k as u32 {
                    // One rule for each place, created at its first block.
                    if same(b, b) && !(0..b).any(|a| same(a, b)) {
                        let there = (b..k as u32).filter(|&c| same(b, c));
                        let both: Expression = there.map(|c| at(v, c) + at(u, c)).sum();
                        rules.push(both.leq(1.0));
                    }
                }
            }
        }
        for b in 0..k as u32 {
            for i in 0..d {
                let place = inst.shared.at(b as usize, i);
                let there: Vec<u32> = (b..k as u32)
                    .filter(|&c| inst.shared.at(c as usize, i) == place)
                    .collect();
                if place != b as usize * d + i {
                    continue;
                }
                let all = (0..n as u32).flat_map(|v| there.iter().map(move |&c| (v, c)));
                let sum: Expression = all.map(|(v, c)| inst.size_of(v)[i] as f64 * at(v, c)).sum();
                let upper = inst.shared.upper[place];
                if upper < NO_LIMIT {
                    rules.push(sum.clone().leq(upper as f64));
                }
                if let Some(&lower) = inst.shared.lower.get(place).filter(|l| **l > 0) {
                    rules.push(sum.geq(lower as f64));
                }
            }
        }
        let mut objective = Expression::from(0.0);
        for level in levels(inst) {
            let groups = 0..level.room.len() as u32;
            for v in 0..n as u32 {
                for (u, w) in inst.row(v).filter(|e| e.0 < v && e.1 > 0) {
                    let cut = variables.add(variable().min(0.0).max(1.0));
                    objective += (w * level.step) as f64 * cut;
                    for group in groups.clone() {
                        let mut side = Expression::from(cut);
                        let inside = (0..).zip(&level.group_of).filter(|e| *e.1 == group);
                        for (b, _) in inside {
                            side += at(u, b) - at(v, b);
                        }
                        rules.push(side.geq(0.0));
                    }
                }
            }
        }
        Self {
            variables,
            objective,
            rules,
            placed,
            k,
        }
    }

    /// Returns the block of each vertex, or `None` if an incomplete solution omits a vertex. A
    /// complete solution that omits a vertex is an error.
    fn answer(placed: &[Variable], k: usize, solution: &impl Solution, complete: bool) -> Solved {
        let place = |row: &[Variable]| {
            let value = |i: &usize| solution.value(row[*i]);
            let best = (0..k).max_by(|a, b| value(a).total_cmp(&value(b)))?;
            (value(&best) > 0.5).then_some(best as u32)
        };
        match placed.chunks(k).map(place).collect() {
            None if complete => Err(ResolutionError::Other("its answer omits processes")),
            block => Ok(block.map(|block| (block, complete))),
        }
    }

    fn inside(self, inst: &Instance, start: &[u32], left: Duration) -> Solved {
        let clock = Instant::now();
        let model = self.variables.minimise(self.objective).using(linked);
        let model = model.with_time_limit(left.as_secs_f64().max(0.01));
        let mut model = model
            .with_mip_gap(0.0)
            .map_err(|e| ResolutionError::Str(e.to_string()))?
            .with_all(self.rules);
        if is_feasible(inst, start) {
            let k = self.k;
            let value = |i: usize| f64::from(u8::from(start[i / k] as usize == i % k));
            model = model
                .with_initial_solution(self.placed.iter().enumerate().map(|(i, v)| (*v, value(i))));
        }
        match model.solve() {
            Ok(solution) => {
                let complete = matches!(solution.status(), SolutionStatus::Optimal);
                Self::answer(&self.placed, self.k, &solution, complete)
            }
            Err(ResolutionError::Infeasible) => Err(ResolutionError::Infeasible),
            // After the time limit, the kind of this error depends on the solver.
            Err(_) if clock.elapsed() >= left => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn external(self, solver: &ExternalSolver, left: Duration) -> Solved {
        let names = lp_format::names(&self.variables);
        let text = lp_format::write(&self.variables, &names, &self.objective, &self.rules);
        let Some(found) = solver.solve(&text, left)? else {
            return Ok(None);
        };
        let value = |(variable, name): (&Variable, &String)| {
            (*variable, found.values.get(name).copied().unwrap_or(0.0))
        };
        let values: HashMap<Variable, f64> = names.iter().map(value).collect();
        Self::answer(&self.placed, self.k, &values, found.complete)
    }
}
