//! Explains contradictions that were found without a search, by a few constraints in conflict.
//!
//! A network can have a million processes with a constraint each. So unrelated constraints are
//! dropped at once: the kind of the contradiction determines those that are related.

use crate::clusters::marks;
use crate::constraints;
use crate::delta_debugging::reduce;
use crate::draft::{Clash, Draft, repeated_roots};
use crate::error::{Conflict, Part};
use crate::graph::Graph;
use crate::pigeonhole;
use crate::problem::{Constraint, Problem};
use crate::quota::{Quantity, Quota};

/// Most constraints that are tried one by one.
const REDUCIBLE: usize = 5000;

/// Reduces a contradiction to constraints that are all needed to find it without a search. A search
/// might need fewer of them. More than `REDUCIBLE` related constraints are not reduced one by one.
pub(crate) fn explain(problem: &Problem<'_>, met: Clash) -> Conflict {
    let core = Core::of(problem, &met);
    let (kept, clash) = reduced(problem, &core, met);
    let active: Vec<usize> = kept.iter().map(|&i| core.active[i]).collect();
    let mut parts: Vec<Part> = active.iter().map(|&i| Part::Constraint(i)).collect();
    let blocks = |blocks: &[u32]| match blocks {
        [b] => format!("block {b}"),
        _ => format!("{} blocks", blocks.len()),
    };
    let apart = |i: usize| match &problem.constraints[i] {
        Constraint::Apart { places, .. } => {
            let place = if places.is_empty() {
                "blocks"
            } else {
                "places"
            };
            Some(format!(
                "more vertices must be kept apart than there are {place} for them"
            ))
        }
        _ => None,
    };
    // Returns the limits of the blocks themselves.
    let own = |of: Quantity, blocks: &[u32]| -> Vec<Part> {
        let part = match of {
            Quantity::Slots => Part::Slots,
            Quantity::Load => Part::Balance,
            Quantity::Memory => Part::Memory,
            Quantity::Shared | Quantity::Vertices(_) => return Vec::new(),
        };
        let all = problem.machine.blocks();
        let limited = |b: &&u32| of != Quantity::Memory || all[**b as usize].memory.is_some();
        blocks.iter().filter(limited).map(|&b| part(b)).collect()
    };
    let reason = match clash {
        Clash::NoBlock(v) => {
            format!(
                "no block satisfies all pins of vertex {v} and of the vertices kept together with it"
            )
        }
        Clash::ApartTogether(..) => "vertices must be both apart and together".to_owned(),
        Clash::TooFew(i) => apart(i).unwrap_or_default(),
        Clash::Number(i) => number(&problem.constraints[i]),
        Clash::OverLimit(of, full) => {
            parts.extend(own(of, &full));
            let there = blocks(&full);
            match of {
                Quantity::Vertices(i) => apart(i).unwrap_or_else(|| {
                    format!("more vertices must be in {there} than are allowed there")
                }),
                Quantity::Slots => format!("more vertices must be in {there} than there are slots"),
                Quantity::Load => {
                    format!("the load that must be in {there} exceeds the balance limit")
                }
                Quantity::Memory | Quantity::Shared => {
                    format!(
                        "the vertices that must be in {there} need more memory than is available there"
                    )
                }
            }
        }
        Clash::BelowLimit(_, there) => {
            format!(
                "fewer vertices can be in {} than are required there",
                blocks(&there)
            )
        }
        Clash::TooLarge(of, v) => {
            parts.push(Part::Vertex(v));
            let draft = Draft::new(problem, &active);
            parts.extend(own(of, draft.open(v)));
            let members = draft
                .root
                .iter()
                .filter(|&&root| root == draft.root[v as usize])
                .count();
            let group = match members {
                0 | 1 => format!("vertex {v} needs"),
                _ => format!("vertex {v} and the vertices kept together with it need"),
            };
            match of {
                Quantity::Memory | Quantity::Shared | Quantity::Load => {
                    format!("{group} more memory than is available in any allowed block")
                }
                Quantity::Slots | Quantity::Vertices(_) => format!(
                    "the vertices kept together with vertex {v} are more than any allowed block may hold"
                ),
            }
        }
    };
    // Without a search, only pins, groups and a single `Apart` constraint are decided exactly.
    let how_many = |test: &dyn Fn(&Constraint) -> bool| {
        let constraints = active.iter().map(|&i| &problem.constraints[i]);
        constraints.filter(|c| test(c)).count()
    };
    let apart = how_many(&|c| matches!(c, Constraint::Apart { .. }));
    let sums = how_many(&|c| matches!(c, Constraint::Count { .. } | Constraint::Memory { .. }));
    let minimal = parts.len() == 1 || parts.len() == active.len() && apart < 2 && sums == 0;
    Conflict {
        parts,
        proved: true,
        minimal,
        reason,
    }
}

