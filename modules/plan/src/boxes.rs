//! Boxes: OS processes that may hold only the processes of their containers.

use crate::codes;
use crate::language::{NameKind, Rule, RuleKind};
use crate::names::{is_called, no_match};
use crate::pattern::Pattern;
use crate::placement::Placement;
use graphmap_kpn::arena::Id;
use graphmap_kpn::containers::{self, Boxes, Container, Expr, KindPath};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::network::{KindId, Network, ProcessId, Verified};
use graphmap_kpn::sizes::Sizes;
use graphmap_kpn::source::Span;
use graphmap_partition::Constraint;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Returns the boxes of the rules, or otherwise of the network. Empty if there are none. Reports
/// errors.
pub(crate) fn of(network: &Verified, rules: &[Rule], found: &mut Diagnostics) -> Vec<Boxes> {
    let is_boxes = |rule: &Rule| matches!(rule.kind, RuleKind::Boxes(_));
    match rules.iter().any(is_boxes) {
        true => of_rules(rules, found),
        false => network.boxes.clone(),
    }
}

fn of_rules(rules: &[Rule], found: &mut Diagnostics) -> Vec<Boxes> {
    let (mut all, mut declared): (Vec<Container>, _) = (Vec::new(), Vec::new());
    for rule in rules {
        match &rule.kind {
            RuleKind::Container(container) => all.push(container.clone()),
            RuleKind::Boxes(boxes) => declared.extend(boxes.iter().cloned()),
            _ => {}
        }
    }
    let sizes = Sizes::default();
    let values = |expr: &Expr, bound: Option<(&str, i64)>| {
        let bound: Vec<(&str, i64)> = bound.into_iter().collect();
        let value = sizes.evaluate(0, &expr.text, expr.place, &bound);
        let value = value.map_err(|mut error| {
            if error.code == graphmap_kpn::codes::UNDEFINED_SIZE {
                error.help = vec!["only the variable of a loop has a name here".to_owned()];
            }
            error
        })?;
        Ok(value.expect("there are no definitions with errors"))
    };
    containers::evaluate(&all, &declared, &values, found)
}

/// Returns the number of OS processes of boxes, or `None` if there are none. The boxes are from
/// the rules, or otherwise from the network. Boxes with errors do not count.
pub fn os_processes(network: &Verified, rules: &[Rule]) -> Option<u32> {
    let boxes = of(network, rules, &mut Diagnostics::new());
    let count = boxes.iter().map(|boxes| boxes.count).sum();
    (!boxes.is_empty()).then_some(count)
}

/// Returns the number of OS processes of boxes.
pub(crate) fn count(boxes: &[Boxes]) -> usize {
    boxes.iter().map(|boxes| boxes.count as usize).sum()
}

/// Processes that all boxes treat alike, because they have the same kind and the same modules of
/// interest.
pub(crate) struct Alike {
    pub(crate) vertices: Vec<u32>,
    /// True for each limit of each box, in order, that counts the processes.
    counted: Vec<bool>,
}

/// Limit on the number of processes of several classes in one OS process.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shared {
    /// Indices of the classes.
    pub(crate) classes: Vec<usize>,
    pub(crate) least: u32,
    pub(crate) most: u32,
}

/// The limits of one OS process.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Limits {
    /// Least and largest number of processes of each class.
    pub(crate) own: Vec<(u32, u32)>,
    pub(crate) shared: Vec<Shared>,
}

/// The classes of processes, and the limits of the OS processes.
pub(crate) struct Packing {
    pub(crate) classes: Vec<Alike>,
    /// Limits by OS process.
    pub(crate) limits: Vec<Limits>,
    /// Constraints of the engine, and their positions.
    pub(crate) constraints: Vec<(Constraint, Span)>,
}

