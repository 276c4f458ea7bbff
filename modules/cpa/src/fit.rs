//! Variables with the value `*` or `+`: the largest number for which the boxes hold all processes.

use crate::architecture::{Architecture, PartId, Wild};
use crate::codes;
use crate::flatten;
use crate::placement;
use crate::syntax::File;
use graphmap_kpn::containers::{Boxes, KindPath, Limit};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;

/// Largest number that is tried.
const MOST: u32 = 1 << 28;

/// Returns the values of the variables that are `*` or `+`, unless `given` replaces them.
/// Reports an error for each variable that no box limits. Other errors are reported when the text
/// is read with the values.
pub(crate) fn fit<'f>(
    files: &'f [File],
    sources: &SourceMap,
    given: &Given,
    diagnostics: &mut Diagnostics,
) -> Wild<'f> {
    let mut wild = Wild::default();
    let mut ignored = Diagnostics::new();
    let least = Architecture::of(files, sources, given, &wild, &mut ignored);
    if least.fitting.is_empty() {
        return wild;
    }
    let boxes = placement::boxes(&least, files, &mut ignored);
    let order = flatten::order(&least, &mut ignored);
    if ignored.has_errors() {
        return wild;
    }
    let rooms = rooms(&boxes);
    for (structure, name, least) in least.fitting {
        let mut fits = |number: u32| {
            wild.insert((structure, &*name.text), number);
            let ignored = &mut Diagnostics::new();
            let architecture = Architecture::of(files, sources, given, &wild, ignored);
            let room = |(path, room): &(KindPath, u64)| {
                count(&architecture, &order, path, &mut Diagnostics::new()) <= *room
            };
            rooms.iter().all(room)
        };
        let (mut low, mut high) = (least, MOST);
        if fits(high) {
            let message = format!("nothing limits `{}`", name.text);
            diagnostics.push(
                Diagnostic::error(codes::UNLIMITED, message)
                    .at(name.span, "as many as the boxes hold")
                    .help("write a number of the process in the containers of the boxes")
                    .help(format!("or set the variable: `-D {}=8`", name.text)),
            );
            high = low;
        }
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match fits(middle) {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        wild.insert((structure, &*name.text), low);
    }
    wild
}

/// Returns the number of processes that all boxes hold, for each path that a limit names.
fn rooms(boxes: &[Boxes]) -> Vec<(KindPath, u64)> {
    let limits = boxes.iter().flat_map(|boxes| &boxes.limits);
    let mut paths: Vec<&KindPath> = limits.flat_map(|limit| &limit.of).collect();
    paths.sort_by_key(|path| (&path.kind, &path.modules));
    paths.dedup();
    let room = |path: &KindPath| {
        let of_boxes = boxes.iter().map(|boxes| {
            let each = of_box(boxes, path).unwrap_or_else(|| {
                // A limit without modules also counts the processes in modules.
                let of_kind = KindPath {
                    modules: Vec::new(),
                    kind: path.kind.clone(),
                };
                of_box(boxes, &of_kind).unwrap_or(0)
            });
            each.saturating_mul(boxes.count.into())
        });
        of_boxes.fold(0, u64::saturating_add)
    };
    paths
        .iter()
        .map(|path| ((*path).clone(), room(path)))
        .collect()
}

/// Returns the number of processes of a path that an OS process holds, or `None` if no limit names
/// the path.
fn of_box(boxes: &Boxes, path: &KindPath) -> Option<u64> {
    let limits = boxes.limits.iter().filter(|limit| limit.of.contains(path));
    let least = |other: &KindPath| {
        let own = |limit: &&Limit| *limit.of == [other.clone()];
        boxes.limits.iter().find(own).map_or(0, |limit| limit.least)
    };
    let room = |limit: &Limit| match limit.most {
        u32::MAX => u64::MAX,
        most => {
            let others = limit.of.iter().filter(|other| *other != path).map(least);
            u64::from(most).saturating_sub(others.map(u64::from).sum())
        }
    };
    limits.map(room).min()
}

/// Returns the number of processes of a path. `order` has the numbers of the compositions, inner
/// ones first. A number of instances that is wrong is 0.
fn count(
    architecture: &Architecture<'_>,
    order: &[usize],
    path: &KindPath,
    ignored: &mut Diagnostics,
) -> u64 {
    // The processes in an instance of each composition, by the number of modules of the path that
    // are around the composition.
    let depths = path.modules.len() + 1;
    let mut inside = vec![vec![0_u64; depths]; architecture.compositions.len()];
    let mut all = 0_u64;
    for &composition in order {
        let of = architecture.compositions[composition];
        let declaration = of.declaration;
        let mut counts = vec![0_u64; depths];
        for part in &declaration.parts {
            let times = match &part.count {
                Some(expr) => architecture.number(of.structure, expr, &[], ignored),
                None => Some(1),
            };
            let times = u64::try_from(times.unwrap_or(0)).unwrap_or(0);
            for (around, count) in counts.iter_mut().enumerate() {
                let is_next = path.modules.get(around) == Some(&declaration.name.text);
                let around = around + usize::from(is_next);
                let each = match architecture.find(&part.name.text) {
                    Some(PartId::Composition(inner)) => inside[inner][around],
                    Some(PartId::Process(_)) => {
                        u64::from(around + 1 == depths && part.name.text == path.kind)
                    }
                    None => 0,
                };
                *count = count.saturating_add(each.saturating_mul(times));
            }
        }
        if !declaration.is_intermediate {
            all = all.saturating_add(counts[0]);
        }
        inside[composition] = counts;
    }
    all
}
