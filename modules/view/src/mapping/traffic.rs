//! Traffic between OS processes, and within them.

use crate::Scene;
use crate::shown::total;
use std::collections::BTreeMap;

/// Sum of the traffic of some channels, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) channels: usize,
    pub(crate) traffic: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, other: Sum) {
        self.channels += other.channels;
        self.traffic = total([self.traffic, other.traffic].into_iter());
    }
}

/// Traffic of all channels, by the OS processes at their ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// Sums by the writing and the reading OS process, which differ.
    pub(crate) between: BTreeMap<(usize, usize), Sum>,
    /// Sums of the channels whose ends are in the same OS process.
    pub(crate) within: Vec<Sum>,
    /// Sums of the channels that each OS process reads from others.
    pub(crate) read: Vec<Sum>,
    /// Sums of the channels that each OS process writes to others.
    pub(crate) written: Vec<Sum>,
}

impl Traffic {
    /// Returns the traffic of a scene.
    ///
    /// # Panics
    /// Panics if an index in the scene is out of range.
    pub(crate) fn of(scene: &Scene) -> Traffic {
        let none = || vec![Sum::default(); scene.os_processes.len()];
        let mut all = Traffic {
            between: BTreeMap::new(),
            within: none(),
            read: none(),
            written: none(),
        };
        for flow in &scene.flows {
            let [from, to] = [flow.from, flow.to].map(|n| scene.nodes[n].os_process);
            let sum = Sum {
                channels: flow.channels,
                traffic: flow.traffic,
            };
            if from == to {
                all.within[from].add(sum);
            } else {
                all.between.entry((from, to)).or_default().add(sum);
                all.written[from].add(sum);
                all.read[to].add(sum);
            }
        }
        all
    }
}
