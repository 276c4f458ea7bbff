//! Containers and boxes.
//!
//! The boxes of a container have its name. If their limits differ, the number of processes must
//! change by equal steps from each of them to the next, as in `P[100*i]`.

use super::constructs::named;
use super::refused::{Ranges, Refused, Unique, affine};
use graphmap_kpn::containers::{Boxes, KindPath, Limit};
use graphmap_kpn::network::Network;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// Limits of boxes without their numbers, and without the modules around all of them.
#[derive(PartialEq)]
struct Shape {
    kinds: Vec<(String, bool)>,
    /// Kinds of each limit on several of them.
    most: Vec<Vec<String>>,
}

/// Boxes as their container gives them.
struct Form {
    prefix: String,
    shape: Shape,
    /// Numbers of the kinds and of the limits on several of them.
    numbers: Vec<i64>,
}

/// The boxes of a container.
struct Container<'n> {
    name: &'n str,
    shape: Shape,
    /// Numbers of the boxes before the next one of this container.
    numbers: Vec<i64>,
    /// Difference of the numbers from each to the next.
    steps: Vec<i64>,
    /// Value of the variable for the first box.
    start: i64,
    count: i64,
}

/// Returns the specification of the containers, or an empty text if there are no boxes.
pub(super) fn containers(network: &Network, refused: &mut Refused) -> String {
    let mut all: Vec<Container<'_>> = Vec::new();
    let mut by_name: FxHashMap<&str, usize> = FxHashMap::default();
    // Container, prefix, number of OS processes, and value of the variable.
    let mut boxes: Vec<(usize, String, u32, i64)> = Vec::new();
    for own in &network.boxes {
        named("container", &own.name, own.span, refused);
        let Some(form) = form(own, refused) else {
            continue;
        };
        let known = *by_name.entry(&own.name).or_insert_with(|| {
            all.push(Container {
                name: &own.name,
                steps: vec![0; form.numbers.len()],
                shape: Shape {
                    kinds: Vec::new(),
                    most: Vec::new(),
                },
                numbers: form.numbers.clone(),
                start: 0,
                count: 0,
            });
            all.len() - 1
        });
        let container = &mut all[known];
        if container.count == 0 {
            container.shape = form.shape;
        } else if container.shape != form.shape || !container.accepts(&form.numbers) {
            let message = format!(
                "the limits of the boxes `{}` are not those of one container",
                own.name
            );
            let help = "give these boxes another name, or change the limits by equal steps";
            refused.report(message, own.span, help);
        }
        boxes.push((known, form.prefix, own.count, container.count));
        container.count += 1;
    }
    if boxes.is_empty() {
        return String::new();
    }
    for container in &mut all {
        container.begin();
    }
    text(&all, &boxes)
}

impl Container<'_> {
    /// Adds the numbers of the next boxes. Returns false if they do not follow by equal steps.
    fn accepts(&mut self, numbers: &[i64]) -> bool {
        let steps = |(step, (now, before)): (&mut i64, (&i64, &i64))| {
            *step = now - before;
        };
        if self.count == 1 {
            let pairs = numbers.iter().zip(&self.numbers);
            self.steps.iter_mut().zip(pairs).for_each(steps);
        }
        let first = self.numbers.iter().zip(&self.steps);
        let expected = first.map(|(first, step)| first + step * self.count);
        expected.eq(numbers.iter().copied())
    }

    /// Chooses the first value of the variable, so that an expression has no constant if possible.
    fn begin(&mut self) {
        let all = self.numbers.iter().zip(&self.steps);
        let mut varying = all.filter(|(_, step)| **step != 0);
        if let Some((first, step)) = varying.next()
            && first % step == 0
        {
            self.start = (first / step).max(0);
        }
    }

    fn varies(&self) -> bool {
        self.steps.iter().any(|step| *step != 0)
    }

    fn number(&self, index: usize) -> String {
        let step = self.steps[index];
        affine(step, self.numbers[index] - step * self.start)
    }
}

