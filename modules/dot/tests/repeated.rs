//! A list of attributes that stands there twice means what it would mean standing there once.

use graphmap_dot::dialect::load;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use proptest::prelude::*;

/// What follows the nodes of an edge; `~` is a comment.
const LISTS: [&str; 17] = [
    "",
    "[]",
    "[src~=a]",
    "[src=a,~dst=b]",
    "[src=a,~dst=b][capacity~=3]",
    "[src=a,~dst=b] [dst~=c]",
    "[type=Task,~capacity=16, traffic=2kB]",
    "[tag=5,~initial=1]",
    "[bundle~=broadcast]",
    "[color=red,~label=\"a]b\"]",
    "[sorce=a,~dst=b]",
    "[capacity=0,~src=a]",
    "[load~=1]",
    "[type=1x,~dst=b]",
    "[label=\"a\nb\",~src=c]",
    "[src=,~dst=b]",
    "[src=a~",
];

/// The statements; the comments all the same, or each another of the same length.
fn text(statements: &[(usize, usize, usize)], alike: bool) -> String {
    let mut text = String::from("digraph g {\n");
    let mut comments = 0;
    for &(head, list, default) in statements {
        if default < 3 {
            text += ["edge [type=A]\n", "edge [src=z]\n", "edge [color=red]\n"][default];
        }
        let list = LISTS[list].split('~').collect::<Vec<_>>();
        comments += u32::from(!alike);
        let list = list.join(&format!("/*{comments:04}*/"));
        text += ["p -> q ", "p:a -> q:x ", "p -> {q r} ", "p "][head];
        text += &list;
        text += "\n";
    }
    text + "}\n"
}

fn loaded(text: &str) -> String {
    let mut sources = SourceMap::new();
    let mut findings = Diagnostics::new();
    let bytes = text.as_bytes().to_vec();
    let declared = load(&mut sources, "t.dot", bytes, &mut findings);
    let declared = declared.map(|d| (d.nodes, d.channels, d.extras, d.constraints, d.names));
    format!("{declared:#?}\n{:#?}", findings.iter().collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_repeated_list_means_what_it_says(
        sound in prop::collection::vec((0..4_usize, 0..13_usize, 0..20_usize), 1..30),
        any in prop::collection::vec((0..4_usize, 0..LISTS.len(), 0..20_usize), 0..8),
    ) {
        for statements in [sound.clone(), [sound, any].concat()] {
            let (alike, apart) = (text(&statements, true), text(&statements, false));
            prop_assert_eq!(loaded(&alike), loaded(&apart), "{}", alike);
        }
    }
}
