//! Graph formats of other programs, recognised by the beginning of a text.
//!
//! If a reader cannot read a text, the diagnostic names the format instead of the first unexpected
//! word. A format that graphmap reads is recognised, too, because its file may have another
//! extension.

/// A format of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Common name of the format.
    pub name: &'static str,
    /// Advice for a file in this format.
    pub help: &'static str,
}

const CONVERTED: &str =
    "convert it to a graph of METIS or Scotch, which `graphmap partition` reads";
const NETWORKX: &str =
    "write the graph as DOT; with NetworkX: `networkx.nx_pydot.write_dot(graph, \"graph.dot\")`";

/// Number of lines that are checked.
const MOST_LINES: usize = 1000;

/// Returns the format of a text, or `None` if its beginning does not identify one. A byte order
/// mark and white space at the start are skipped, and so are comment lines of the format.
pub fn recognise(text: &str) -> Option<Foreign> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let found = |name, help| Some(Foreign { name, help });
    if text.starts_with('<') {
        return xml(text);
    }
    if text.starts_with("%%MatrixMarket") {
        return found("a Matrix Market file", CONVERTED);
    }
    if text.starts_with("@startuml") {
        return found("a PlantUML diagram", "write the network in DOT");
    }
    let lines = || text.lines().map(str::trim).take(MOST_LINES);
    // Comments in DIMACS begin with `c`, and comments in edge lists with `#` or `%`.
    let bare = |comment: &'static [&'static str]| {
        lines().find(move |line| {
            let word = line.split_whitespace().next();
            word.is_some_and(|word| !comment.iter().any(|c| word.starts_with(c)))
        })
    };
    let dimacs = lines().find(|line| *line != "c" && !line.starts_with("c ") && !line.is_empty());
    if let Some(line) = dimacs {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() >= 4 && words[0] == "p" && words[2..4].iter().all(|w| is_number(w)) {
            return found("a DIMACS file", CONVERTED);
        }
    }
    let first = bare(&["#", "%"])?;
    let mut words = first.split_whitespace();
    let [word, next] = [words.next().unwrap_or(""), words.next().unwrap_or("")];
    match word.to_ascii_lowercase().as_str() {
        "*vertices" | "*network" => return found("a Pajek network", CONVERTED),
        "flowchart" => return found("a Mermaid flowchart", "write the network in DOT"),
        "graph" if ["TD", "TB", "BT", "LR", "RL"].contains(&next.trim_end_matches(';')) => {
            return found("a Mermaid flowchart", "write the network in DOT");
        }
        "graph[" => return gml(),
        "creator" => return gml(),
        "graph" if next.starts_with('[') || opens_next_line(text) => return gml(),
        _ => {}
    }
    let numbers = first.split_whitespace().all(is_number);
    let count = first.split_whitespace().count();
    if text.starts_with('#') && numbers && (2..=3).contains(&count) {
        return found("an edge list", CONVERTED);
    }
    None
}

fn gml() -> Option<Foreign> {
    Some(Foreign {
        name: "GML",
        help: "convert it with Graphviz: `gml2gv graph.gml -o graph.gv`",
    })
}

