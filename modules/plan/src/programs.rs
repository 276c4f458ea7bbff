//! Division of the OS processes among the programs of a network.
//!
//! An OS process runs one program. The engine has no such constraint, so that the OS processes are
//! divided among the programs before the search, and each process is pinned to the OS processes of
//! its program. A program gets the OS processes to which `host=`, `osprocess=` and rules confine
//! its processes. The others are given so that the load per OS process is as even as possible, and
//! consecutive OS processes go to one program.

use crate::placement::Placement;
use crate::rules::Rules;
use graphmap_kpn::arena::Id;
use graphmap_kpn::codes::PROGRAMS_TOGETHER;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::network::{ProcessId, Verified};
use graphmap_kpn::programs::{self, Program};
use graphmap_kpn::source::Span;
use graphmap_partition::Constraint;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The processes of one program.
struct Class<'n> {
    program: Program<'n>,
    /// Name of the first process.
    example: &'n str,
    members: u32,
    load: f64,
    /// Number of OS processes that constraints of the class need.
    needed: usize,
    /// Number of OS processes beyond which constraints of the class cannot be kept.
    usable: usize,
}

/// A set of blocks, one of which must belong to a program.
struct Demand {
    class: usize,
    blocks: Vec<u32>,
    /// Position of the constraint.
    span: Span,
}

/// Adds constraints to `rules` that keep programs apart. Returns true if the network has several
/// programs. `previous` contains the previous block of each process, if there is a previous
/// mapping.
///
/// If this is not possible, adds an error ([`PROGRAMS_TOGETHER`]) to `found`: there are fewer OS
/// processes than programs, processes of different programs must be together, or the places of a
/// program are taken by others.
pub(crate) fn divide(
    network: &Verified,
    placement: &Placement<'_>,
    rules: &mut Rules<'_>,
    previous: Option<&[Option<u32>]>,
    found: &mut Diagnostics,
) -> bool {
    if !programs::has_any(network) {
        return false;
    }
    let of = programs::of_processes(network);
    let (mut classes, class_of) = classes(network, &of);
    if classes.len() < 2 {
        return false;
    }
    let k = placement.slots.len();
    if k < classes.len() {
        found.push(too_few(k, &classes));
        return true;
    }
    if let Some(error) = torn(network, rules, &of) {
        found.push(error);
        return true;
    }
    for constraint in &rules.constraints {
        let (vertices, needed, usable) = match constraint {
            Constraint::Apart { vertices, places } if places.is_empty() => {
                (vertices, vertices.len(), usize::MAX)
            }
            Constraint::Count {
                vertices,
                places,
                least,
                most,
            } if places.len() == k => {
                let (number, most) = (vertices.len(), (*most).max(1) as usize);
                let usable = number.checked_div(*least as usize);
                (
                    vertices,
                    number.div_ceil(most),
                    usable.unwrap_or(usize::MAX),
                )
            }
            _ => continue,
        };
        if let Some(class) = only_class(vertices, &class_of) {
            let class = &mut classes[class];
            class.needed = class.needed.max(needed);
            class.usable = class.usable.min(usable);
        }
    }
    let demands = demands(rules, &class_of);
    let owner = match owners(&demands, placement) {
        Ok(owner) => owner,
        Err((taken, by)) => {
            found.push(no_place(&demands, taken, by, &classes, placement));
            return true;
        }
    };
    let Some(owner) = complete(owner, &classes, &class_of, placement, previous) else {
        let message = "constraints leave no OS process to one of the programs";
        let mut error = Diagnostic::error(PROGRAMS_TOGETHER, message);
        for (i, demand) in demands.iter().enumerate() {
            error = match i {
                0 => error.at(demand.span, ""),
                _ => error.also(demand.span, ""),
            };
        }
        found.push(error.help("use a larger `-n`, or remove one of these constraints"));
        return true;
    };
    let blocks_of: Vec<Arc<[u32]>> = (0..classes.len())
        .map(|class| {
            let own = (0..k as u32).filter(|b| owner[*b as usize] == class);
            own.collect()
        })
        .collect();
    // A limit for each OS process concerns the OS processes that can hold such a process.
    for constraint in &mut rules.constraints {
        if let Constraint::Count {
            vertices, places, ..
        } = constraint
            && places.len() == k
            && places.iter().all(|place| place.len() == 1)
            && let Some(class) = only_class(vertices, &class_of)
        {
            *places = blocks_of[class].iter().map(|b| vec![*b]).collect();
        }
    }
    for (vertex, &class) in class_of.iter().enumerate() {
        let pin = Constraint::Pin {
            vertex: vertex as u32,
            blocks: Arc::clone(&blocks_of[class]),
        };
        rules.push(pin, of[vertex].span);
    }
    true
}

