//! What ranks have sent each other, for the profile of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::quote::quote;

/// Messages and bytes between ranks, and collective calls, by communicator. Only pairs that have talked are in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankTraffic {
    /// The names of communicators, each once, and how many collective calls all their ranks have made together.
    pub communicators: Vec<(String, u64)>,
    /// Communicator, and ranks of the world from and to which; messages and bytes.
    pub pairs: Vec<(Pair, Volume)>,
}

/// A communicator, by its place among those, and the ranks of the world from and to which.
pub type Pair = (u32, u32, u32);
/// Messages and bytes.
pub type Volume = (u64, u64);

crate::payload!(RankTraffic {
    communicators,
    pairs
});

/// What several schedulers have counted, together.
#[derive(Default)]
pub struct Sum {
    communicators: BTreeMap<String, Counted>,
}

/// What was counted of communicators of a name.
#[derive(Default)]
struct Counted {
    calls: u64,
    /// From which rank to which.
    pairs: BTreeMap<(u32, u32), Volume>,
}

impl Sum {
    /// Adds what a scheduler has counted.
    pub fn add(&mut self, counted: RankTraffic) {
        for (name, calls) in &counted.communicators {
            let all = self.communicators.entry(name.clone()).or_default();
            all.calls = all.calls.saturating_add(*calls);
        }
        for ((communicator, from, to), (messages, bytes)) in counted.pairs {
            let name = counted.communicators.get(communicator as usize);
            if let Some(all) = name.and_then(|(name, _)| self.communicators.get_mut(name)) {
                let volume = all.pairs.entry((from, to)).or_default();
                volume.0 = volume.0.saturating_add(messages);
                volume.1 = volume.1.saturating_add(bytes);
            }
        }
    }

    /// As fields of an object of JSON, each with a comma before it; empty where no rank has called anything.
    pub fn json(&self) -> String {
        let mut json = String::new();
        if self.communicators.is_empty() {
            return json;
        }
        json.push_str(",\n\"communicators\":[");
        for (n, (name, Counted { calls, .. })) in self.communicators.iter().enumerate() {
            let comma = if n > 0 { ",\n" } else { "" };
            let _ = write!(
                json,
                "{comma}{{\"name\":{},\"calls\":{calls}}}",
                quote(name)
            );
        }
        json.push_str("],\n\"pairs\":[");
        let mut comma = "";
        for (n, Counted { pairs, .. }) in self.communicators.values().enumerate() {
            for ((from, to), (messages, bytes)) in pairs {
                let _ = write!(
                    json,
                    "{comma}{{\"communicator\":{n},\"from\":{from},\"to\":{to},\"messages\":{messages},\"bytes\":{bytes}}}"
                );
                comma = ",\n";
            }
        }
        json.push(']');
        json
    }
}

#[cfg(test)]
mod tests {
    use super::{RankTraffic, Sum};

    #[test]
    fn what_schedulers_count_is_added_by_the_names_of_communicators() {
        let mut sum = Sum::default();
        assert_eq!(sum.json(), "");
        sum.add(RankTraffic {
            communicators: vec![("world".into(), 2), ("world.dup".into(), 0)],
            pairs: vec![((1, 0, 1), (1, 8)), ((0, 3, 2), (2, 7))],
        });
        sum.add(RankTraffic {
            communicators: vec![("world.dup".into(), u64::MAX), ("world".into(), 1)],
            pairs: vec![((0, 0, 1), (1, u64::MAX)), ((1, 0, 2), (1, 1))],
        });
        let expected = ",\n\
            \"communicators\":[{\"name\":\"world\",\"calls\":3},\n\
            {\"name\":\"world.dup\",\"calls\":18446744073709551615}],\n\
            \"pairs\":[{\"communicator\":0,\"from\":0,\"to\":2,\"messages\":1,\"bytes\":1},\n\
            {\"communicator\":0,\"from\":3,\"to\":2,\"messages\":2,\"bytes\":7},\n\
            {\"communicator\":1,\"from\":0,\"to\":1,\"messages\":2,\"bytes\":18446744073709551615}]";
        assert_eq!(sum.json(), expected);
    }
}
