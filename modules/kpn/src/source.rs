//! Source texts and spans.
//!
//! All texts of a run (graph files, hostfiles, mappings) share one space of byte offsets: each file
//! starts where the one before it ended. A [`Span`] is two offsets in that space, eight bytes, and
//! tells its file without naming it; a million channels can afford one each.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A range of bytes in one of the texts of a [`SourceMap`]; `start <= end`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte, counted through all texts of the map.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of what no source text shows (made by a program, or by a pass).
    pub const NONE: Span = Span {
        start: u32::MAX,
        end: u32::MAX,
    };

    /// A span from its two ends.
    #[inline]
    pub fn new(start: u32, end: u32) -> Span {
        debug_assert!(start <= end);
        Span { start, end }
    }

    /// Whether this is [`Span::NONE`].
    #[inline]
    pub fn is_none(self) -> bool {
        self == Span::NONE
    }

    /// The smallest span that covers both; [`Span::NONE`] counts as nothing.
    #[inline]
    pub fn to(self, other: Span) -> Span {
        if self.is_none() {
            return other;
        }
        if other.is_none() {
            return self;
        }
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            f.write_str("-")
        } else {
            write!(f, "{}..{}", self.start, self.end)
        }
    }
}

/// One source text.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    base: u32,
    /// Made when the first position is asked for.
    index: std::sync::OnceLock<Index>,
}

/// Where lines start, and how many characters there are before each block: a line may be a hundred
/// megabytes long, and a thousand findings in it must not each count it anew.
#[derive(Debug)]
struct Index {
    /// Offset of the first byte of each line.
    lines: Vec<u32>,
    /// Characters that begin before each block of [`BLOCK`] bytes.
    characters: Vec<u32>,
}

const BLOCK: usize = 4096;

/// Characters that begin in some bytes: continuation bytes of UTF-8 do not begin one.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|b| **b & 0xC0 != 0x80).count() as u32
}

impl Source {
    /// The name as the user gave it: a path, or `<stdin>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Offset of the text's first byte in the map's space.
    pub fn base(&self) -> u32 {
        self.base
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            let starts = ends.map(|(i, _)| i as u32 + 1);
            let mut before = 0;
            let blocks = self.text.as_bytes().chunks(BLOCK).map(|block| {
                let here = before;
                before += characters(block);
                here
            });
            Index {
                characters: blocks.collect(),
                lines: std::iter::once(0).chain(starts).collect(),
            }
        })
    }

    /// Characters that begin before a byte.
    fn characters_before(&self, offset: usize) -> u32 {
        // An offset at the very end may be that of a block that is not there.
        let block = (offset / BLOCK).min(self.index().characters.len().saturating_sub(1));
        let before = self.index().characters.get(block).copied().unwrap_or(0);
        before + characters(&self.text.as_bytes()[block * BLOCK..offset])
    }

    /// Line and column, both from 1, of a byte of the text; the column counts characters.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let offset = offset.min(self.text.len() as u32);
        let lines = &self.index().lines;
        let line = lines.partition_point(|&start| start <= offset) - 1;
        let start = self.characters_before(lines[line] as usize);
        let column = self.characters_before(offset as usize) - start;
        (line as u32 + 1, column + 1)
    }
}

/// Where a span starts, for people: `farm.dot:14:3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Name of the source.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A text that does not fit the map any more: all texts of a run share 32 bits of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the source texts of one run exceed 4 GiB")]
pub struct SourceTooLarge;

