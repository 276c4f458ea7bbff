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
use std::collections::BTreeSet;

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
    let rooms = Rooms::of(&boxes);
    for (structure, name, least) in least.fitting {
        let mut counts = |number: u32| -> Vec<u64> {
            wild.insert((structure, &*name.text), number);
            let ignored = &mut Diagnostics::new();
            let architecture = Architecture::of(files, sources, given, &wild, ignored);
            let paths = rooms.paths.iter();
            paths
                .map(|path| count(&architecture, &order, path, &mut Diagnostics::new()))
                .collect()
        };
        let (mut low, mut high) = (least, MOST);
        if rooms.hold(&counts(high)) {
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
            match rooms.hold(&counts(middle)) {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        let counts = counts(low);
        if !rooms.hold(&counts) || !rooms.is_filled_by(&counts) {
            let message = format!("the boxes fit no value of `{}`", name.text);
            diagnostics.push(
                Diagnostic::error(codes::UNLIMITED, message)
                    .at(name.span, "as many as the boxes hold")
                    .help("change the numbers in the containers, or the numbers of boxes"),
            );
        }
        wild.insert((structure, &*name.text), low);
    }
    wild
}

/// Limit on the sets of paths.
const MOST_SETS: usize = 1 << 10;

/// The numbers of processes that all boxes hold together.
struct Rooms<'b> {
    paths: Vec<&'b KindPath>,
    /// For sets of paths, by index, the largest number of their processes.
    most: Vec<(Vec<usize>, u64)>,
    /// Least number of the processes of each path.
    least: Vec<u64>,
    /// True if a box needs more processes than it holds.
    is_contradictory: bool,
}

