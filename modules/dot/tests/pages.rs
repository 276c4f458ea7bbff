//! The examples on the book's pages about this front end's codes must produce these codes.

use graphmap_dot::language::load;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use std::path::Path;

/// Codes for bytes that are not UTF-8 and for very large files, which a book cannot show.
const WITHOUT_EXAMPLE: [u16; 5] = [113, 115, 117, 118, 222];

fn codes_of(text: &str) -> Vec<u16> {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let _ = load(
        &mut sources,
        "t.dot",
        text.as_bytes().to_vec(),
        &mut diagnostics,
    );
    diagnostics.iter().map(|f| f.code.0).collect()
}

fn block<'a>(page: &'a str, fence: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("```{fence}\n"))?;
    rest.split_once("```").map(|(block, _)| block)
}

#[test]
fn every_code_has_a_page_whose_example_shows_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/errors");
    let source = include_str!("../src/codes.rs");
    let numbers = source.lines().filter_map(|line| {
        let (_, rest) = line.split_once("Code = Code(")?;
        rest.trim_end_matches(");").parse::<u16>().ok()
    });
    let numbers: Vec<u16> = numbers.collect();
    assert!(numbers.len() > 30);
    for number in numbers {
        let path = folder.join(format!("G{number:04}.md"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("G{number:04}: {e}"));
        assert!(
            page.starts_with(&format!("# G{number:04}: ")),
            "G{number:04}"
        );
        match (block(&page, "dot,fails"), block(&page, "dot")) {
            (Some(fails), Some(fixed)) => {
                assert_eq!(codes_of(fails), [number], "{fails}");
                assert_eq!(codes_of(fixed), [0_u16; 0], "{fixed}");
            }
            _ => assert!(
                WITHOUT_EXAMPLE.contains(&number),
                "G{number:04} has no example"
            ),
        }
    }
}
