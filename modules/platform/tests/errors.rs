//! Each code has a page in the book, and the failing example on the page causes that code.

mod common;
use common::{diagnostics, show};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_platform::{HostsFormat, codes, slurm};
use std::path::PathBuf;

#[test]
fn example_of_each_page_causes_its_code() {
    let all = [
        codes::NO_HOST,
        codes::WRONG_FORMAT,
        codes::DUPLICATE_HOST,
        codes::ZERO,
        codes::NOT_A_NUMBER,
        codes::TOO_LARGE,
        codes::BAD_NAME,
        codes::UNKNOWN_WORD,
        codes::BRACKETS,
        codes::BAD_RANGE,
        codes::ENVIRONMENT,
        codes::LEVELS,
        codes::DISTANCES,
        codes::XML,
        codes::TOPOLOGY,
        codes::LOCAL,
        codes::MAX_SLOTS,
        codes::ASSUMED_SLOTS,
        codes::BAD_ACCESS,
        codes::CORE_KINDS,
        codes::HET_JOB,
    ];
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/errors");
    for code in all {
        let path = folder.join(format!("{code}.md"));
        let page =
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(
            page.starts_with(&format!("# {code}: ")),
            "{}",
            path.display()
        );
        let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
        let [fails, fixed] = blocks[..] else {
            // This error is about a machine, so the page contains no text.
            assert_eq!(code, codes::LOCAL);
            continue;
        };
        assert_eq!(codes_of(fails), [code.to_string()], "{}", path.display());
        assert_eq!(codes_of(fixed), Vec::<String>::new(), "{}", path.display());
    }
}

/// Returns the codes that the text of a block causes. The first line of a block names its format.
fn codes_of(block: &str) -> Vec<String> {
    let (language, text) = block.split_once('\n').expect("a block");
    let found = match language.trim_end_matches(",fails") {
        "slurm-env" => {
            let pairs = text.lines().filter_map(|l| l.split_once('='));
            let variables = pairs.map(|(k, v)| (k.to_string(), v.to_string())).collect();
            let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
            slurm::read(&variables, &mut sources, &mut out);
            show(&sources, &out)
        }
        name => diagnostics(Some(HostsFormat::from_name(name).expect("a format")), text),
    };
    found.iter().map(|f| f[..5].to_string()).collect()
}
