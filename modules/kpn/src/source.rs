//! Source texts and spans.
//!
//! All texts of a run (graph files, hostfiles, mappings) share one space of byte offsets. Each text
//! starts after the one before it. A [`Span`] consists of two offsets in that space and thus
//! identifies its text. It has only eight bytes, because each of a million channels has one.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A range of bytes in one of the texts of a [`SourceMap`]. `start` must not exceed `end`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte, counted through all texts of the map.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of elements that are in no source text, because a program or a pass created them.
    pub const NONE: Span = Span {
        start: u32::MAX,
        end: u32::MAX,
    };

    /// Creates a span from its two ends.
    ///
    /// # Panics
    /// Panics in builds with debug assertions if `start` exceeds `end`.
    #[inline]
    pub fn new(start: u32, end: u32) -> Span {
        debug_assert!(start <= end);
        Span { start, end }
    }

    /// Returns true if this is [`Span::NONE`].
    #[inline]
    pub fn is_none(self) -> bool {
        self == Span::NONE
    }

    /// Returns the smallest span that covers both, including the text between them. If one is
    /// [`Span::NONE`], returns the other.
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

/// A source text.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    base: u32,
    /// Created at the first query of a position.
    index: std::sync::OnceLock<Index>,
}

/// Starts of lines, and the number of characters before each block.
///
/// A line may have a hundred megabytes. The index avoids counting its characters for each
/// diagnostic.
#[derive(Debug)]
struct Index {
    /// Offset of the first byte of each line.
    lines: Vec<u32>,
    /// Number of characters that begin before each block of [`BLOCK`] bytes.
    characters: Vec<u32>,
}

const BLOCK: usize = 4096;

/// Returns the number of characters that begin in `bytes`. Continuation bytes of UTF-8 do not
/// count.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|b| **b & 0xC0 != 0x80).count() as u32
}

impl Source {
    /// Returns the name that the user gave: a path, or `<stdin>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the offset of the first byte of the text in the space of the map.
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

    /// Returns the number of characters that begin before the byte at `offset`, counted from the
    /// start of this text. Panics if `offset` exceeds the length of the text.
    fn characters_before(&self, offset: usize) -> u32 {
        // At the end of the text, the block of the offset may not exist.
        let block = (offset / BLOCK).min(self.index().characters.len().saturating_sub(1));
        let before = self.index().characters.get(block).copied().unwrap_or(0);
        before + characters(&self.text.as_bytes()[block * BLOCK..offset])
    }

    /// Returns line and column of a byte of the text, both from 1. The column counts characters.
    ///
    /// `offset` counts from the start of this text. An offset beyond the end counts as the end.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let offset = offset.min(self.text.len() as u32);
        let lines = &self.index().lines;
        let line = lines.partition_point(|&start| start <= offset) - 1;
        let start = self.characters_before(lines[line] as usize);
        let column = self.characters_before(offset as usize) - start;
        (line as u32 + 1, column + 1)
    }
}

/// Position of the start of a span. It is displayed like `farm.dot:14:3`.
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

/// A text does not fit into the map, because all texts of a run share 32 bits of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the source texts of one run exceed 4 GiB")]
pub struct SourceTooLarge;

/// All source texts of a run. Cheap to clone, because the texts are shared.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Arc<Source>>,
}

impl SourceMap {
    /// Creates an empty map.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a text. Its spans start at [`Source::base`], after all earlier texts.
    ///
    /// # Errors
    /// Returns [`SourceTooLarge`], and adds no text, if all texts together would exceed 4 GiB.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Arc<Source>, SourceTooLarge> {
        let text = text.into();
        // A gap of one offset distinguishes the end of a text from the start of the next.
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

    /// Returns a map of one text of this map. Spans in the text mean the same in both.
    #[must_use]
    pub fn only(&self, source: &Source) -> SourceMap {
        let same = |other: &&Arc<Source>| std::ptr::eq(&***other, source);
        SourceMap {
            sources: self.sources.iter().filter(same).cloned().collect(),
        }
    }

    /// Returns true if `other` begins with the texts of this map. Spans then mean the same in both.
    /// Texts are compared by identity: equal texts that were added separately differ.
    pub fn begins(&self, other: &SourceMap) -> bool {
        let mut both = self.sources.iter().zip(&other.sources);
        self.sources.len() <= other.sources.len() && both.all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Returns all texts, in the order of insertion.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().map(|s| &**s)
    }

    /// Returns the text that contains the start of a span. A position between two texts belongs to
    /// the first of them, and a position after the last text to the last. Returns `None` for
    /// [`Span::NONE`], and if the map is empty.
    pub fn source(&self, span: Span) -> Option<&Source> {
        if span.is_none() {
            return None;
        }
        let after = self.sources.partition_point(|s| s.base <= span.start);
        self.sources.get(after.checked_sub(1)?).map(|s| &**s)
    }

    /// Returns the text that contains the start of a span, and the byte range of the span in the
    /// text.
    ///
    /// Both ends of the range are clamped to the text, and moved back to boundaries of characters.
    /// Returns `None` for [`Span::NONE`], and if the map is empty.
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

    /// Returns the text of a span, clamped like [`SourceMap::range`]. It is empty for
    /// [`Span::NONE`], and if the map is empty.
    pub fn text(&self, span: Span) -> &str {
        self.range(span)
            .and_then(|(source, range)| source.text.get(range))
            .unwrap_or("")
    }

    /// Returns the text of the node that an edge joins to itself: `S` for `S -> S`. `span` is the
    /// position of the edge. Returns `None` for other edges.
    pub(crate) fn edge_to_itself(&self, span: Span) -> Option<&str> {
        let (from, to) = self.text(span).split_once("->")?;
        (from.trim() == to.trim()).then_some(from.trim())
    }

    /// Returns file, line and column where a span starts. Returns `None` for [`Span::NONE`], and if
    /// the map is empty.
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
