//! What the installed Graphviz makes of a file.

use super::Plain;
use graphmap_testing::{Need, skip};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The installed version, or why there is none to ask.
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

/// Whether Graphviz reads the whole file.
pub(crate) fn accepts(path: &Path) -> bool {
    let nop = Command::new("nop")
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .expect("`nop` was there before");
    // Its exit status tells of syntax errors, except where it lost the first graph.
    let talk = String::from_utf8_lossy(&nop.stderr);
    nop.status.success() && !talk.contains("syntax error")
}

/// The graphs of a file; a layout that needs no time is chosen, as one must be.
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
    // Bytes of control characters are not escaped by all versions.
    let text = text.replace(|c: char| c.is_ascii_control() && c != '\n', " ");
    let graphs = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let graphs: Result<Vec<Value>, _> = graphs.collect();
    let graphs = graphs.map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(graphs.iter().map(plain).collect())
}

/// Nodes and edges only, as [`super::outline`].
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

/// Attributes that the layout sets, whatever the file says; and `key`, which names an edge and is
/// an attribute only of some.
const LAYOUT: [&str; 4] = ["label", "shape", "fontsize", "key"];

/// Leaves out what cannot be compared: what the layout sets, and what is empty, which to Graphviz
/// is the same as not set.
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
            // What the element is, not what it has.
            let own = ["name", "_gvid", "tail", "head"].contains(&name.as_str());
            !own && !LAYOUT.contains(&name.as_str()) && value.as_str() != Some("")
        })
        .filter_map(|(name, value)| {
            let value = value.as_str()?;
            // Versions differ in whether they write the brackets of an HTML string.
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