/// Returns the classes and limits of a network with boxes. Reports kinds that do not exist, and
/// processes that no box may hold.
pub(crate) fn pack(
    network: &Verified,
    placement: &Placement<'_>,
    boxes: &[Boxes],
    found: &mut Diagnostics,
) -> Packing {
    let classes = classes(network, boxes, found);
    if boxes.is_empty() {
        let any = Limits {
            own: vec![(0, u32::MAX); classes.len()],
            shared: Vec::new(),
        };
        return Packing {
            limits: vec![any; placement.slots.len()],
            constraints: Vec::new(),
            classes,
        };
    }
    let mut packing = Packing {
        limits: Vec::new(),
        constraints: Vec::new(),
        classes,
    };
    let mut first = 0;
    let mut allowed: Vec<Vec<u32>> = vec![Vec::new(); packing.classes.len()];
    let mut number = 0;
    for own in boxes {
        let os_processes = first..first + own.count as usize;
        first = os_processes.end;
        let blocks: Vec<u32> = os_processes.map(|o| placement.block_of[o]).collect();
        let mut limits = Limits {
            own: vec![(0, 0); packing.classes.len()],
            shared: Vec::new(),
        };
        let mut is_open = vec![false; packing.classes.len()];
        for limit in &own.limits {
            let counted = |class: &usize| packing.classes[*class].counted[number];
            let members: Vec<usize> = (0..packing.classes.len()).filter(counted).collect();
            number += 1;
            if !blocks.is_empty() {
                constrain(
                    &mut packing.constraints,
                    &packing.classes,
                    &members,
                    limit,
                    &blocks,
                );
            }
            // A limit of a container does not allow more than those of its kinds.
            let allows = limit.of.len() == 1;
            match members[..] {
                [class] if allows && !is_open[class] => {
                    limits.own[class] = (limit.least, limit.most);
                    is_open[class] = true;
                }
                _ => {
                    for &class in members.iter().filter(|_| allows) {
                        if !std::mem::replace(&mut is_open[class], true) {
                            limits.own[class] = (0, u32::MAX);
                        }
                    }
                    limits.shared.push(Shared {
                        classes: members,
                        least: limit.least,
                        most: limit.most,
                    });
                }
            }
        }
        for (class, open) in is_open.into_iter().enumerate() {
            if open {
                allowed[class].extend(&blocks);
            }
        }
        let alike = std::iter::repeat_n(limits, blocks.len());
        packing.limits.extend(alike);
    }
    let at = boxes.first().map_or(Span::NONE, |boxes| boxes.span);
    for (number, (class, mut blocks)) in packing.classes.iter().zip(allowed).enumerate() {
        let own = packing.limits.iter().map(|limits| limits.own[number]);
        let sum = |all: u64, n: u32| all.saturating_add(n.into());
        let least = own.clone().map(|(least, _)| least).fold(0, sum);
        let most = own.map(|(_, most)| most).fold(0, sum);
        if !(least..=most).contains(&(class.vertices.len() as u64)) {
            misfit(network, class, (least, most), at, found);
        } else if blocks.len() < first {
            blocks.sort_unstable();
            let blocks: Arc<[u32]> = blocks.into();
            packing
                .constraints
                .extend(class.vertices.iter().map(|&vertex| {
                    let blocks = Arc::clone(&blocks);
                    (Constraint::Pin { vertex, blocks }, at)
                }));
        }
    }
    packing
}

fn constrain(
    constraints: &mut Vec<(Constraint, Span)>,
    classes: &[Alike],
    members: &[usize],
    limit: &containers::Limit,
    blocks: &[u32],
) {
    let mut vertices: Vec<u32> = members
        .iter()
        .flat_map(|class| classes[*class].vertices.iter().copied())
        .collect();
    vertices.sort_unstable();
    if limit.least == 0 && limit.most as usize >= vertices.len() {
        return;
    }
    let count = Constraint::Count {
        vertices,
        places: blocks.iter().map(|block| vec![*block]).collect(),
        least: limit.least,
        most: limit.most,
    };
    constraints.push((count, limit.span));
}

