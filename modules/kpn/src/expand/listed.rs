//! Repetition of a channel between listed instances (`for=`).

use super::scopes::{ScopeId, Scopes};
use crate::codes;
use crate::declared::{ChannelDecl, ChannelExtra, Declared, EndDecl, InstancePair, ListedPairs};
use crate::diagnostic::Diagnostic;

/// The pairs of instances that a channel joins, and the instances of the module around its
/// declaration.
pub(super) struct Listed<'d> {
    pairs: &'d [InstancePair],
    /// Number of instances of the module around the declaration.
    around: u64,
    /// Number of instances of each end inside of that module, or `None` if it is not repeated
    /// there.
    counts: (Option<u64>, Option<u64>),
}

impl<'d> Listed<'d> {
    /// Returns the repetition of a channel with the properties `extra` and their list of pairs.
    ///
    /// # Errors
    /// Returns an error for an instance that does not exist (`G0253`), unless `beyond=NULL` is set.
    pub(super) fn of(
        channel: &ChannelDecl,
        extra: &ChannelExtra,
        list: ListedPairs,
        declared: &'d Declared,
        scopes: &Scopes,
    ) -> Result<Listed<'d>, Box<Diagnostic>> {
        let around = scopes.around(channel);
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
        let count = |end: EndDecl| {
            let path: &[ScopeId] = scopes.node_path(end.node);
            let own = path.get(depth..).unwrap_or_default();
            (!own.is_empty()).then(|| scopes.count(own))
        };
        let first = list.first as usize;
        let listed = Listed {
            pairs: &declared.pairs[first..first + list.count as usize],
            around: scopes.count(&around[..depth]),
            counts: (count(channel.from), count(channel.to)),
        };
        if extra.beyond || listed.around == 0 {
            return Ok(listed);
        }
        let Some((end, number, count)) = listed.first_outside(channel) else {
            return Ok(listed);
        };
        let name = end
            .node
            .map_or("NULL", |n| declared.name(declared.nodes[n].name));
        let plural = if count == 1 { "" } else { "s" };
        // A front end uses these numbers for all numbers beyond them.
        let beyond = match number {
            i32::MAX => " or more",
            i32::MIN => " or less",
            _ => "",
        };
        let message = format!(
            "`at=` has the value {number}{beyond}, but `{name}` has {count} instance{plural}"
        );
        let span = if extra.span.is_none() {
            channel.span
        } else {
            extra.span
        };
        Err(Box::new(
            Diagnostic::error(codes::AT_OUT_OF_RANGE, message)
                .at(span, "")
                .help("correct the range of `for=`: instances are counted from 1")
                .help("or add `beyond=NULL` to close the ports at the ends"),
        ))
    }

    /// Returns the first end, number and number of instances of an instance that does not exist, or
    /// `None` if all exist.
    fn first_outside(&self, channel: &ChannelDecl) -> Option<(EndDecl, i32, u64)> {
        self.pairs.iter().find_map(|&(from, to)| {
            let from = (channel.from, from, self.counts.0);
            let ends = [from, (channel.to, to, self.counts.1)];
            ends.into_iter().find_map(|(end, number, count)| {
                end.node?;
                match flat(number, count) {
                    Some(_) => None,
                    None => Some((end, number, count?)),
                }
            })
        })
    }

    /// Returns true if the reader is not repeated, so that all pairs join the same reader.
    pub(super) fn has_one_reader(&self) -> bool {
        self.counts.1.is_none()
    }

    /// Returns an end that is not repeated, for each instance of the module around, if there are no
    /// pairs. The port at this end stays, without channels.
    pub(super) fn vacancies(&self) -> impl Iterator<Item = (Option<u64>, Option<u64>)> {
        let around = if self.pairs.is_empty() {
            self.around
        } else {
            0
        };
        let (from, to) = (self.counts.0.is_none(), self.counts.1.is_none());
        (0..around).flat_map(move |instance| {
            let from = from.then_some((Some(instance), None));
            from.into_iter().chain(to.then_some((None, Some(instance))))
        })
    }

    /// Returns the number of channels, which saturates.
    pub(super) fn count(&self) -> u64 {
        self.around.saturating_mul(self.pairs.len() as u64)
    }

    /// Returns the flat instance numbers of writer and reader, for each channel. `None` stands for
    /// an instance that does not exist.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Option<u64>, Option<u64>)> {
        (0..self.around).flat_map(move |instance| {
            self.pairs.iter().map(move |&(from, to)| {
                let all = |number, count: Option<u64>| {
                    flat(number, count).map(|index| instance * count.unwrap_or(1) + index)
                };
                (all(from, self.counts.0), all(to, self.counts.1))
            })
        })
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
