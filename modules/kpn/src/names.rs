//! Interned names: a million channels of type `Task` say so in four bytes each.

use crate::arena::{Id, define_id};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::fmt;
use std::hash::Hasher;

define_id!(
    /// A name in a [`Names`] table. Order and value are those of first appearance.
    pub Symbol, "s"
);

/// All names of a network, each stored once, in one text.
#[derive(Clone, Default)]
pub struct Names {
    text: String,
    /// End of each name in `text`; it starts where the one before it ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
}

impl Names {
    /// An empty table.
    pub fn new() -> Names {
        Names::default()
    }

    fn slice<'a>(text: &'a str, ends: &[u32], index: u32) -> &'a str {
        let start = if index == 0 {
            0
        } else {
            ends[index as usize - 1]
        };
        &text[start as usize..ends[index as usize] as usize]
    }

    /// The symbol of a name, made at its first appearance.
    ///
    /// # Panics
    /// When all names together pass 4 GiB; the source texts, which are limited to that, do first.
    pub fn intern(&mut self, name: &str) -> Symbol {
        let Names { text, ends, table } = self;
        let hash = hash(name);
        let found = table.find(hash, |&i| Names::slice(text, ends, i) == name);
        if let Some(&index) = found {
            return Symbol::from_index(index as usize);
        }
        let index = u32::try_from(ends.len()).expect("fewer names than bytes of text");
        text.push_str(name);
        ends.push(u32::try_from(text.len()).expect("names of one run exceed 4 GiB"));
        table.insert_unique(hash, index, |&i| self::hash(Names::slice(text, ends, i)));
        Symbol::from_index(index as usize)
    }

    /// The symbol of a name already known.
    pub fn get(&self, name: &str) -> Option<Symbol> {
        let same = |&i: &u32| Names::slice(&self.text, &self.ends, i) == name;
        self.table
            .find(hash(name), same)
            .map(|&i| Symbol::from_index(i as usize))
    }

    /// The name of a symbol of this table.
    pub fn name(&self, symbol: Symbol) -> &str {
        Names::slice(&self.text, &self.ends, symbol.index() as u32)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (0..self.ends.len() as u32).map(|i| Names::slice(&self.text, &self.ends, i));
        f.debug_list().entries(names).finish()
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn a_name_is_stored_once() {
        let mut names = Names::new();
        let a = names.intern("inTask");
        let empty = names.intern("");
        let b = names.intern("outTask");
        assert_eq!(names.intern("inTask"), a);
        assert_eq!(
            (names.name(a), names.name(empty), names.name(b)),
            ("inTask", "", "outTask")
        );
        assert_eq!(names.get("outTask"), Some(b));
        assert_eq!(names.get("out"), None);
        assert_eq!(names.len(), 3);
    }
}
