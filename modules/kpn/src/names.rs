//! Interned names. A million channels of type `Task` need four bytes each for the name of the type.

use crate::arena::{Id, define_id};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

define_id!(
    /// A name in a [`Names`] table. Symbols are ordered and numbered by first appearance.
    pub Symbol, "s"
);

/// All names of a network. Each is stored once.
#[derive(Clone, Default)]
pub struct Names {
    text: String,
    /// End of each name in `text`. A name starts at the end of the name before it.
    ends: Vec<u32>,
    /// Index by hash of the names that are not in `stems`. An entry contains half of the hash, so
    /// that the table can grow without access to the names.
    table: HashTable<Entry>,
    /// Stems of numbered names. Only the first few stems are stored.
    stems: Vec<Stem>,
    /// Has a random seed in each run, so that a file cannot be constructed whose names all collide.
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    index: u32,
}

/// Returns a hash of 64 bits from the stored 32 bits: both halves are equal, because the table also
/// uses the upper bits.
fn widen(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// Number of stems. Each is compared with every name that ends with a number.
const MOST_STEMS: usize = 4;

/// Names that consist of this text and a number, indexed by the number.
///
/// In a graph larger than all caches, a look-up by number needs one memory access, close to those
/// of its neighbours. A look-up by hash needs three unrelated ones: for the hash, the entry and the
/// name.
#[derive(Clone)]
struct Stem {
    text: Box<str>,
    /// Symbols by number. Large numbers are in the table.
    symbols: Vec<Option<Symbol>>,
    count: usize,
    /// Whether names with this stem are in the table.
    in_table: bool,
}

impl Stem {
    /// Returns the first number whose name is stored in the table by hash, and not in this stem by
    /// number. It grows with the names in the stem. Without this limit, one large number in a name
    /// would allocate much memory.
    fn limit(&self) -> usize {
        8 * self.count + 1024
    }
}

/// Splits a name into its stem and the number at its end.
///
/// Returns `None` if there is no number, if it has ten digits or more, or if it has leading zeros,
/// because the name could not be restored from the number.
#[inline]
fn numbered(name: &str) -> Option<(&str, usize)> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit);
    let (stem, number) = name.split_at(name.len() - digits.count());
    let sole = matches!(number.as_bytes(), [b'0'] | [b'1'..=b'9', ..]);
    let digit = |all, digit: u8| 10 * all + usize::from(digit - b'0');
    (sole && number.len() < 10).then(|| (stem, number.bytes().fold(0, digit)))
}

/// Result of a search for a name in the stems.
struct StemLookup {
    symbol: Option<Symbol>,
    /// Index of the stem, which may not exist yet, and the number.
    numbered: Option<(usize, usize)>,
    /// Whether the name may be in the table.
    hashed: bool,
}

impl Names {
    /// Creates an empty table.
    pub fn new() -> Names {
        Names::default()
    }

    #[inline]
    fn range(ends: &[u32], index: u32) -> Range<usize> {
        let index = index as usize;
        let start = if index == 0 { 0 } else { ends[index - 1] };
        start as usize..ends[index] as usize
    }

    /// Returns the hash of a name.
    ///
    /// Names that differ only in the last byte get neighbouring entries. Names such as `cell1` to
    /// `cell9` often follow each other, and so they share cache lines. At most 256 names are
    /// neighbours, and they differ in the bits that the table compares first.
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

    #[inline]
    fn look_up(&self, name: &str) -> StemLookup {
        let unknown = StemLookup {
            symbol: None,
            numbered: None,
            hashed: true,
        };
        let Some((text, number)) = numbered(name) else {
            return unknown;
        };
        let found = self.stems.iter().position(|stem| *stem.text == *text);
        let at = found.unwrap_or(self.stems.len());
        if at == MOST_STEMS {
            return unknown;
        }
        let stem = self.stems.get(at);
        StemLookup {
            symbol: stem.and_then(|stem| stem.symbols.get(number).copied().flatten()),
            numbered: Some((at, number)),
            hashed: stem.is_some_and(|stem| stem.in_table),
        }
    }