/// Returns the programs in the order of their first processes, and the index of the program of each
/// process.
fn classes<'n>(network: &'n Verified, of: &[Program<'n>]) -> (Vec<Class<'n>>, Vec<usize>) {
    let mut classes: Vec<Class<'n>> = Vec::new();
    let mut index: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let mut class_of = Vec::with_capacity(of.len());
    for ((id, process), program) in network.processes.iter().zip(of) {
        let class = *index.entry(program.name).or_insert(classes.len());
        if class == classes.len() {
            classes.push(Class {
                program: *program,
                example: network.process_name(id),
                members: 0,
                load: 0.0,
                needed: 1,
                usable: usize::MAX,
            });
        }
        classes[class].members += 1;
        classes[class].load += process.load;
        class_of.push(class);
    }
    (classes, class_of)
}

/// Returns the program of some processes, or `None` if they have several or there are none.
fn only_class(vertices: &[u32], class_of: &[usize]) -> Option<usize> {
    let mut classes = vertices.iter().map(|v| class_of[*v as usize]);
    let first = classes.next()?;
    classes.all(|class| class == first).then_some(first)
}

fn too_few(k: usize, classes: &[Class<'_>]) -> Diagnostic {
    let (n, es) = (classes.len(), if k == 1 { "" } else { "es" });
    let message = format!("{k} OS process{es} cannot run {n} programs");
    let mut error = Diagnostic::error(PROGRAMS_TOGETHER, message);
    for (i, class) in classes.iter().enumerate() {
        let label = format!("`{}` runs {}", class.example, class.program.shown());
        error = match i {
            0 => error.at(class.program.span, label),
            _ => error.also(class.program.span, label),
        };
    }
    error
        .with_note("an OS process runs one program")
        .help(format!("use `-n {n}` or more"))
}

/// Returns the error for the first constraint by which processes of different programs must be
/// together.
fn torn(network: &Verified, rules: &Rules<'_>, of: &[Program<'_>]) -> Option<Diagnostic> {
    let together = rules.constraints.iter().zip(&rules.spans);
    for (constraint, span) in together {
        let Constraint::Together { vertices } = constraint else {
            continue;
        };
        let (first, rest) = vertices.split_first()?;
        let program = |v: u32| of[v as usize];
        let other = rest
            .iter()
            .find(|v| program(**v).name != program(*first).name);
        let Some(other) = other else {
            continue;
        };
        let [one, two] = [*first, *other].map(|v| {
            let name = network.process_name(ProcessId::from_index(v as usize));
            (name, program(v))
        });
        let message = format!(
            "`{}` and `{}` must be in one OS process, but run different programs",
            one.0, two.0
        );
        let label =
            |(name, program): (&str, Program<'_>)| format!("`{name}` runs {}", program.shown());
        return Some(
            Diagnostic::error(PROGRAMS_TOGETHER, message)
                .at(*span, "they must be together")
                .also(one.1.span, label(one))
                .also(two.1.span, label(two))
                .help("remove this constraint, or set the same `program=`"),
        );
    }
    None
}

/// Returns the smallest sets of blocks that pins demand for each program. A set that contains
/// another one of the same program is omitted, because that one is sufficient.
fn demands(rules: &Rules<'_>, class_of: &[usize]) -> Vec<Demand> {
    let mut allowed: BTreeMap<u32, (Vec<u32>, Span)> = BTreeMap::new();
    for (constraint, span) in rules.constraints.iter().zip(&rules.spans) {
        let Constraint::Pin { vertex, blocks } = constraint else {
            continue;
        };
        let entry = allowed.entry(*vertex).or_insert((blocks.to_vec(), *span));
        entry.0.retain(|b| blocks.contains(b));
    }
    let mut sets: BTreeMap<(usize, usize, Vec<u32>), Span> = BTreeMap::new();
    for (vertex, (mut blocks, span)) in allowed {
        // Without a block, the pins contradict each other, which the engine reports.
        if !blocks.is_empty() {
            blocks.sort_unstable();
            let key = (blocks.len(), class_of[vertex as usize], blocks);
            sets.entry(key).or_insert(span);
        }
    }
    let mut demands: Vec<Demand> = Vec::new();
    for ((_, class, blocks), span) in sets {
        let within = |d: &Demand| d.class == class && d.blocks.iter().all(|b| blocks.contains(b));
        if !demands.iter().any(within) {
            demands.push(Demand {
                class,
                blocks,
                span,
            });
        }
    }
    demands
}

/// Assigns a block to each demand, by augmenting paths. Returns the program of each block, or
/// `None` for a block that no demand needs.
///
/// # Errors
/// Returns the index of a demand without a block, and the index of one that takes its blocks.
fn owners(
    demands: &[Demand],
    placement: &Placement<'_>,
) -> Result<Vec<Option<usize>>, (usize, usize)> {
    let mut taken: Vec<Option<usize>> = vec![None; placement.slots.len()];
    let mut left = Vec::new();
    for index in 0..demands.len() {
        let mut seen = BTreeSet::new();
        if !assign(index, demands, &mut taken, &mut seen) {
            left.push(index);
        }
    }
    let class = |taken: Option<usize>| taken.map(|demand: usize| demands[demand].class);
    for index in left {
        let demand = &demands[index];
        let mut there = demand.blocks.iter().map(|b| taken[*b as usize]);
        if !there.clone().any(|by| class(by) == Some(demand.class)) {
            let by = there.find_map(|by| by);
            return Err((index, by.unwrap_or(index)));
        }
    }
    Ok(taken.into_iter().map(class).collect())
}

/// Assigns a block to a demand, and moves other demands if necessary. Returns false, and changes
/// nothing, if that is not possible.
fn assign(
    index: usize,
    demands: &[Demand],
    taken: &mut [Option<usize>],
    seen: &mut BTreeSet<u32>,
) -> bool {
    for &block in &demands[index].blocks {
        if !seen.insert(block) {
            continue;
        }
        let is_free = match taken[block as usize] {
            None => true,
            Some(other) => assign(other, demands, taken, seen),
        };
        if is_free {
            taken[block as usize] = Some(index);
            return true;
        }
    }
    false
}

fn no_place(
    demands: &[Demand],
    left: usize,
    by: usize,
    classes: &[Class<'_>],
    placement: &Placement<'_>,
) -> Diagnostic {
    let name = |demand: usize| classes[demands[demand].class].program.shown();
    let place = match &demands[left].blocks[..] {
        [block] => placement.name(*block),
        _ => "one of its OS processes".to_owned(),
    };
    let message = format!("{place} must run {} and {}", name(left), name(by));
    Diagnostic::error(PROGRAMS_TOGETHER, message)
        .at(demands[left].span, format!("for {}", name(left)))
        .also(demands[by].span, format!("for {}", name(by)))
        .with_note("an OS process runs one program")
        .help("remove one of these constraints, or use more OS processes there")
}

/// Gives the blocks without an owner to programs. Returns the program of each block, or `None` if
/// there are too few blocks.
fn complete(
    mut owner: Vec<Option<usize>>,
    classes: &[Class<'_>],
    class_of: &[usize],
    placement: &Placement<'_>,
    previous: Option<&[Option<u32>]>,
) -> Option<Vec<usize>> {
    let k = owner.len();
    let mut has = vec![0; classes.len()];
    owner.iter().flatten().for_each(|class| has[*class] += 1);
    let at_least = |needs: &dyn Fn(&Class<'_>) -> usize| -> Vec<usize> {
        let pairs = classes.iter().zip(&has);
        pairs.map(|(class, has)| needs(class).max(*has)).collect()
    };
    // If the constraints need too many OS processes, the engine reports them.
    let mut quota = at_least(&|class| class.needed);
    if quota.iter().sum::<usize>() > k {
        quota = at_least(&|_| 1);
    }
    let mut left = k.checked_sub(quota.iter().sum())?;
    let all_load: f64 = classes.iter().map(|class| class.load).sum();
    while left > 0 {
        let per_block = |class: usize| {
            let of = &classes[class];
            let load = if all_load > 0.0 {
                of.load
            } else {
                f64::from(of.members)
            };
            // A program leaves OS processes empty if it has fewer processes.
            let fits = quota[class] < of.usable;
            let spare = quota[class] < of.members as usize;
            (fits, spare, load / quota[class] as f64)
        };
        let greater = |a: usize, b: usize| if per_block(b) > per_block(a) { b } else { a };
        let next = (0..classes.len()).reduce(greater)?;
        quota[next] += 1;
        left -= 1;
    }
    let mut open: Vec<usize> = quota.iter().zip(&has).map(|(q, has)| q - has).collect();
    let mut give = |owner: &mut Option<usize>, class: usize| {
        if owner.is_none() && open[class] > 0 {
            open[class] -= 1;
            *owner = Some(class);
        }
    };
    if let Some(previous) = previous {
        let mut there: BTreeMap<(u32, usize), usize> = BTreeMap::new();
        for (block, class) in previous.iter().zip(class_of) {
            if let Some(block) = block {
                *there.entry((*block, *class)).or_default() += 1;
            }
        }
        let mut there: Vec<_> = there.into_iter().collect();
        there.sort_by_key(|(key, count)| (std::cmp::Reverse(*count), *key));
        for ((block, class), _) in there {
            give(&mut owner[block as usize], class);
        }
    }
    for &block in &placement.block_of {
        for class in 0..classes.len() {
            give(&mut owner[block as usize], class);
        }
    }
    owner.into_iter().collect()
}
