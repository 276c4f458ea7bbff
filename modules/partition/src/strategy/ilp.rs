//! An integer program behind good_lp: microlp by default, HiGHS with the feature `highs`, or an
//! executable the user names (`cbc`, `glpsol`) through an LP file.
//!
//! One binary per vertex and block, and per edge and level of the machine one variable that is 1
//! when the ends lie in different groups of that level: the distance is the sum of the steps of
//! the levels that separate two blocks, so this is the cost exactly, with few variables. The
//! mapping found by a short search is the start, and the answer when the solver runs out of time.

use std::path::Path;
use std::time::{Duration, Instant};

use good_lp::solvers::WithTimeLimit;
use good_lp::solvers::lp_solvers::{CbcSolver, GlpkSolver, LpSolver, WithMaxSeconds};
use good_lp::variable::UnsolvedProblem;
use good_lp::{
    Expression, ProblemVariables, ResolutionError, Solution, SolutionStatus, SolverModel, Variable,
    WithInitialSolution, WithMipGap, variable,
};

use super::{Context, Found, auto};
use crate::error::Error;
use crate::instance::{Instance, NO_LIMIT};

/// Beyond so many binaries building the program is hopeless.
const LARGEST: usize = 20_000;

/// Time for the solver when the caller gave none.
const DEFAULT: Duration = Duration::from_secs(10);

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    let inst = context.inst;
    let time = context.budget.time;
    let start = auto::brief(context);
    if inst.k() < 2 || inst.len() < 2 {
        return Ok(start.into());
    }
    if inst.len() * inst.k() > LARGEST || !inst.shared.machine.is_tree() {
        let why = if inst.shared.machine.is_tree() {
            "too large"
        } else {
            "distances are no tree"
        };
        context
            .log
            .push(format!("{why} for the integer program: search instead"));
        return Ok(start.into());
    }
    let program = Program::new(inst);
    let left = time.map_or(DEFAULT, |t| {
        (context.budget.start + t).saturating_duration_since(Instant::now())
    });
    let solved = match context.solver {
        Some(path) => program.outside(path, left)?,
        None => program.inside(inst, &start, left),
    };
    let (block, complete) = match solved {
        Ok(solved) => solved,
        Err(error) => {
            context.log.push(format!(
                "solver: {error}; best mapping found before is used"
            ));
            return Ok(start.into());
        }
    };
    let (cost, known) = (inst.cost(&block), inst.cost(&start));
    let keeps = super::keeps(inst, &block);
    context.log.push(format!(
        "solver: cost {cost}, complete {complete}, start {known}"
    ));
    // Solvers count in floating point: beyond this its claim is no proof.
    let bound = (complete && keeps && cost < 1 << 40).then_some(cost);
    let better = keeps && (cost < known || !super::keeps(inst, &start));
    Ok(Found {
        block: if better { block } else { start },
        bound,
    })
}

type Solved = Result<(Vec<u32>, bool), ResolutionError>;

struct Program {
    variables: ProblemVariables,
    objective: Expression,
    rules: Vec<good_lp::Constraint>,
    /// `vertex * k + block`.
    lies: Vec<Variable>,
    k: usize,
}