/// Reports that the boxes hold other numbers of some processes than there are.
fn misfit(
    network: &Network,
    class: &Alike,
    (least, most): (u64, u64),
    at: Span,
    found: &mut Diagnostics,
) {
    let n = class.vertices.len();
    let first = ProcessId::from_index(class.vertices[0] as usize);
    let process = &network.processes[first];
    let kind = &network.kinds[process.kind];
    let name = network.name(kind.name);
    let what = match (n, n == kind.members.len()) {
        (1, _) => format!("`{}`", network.name(process.name)),
        (_, true) => format!("the {n} processes of the kind `{name}`"),
        (_, false) => format!("{n} processes of the kind `{name}`"),
    };
    let message = match (least, most) {
        (_, 0) => format!("no box may hold {what}"),
        _ if least > n as u64 => format!("the boxes need {least} of {what}"),
        _ => format!("the boxes may hold {most} of {what}"),
    };
    let help = match class.counted.contains(&true) {
        true => {
            format!("change the numbers or prefixes of `{name}` in the containers, or the boxes")
        }
        false => format!("list the kind in a container of the boxes: `{name}[*]`"),
    };
    let error = Diagnostic::error(codes::BOX_MISSING, message);
    found.push(error.at(at, "the boxes begin here").help(help));
}

/// Divides the processes into classes by kind, and by the limits that count them.
fn classes(network: &Verified, boxes: &[Boxes], found: &mut Diagnostics) -> Vec<Alike> {
    let limits: Vec<&containers::Limit> = boxes.iter().flat_map(|boxes| &boxes.limits).collect();
    // Limits with the same paths have the same processes.
    let mut same: FxHashMap<&KindPath, Vec<(usize, Span)>> = FxHashMap::default();
    for (number, limit) in limits.iter().enumerate() {
        for of in &limit.of {
            let at = same.entry(of).or_default();
            at.push((number, limit.span));
            // The span of a limit on several kinds has no kind in it.
            if limit.of.len() == 1 {
                at[0].1 = limit.span;
            }
        }
    }
    let mut paths: Vec<(&KindPath, Vec<(usize, Span)>)> = same.into_iter().collect();
    paths.sort_by_key(|(_, at)| at[0].0);
    // The paths that name each process.
    let mut named: Vec<Vec<u32>> = vec![Vec::new(); network.processes.len()];
    let pattern = |text: &str, span: Span| Pattern {
        text: text.to_owned(),
        literal: true,
        span,
    };
    for (path, (of, at)) in paths.iter().enumerate() {
        let span = at[0].1;
        let kind = |id: &KindId| network.name(network.kinds[*id].name) == of.kind;
        let Some(kind) = network.kinds.ids().find(kind) else {
            found.push(no_match(network, NameKind::Kind, &pattern(&of.kind, span)));
            continue;
        };
        let modules: Vec<Pattern> = of.modules.iter().map(|name| pattern(name, span)).collect();
        // The number of modules of the path around each module, outermost first.
        let mut depth: Vec<usize> = Vec::with_capacity(network.modules.len());
        for module in network.modules.values() {
            let around = module.parent.map_or(0, |parent| depth[parent.index()]);
            let next = modules.get(around);
            let is_next = next.is_some_and(|next| is_called(network, module, next));
            depth.push(around + usize::from(is_next));
        }
        let mut is_empty = true;
        for process in &network.kinds[kind].members {
            let module = network.processes[*process].module;
            if module.map_or(0, |module| depth[module.index()]) == modules.len() {
                named[process.index()].push(path as u32);
                is_empty = false;
            }
        }
        if is_empty && !modules.is_empty() {
            let inside = of.modules.join(".");
            let message = format!("no process of the kind `{}` is in `{inside}`", of.kind);
            found.push(Diagnostic::error(codes::NOBODY, message).at(span, ""));
        }
    }
    let mut numbers: FxHashMap<(usize, Vec<u32>), usize> = FxHashMap::default();
    let mut classes: Vec<Alike> = Vec::new();
    for (id, process) in network.processes.iter() {
        let key = (process.kind.index(), std::mem::take(&mut named[id.index()]));
        if let Some(&class) = numbers.get(&key) {
            classes[class].vertices.push(id.index() as u32);
            continue;
        }
        let mut counted = vec![false; limits.len()];
        for &path in &key.1 {
            for &(limit, _) in &paths[path as usize].1 {
                counted[limit] = true;
            }
        }
        numbers.insert(key, classes.len());
        classes.push(Alike {
            vertices: vec![id.index() as u32],
            counted,
        });
    }
    classes
}