/// Constraints and vertices that are related to a contradiction.
struct Core {
    /// Constraints. The ones known to take part come first.
    active: Vec<usize>,
    /// Number of constraints known to take part.
    sure: usize,
    /// Vertices, ascending.
    vertices: Vec<u32>,
}

impl Core {
    fn of(problem: &Problem<'_>, met: &Clash) -> Self {
        let all: Vec<usize> = (0..problem.constraints.len()).collect();
        let draft = Draft::new(problem, &all);
        let roots_of = |i: usize| -> Vec<u32> {
            match &problem.constraints[i] {
                Constraint::Apart { vertices, .. } | Constraint::Count { vertices, .. } => {
                    vertices.iter().map(|&v| draft.root[v as usize]).collect()
                }
                _ => Vec::new(),
            }
        };
        let (mut active, roots) = match met {
            Clash::NoBlock(root) => (Vec::new(), vec![*root]),
            Clash::ApartTogether(i, root) => (vec![*i], vec![*root]),
            Clash::TooFew(i) | Clash::Number(i) | Clash::BelowLimit(i, _) => {
                (vec![*i], roots_of(*i))
            }
            Clash::OverLimit(of, blocks) => (
                limits(problem, *of, blocks),
                most_of(problem, &draft, *of, blocks),
            ),
            Clash::TooLarge(of, root) => (limits(problem, *of, draft.open(*root)), vec![*root]),
        };
        let mut rank = vec![u32::MAX; draft.root.len()];
        for (i, &root) in roots.iter().enumerate() {
            let place = &mut rank[root as usize];
            *place = (*place).min(i as u32);
        }
        let rank_of = |v: &u32| rank[draft.root[*v as usize] as usize];
        let sure = active.len();
        let mut others: Vec<(u32, usize)> = Vec::new();
        for (i, constraint) in problem.constraints.iter().enumerate() {
            let first = match constraint {
                Constraint::Pin { vertex, .. } => rank_of(vertex),
                Constraint::Together { vertices } => vertices.first().map_or(u32::MAX, rank_of),
                // It forbids its places to a group with two of its vertices.
                Constraint::Apart { vertices, places }
                    if !places.is_empty() && !active.contains(&i) =>
                {
                    let repeated_roots = repeated_roots(vertices, &draft.root);
                    repeated_roots.iter().map(rank_of).min().unwrap_or(u32::MAX)
                }
                _ => u32::MAX,
            };
            if first != u32::MAX {
                others.push((first, i));
            }
        }
        others.sort_unstable();
        active.extend(others.into_iter().map(|o| o.1));
        let member = |v: &u32| rank_of(v) != u32::MAX;
        Self {
            active,
            sure,
            vertices: (0..draft.root.len() as u32).filter(member).collect(),
        }
    }
}

/// Returns the indices of the constraints that limit this quantity in some of the blocks. The
/// result is empty if a limit of the machine is meant.
fn limits(problem: &Problem<'_>, of: Quantity, blocks: &[u32]) -> Vec<usize> {
    match of {
        Quantity::Vertices(i) => vec![i],
        Quantity::Shared => {
            let here = marks(blocks, problem.machine.len());
            let limits = |i: &usize| match &problem.constraints[*i] {
                Constraint::Memory { blocks, .. } => blocks.iter().any(|&b| here[b as usize]),
                _ => false,
            };
            (0..problem.constraints.len()).filter(limits).collect()
        }
        Quantity::Load | Quantity::Memory | Quantity::Slots => Vec::new(),
    }
}

/// Returns the roots of groups that are confined to some blocks, the largest first: just enough to
/// exceed the limit of the quantity there. The result is empty if no such limit is exceeded.
fn most_of(problem: &Problem<'_>, draft: &Draft, of: Quantity, blocks: &[u32]) -> Vec<u32> {
    let active: Vec<usize> = (0..problem.constraints.len()).collect();
    let quotas = Quota::all(problem, &active);
    let here = marks(blocks, problem.machine.len());
    let inside = |set: &Vec<u32>| set.iter().all(|&b| here[b as usize]);
    let inside: Vec<bool> = draft.sets.iter().map(inside).collect();
    // Several quotas may limit the memory of places. The exceeded one is needed.
    for quota in quotas.iter().filter(|q| q.of == of) {
        let Some(room) = quota.room(blocks) else {
            continue;
        };
        let mut size = vec![0_i64; draft.root.len()];
        quota.each(problem, |v, s| size[draft.root[v as usize] as usize] += s);
        let confined = |v: &u32| size[*v as usize] > 0 && inside[draft.set[*v as usize] as usize];
        let mut roots: Vec<u32> = (0..draft.root.len() as u32).filter(confined).collect();
        roots.sort_by_key(|&r| (std::cmp::Reverse(size[r as usize]), r));
        let mut sum = 0;
        let full = roots.iter().position(|&r| {
            sum += size[r as usize];
            sum > room
        });
        if let Some(last) = full {
            roots.truncate(last + 1);
            return roots;
        }
    }
    Vec::new()
}