impl Program {
    fn new(inst: &Instance) -> Self {
        let (n, k, d) = (inst.len(), inst.k(), inst.dims());
        let mut variables = ProblemVariables::new();
        let lies: Vec<Variable> = (0..n * k)
            .map(|_| variables.add(variable().binary()))
            .collect();
        let at = |v: u32, b: u32| lies[v as usize * k + b as usize];
        let mut rules = Vec::new();
        for v in 0..n as u32 {
            let sum: Expression = (0..k as u32).map(|b| at(v, b)).sum();
            rules.push(sum.eq(1.0));
            for b in (0..k as u32).filter(|&b| !inst.may_lie(v, b)) {
                rules.push(Expression::from(at(v, b)).leq(0.0));
            }
            for &u in inst
                .apart
                .get(v as usize)
                .into_iter()
                .flatten()
                .filter(|u| **u < v)
            {
                (0..k as u32).for_each(|b| rules.push((at(v, b) + at(u, b)).leq(1.0)));
            }
        }
        for b in 0..k as u32 {
            for i in 0..d {
                let size = |v: u32| inst.size_of(v)[i] as f64 * at(v, b);
                let sum: Expression = (0..n as u32).map(size).sum();
                let place = b as usize * d + i;
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
        for (step, groups) in levels(inst) {
            for v in 0..n as u32 {
                for (u, w) in inst.row(v).filter(|e| e.0 < v && e.1 > 0) {
                    let cut = variables.add(variable().min(0.0).max(1.0));
                    objective += (w * step) as f64 * cut;
                    for group in &groups {
                        let mut side = Expression::from(cut);
                        for &b in group {
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
            lies,
            k,
        }
    }

    fn read(lies: &[Variable], k: usize, solution: &impl Solution) -> Vec<u32> {
        let place = |row: &[Variable]| {
            let value = |i: &usize| solution.value(row[*i]);
            (0..k)
                .max_by(|a, b| value(a).total_cmp(&value(b)))
                .unwrap_or(0) as u32
        };
        lies.chunks(k).map(place).collect()
    }

    #[cfg(not(feature = "highs"))]
    fn inside(self, inst: &Instance, start: &[u32], left: Duration) -> Solved {
        self.with(good_lp::solvers::microlp::microlp, inst, start, left)
    }

    #[cfg(feature = "highs")]
    fn inside(self, inst: &Instance, start: &[u32], left: Duration) -> Solved {
        self.with(good_lp::solvers::highs::highs, inst, start, left)
    }

    fn with<M>(
        self,
        solver: impl FnMut(UnsolvedProblem) -> M,
        inst: &Instance,
        start: &[u32],
        left: Duration,
    ) -> Solved
    where
        M: SolverModel<Error = ResolutionError> + WithTimeLimit + WithMipGap + WithInitialSolution,
    {
        let mut model = self.variables.minimise(self.objective).using(solver);
        model = model.with_time_limit(left.as_secs_f64().max(0.01));
        model = model
            .with_mip_gap(0.0)
            .map_err(|e| ResolutionError::Str(e.to_string()))?;
        for rule in self.rules {
            model.add_constraint(rule);
        }
        if super::keeps(inst, start) {
            let k = self.k;
            let value = |i: usize| f64::from(u8::from(start[i / k] as usize == i % k));
            model = model
                .with_initial_solution(self.lies.iter().enumerate().map(|(i, v)| (*v, value(i))));
        }
        let solution = model.solve()?;
        let complete = matches!(solution.status(), SolutionStatus::Optimal);
        Ok((Self::read(&self.lies, self.k, &solution), complete))
    }

    /// Runs the executable; its answer is never taken for a proof.
    fn outside(self, path: &Path, left: Duration) -> Result<Solved, Error> {
        let command = path.to_string_lossy().into_owned();
        let seconds = (left.as_secs() as u32).max(1);
        let name = path
            .file_stem()
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        match name.as_str() {
            "cbc" => {
                let solver = CbcSolver::new()
                    .command_name(command)
                    .with_max_seconds(seconds);
                Ok(self.through(LpSolver(solver)))
            }
            "glpsol" => {
                let solver = GlpkSolver::new()
                    .command_name(command)
                    .with_max_seconds(seconds);
                Ok(self.through(LpSolver(solver)))
            }
            _ => Err(Error::Solver(format!(
                "`{name}` is not a solver whose answers can be read; there are: cbc, glpsol"
            ))),
        }
    }

    fn through<S: good_lp::Solver>(self, solver: S) -> Solved
    where
        S::Model: SolverModel<Error = ResolutionError>,
    {
        let mut model = self.variables.minimise(self.objective).using(solver);
        for rule in self.rules {
            model.add_constraint(rule);
        }
        let solution = model.solve()?;
        Ok((Self::read(&self.lies, self.k, &solution), false))
    }
}

/// For each distance of the machine: what it adds to the next smaller one, and the groups it
/// separates.
fn levels(inst: &Instance) -> Vec<(i64, Vec<Vec<u32>>)> {
    let machine = &inst.shared.machine;
    let nodes = machine.nodes();
    let mut last = i64::from(machine.collocated());
    let mut steps: Vec<i64> = nodes.iter().map(|n| i64::from(n.distance)).collect();
    steps.sort_unstable();
    steps.dedup();
    steps.retain(|&s| s > last);
    let group = |distance: i64| -> Vec<Vec<u32>> {
        let near = |id: usize| i64::from(nodes[id].distance) < distance;
        let top = |id: &usize| near(*id) && (*id == 0 || !near(nodes[*id].parent as usize));
        (0..nodes.len())
            .filter(top)
            .map(|id| nodes[id].blocks.clone())
            .collect()
    };
    steps
        .into_iter()
        .map(|distance| {
            (
                distance - std::mem::replace(&mut last, distance),
                group(distance),
            )
        })
        .collect()
}
