//! The diagnostic of each error in a graph file: code, position and message. Also valid files.

use graphmap_graphfile::{Format, GraphFile, codes, mapping, partition, read};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;

/// Returns the graph, and the diagnostics as `CODE LINE:COLUMN MESSAGE`.
fn try_read(format: Format, text: &str) -> (Option<GraphFile>, Vec<String>) {
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    sources.add("before", "another text").unwrap();
    let source = sources.add("g", text).unwrap();
    let file = read(&source, format, &mut out);
    assert_eq!(file.is_none(), out.has_errors(), "{text}");
    let show = |d: &graphmap_kpn::diagnostic::Diagnostic| {
        let place = d
            .primary
            .as_ref()
            .and_then(|l| sources.location(l.span))
            .unwrap();
        assert_eq!(place.file, "g");
        format!("{} {}:{} {}", d.code, place.line, place.column, d.message)
    };
    (file, out.iter().map(show).collect())
}

fn assert_errors(format: Format, text: &str, expected: &[&str]) {
    let (file, found) = try_read(format, text);
    assert!(file.is_none(), "{text:?} is taken");
    assert_eq!(found, expected, "{text:?}");
}

fn metis(text: &str, expected: &[&str]) {
    assert_errors(Format::Metis, text, expected);
}

fn scotch(text: &str, expected: &[&str]) {
    assert_errors(Format::Scotch, text, expected);
}

fn read_valid(format: Format, text: &str) -> GraphFile {
    let (file, found) = try_read(format, text);
    assert_eq!(found, Vec::<String>::new(), "{text:?}");
    file.unwrap()
}

/// Returns vertices, edges, loads and traffic.
fn size(file: &GraphFile) -> (usize, usize, u64, u64) {
    let graph = &file.graph;
    (
        graph.vertices(),
        graph.edges(),
        graph.total_load(),
        graph.total_traffic(),
    )
}

/// The figures of METIS's manual, version 5.1, section 4.1.1: the same graph with all sorts of
/// weights.
#[test]
fn graphs_of_the_manual_of_metis() {
    let plain = "7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n";
    assert_eq!(size(&read_valid(Format::Metis, plain)), (7, 11, 7, 11));
    let edges = "7 11 001\n5 1 3 2 2 1\n1 1 3 2 4 1\n5 3 4 2 2 2 1 2\n2 1 3 2 6 2 7 5\n1 1 3 3 6 2\n\
                 5 2 4 2 7 6\n6 6 4 5\n";
    assert_eq!(size(&read_valid(Format::Metis, edges)), (7, 11, 7, 27));
    let both = "7 11 011\n4 5 1 3 2 2 1\n2 1 1 3 2 4 1\n5 5 3 4 2 2 2 1 2\n3 2 1 3 2 6 2 7 5\n1 1 1 3 3 6 2\n\
                6 5 2 4 2 7 6\n2 6 6 4 5\n";
    assert_eq!(size(&read_valid(Format::Metis, both)), (7, 11, 23, 27));
    // Comments, a number of weights, tabs, line ends of Windows, blank lines at the end, no last
    // line end.
    let odd = "\u{feff}% said\r\n2 1 10 1\r\n%\r\n7\t2\r\n  % said\r\n 0 1 \r\n\r\n\n";
    assert_eq!(size(&read_valid(Format::Metis, odd)), (2, 1, 7, 1));
    assert_eq!(size(&read_valid(Format::Metis, "2 0\n\n\n")), (2, 0, 2, 0));
    assert_eq!(
        size(&read_valid(Format::Metis, "2 1 0 0\n2\n1")),
        (2, 1, 2, 1)
    );
}

/// The cube of Scotch's guide, section 5.1, and the same with labels.
#[test]
fn graphs_of_the_guide_of_scotch() {
    let cube = "0\n8\t24\n0\t000\n3\t4\t2\t1\n3\t5\t3\t0\n3\t6\t0\t3\n3\t7\t1\t2\n3\t0\t6\t5\n3\t1\t7\t4\n\
                3\t2\t4\t7\n3\t3\t5\t6\n";
    assert_eq!(size(&read_valid(Format::Scotch, cube)), (8, 12, 8, 12));
    // Line ends have no meaning, and labels come in any order.
    let labels = "0 3 4 0 111\n30 5 1 7 10 10 1 2 7 30 9 20 20 4 1 9 10";
    let file = read_valid(Format::Scotch, labels);
    assert_eq!(size(&file), (3, 2, 10, 16));
    assert_eq!(mapping(&file, &[0, 1, 1]), "3\n30\t0\n10\t1\n20\t1\n");
    assert_eq!(file.graph.neighbours(0).collect::<Vec<_>>(), [(1, 7)]);
    let based = read_valid(Format::Scotch, "0\n2 2\n1 0\n1 2\n1 1\n");
    assert_eq!((size(&based), based.name(1)), ((2, 1, 2, 1), 2));
    assert_eq!(partition(&[1, 0, 12]), "1\n0\n12\n");
}