/// Returns constraints in conflict, by their index in the core, and the contradiction. Searches for
/// them in a problem that contains only the core. If that problem has no contradiction, returns all
/// constraints of the core and `met`.
fn reduced(problem: &Problem<'_>, core: &Core, met: Clash) -> (Vec<usize>, Clash) {
    let vertices = &core.vertices;
    let of_load = matches!(met, Clash::OverLimit(Quantity::Load, _));
    let mut load: Vec<u64> = vertices.iter().map(|&v| problem.graph.load(v)).collect();
    let mut memory: Vec<u64> = vertices.iter().map(|&v| problem.graph.memory(v)).collect();
    if of_load {
        // Load bounds are shares of the total load. So an additional vertex gets the load outside
        // the core.
        load.push(problem.graph.total_load() - load.iter().sum::<u64>());
        memory.push(0);
    }
    let mut graph = Graph::new(load, &[]).expect("part of a sound graph");
    if problem.graph.has_memory() {
        graph = graph.with_memory(memory).expect("part of a sound graph");
    }
    // Only for these contradictions does the core contain all vertices of a `Count` constraint. For
    // others, the missing vertices would violate `least`.
    let few = matches!(met, Clash::Number(_) | Clash::BelowLimit(..));
    let number = |v: &u32| vertices.binary_search(v).ok().map(|i| i as u32);
    let some = |list: &[u32]| list.iter().filter_map(number).collect::<Vec<u32>>();
    let constraints = core.active.iter().map(|&i| {
        let mut constraint = problem.constraints[i].clone();
        match &mut constraint {
            Constraint::Pin { vertex, .. } => *vertex = number(vertex).unwrap_or(0),
            Constraint::Together { vertices }
            | Constraint::Apart { vertices, .. }
            | Constraint::Prefer { vertices, .. } => *vertices = some(vertices),
            Constraint::Count {
                vertices, least, ..
            } => {
                *vertices = some(vertices);
                *least = if few { *least } else { 0 };
            }
            Constraint::Memory { .. } => {}
        }
        constraint
    });
    let constraints: Vec<Constraint> = constraints.collect();
    let problem = Problem {
        graph: &graph,
        constraints: &constraints,
        migration: None,
        ..*problem
    };
    let clash = |active: &[usize]| {
        let draft = Draft::new(&problem, active);
        match of_load {
            true => pigeonhole::overload(&draft, &problem).map(|over| over.0),
            false => constraints::clash(&draft, &problem, active),
        }
    };
    let all: Vec<usize> = (0..constraints.len()).collect();
    if clash(&all).is_none() {
        return (all, met);
    }
    // A contradiction remains if constraints are added. So the shortest prefix with one is found by
    // bisection.
    let (mut low, mut high) = (core.sure, all.len());
    if clash(&all[..low]).is_some() {
        high = low;
    }
    while low < high {
        let middle = (low + high) / 2;
        match clash(&all[..middle]) {
            Some(_) => high = middle,
            None => low = middle + 1,
        }
    }
    let mut kept = all[..high].to_vec();
    if kept.len() <= REDUCIBLE {
        reduce(&mut kept, |fewer| clash(fewer).is_some());
    }
    let found = clash(&kept).map_or(met, |clash| renumbered(clash, core));
    (kept, found)
}

/// Returns the contradiction with the vertices and constraints of the whole problem.
fn renumbered(mut clash: Clash, core: &Core) -> Clash {
    if let Clash::NoBlock(v) | Clash::ApartTogether(_, v) | Clash::TooLarge(_, v) = &mut clash {
        *v = core.vertices[*v as usize];
    }
    match &mut clash {
        Clash::ApartTogether(i, _)
        | Clash::TooFew(i)
        | Clash::Number(i)
        | Clash::OverLimit(Quantity::Vertices(i), _)
        | Clash::BelowLimit(i, _)
        | Clash::TooLarge(Quantity::Vertices(i), _) => *i = core.active[*i],
        _ => {}
    }
    clash
}

/// Returns the reason why a `Count` constraint alone cannot be satisfied.
fn number(constraint: &Constraint) -> String {
    let Constraint::Count {
        vertices,
        places,
        least,
        most,
    } = constraint
    else {
        return "the limits on the number of vertices cannot be satisfied".to_owned();
    };
    let (n, held) = (vertices.len(), places.len());
    let many = match n {
        1 => "1 vertex is".to_owned(),
        _ => format!("{n} vertices are"),
    };
    let blocks = match places.iter().all(|p| p.len() == 1) {
        true => "blocks",
        false => "places",
    };
    let each = |word: &str, count: u32| match held {
        1 => format!("{many} too {word} {count}"),
        _ => format!("{many} too {word} {count} in each of {held} {blocks}"),
    };
    if (n as u64) < u64::from(*least) * held as u64 {
        each("few for at least", *least)
    } else {
        each("many for at most", *most)
    }
}
