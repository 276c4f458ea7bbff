//! Texts of the legend.

use super::contents::{Arc, Contents, Frame, MOST_ARCS, channels};
use super::place::Class;
use crate::Scene;
use crate::count;
use crate::shown::{number, total};

/// A line of the legend.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// What is drawn before the text.
    pub(crate) sign: Sign,
    pub(crate) text: String,
}

/// Sign of a line of the legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sign {
    None,
    /// An arc of a class, and its traffic.
    Arc(Class, f64),
    /// A bar of the load.
    Bar,
    /// A core that is used.
    Core,
}

/// Returns the share of the fair load that a full bar stands for: the largest share, rounded up.
pub(crate) fn full_bar(contents: &Contents) -> f64 {
    let shares = contents.blocks.iter().filter_map(|b| b.share);
    let most = shares.fold(1.0, f64::max);
    let scales = [1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0];
    let fits = scales.into_iter().find(|scale| *scale >= most);
    fits.unwrap_or_else(|| (most / 10.0).ceil() * 10.0)
}

/// Returns the number of arcs that are drawn.
pub(crate) fn drawn(contents: &Contents) -> usize {
    contents.arcs.len().min(MOST_ARCS)
}

/// Returns the lines of the legend. `numbers` is the number of arcs that have one.
pub(crate) fn legend(scene: &Scene, contents: &Contents, numbers: usize) -> Vec<Entry> {
    let mut lines = Vec::new();
    let mut add = |sign, text| lines.push(Entry { sign, text });
    let classes = contents.classes.values().chain([&contents.within]);
    let all = total(classes.map(|s| s.traffic));
    let share = |traffic: f64| match all > 0.0 {
        true => format!(" ({:.0}%)", 100.0 * (traffic / all)),
        false => String::new(),
    };
    for (&class, sum) in &contents.classes {
        let text = format!(
            "{}: traffic {} in {}{}",
            class.about(),
            number(sum.traffic),
            channels(sum.channels),
            share(sum.traffic)
        );
        add(Sign::Arc(class, sum.traffic), text);
    }
    let within = contents.within;
    let text = format!(
        "inside OS processes: traffic {} in {}{}",
        number(within.traffic),
        channels(within.channels),
        share(within.traffic)
    );
    add(Sign::None, text);
    let drawn = drawn(contents);
    let arcs = &contents.arcs;
    let most = arcs.first().map(|arc| arc.sum.traffic);
    let equal = arcs[..drawn].iter().all(|a| Some(a.sum.traffic) == most);
    if let Some(widest) = arcs.first() {
        let widest = number(widest.sum.traffic);
        let text = match equal {
            true => format!("traffic of each arc: {widest}"),
            false if numbers == drawn => format!("width of arcs: traffic, {widest} at most"),
            false => format!(
                "width of arcs: traffic, {widest} at most; numbers at {numbers} of {drawn} arcs"
            ),
        };
        add(Sign::None, text);
    }
    if drawn < arcs.len() {
        let sum = |arcs: &[Arc]| total(arcs.iter().map(|a| a.sum.traffic));
        let (shown, all) = (sum(&arcs[..drawn]), sum(arcs));
        let share = match all > 0.0 {
            true => format!(", {:.0}% of their traffic", (100.0 * (shown / all)).floor()),
            false => String::new(),
        };
        let which = match equal {
            true => "the most distant",
            false => "the largest",
        };
        let text = format!("arcs: {which} {drawn} of {}{share}", arcs.len());
        add(Sign::None, text);
    }
    if contents.blocks.iter().any(|b| b.share.is_some()) {
        let load = total(scene.os_processes.iter().map(|o| o.load));
        let full = 100.0 * full_bar(contents);
        let text = format!(
            "load {} in total; percent of the fair load, mark: 100%, full bar: {full:.0}%",
            number(load)
        );
        add(Sign::Bar, text);
    }
    if contents.frames.iter().any(has_cores) {
        add(Sign::Core, "core with an OS process".to_owned());
    }
    if let Some(rule) = contents.rule {
        let hosts = match scene.hosts.len() {
            1 => "1 host".to_owned(),
            many => format!("{many} hosts"),
        };
        let text = format!(
            "{} on {hosts} in {}, {rule}",
            count(scene.os_processes.len(), "OS process"),
            count(contents.blocks.len(), "box")
        );
        add(Sign::None, text);
    }
    lines
}

fn has_cores(frame: &Frame) -> bool {
    !frame.cores.is_empty() || frame.frames.iter().any(has_cores)
}