#[test]
fn invalid_headers_are_errors() {
    metis("", &["G0470 1:1 the file has no header"]);
    metis("% nothing\n\n", &["G0470 2:1 the header line is empty"]);
    metis("\n2 1\n2\n1\n", &["G0470 1:1 the header line is empty"]);
    metis("7\n", &["G0470 1:1 the header has only one number"]);
    metis(
        "1 2 3 4 5\n",
        &["G0470 1:9 the header has more than four numbers"],
    );
    metis(
        "2 1 012\n2\n1\n",
        &["G0470 1:5 `012` does not describe the weights"],
    );
    metis(
        "2 1 0011\n2\n1\n",
        &["G0470 1:5 `0011` does not describe the weights"],
    );
    metis(
        "2 1 1 1\n2 1\n1 1\n",
        &[
            "G0470 1:7 the header gives a number of weights per vertex, but says that vertices have none",
        ],
    );
    metis(
        "x y\n",
        &[
            "G0472 1:1 `x` is not the number of vertices",
            "G0472 1:3 `y` is not the number of edges",
        ],
    );
    metis("0 0\n", &["G0472 1:1 the number of vertices is 0"]);
    metis("-2 1\n", &["G0472 1:1 the number of vertices is negative"]);
    metis(
        "2 1 10 3\n",
        &["G0475 1:8 vertices have 3 weights, but only one can be balanced"],
    );
    scotch("", &["G0470 1:1 the file has no header"]);
    scotch("4 5\n", &["G0470 1:1 unknown version `4`"]);
    scotch(
        "0 2 2 0 002\n",
        &["G0470 1:9 `002` does not describe the weights"],
    );
    scotch(
        "0\n2 2\n",
        &["G0471 2:4 the file ends where the number of the first vertex is expected"],
    );
}

/// A header with four thousand million vertices must not cost time or memory.
#[test]
fn counts_must_match_the_header() {
    metis(
        "3 1\n2\n1\n",
        &["G0471 1:1 the header gives 3 vertices, but the file has lines for 2"],
    );
    metis(
        "4294967294 1\n",
        &["G0471 1:1 the header gives 4294967294 vertices, but the file has lines for 0"],
    );
    metis(
        "1 0\n\n1\n2\n",
        &["G0471 3:1 the header gives 1 vertex, but the file has 2 more lines"],
    );
    metis(
        "2 2\n2\n1\n",
        &["G0471 1:3 the header gives 2 edges, but the file has 1"],
    );
    metis(
        "3 1\n2 3\n1\n1\n",
        &["G0471 1:3 the header gives 1 edge, but the file has 2"],
    );
    scotch(
        "0\n2 1\n0 0\n1 1\n1 0\n",
        &["G0471 2:3 the header gives 1 edge end, but the file has 2"],
    );
    scotch(
        "0\n2 2\n0 0\n1 1\n",
        &["G0471 4:4 the file ends where the number of neighbours of a vertex is expected"],
    );
    scotch(
        "0\n4294967293 4294967294\n0 111\n",
        &["G0471 3:6 the file ends where the label of a vertex is expected"],
    );
    scotch(
        "0\n1 0\n0 0\n0 7\n",
        &["G0471 4:3 the header gives 1 vertex, but the file continues after them"],
    );
}

#[test]
fn invalid_numbers_are_errors() {
    metis("2 1\n2x\n1\n", &["G0472 2:1 `2x` is not a vertex"]);
    metis(
        "2 1 1\n2 -3\n1 3\n",
        &["G0472 2:3 the weight of an edge is negative"],
    );
    metis(
        "2 1 1\n2 0\n1 0\n",
        &[
            "G0472 2:3 the weight of an edge is 0",
            "G0472 3:3 the weight of an edge is 0",
        ],
    );
    metis(
        "2 1 1\n2 1\n1\n",
        &["G0472 3:2 the weight of the edge to 1 is missing"],
    );
    metis(
        "2 1 10\n1 2\n\n",
        &["G0472 3:1 the weight of vertex 2 is missing"],
    );
    metis(
        "2 1 10\n18446744073709551616 2\n1 1\n",
        &["G0472 2:1 the weight of vertex 1 is 18446744073709551616, which is too large"],
    );
    metis(
        "2 1 10\n4503599627370496 2\n1 1\n",
        &["G0472 3:1 the sum of the weights of all vertices is too large"],
    );
    scotch(
        "0 2 2 0 0 1 1 1 \u{e9}\u{e9}",
        &["G0472 1:17 `\u{e9}\u{e9}` is not a neighbour"],
    );
    // Words are shortened in messages, and their control characters are escaped.
    let (_, found) = try_read(
        Format::Metis,
        &format!("2 1\n{}\n1\n", "\u{1b}[2J".repeat(1000)),
    );
    assert!(
        found[0].len() < 250 && !found[0].contains('\u{1b}'),
        "{found:?}"
    );
}