/// Returns true if the first line is `graph` and the next begins with `[`. Empty lines are ignored,
/// and comments (`#`) before the first line.
fn opens_next_line(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let graph = lines.find(|line| !line.starts_with('#'));
    graph == Some("graph") && lines.next().is_some_and(|line| line.starts_with('['))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the XML format that the outermost element identifies. An unknown format is `XML` if the
/// text begins with `<?xml`, and otherwise `None`. Returns `None` if there is no element.
fn xml(text: &str) -> Option<Foreign> {
    let elements = text.split('<').skip(1).take(MOST_LINES);
    let outermost = elements
        .map(|rest| {
            rest.split(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .unwrap_or("")
        })
        .find(|name| !name.is_empty())?;
    let (name, help) = match outermost.to_ascii_lowercase().as_str() {
        "graphml" => (
            "GraphML",
            "give the file the extension `.graphml`, or read it with `--format graphml`",
        ),
        "gxl" => (
            "GXL",
            "convert it with Graphviz: `gxl2gv graph.gxl -o graph.gv`",
        ),
        "gexf" => ("GEXF", NETWORKX),
        "svg" => ("an SVG picture", "use the DOT file that it was made from"),
        _ if text.starts_with("<?xml") => ("XML", "write the graph as DOT, or as JSON"),
        _ => return None,
    };
    Some(Foreign { name, help })
}

/// Returns the format of a JSON object whose outermost members have the names `names`. Returns
/// `None` if they do not identify one.
pub fn recognise_json(names: &[&str]) -> Option<Foreign> {
    let has = |name: &str| names.contains(&name);
    let (name, help) = if has("objects") || has("_subgraph_cnt") {
        (
            "Graphviz's JSON (`dot -Tjson`)",
            "use the DOT file that it was made from",
        )
    } else if has("nodes") && (has("links") || has("edges")) {
        (
            "node-link JSON, as NetworkX writes it",
            "read it with `--format node-link`",
        )
    } else if has("nodes") && has("adjacency") {
        ("adjacency JSON, as NetworkX writes it", NETWORKX)
    } else if has("elements") {
        ("JSON of Cytoscape", NETWORKX)
    } else if has("graph") || has("graphs") {
        ("a JSON Graph (JGF)", "write the graph as DOT")
    } else {
        return None;
    };
    Some(Foreign { name, help })
}

#[cfg(test)]
mod tests {
    use super::{recognise, recognise_json};

    #[test]
    fn formats_are_known_by_their_beginning() {
        for (text, name) in [
            (
                "<?xml version=\"1.0\"?>\n<!-- x -->\n<graphml xmlns=\"y\">",
                "GraphML",
            ),
            ("\u{feff}<graphml>", "GraphML"),
            ("<?xml version=\"1.0\"?><gexf>", "GEXF"),
            ("<?xml version=\"1.0\"?><other>", "XML"),
            ("graph [\n  directed 1\n]", "GML"),
            ("Creator \"igraph\"\ngraph\n[", "GML"),
            ("# x\ngraph\n[\n", "GML"),
            ("c a comment\nc\np edge 3 2\ne 1 2\n", "a DIMACS file"),
            ("p sp 3 2\na 1 2 4\n", "a DIMACS file"),
            (
                "%%MatrixMarket matrix coordinate real general\n",
                "a Matrix Market file",
            ),
            ("*Vertices 3\n1 \"a\"\n", "a Pajek network"),
            ("# Nodes: 3 Edges: 2\n0\t1\n", "an edge list"),
            ("graph TD;\n a --> b\n", "a Mermaid flowchart"),
            ("flowchart LR\n a --> b\n", "a Mermaid flowchart"),
        ] {
            assert_eq!(recognise(text).map(|f| f.name), Some(name), "{text}");
        }
        for text in [
            "",
            "digraph { a -> b }",
            "graph {",
            "# 1 2\ndigraph g {",
            "strict graph x {",
            "4 5\n2 3\n",
            "<a b>",
            "c",
            "0\n3 4\n0 000\n",
            "\u{0}\u{0}",
        ] {
            assert_eq!(recognise(text), None, "{text}");
        }
    }

    #[test]
    fn json_is_known_by_its_names() {
        for (names, start) in [
            (
                &["directed", "multigraph", "graph", "nodes", "links"][..],
                "node-link",
            ),
            (&["directed", "graph", "nodes", "edges"], "node-link"),
            (
                &[
                    "name",
                    "directed",
                    "strict",
                    "_subgraph_cnt",
                    "objects",
                    "edges",
                ],
                "Graphviz's",
            ),
            (
                &["directed", "multigraph", "graph", "nodes", "adjacency"],
                "adjacency JSON",
            ),
            (&["elements", "data"], "JSON of Cytoscape"),
            (&["graph"], "a JSON Graph"),
        ] {
            let found = recognise_json(names).unwrap();
            assert!(found.name.starts_with(start), "{}", found.name);
        }
        assert_eq!(recognise_json(&["processes", "channels"]), None);
    }
}
