//! Lines and columns of many spans in one pass.
//!
//! To find a single position takes time proportional to the length of its line. For a graph on one
//! line, this is the whole file. So all positions are found in one pass over the text.

use graphmap_kpn::source::{SourceMap, Span};

/// Returns the line and column of each span's start. Both count from 1, columns in characters.
/// `(0, 0)` means that no text contains the span.
///
/// Linear in the number of spans and the size of the texts, except that spans in another order than
/// the text are sorted.
pub(crate) fn positions(sources: &SourceMap, spans: &[Span]) -> Vec<(u32, u32)> {
    let mut result = vec![(0, 0); spans.len()];
    let mut order: Vec<u32> = (0..spans.len() as u32).collect();
    if !spans.is_sorted_by_key(|span| span.start) {
        order.sort_by_key(|&i| spans[i as usize].start);
    }
    let mut order = order.into_iter().peekable();
    for source in sources.sources() {
        let text = source.text().as_bytes();
        let (mut at, mut line, mut column) = (0, 1, 1);
        while let Some(&index) = order.peek() {
            let span = spans[index as usize];
            let offset = (span.start.saturating_sub(source.base())) as usize;
            if span.is_none() || offset > text.len() {
                break;
            }
            for &byte in &text[at..offset] {
                if byte == b'\n' {
                    (line, column) = (line + 1, 1);
                } else if byte & 0xC0 != 0x80 {
                    column += 1;
                }
            }
            at = offset;
            // A position within a character is where the character begins.
            let inside = u32::from(!source.text().is_char_boundary(offset));
            result[index as usize] = (line, column - inside);
            order.next();
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_the_source_map_says(
            texts in prop::collection::vec("[a\u{e9}\n]{0,30}", 1..4),
            at in prop::collection::vec(0u32..120, 0..40),
        ) {
            let mut sources = SourceMap::new();
            let mut end = 0;
            for (i, text) in texts.iter().enumerate() {
                end = sources.add(format!("{i}.dot"), text.as_str()).unwrap().base();
                end += text.len() as u32;
            }
            let boundary = |offset: u32| {
                let span = Span::new(offset, offset);
                let (source, range) = sources.range(span).unwrap();
                source.text().is_char_boundary(range.start)
            };
            let mut spans: Vec<Span> = at
                .into_iter()
                .filter(|&offset| offset <= end && boundary(offset))
                .map(|offset| Span::new(offset, offset))
                .collect();
            spans.push(Span::NONE);
            let found = positions(&sources, &spans);
            for (span, position) in spans.iter().zip(found) {
                let expected = sources.location(*span).map_or((0, 0), |l| (l.line, l.column));
                prop_assert_eq!(position, expected);
            }
        }
    }
}
