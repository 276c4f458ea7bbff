//! The fast paths of the parser give the same results as the general ones. Plain text means the
//! same as with comments in it, and repeated text means the same as it would alone.

use graphmap_dot::language::load;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use proptest::prelude::*;

/// Beginnings of statements, up to the attributes. `~` is space or a comment.
const HEADS: [&str; 16] = [
    "p ->~q ",
    "p:a~-> q:x ",
    "p -> {q r}~",
    "p~",
    "\"p\"~->\"q\"",
    "12 ->~3.5:n",
    "p:a:n -> q:_:se~",
    "p ->~q -> r",
    "p, q~-> r",
    "nodes -> EDGE1:strict2~",
    "\"p\\n\" -> \"q\\\"\"~",
    "long_name_of_a_node_12 -> long_name_of_a_node_13~",
    "p -> NULL~",
    "p -> 1x~",
    "p -> node:x~",
    "p -- q~",
];

/// Ends of statements.
const ENDS: [&str; 4] = ["\n", ";\n", "~;", " "];

/// Texts after the nodes of an edge. `~` is space or a comment.
const LISTS: [&str; 20] = [
    "",
    "[]",
    "[src~=a]",
    "[src=a,~dst=b]",
    "[src=a,~dst=b][capacity~=3]",
    "[src=a,~dst=b] [dst~=c]",
    "[src=a,~traffic=1234567;]",
    "[traffic=1.5~initial=2;label=\"a\\nb\"]",
    "[~traffic=.5,]",
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

/// Contents of the gaps, all of the same length.
#[derive(Clone, Copy)]
enum Gaps {
    Blank,
    Alike,
    Apart,
}

/// A statement: the indices of its head, attributes and end, and of defaults before it, if any.
type Statement = (usize, usize, usize, usize);

fn text(header: &str, statements: &[Statement], gaps: Gaps) -> String {
    let mut text = format!("{header} g {{\n");
    for (number, &(head, list, end, default)) in statements.iter().enumerate() {
        if default < 3 {
            text += ["edge [type=A]\n", "edge [src=z]\n", "edge [color=red]\n"][default];
        }
        let statement = [HEADS[head], LISTS[list], ENDS[end]].concat();
        let gap = match gaps {
            Gaps::Blank => " ".repeat(8),
            Gaps::Alike => "/*0000*/".to_owned(),
            Gaps::Apart => format!("/*{number:04}*/"),
        };
        text += &statement.replace('~', &gap);
    }
    text + "}\n"
}

fn loaded(text: &str) -> String {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let bytes = text.as_bytes().to_vec();
    let declared = load(&mut sources, "t.dot", bytes, &mut diagnostics);
    let declared = declared.map(|d| (d.nodes, d.channels, d.extras, d.constraints, d.names));
    format!(
        "{declared:#?}\n{:#?}",
        diagnostics.iter().collect::<Vec<_>>()
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn short_ways_lead_where_long_ones_do(
        sound in prop::collection::vec((0..14_usize, 0..16_usize, 0..4_usize, 0..20_usize), 1..30),
        any in prop::collection::vec(
            (0..HEADS.len(), 0..LISTS.len(), 0..4_usize, 0..20_usize),
            0..8,
        ),
    ) {
        let mixed = [sound.clone(), any].concat();
        for (header, statements) in [("digraph", &sound), ("digraph", &mixed), ("graph", &sound)] {
            let plain = text(header, statements, Gaps::Blank);
            let read = loaded(&plain);
            for gaps in [Gaps::Alike, Gaps::Apart] {
                prop_assert_eq!(&read, &loaded(&text(header, statements, gaps)), "{}", plain);
            }
        }
    }
}