/// All source texts of a run. Cheap to clone: the texts are shared.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Arc<Source>>,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a text; spans of its bytes start at [`Source::base`].
    ///
    /// # Errors
    /// [`SourceTooLarge`] when all texts together would pass 4 GiB.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Arc<Source>, SourceTooLarge> {
        let text = text.into();
        // One spare offset between two texts keeps the end of one apart from the start of the next.
        let base = self
            .sources
            .last()
            .map_or(0, |s| s.base as usize + s.text.len() + 1);
        if base + text.len() >= u32::MAX as usize {
            return Err(SourceTooLarge);
        }
        let source = Arc::new(Source {
            name: name.into(),
            text,
            base: base as u32,
            index: std::sync::OnceLock::new(),
        });
        self.sources.push(Arc::clone(&source));
        Ok(source)
    }

    /// Whether another map begins with the texts of this one: spans mean the same in both then.
    pub fn begins(&self, other: &SourceMap) -> bool {
        let mut both = self.sources.iter().zip(&other.sources);
        self.sources.len() <= other.sources.len() && both.all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// All texts, in the order they were added.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().map(|s| &**s)
    }

    /// The text a span lies in; `None` for [`Span::NONE`].
    pub fn source(&self, span: Span) -> Option<&Source> {
        if span.is_none() {
            return None;
        }
        let after = self.sources.partition_point(|s| s.base <= span.start);
        self.sources.get(after.checked_sub(1)?).map(|s| &**s)
    }

    /// The bytes of a span within its own text, whole characters; what of it lies outside is cut off.
    pub fn range(&self, span: Span) -> Option<(&Source, Range<usize>)> {
        let source = self.source(span)?;
        let text = &source.text;
        let within = |offset: u32| {
            let offset = (offset.saturating_sub(source.base) as usize).min(text.len());
            (0..=offset).rev().find(|&i| text.is_char_boundary(i))
        };
        let (start, end) = (within(span.start)?, within(span.end)?);
        Some((source, start..end.max(start)))
    }

    /// What the text says at a span.
    pub fn text(&self, span: Span) -> &str {
        self.range(span)
            .and_then(|(source, range)| source.text.get(range))
            .unwrap_or("")
    }

    /// File, line and column where a span starts.
    pub fn location(&self, span: Span) -> Option<Location> {
        let (source, range) = self.range(span)?;
        let (line, column) = source.line_column(range.start as u32);
        Some(Location {
            file: source.name.clone(),
            line,
            column,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_finds_its_file_line_and_column() {
        let mut map = SourceMap::new();
        map.add("a.dot", "one\ntwo").unwrap();
        let b = map.add("b.dot", "\u{e9}\u{e9} x\ny").unwrap();
        let x = Span::new(b.base() + 5, b.base() + 6);
        assert_eq!(map.text(x), "x");
        assert_eq!(map.location(x).unwrap().to_string(), "b.dot:1:4");
        let end_of_a = Span::new(7, 7);
        assert_eq!(map.location(end_of_a).unwrap().to_string(), "a.dot:2:4");
        assert_eq!(map.location(Span::NONE), None);
    }

    #[test]
    fn columns_are_right_across_blocks() {
        let line = "\u{e9}x\u{1f600}".repeat(3000);
        let text = format!("{line}\n{line}\n");
        let mut map = SourceMap::new();
        let source = map.add("long", text.as_str()).unwrap();
        let mut at = (1, 1);
        for (offset, c) in text.char_indices() {
            assert_eq!(source.line_column(offset as u32), at, "byte {offset}");
            at = if c == '\n' {
                (at.0 + 1, 1)
            } else {
                (at.0, at.1 + 1)
            };
        }
        assert_eq!(source.line_column(text.len() as u32), at);
        let empty = map.add("empty", "").unwrap();
        assert_eq!(empty.line_column(0), (1, 1));
        let full = map.add("full", "x".repeat(BLOCK)).unwrap();
        assert_eq!(full.line_column(BLOCK as u32), (1, BLOCK as u32 + 1));
    }

    #[test]
    fn none_is_neutral_when_spans_join() {
        let s = Span::new(3, 5);
        assert_eq!(Span::NONE.to(s), s);
        assert_eq!(s.to(Span::NONE), s);
        assert_eq!(s.to(Span::new(9, 10)), Span::new(3, 10));
    }
}