#[test]
fn unknown_vertices_and_impossible_edges_are_errors() {
    metis(
        "2 1\n3\n0\n",
        &[
            "G0473 2:1 there is no vertex 3",
            "G0473 3:1 there is no vertex 0",
        ],
    );
    metis(
        "2 2\n1 2\n1\n",
        &[
            "G0471 1:3 the header gives 2 edges, but the file has 1 and a half",
            "G0473 2:1 vertex 1 has an edge to itself",
        ],
    );
    metis(
        "2 2\n2 2\n1 1\n",
        &[
            "G0473 2:3 vertex 1 has two edges to 2",
            "G0473 3:3 vertex 2 has two edges to 1",
        ],
    );
    scotch("0 2 2 5 0 1 6 1 7", &["G0473 1:17 there is no vertex 7"]);
    scotch("0 2 2 5 0 1 6 1 4", &["G0473 1:17 there is no vertex 4"]);
    scotch(
        "0 2 2 0 100 7 1 8 8 1 9",
        &["G0473 1:23 no vertex has the label 9"],
    );
    scotch(
        "0 2 2 0 100 7 1 7 7 1 7",
        &["G0473 1:19 two vertices have the label 7"],
    );
}

#[test]
fn ends_of_an_edge_must_agree() {
    metis(
        "3 2\n2 3\n1\n\n",
        &[
            "G0471 1:3 the header gives 2 edges, but the file has 1 and a half",
            "G0474 2:3 vertex 1 has an edge to 3, but 3 has none to 1",
        ],
    );
    metis(
        "4 2\n3\n3\n4\n1\n",
        &[
            "G0474 2:1 vertex 1 has an edge to 3, but 3 has none to 1",
            "G0474 3:1 vertex 2 has an edge to 3, but 3 has none to 2",
            "G0474 4:1 vertex 3 has an edge to 4, but 4 has none to 3",
            "G0474 5:1 vertex 4 has an edge to 1, but 1 has none to 4",
        ],
    );
    metis(
        "2 1 1\n2 5\n1 6\n",
        &["G0474 3:1 the edge between 1 and 2 has two weights, 5 and 6"],
    );
    scotch(
        "0 3 2 10 0 1 11 1 12 0",
        &[
            "G0474 1:14 vertex 10 has an edge to 11, but 11 has none to 10",
            "G0474 1:19 vertex 11 has an edge to 12, but 12 has none to 11",
        ],
    );
}

#[test]
fn vertex_sizes_are_ignored_with_a_warning() {
    let (file, found) = try_read(Format::Metis, "2 1 110\n9 3 2\n8 4 1\n");
    assert_eq!(found, ["G0475 1:5 the sizes of vertices are not used"]);
    assert_eq!(size(&file.unwrap()), (2, 1, 7, 1));
    assert_eq!(codes::UNUSED.to_string(), "G0475");
}

#[test]
fn files_of_other_formats_are_named() {
    for (text, name) in [
        ("c comment\np edge 3 2\ne 1 2\ne 2 3\n", "a DIMACS file"),
        ("2 3\n1 2\n2 3\n", "a hypergraph of hMETIS"),
        (
            "% made by hand\n2 4 1\n7 1 2\n8 2 3 4\n",
            "a hypergraph of hMETIS",
        ),
        ("2 3 11\n7 1 2\n8 2 3\n1\n1\n1\n", "a hypergraph of hMETIS"),
        (
            "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",
            "a Matrix Market file",
        ),
        ("# Nodes: 3\n0 1\n1 2\n", "an edge list"),
        ("digraph { a -> b }", "DOT"),
        ("# x\nstrict graph{a--b}", "DOT"),
        ("<?xml version=\"1.0\"?>\n<graphml/>", "GraphML"),
    ] {
        metis(
            text,
            &[&format!("G0470 1:1 this is {name}, not a METIS graph")],
        );
        scotch(
            text,
            &[&format!("G0470 1:1 this is {name}, not a Scotch graph")],
        );
    }
    // A possible graph of METIS with an error is reported as such.
    metis("2 1\n2\n2\n", &["G0473 3:1 vertex 2 has an edge to itself"]);
}

#[test]
fn pieces_of_distributed_graphs_are_named() {
    for format in [Format::Metis, Format::Scotch] {
        let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
        let piece = "2\n2\t0\n4\t8\n2\t4\n0\t000\n2\t1\t2\n2\t0\t3\n";
        let source = sources.add("g-0.dgr", piece).unwrap();
        assert!(read(&source, format, &mut out).is_none());
        let help: Vec<&String> = out.iter().flat_map(|f| &f.help).collect();
        assert!(help.iter().any(|h| h.contains("`dggath`")), "{help:?}");
        assert!(
            help.iter().all(|h| !h.contains("`--format metis`")),
            "{help:?}"
        );
    }
}

#[test]
fn extensions_select_the_format_in_any_case() {
    for (path, format) in [
        ("m.graph", Some(Format::Metis)),
        ("m.metis", Some(Format::Metis)),
        ("M.METIS", Some(Format::Metis)),
        ("m.GRF", Some(Format::Scotch)),
        ("m.mtx", None),
    ] {
        assert_eq!(
            Format::of_path(std::path::Path::new(path)),
            format,
            "{path}"
        );
    }
}