impl<'b> Rooms<'b> {
    fn of(boxes: &'b [Boxes]) -> Rooms<'b> {
        let limits = boxes.iter().flat_map(|boxes| &boxes.limits);
        let mut paths: Vec<&KindPath> = limits.flat_map(|limit| &limit.of).collect();
        paths.sort_by_key(|path| (&path.kind, &path.modules));
        paths.dedup();
        // All sets of a few paths, or the sets in limits.
        let mut sets: Vec<Vec<usize>> = match 1_usize.checked_shl(paths.len() as u32) {
            Some(n) if n <= MOST_SETS => (1..n)
                .map(|set| (0..paths.len()).filter(|i| set >> i & 1 == 1).collect())
                .collect(),
            _ => (0..paths.len()).map(|i| vec![i]).collect(),
        };
        for limit in boxes.iter().flat_map(|boxes| &boxes.limits) {
            let mut set: Vec<usize> = limit
                .of
                .iter()
                .map(|path| paths.partition_point(|p| order(p) < order(path)))
                .collect();
            set.sort_unstable();
            set.dedup();
            sets.push(set);
        }
        sets.sort_unstable();
        sets.dedup();
        // A process is counted once if each kind of a set occurs once.
        sets.retain(|set| {
            let kinds = set.iter().map(|i| &paths[*i].kind);
            kinds.clone().collect::<BTreeSet<_>>().len() == set.len()
        });
        let most = |set: &[usize]| {
            let set: Vec<&KindPath> = set.iter().map(|i| paths[*i]).collect();
            let all = boxes
                .iter()
                .map(|boxes| of_box(boxes, &set).saturating_mul(boxes.count.into()));
            all.fold(0, u64::saturating_add)
        };
        let least = |path: &&KindPath| {
            let all = boxes
                .iter()
                .map(|boxes| least_of(boxes, path).saturating_mul(boxes.count.into()));
            all.fold(0, u64::saturating_add)
        };
        let is_contradictory = |boxes: &Boxes| {
            let needs = |limit: &Limit| limit.of.iter().map(|path| least_of(boxes, path)).sum();
            let exceeds = |limit: &Limit| u64::from(limit.most) < needs(limit);
            boxes.count > 0 && boxes.limits.iter().any(exceeds)
        };
        Rooms {
            most: sets.iter().map(|set| (set.clone(), most(set))).collect(),
            least: paths.iter().map(least).collect(),
            is_contradictory: boxes.iter().any(is_contradictory),
            paths,
        }
    }

    /// Returns true if the boxes hold these numbers of the paths.
    fn hold(&self, counts: &[u64]) -> bool {
        self.most.iter().all(|(set, most)| {
            let sum = set.iter().map(|i| counts[*i]);
            sum.fold(0, u64::saturating_add) <= *most
        })
    }

    /// Returns true if the numbers of the paths are at least the least numbers.
    fn is_filled_by(&self, counts: &[u64]) -> bool {
        !self.is_contradictory && self.least.iter().zip(counts).all(|(least, n)| n >= least)
    }
}

fn order(path: &KindPath) -> (&str, &[String]) {
    (&path.kind, &path.modules)
}

/// Returns the number of processes of a path that an OS process needs.
fn least_of(boxes: &Boxes, path: &KindPath) -> u64 {
    let own = |limit: &&Limit| *limit.of == [path.clone()];
    let least = boxes.limits.iter().filter(own).map(|limit| limit.least);
    least.max().unwrap_or(0).into()
}

/// Returns the number of processes of all paths in a set that an OS process holds. No kind occurs
/// twice in the set.
fn of_box(boxes: &Boxes, set: &[&KindPath]) -> u64 {
    let is_named = |path: &KindPath| boxes.limits.iter().any(|limit| limit.of.contains(path));
    // A limit without modules also counts the processes in modules.
    let named = set.iter().filter_map(|path| {
        let of_kind = KindPath {
            modules: Vec::new(),
            kind: path.kind.clone(),
        };
        let all = [(*path).clone(), of_kind];
        all.into_iter().find(is_named)
    });
    // Parts of the set, each with the number of its processes. Wider limits unite narrower ones.
    let mut parts: Vec<(Vec<KindPath>, u64)> = named.map(|path| (vec![path], u64::MAX)).collect();
    let mut limits: Vec<&Limit> = boxes.limits.iter().collect();
    limits.sort_by_key(|limit| limit.of.len());
    for limit in limits {
        let is_in = |part: &(Vec<KindPath>, u64)| part.0.iter().all(|path| limit.of.contains(path));
        let (inside, outside): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_in);
        parts = outside;
        if inside.is_empty() {
            continue;
        }
        let united: Vec<KindPath> = inside.iter().flat_map(|part| part.0.clone()).collect();
        let sum = inside.iter().map(|part| part.1);
        let others = limit.of.iter().filter(|other| !united.contains(other));
        let room = match limit.most {
            u32::MAX => u64::MAX,
            most => {
                let others = others.map(|other| least_of(boxes, other)).sum();
                u64::from(most).saturating_sub(others)
            }
        };
        let sum = sum.fold(0, u64::saturating_add).min(room);
        parts.push((united, sum));
    }
    let all = parts.iter().map(|part| part.1);
    all.fold(0, u64::saturating_add)
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
    // are around its parts.
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
                let all = match architecture.find(&part.name.text) {
                    Some(PartId::Composition(inner)) => {
                        let next = path.modules.get(around).map(String::as_str);
                        let named = named(&part.name.text, times, next);
                        let of = |around: usize| inside[inner].get(around).copied().unwrap_or(0);
                        let others = times.saturating_sub(named);
                        let named = of(around + 1).saturating_mul(named);
                        named.saturating_add(of(around).saturating_mul(others))
                    }
                    Some(PartId::Process(_)) => {
                        let is_of = around + 1 == depths && part.name.text == path.kind;
                        times * u64::from(is_of)
                    }
                    None => 0,
                };
                *count = count.saturating_add(all);
            }
        }
        if !declaration.is_intermediate {
            let next = path.modules.first().map(String::as_str);
            let around = named(&declaration.name.text, 1, next) as usize;
            all = all.saturating_add(counts[around]);
        }
        inside[composition] = counts;
    }
    all
}

/// Returns the number of instances of a composition that a name means: its own name all, and its
/// name with a number from 1 that instance, if there are several.
fn named(composition: &str, instances: u64, name: Option<&str>) -> u64 {
    match name.and_then(|name| name.strip_prefix(composition)) {
        Some("") => instances,
        Some(number) if instances > 1 => {
            let number: Option<u64> = number.parse().ok();
            u64::from(number.is_some_and(|n| (1..=instances).contains(&n)))
        }
        _ => 0,
    }
}