/// Splits boxes into their prefix, shape and numbers. Reports limits that no container gives.
fn form(boxes: &Boxes, refused: &mut Refused) -> Option<Form> {
    let is_kind = |limit: &Limit| {
        limit.of.len() == 1 && (limit.least == limit.most || limit.most == u32::MAX)
    };
    let mut known: FxHashSet<&KindPath> = FxHashSet::default();
    let kinds = boxes.limits.iter().rev();
    let kinds = kinds.take_while(|limit| is_kind(limit) && known.insert(&limit.of[0]));
    let split = boxes.limits.len() - kinds.count();
    let (several, kinds) = boxes.limits.split_at(split);
    let is_expressible = |limit: &Limit| limit.least == 0 && limit.most != u32::MAX;
    if let Some(limit) = several.iter().find(|limit| !is_expressible(limit)) {
        refused.construct("such limits of boxes", limit.span);
        return None;
    }
    let mut paths = boxes.limits.iter().flat_map(|limit| &limit.of);
    let mut prefix: &[String] = paths.next().map_or(&[], |path| &path.modules);
    for path in paths {
        let both = prefix.iter().zip(&path.modules);
        prefix = &prefix[..both.take_while(|(a, b)| a == b).count()];
    }
    let mut item = |path: &KindPath| {
        for name in path.modules.iter().chain([&path.kind]) {
            named("kind in a container", name, boxes.span, refused);
        }
        let inner = &path.modules[prefix.len()..];
        let names = inner.iter().chain([&path.kind]).map(|name| &**name);
        names.collect::<Vec<&str>>().join(".")
    };
    let shape = Shape {
        kinds: kinds
            .iter()
            .map(|limit| (item(&limit.of[0]), limit.most == u32::MAX))
            .collect(),
        most: several
            .iter()
            .map(|limit| limit.of.iter().map(&mut item).collect())
            .collect(),
    };
    let least = kinds.iter().map(|limit| limit.least);
    let numbers = least.chain(several.iter().map(|limit| limit.most));
    Some(Form {
        prefix: prefix.join("."),
        shape,
        numbers: numbers.map(i64::from).collect(),
    })
}

fn text(all: &[Container<'_>], boxes: &[(usize, String, u32, i64)]) -> String {
    let mut names = Unique::default();
    for container in all {
        names.name(container.name);
    }
    let mut out = String::from("containers {\n");
    for container in all {
        let Shape { kinds, most } = &container.shape;
        let mut items: Vec<String> = Vec::new();
        for (index, (kind, is_open)) in kinds.iter().enumerate() {
            let number = container.number(index);
            match (is_open, number.as_str()) {
                (false, _) => items.push(format!("{kind}[{number}]")),
                (true, "0") => items.push(format!("{kind}[*]")),
                (true, "1") => items.push(format!("{kind}[+]")),
                (true, _) => items.push(format!("{kind}[{number}], {kind}[*]")),
            }
        }
        let own = kinds.iter().map(|(kind, _)| kind);
        let mut limit = String::new();
        for (index, of) in most.iter().enumerate() {
            let number = container.number(kinds.len() + index);
            if most.len() == 1 && own.clone().eq(of) {
                limit = format!(" / {number}");
                continue;
            }
            // The numbers of this container are in addition to those above.
            let name = names.name(&format!("{}_limit", container.name));
            let none: Vec<String> = of.iter().map(|kind| format!("{kind}[0]")).collect();
            let none = none.join(", ");
            let _ = writeln!(out, "containerspec {name} = < {none} > / {number}");
            items.push(name);
        }
        let items = items.join(", ");
        let _ = writeln!(out, "containerspec {} = < {items} >{limit}", container.name);
    }
    let mut ranges = Ranges::default();
    let mut list: Vec<String> = Vec::new();
    let key = |(container, prefix, count, _): &(usize, String, u32, i64)| {
        (*container, prefix.clone(), *count)
    };
    for run in boxes.chunk_by(|a, b| key(a) == key(b)) {
        let (number, prefix, count, first) = &run[0];
        let container = &all[*number];
        let mut text = match prefix.as_str() {
            "" => container.name.to_owned(),
            prefix => format!("{prefix}:{}", container.name),
        };
        if *count != 1 {
            let _ = write!(text, "[{count}]");
        }
        if run.len() > 1 || container.varies() {
            let first = container.start + first;
            let range = ranges.name(first, first + run.len() as i64 - 1);
            text = format!("for i in {range} {{ {text} }}");
        }
        list.push(text);
    }
    for (name, first, last) in &ranges.list {
        let _ = writeln!(out, "{name} = [{first}..{last}]");
    }
    let _ = writeln!(out, "boxes ( {} )\n}}", list.join(" || "));
    out
}
