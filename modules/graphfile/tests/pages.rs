//! Each code has a page in the book, and the example on the page must produce that code.

use graphmap_graphfile::{Format, codes, read};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use std::path::PathBuf;

#[test]
fn example_of_each_page_causes_its_code() {
    let all = [
        codes::HEADER,
        codes::COUNT,
        codes::NUMBER,
        codes::VERTEX,
        codes::ONE_SIDED,
        codes::UNUSED,
    ];
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/errors");
    for code in all {
        let path = folder.join(format!("{code}.md"));
        let page = std::fs::read_to_string(&path);
        let page = page.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(page.starts_with(&format!("# {code}: ")));
        let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
        let [fails, fixed] = blocks[..] else {
            panic!("{code}: an example, and the same fixed");
        };
        let mut codes_of = codes_of(fails);
        codes_of.dedup();
        assert_eq!(codes_of, [code.to_string()], "{}", path.display());
        assert_eq!(self::codes_of(fixed), Vec::<String>::new(), "{code}");
    }
}

/// Returns the codes that the text of a block produces. The first line of the block names its
/// format.
fn codes_of(block: &str) -> Vec<String> {
    let (language, text) = block.split_once('\n').expect("a block");
    let format = Format::from_name(language.trim_end_matches(",fails")).expect("a format");
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    let source = sources.add("g", text).expect("it is small");
    read(&source, format, &mut out);
    out.iter().map(|d| d.code.to_string()).collect()
}
