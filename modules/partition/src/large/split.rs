//! Halves every part of a level at once.

use std::sync::Arc;

use super::level::Level;
use super::{Divided, Stage};
use crate::clusters::Members;
use crate::multilevel::bisect::bisect;
use crate::multilevel::passes::{Sides, Sub};
use crate::random::Random;

/// Halves all parts whose halves are at least the distance of the stage apart. If the time is over,
/// all vertices of such a part go to its first half.
pub(super) fn split(stage: &Stage<'_>, level: &Level, divided: &mut Divided, random: &mut Random) {
    let (effort, tree) = (&stage.effort, &stage.tree);
    let Divided { parts, part } = divided;
    let (next, heirs) = parts.halved(tree, stage.least);
    let bisections = if level.len() <= effort.core {
        effort.bisections
    } else {
        1
    };
    let all = Members::new(part, parts.len());
    let local = all.places();
    let old = part.clone();
    for (p, (&(first, two), members)) in (0..).zip(heirs.iter().zip(all.iter())) {
        // After the deadline, the result is discarded.
        if !two || stage.budget.is_over() {
            members.iter().for_each(|&v| part[v as usize] = first);
            continue;
        }
        let halves = [first, first + 1];
        let here = |u: u32| (old[u as usize] == p).then(|| local[u as usize]);
        let load = |&v: &u32| level.load[v as usize];
        let mut sub = Sub {
            graph: level.graph.among(members.iter().copied(), here),
            size: Arc::new(members.iter().map(load).collect()),
            fixed: Vec::new(),
        };
        if let (Some(held), Some(limits)) = (&level.held, &next.limits) {
            let side = |&v: &u32| match halves.map(|q| limits.is_open(held.set(v), q)) {
                [true, false] => 1,
                [false, true] => 2,
                _ => 0,
            };
            sub.fixed = members.iter().map(side).collect();
        }
        let total: i64 = sub.size.iter().sum();
        let [one, other] = halves.map(|q| next.room(tree, q) as f64);
        let want = (total as f64 * (one / (one + other).max(1.0))).round() as i64;
        // A part may be above its own bound. Its halves then share its load.
        let most = |(q, even): (u32, i64)| next.bound[q as usize].max(even);
        let sides = Sides {
            want,
            most: [(first, want), (first + 1, total - want)].map(most),
        };
        let tried = (0..bisections).map(|_| bisect(&sub, sides, effort.tries, random));
        let (_, side) = tried.min_by_key(|tried| tried.0).expect("a bisection");
        for (&v, &s) in members.iter().zip(&side) {
            part[v as usize] = first + u32::from(s);
        }
    }
    divided.parts = next;
}