    /// Returns the symbol of a name. Adds the name at its first appearance.
    ///
    /// # Panics
    /// Panics if all names together exceed 4 GiB. Source texts are limited to 4 GiB, and the names
    /// of an expanded graph to 2 GiB.
    #[inline]
    pub fn intern(&mut self, name: &str) -> Symbol {
        let lookup = self.look_up(name);
        match lookup.symbol {
            Some(symbol) => symbol,
            None => self.intern_at(&lookup, name),
        }
    }

    fn intern_at(&mut self, lookup: &StemLookup, name: &str) -> Symbol {
        if lookup.hashed
            && let Some(index) = self.find(self.hash(name), name)
        {
            return Symbol::from_index(index as usize);
        }
        let index = u32::try_from(self.ends.len()).expect("fewer names than bytes of text");
        let symbol = Symbol::from_index(index as usize);
        self.text.push_str(name);
        let end = u32::try_from(self.text.len()).expect("names of one run exceed 4 GiB");
        self.ends.push(end);
        if let Some((at, number)) = lookup.numbered
            && self.put(at, number, symbol, name)
        {
            return symbol;
        }
        let hash = self.hash(name);
        let entry = Entry { hash, index };
        self.table
            .insert_unique(widen(hash), entry, |e| widen(e.hash));
        symbol
    }

    /// Stores a new name by its number, in the stem at index `at`. If `at` is the number of stems,
    /// creates the stem.
    ///
    /// Returns false if the number is too large. The stem then records that some of its names are
    /// in the table, and the caller must add the name there.
    fn put(&mut self, at: usize, number: usize, symbol: Symbol, name: &str) -> bool {
        if at == self.stems.len() {
            let text = numbered(name).map_or("", |(stem, _)| stem).into();
            self.stems.push(Stem {
                text,
                symbols: Vec::new(),
                count: 0,
                in_table: false,
            });
        }
        let stem = &mut self.stems[at];
        if number >= stem.limit() {
            stem.in_table = true;
            return false;
        }
        if stem.symbols.len() <= number {
            stem.symbols.resize(number + 1, None);
        }
        stem.symbols[number] = Some(symbol);
        stem.count += 1;
        true
    }

    /// Returns the symbol of a name, or `None` if the name is unknown.
    pub fn get(&self, name: &str) -> Option<Symbol> {
        let lookup = self.look_up(name);
        if lookup.symbol.is_some() || !lookup.hashed {
            return lookup.symbol;
        }
        let index = self.find(self.hash(name), name)?;
        Some(Symbol::from_index(index as usize))
    }

    /// Returns the name of a symbol.
    ///
    /// # Panics
    /// Panics if the symbol is not in this table.
    #[inline]
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.text[Names::range(&self.ends, symbol.index() as u32)]
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no names.
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
    use super::{Names, Symbol};
    use crate::arena::Id as _;
    use std::collections::HashMap;

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

    #[test]
    fn numbered_names_are_found_wherever_they_are_kept() {
        // Ascending, sparse and descending numbers, suffixes that are not numbers, and more stems
        // than are stored.
        let numbers = (0..3000_u64).chain([999_999_999, 70_000, 20_000, 1 << 40]);
        let numbers = numbers.chain((9_000..12_000).rev());
        let mut all: Vec<String> = Vec::new();
        for (i, number) in numbers.enumerate() {
            for stem in ["", "a", "b1x", "aa", "\u{e9}", "late"] {
                all.push(format!("{stem}{number}"));
                if i < 5 {
                    all.extend([format!("{stem}0{number}"), format!("{stem}00{number}")]);
                }
            }
        }
        let mut names = Names::new();
        let mut model = HashMap::new();
        for name in all.iter().chain(&all) {
            let next = model.len();
            assert_eq!(
                names.get(name).is_some(),
                model.contains_key(name),
                "{name}"
            );
            let index = *model.entry(name).or_insert(next);
            assert_eq!(names.intern(name).index(), index, "{name}");
            assert_eq!(names.name(Symbol::from_index(index)), name);
        }
        assert_eq!(names.len(), model.len());
        assert!(names.stems.iter().all(|stem| stem.symbols.len() < 50_000));
        assert!(names.stems.iter().all(|stem| stem.count > 3_000));
    }
}
