//! Counts the messages that the ranks of a scheduler send, if the run is profiled.

use std::collections::HashMap;

use super::envelope::Mixing;
use graphmap_executor::exec::statistics::{Pair, RankTraffic, Volume};

/// Number and name of a communicator.
pub(super) type Known<'a> = (u32, &'a str);

/// Counts of a scheduler. Communicators with the same name are counted together, because a program
/// can create any number of them.
#[derive(Default)]
pub(super) struct Traffic {
    /// Index into `communicators` by the number of an existing communicator.
    by_number: HashMap<u32, u32, Mixing>,
    /// Index into `communicators` by name.
    by_name: HashMap<String, u32>,
    communicators: Vec<(String, u64)>,
    pairs: HashMap<Pair, Volume, Mixing>,
}

impl Traffic {
    fn index(&mut self, (number, name): Known<'_>) -> u32 {
        if let Some(&index) = self.by_number.get(&number) {
            return index;
        }
        let index = match self.by_name.get(name) {
            Some(&index) => index,
            None => {
                let index = self.communicators.len() as u32;
                self.communicators.push((name.to_string(), 0));
                self.by_name.insert(name.to_string(), index);
                index
            }
        };
        self.by_number.insert(number, index);
        index
    }

    /// Counts a message of `bytes` bytes from one world rank to another, in communicator `of`.
    pub(super) fn message(&mut self, of: Known<'_>, from: u32, to: u32, bytes: u64) {
        let pair = (self.index(of), from, to);
        let (messages, sum) = self.pairs.entry(pair).or_default();
        *messages += 1;
        *sum = sum.saturating_add(bytes);
    }

    /// Counts a collective call of a rank in communicator `of`.
    pub(super) fn call(&mut self, of: Known<'_>) {
        let index = self.index(of);
        if let Some((_, calls)) = self.communicators.get_mut(index as usize) {
            *calls += 1;
        }
    }

    /// Removes the number of a communicator that no longer exists, so that the number can be used
    /// again. Its counts stay.
    pub(super) fn forget(&mut self, number: u32) {
        self.by_number.remove(&number);
    }

    /// Removes and returns all counts. The communicators are in the order of their first use. The
    /// pairs are sorted by the index of the communicator, the sender and the receiver.
    pub(super) fn take(&mut self) -> RankTraffic {
        let counted = std::mem::take(self);
        let mut pairs: Vec<(Pair, Volume)> = counted.pairs.into_iter().collect();
        pairs.sort_unstable();
        RankTraffic {
            communicators: counted.communicators,
            pairs,
        }
    }
}
