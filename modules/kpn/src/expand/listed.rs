//! Channels between listed instances (`for=`).

use super::{Expansion, too_many_channels};
use crate::arena::Id;
use crate::codes;
use crate::declared::{ChannelDecl, ChannelExtra, EndDecl, InstancePair, ListedPairs};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expand::LIMIT;
use crate::expand::scopes::ScopeId;

impl Expansion<'_> {
    /// Adds the channels of a list of pairs, for each instance of the module around the
    /// declaration. Reports a pair that is out of range, and then adds no channel.
    pub(super) fn listed(
        &mut self,
        channel: &ChannelDecl,
        mut extra: ChannelExtra,
        list: ListedPairs,
        diagnostics: &mut Diagnostics,
    ) {
        let scopes = self.scopes;
        let within = list.within.and_then(|m| scopes.of_module[m.index()]);
        let around = scopes.path(within);
        // The number of scopes around the declaration that contain both ends.
        let shared = |end: EndDecl| {
            let path = scopes.node_path(end.node);
            let same = path.iter().zip(around).take_while(|(a, b)| a == b).count();
            if end.node.is_none() {
                around.len()
            } else {
                same
            }
        };
        let depth = shared(channel.from).min(shared(channel.to));
        let own = |end: EndDecl| {
            let path: &[ScopeId] = scopes.node_path(end.node);
            let own = path.get(depth..).unwrap_or_default();
            (!own.is_empty()).then(|| scopes.count(own))
        };
        let counts = (own(channel.from), own(channel.to));
        let instances = scopes.count(&around[..depth]);
        let first = list.first as usize;
        let pairs = &self.declared.pairs[first..first + list.count as usize];
        let span = if extra.span.is_none() {
            channel.span
        } else {
            extra.span
        };
        let most = instances.saturating_mul(pairs.len() as u64);
        if (self.out.channels.len() as u64).saturating_add(most) > LIMIT {
            diagnostics.push(too_many_channels(channel.span));
            return;
        }
        if !extra.beyond && instances > 0 {
            let outside = pairs.iter().find_map(|&(from, to)| {
                let from = (channel.from, from, counts.0);
                [from, (channel.to, to, counts.1)]
                    .into_iter()
                    .find(|(end, number, count)| {
                        end.node.is_some() && flat(*number, *count).is_none()
                    })
            });
            if let Some((end, number, Some(count))) = outside {
                let name = end
                    .node
                    .map_or("NULL", |n| self.declared.name(self.declared.nodes[n].name));
                let plural = if count == 1 { "" } else { "s" };
                let message = format!(
                    "`at=` has the value {number}, but `{name}` has {count} instance{plural}"
                );
                diagnostics.push(
                    Diagnostic::error(codes::AT_OUT_OF_RANGE, message)
                        .at(span, "")
                        .help("correct the range of `for=`: instances are counted from 1")
                        .help("or add `beyond=NULL` to close the ports at the ends"),
                );
                return;
            }
        }
        extra.lone = list.several_writers;
        extra.forget_repetition();
        let extra = if extra.says_more() {
            self.out.add_extra(extra)
        } else {
            None
        };
        for instance in 0..instances {
            for &(from, to) in pairs {
                self.listed_pair(channel, extra, instance, (from, to), counts);
            }
        }
    }

    /// Adds the channel of one pair in one instance of the shared scopes. An end out of range is at
    /// the environment. Adds nothing if both are.
    fn listed_pair(
        &mut self,
        channel: &ChannelDecl,
        extra: Option<std::num::NonZeroU32>,
        instance: u64,
        (from, to): InstancePair,
        counts: (Option<u64>, Option<u64>),
    ) {
        let end = |end: EndDecl, number: i32, count: Option<u64>| {
            let flat = flat(number, count).map(|i| instance * count.unwrap_or(1) + i);
            self.instance(end, flat)
        };
        let ends = (
            end(channel.from, from, counts.0),
            end(channel.to, to, counts.1),
        );
        let (Some(from), Some(to)) = ends else {
            return;
        };
        if from.node.is_some() || to.node.is_some() {
            self.out.channels.push(ChannelDecl {
                from,
                to,
                extra,
                ..channel.clone()
            });
        }
    }
}

/// Returns the index of the instance with a number, or `None` if there is none. `count` is the
/// number of instances. An end that is not repeated (`None`) has index 0 for all numbers.
fn flat(number: i32, count: Option<u64>) -> Option<u64> {
    let Some(count) = count else {
        return Some(0);
    };
    let index = u64::try_from(i64::from(number) - 1).ok()?;
    (index < count).then_some(index)
}
