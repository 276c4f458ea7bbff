//! The best known mappings, found by long searches and by all peers, kept in a file.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Lowest cost of a feasible mapping by case and seed, with the engine that found it.
#[derive(Default)]
pub struct Known {
    rows: BTreeMap<(String, u64), (u64, String)>,
}

const HEAD: &str = "\
# Least J of feasible mappings by network and seed, and who found it; not proved to be optimal.
# Made by `benches/mapping/run small --record --no-peers --ours auto@25000 --shift 5000` (searches of
# 4.5 to 25 s with seeds that the table does not use, beside other work), the runs of the table and all
# peers; every run with --record keeps what is better.
";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("best-known.tsv")
}

impl Known {
    pub fn read() -> Self {
        let mut known = Self::default();
        let text = std::fs::read_to_string(path()).unwrap_or_default();
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let words: Vec<&str> = line.split('\t').collect();
            if let [case, seed, cost, who] = words[..]
                && let (Ok(seed), Ok(cost)) = (seed.parse(), cost.parse())
            {
                known.learn(case, seed, cost, who);
            }
        }
        known
    }

    pub fn learn(&mut self, case: &str, seed: u64, cost: u64, who: &str) {
        let entry = self
            .rows
            .entry((case.to_owned(), seed))
            .or_insert((u64::MAX, String::new()));
        if cost < entry.0 {
            *entry = (cost, who.to_owned());
        }
    }

    pub fn cost(&self, case: &str, seed: u64) -> Option<u64> {
        self.rows.get(&(case.to_owned(), seed)).map(|r| r.0)
    }

    pub fn write(&self) -> std::io::Result<()> {
        let mut text = HEAD.to_owned();
        for ((case, seed), (cost, who)) in &self.rows {
            text.push_str(&format!("{case}\t{seed}\t{cost}\t{who}\n"));
        }
        std::fs::write(path(), text)
    }
}
