//! Reads a file with the installed Graphviz.

use super::Plain;
use graphmap_testing::{Need, skip};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the installed version, or `None`, after a message, if Graphviz is not available.
#[track_caller]
pub(crate) fn version() -> Option<String> {
    let mut version = String::new();
    for program in ["nop", "dot"] {
        let asked = Command::new(program)
            .arg("-V")
            .stdin(Stdio::null())
            .output();
        match asked {
            Ok(output) => String::from_utf8_lossy(&output.stderr)
                .trim()
                .clone_into(&mut version),
            Err(error) => {
                skip(
                    Need::Graphviz,
                    format!("`{program}` does not start: {error}"),
                );
                return None;
            }
        }
    }
    Some(version)
}

/// Returns true if Graphviz reads the whole file.
pub(crate) fn accepts(path: &Path) -> bool {
    let nop = Command::new("nop")
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .expect("`nop` was there before");
    // The exit status shows syntax errors, unless Graphviz lost the first graph.
    let talk = String::from_utf8_lossy(&nop.stderr);
    nop.status.success() && !talk.contains("syntax error")
}

/// Returns the graphs of a file. A layout is required, so a fast one is used.
pub(crate) fn read(path: &Path) -> Result<Vec<Plain>, String> {
    let dot = Command::new("dot")
        .args(["-Kpatchwork", "-Tdot_json"])
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .expect("`dot` was there before");
    let text = match String::from_utf8(dot.stdout) {
        Ok(text) => text,
        Err(error) => error.as_bytes().iter().map(|b| char::from(*b)).collect(),
    };
    // Some versions do not escape control characters.
    let text = text.replace(|c: char| c.is_ascii_control() && c != '\n', " ");
    let graphs = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let graphs: Result<Vec<Value>, _> = graphs.collect();
    let graphs = graphs.map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(graphs.iter().map(plain).collect())
}

/// Returns only nodes and edges, like [`super::outline`].
pub(crate) fn outline(path: &Path) -> Vec<String> {
    let program = r#"BEG_G {
        node_t v; edge_t e;
        for (v = fstnode($G); v; v = nxtnode(v)) printf("node %s\n", v.name);
        for (v = fstnode($G); v; v = nxtnode(v))
            for (e = fstout(v); e; e = nxtout(e)) printf("edge %s %s\n", e.tail.name, e.head.name);
    }"#;
    let gvpr = Command::new("gvpr")
        .arg(program)
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .expect("`gvpr` comes with `nop`");
    let text = String::from_utf8_lossy(&gvpr.stdout);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn number(value: &Value) -> usize {
    value.as_u64().expect("a number") as usize
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

/// Attributes that the layout always sets, and `key`, which names an edge and is an attribute of
/// only some edges.
const LAYOUT: [&str; 4] = ["label", "shape", "fontsize", "key"];

/// Removes attributes that cannot be compared: those that the layout sets, and empty ones, which
/// mean unset in Graphviz.
pub(crate) fn comparable(graph: &mut Plain) {
    let nodes = graph.nodes.iter_mut().map(|n| &mut n.1);
    for attributes in nodes.chain(graph.edges.iter_mut().map(|e| &mut e.2)) {
        attributes.retain(|name, value| !LAYOUT.contains(&name.as_str()) && !value.is_empty());
    }
    graph.edges.sort();
}

fn attributes(value: &Value) -> super::Attributes {
    let members = value.as_object().expect("an object").iter();
    members
        .filter(|(name, value)| {
            // These identify the element, and are not attributes.
            let own = ["name", "_gvid", "tail", "head"].contains(&name.as_str());
            !own && !LAYOUT.contains(&name.as_str()) && value.as_str() != Some("")
        })
        .filter_map(|(name, value)| {
            let value = value.as_str()?;
            // Some versions write the brackets of an HTML string, others do not.
            let inner = value.strip_prefix('<').and_then(|v| v.strip_suffix('>'));
            Some((name.clone(), inner.unwrap_or(value).to_owned()))
        })
        .collect()
}

fn plain(graph: &Value) -> Plain {
    let objects: Vec<&Value> = array(&graph["objects"]).collect();
    let subgraphs = graph["_subgraph_cnt"].as_u64().unwrap_or(0) as usize;
    let name = |gvid: &Value| text(&objects[number(gvid)]["name"]);
    let mut out = Plain {
        directed: graph["directed"].as_bool().expect("a truth"),
        strict: graph["strict"].as_bool().expect("a truth"),
        ..Plain::default()
    };
    for (index, object) in objects.iter().enumerate() {
        let its_name = text(&object["name"]);
        if index < subgraphs {
            let its_name = if its_name.starts_with('%') {
                String::new()
            } else {
                its_name
            };
            let nodes = array(&object["nodes"]).map(name).collect();
            out.subgraphs.push((its_name, nodes));
        } else {
            out.nodes.push((its_name, attributes(object)));
        }
    }
    for edge in array(&graph["edges"]) {
        let ends = (name(&edge["tail"]), name(&edge["head"]));
        out.edges.push((ends.0, ends.1, attributes(edge)));
    }
    out.subgraphs.sort();
    out.edges.sort();
    out
}
