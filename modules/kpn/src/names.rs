//! Interned names: a million channels of type `Task` say so in four bytes each.

use crate::arena::{Id, define_id};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

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
    /// By hash; the half of it that is kept spares the table a look at the names when it grows.
    table: HashTable<Entry>,
    /// Seeded anew in each run: nobody can write a file whose names all collide.
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    index: u32,
}

/// A hash for the table from the half that is kept: it wants the upper bits as well.
fn widen(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Names {
    /// An empty table.
    pub fn new() -> Names {
        Names::default()
    }

    #[inline]
    fn range(ends: &[u32], index: u32) -> Range<usize> {
        let index = index as usize;
        let start = if index == 0 { 0 } else { ends[index - 1] };
        start as usize..ends[index] as usize
    }

    /// Names that differ in their last byte only get neighbouring places in the table: `cell1` to
    /// `cell9`, which come one after the other, share its cache lines. There are never more than
    /// 256 of them, and they differ in the bits that the table compares first.
    #[inline]
    fn hash(&self, name: &str) -> u32 {
        let (last, others) = name.as_bytes().split_last().unwrap_or((&0, &[]));
        let mut hasher = self.hasher.build_hasher();
        hasher.write(others);
        let hash = hasher.finish();
        (hash ^ hash >> 32) as u32 ^ u32::from(*last) ^ u32::from(*last) << 25
    }

    #[inline]
    fn find(&self, hash: u32, name: &str) -> Option<u32> {
        let text = self.text.as_bytes();
        let same = |e: &Entry| {
            e.hash == hash && &text[Names::range(&self.ends, e.index)] == name.as_bytes()
        };
        self.table.find(widen(hash), same).map(|e| e.index)
    }

    /// The symbol of a name, made at its first appearance.
    ///
    /// # Panics
    /// When all names together pass 4 GiB; the source texts, which are limited to that, do first.
    pub fn intern(&mut self, name: &str) -> Symbol {
        let hash = self.hash(name);
        if let Some(index) = self.find(hash, name) {
            return Symbol::from_index(index as usize);
        }
        let index = u32::try_from(self.ends.len()).expect("fewer names than bytes of text");
        self.text.push_str(name);
        let end = u32::try_from(self.text.len()).expect("names of one run exceed 4 GiB");
        self.ends.push(end);
        let entry = Entry { hash, index };
        self.table
            .insert_unique(widen(hash), entry, |e| widen(e.hash));
        Symbol::from_index(index as usize)
    }

    /// The symbol of a name already known.
    pub fn get(&self, name: &str) -> Option<Symbol> {
        let index = self.find(self.hash(name), name)?;
        Some(Symbol::from_index(index as usize))
    }

    /// The name of a symbol of this table.
    #[inline]
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.text[Names::range(&self.ends, symbol.index() as u32)]
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
        let names = (0..self.len()).map(|i| self.name(Symbol::from_index(i)));
        f.debug_list().entries(names).finish()
    }
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
