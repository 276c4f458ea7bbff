//! Counts what the ranks of a scheduler send, where the run is profiled.

use std::collections::HashMap;

use super::envelope::Mixing;
use graphmap_executor::exec::statistics::{Pair, RankTraffic, Volume};

/// A communicator, by its number and its name.
pub(super) type Known<'a> = (u32, &'a str);

/// The counts of a scheduler. Communicators of one name count as one: a program may make as many as it likes of each, one after the
/// other.
#[derive(Default)]
pub(super) struct Traffic {
    /// The place of a communicator among `communicators`, by its number while there is one, and by its name.
    by_number: HashMap<u32, u32, Mixing>,
    by_name: HashMap<String, u32>,
    communicators: Vec<(String, u64)>,
    pairs: HashMap<Pair, Volume, Mixing>,
}

impl Traffic {
    fn place(&mut self, (number, name): Known<'_>) -> u32 {
        if let Some(&place) = self.by_number.get(&number) {
            return place;
        }
        let place = match self.by_name.get(name) {
            Some(&place) => place,
            None => {
                let place = self.communicators.len() as u32;
                self.communicators.push((name.to_string(), 0));
                self.by_name.insert(name.to_string(), place);
                place
            }
        };
        self.by_number.insert(number, place);
        place
    }

    /// A rank of the world sends another a message of so many bytes.
    pub(super) fn message(&mut self, of: Known<'_>, from: u32, to: u32, bytes: u64) {
        let pair = (self.place(of), from, to);
        let (messages, sum) = self.pairs.entry(pair).or_default();
        *messages += 1;
        *sum = sum.saturating_add(bytes);
    }

    /// A rank makes a collective call.
    pub(super) fn call(&mut self, of: Known<'_>) {
        let place = self.place(of);
        if let Some((_, calls)) = self.communicators.get_mut(place as usize) {
            *calls += 1;
        }
    }

    /// A communicator goes.
    pub(super) fn forget(&mut self, number: u32) {
        self.by_number.remove(&number);
    }

    /// All that was counted.
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
