//! Selects the bundle that each channel names in the output of a network.
//!
//! A channel may be a member of a bundle at both its ends, but should name only one of them. Every
//! bundle must be named by one of its channels. Consider the graph with bundles as vertices, and
//! with channels that have a bundle at both ends as edges. A connected component is solvable if it
//! has a cycle, a bundle that need not be named, or a bundle with a channel that is in no other
//! bundle. Its edges can then be oriented so that every bundle gets an edge. The time is linear in
//! the size of the network.

use crate::arena::Id;
use crate::declared::BundleKind;
use crate::network::{BundleId, ChannelId, Join, Network, PortId};

/// Bundles that a channel names: one of those at its ends, and rarely also the other.
pub type Names = [Option<BundleId>; 2];

/// Returns the bundles that each channel names, by the index of the channel.
///
/// Both entries are `None` if the channel is in no bundle. The list is empty if the network has no
/// bundles. Every bundle that must be named is named. The second entry is used only where one name
/// for each channel is not enough.
///
/// # Panics
/// Panics if an id in the network is out of range.
pub fn named(network: &Network) -> Vec<Names> {
    if network.bundles.is_empty() {
        return Vec::new();
    }
    let mut naming = Naming {
        network,
        named: vec![None; network.channels.len()],
        second: Vec::new(),
        done: vec![false; network.bundles.len()],
        queue: Vec::new(),
    };
    for id in network.channels.ids() {
        if let [Some(one), None] | [None, Some(one)] = naming.ends(id) {
            naming.name(id, one);
        }
    }
    naming.spread();
    for bundle in network.bundles.ids() {
        if !naming.done[bundle.index()] {
            naming.begin(bundle);
            naming.spread();
        }
    }
    let ids = network.channels.ids();
    let first = |id: ChannelId| {
        let any = naming.ends(id).into_iter().flatten().next();
        naming.named[id.index()].or(any)
    };
    let mut named: Vec<Names> = ids.map(|id| [first(id), None]).collect();
    for (channel, bundle) in naming.second {
        let [first, second] = &mut named[channel.index()];
        if *first != Some(bundle) {
            *second = Some(bundle);
        }
    }
    named
}

struct Naming<'n> {
    network: &'n Network,
    named: Vec<Option<BundleId>>,
    /// Channels that name two bundles, with the second one.
    second: Vec<(ChannelId, BundleId)>,
    /// Bundles that are named, or need not be named.
    done: Vec<bool>,
    queue: Vec<BundleId>,
}

impl Naming<'_> {
    /// Returns the bundles at the writing and at the reading end of a channel. An entry is `None`
    /// if the channel is in no bundle at that end.
    fn ends(&self, id: ChannelId) -> [Option<BundleId>; 2] {
        let channel = &self.network.channels[id];
        let bundle = |port: PortId| match self.network.ports[port].join {
            Join::Bundle(bundle) => Some(bundle),
            Join::Channel(_) | Join::Environment(_) => None,
        };
        [bundle(channel.from), bundle(channel.to)]
    }

    /// Returns the bundle at the other end of a channel of `bundle`. Returns `None` if there is
    /// none, or if it is `bundle` itself.
    fn other(&self, id: ChannelId, bundle: BundleId) -> Option<BundleId> {
        let mut ends = self.ends(id).into_iter().flatten();
        ends.find(|&other| other != bundle)
    }

    fn name(&mut self, channel: ChannelId, bundle: BundleId) {
        self.named[channel.index()] = Some(bundle);
        self.reach(bundle);
    }

    fn reach(&mut self, bundle: BundleId) {
        if !std::mem::replace(&mut self.done[bundle.index()], true) {
            self.queue.push(bundle);
        }
    }

    /// Lets the channels of finished bundles name the bundles at their other ends, which are
    /// finished then, too. Continues until the queue of finished bundles is empty.
    fn spread(&mut self) {
        let network = self.network;
        while let Some(bundle) = self.queue.pop() {
            for &channel in network.members(bundle) {
                let other = self.other(channel, bundle);
                if let Some(other) = other.filter(|o| !self.done[o.index()])
                    && self.named[channel.index()].is_none()
                {
                    self.name(channel, other);
                }
            }
        }
    }

    /// Finds a start in a connected component without named bundles, to which `first` belongs. The
    /// start is a bundle that need not be named, which is marked as finished, or a channel on a
    /// cycle, which names a bundle. If the component has neither, marks `first` as finished without
    /// a name.
    fn begin(&mut self, first: BundleId) {
        let network = self.network;
        let mut seen = std::collections::HashSet::from([first]);
        let mut stack = vec![(first, None)];
        while let Some((bundle, by)) = stack.pop() {
            let of = &network.bundles[bundle];
            let members = network.members(bundle);
            // Several channels at an input form a `select` bundle by default.
            if of.kind == BundleKind::Select && of.name.is_none() && members.len() > 1 {
                return self.reach(bundle);
            }
            for &channel in members.iter().filter(|c| Some(**c) != by) {
                let Some(other) = self.other(channel, bundle) else {
                    continue;
                };
                if !seen.insert(other) {
                    return self.name(channel, other);
                }
                stack.push((other, Some(channel)));
            }
        }
        if let Some(&channel) = network.members(first).first() {
            self.second.push((channel, first));
        }
        self.reach(first);
    }
}
