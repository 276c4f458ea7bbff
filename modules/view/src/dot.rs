//! Annotated Graphviz file: OS processes as coloured clusters, grouped by host.

use crate::shown::{detail, number, ranges};
use crate::{Colour, Scene};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use std::fmt::Write;
use std::path::Path;

/// Emitter of `*.mapped.dot`, for `dot -Tsvg`.
pub struct MappedDot;

impl Emitter for MappedDot {
    fn name(&self) -> &str {
        "mapped"
    }

    fn about(&self) -> &str {
        "the graph coloured by OS process and grouped by host, for `dot -Tsvg`"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&["detail"])
    }

    fn accepts(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with("mapped.dot"))
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let detail = detail(context, mapped)?;
        let name = &mapped.network().name;
        files.generated(context.path, draw(name, &Scene::of(mapped, detail)));
        Ok(())
    }
}

/// Returns the Graphviz file for a scene. `name` is the name of the graph.
///
/// # Panics
/// Panics if an index in the scene is out of range.
pub fn draw(name: &str, scene: &Scene) -> String {
    let mut out = String::new();
    draw_to(&mut out, name, scene).expect("a String takes all that is written");
    out
}

fn draw_to(out: &mut String, name: &str, scene: &Scene) -> std::fmt::Result {
    writeln!(out, "digraph {} {{", quoted(name))?;
    writeln!(out, "    graph [compound=true];")?;
    writeln!(
        out,
        "    node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\"];"
    )?;
    for (h, host) in scene.hosts.iter().enumerate() {
        writeln!(out, "    subgraph cluster_host_{h} {{")?;
        let label = if host.name.is_empty() {
            "any host"
        } else {
            &host.name
        };
        writeln!(out, "        label={}; style=dashed;", quoted(label))?;
        for &o in &host.os_processes {
            let os_process = &scene.os_processes[o];
            let cores = match &os_process.cores[..] {
                [] => String::new(),
                [core] => format!(" on core {core}"),
                cores => format!(" on cores {}", ranges(cores)),
            };
            let label = format!("OS process {o}{cores}\nload {}", number(os_process.load));
            writeln!(out, "        subgraph cluster_os_{o} {{")?;
            writeln!(out, "            label={}; style=solid;", quoted(&label))?;
            for &n in &os_process.nodes {
                let node = &scene.nodes[n];
                let label = match node.processes {
                    1 => node.label.clone(),
                    many => format!("{} ×{many}", node.label),
                };
                let (label, colour) = (quoted(&label), Colour::of(o));
                writeln!(
                    out,
                    "            n{n} [label={label}, fillcolor=\"{colour}\"];"
                )?;
            }
            writeln!(out, "        }}")?;
        }
        writeln!(out, "    }}")?;
    }
    for flow in &scene.flows {
        let cut = scene.nodes[flow.from].os_process != scene.nodes[flow.to].os_process;
        let mut attributes = Vec::new();
        if flow.channels > 1 {
            attributes.push(format!("label=\"{}\"", flow.channels));
        }
        if cut {
            attributes.push("color=\"#c0392b\"".to_owned());
        }
        match (cut, flow.controlled) {
            (true, true) => attributes.push("style=\"bold,dashed\"".to_owned()),
            (true, false) => attributes.push("style=bold".to_owned()),
            (false, true) => attributes.push("style=dashed".to_owned()),
            (false, false) => {}
        }
        let tooltip = format!(
            "{} channel{}, traffic {}{}",
            flow.channels,
            if flow.channels == 1 { "" } else { "s" },
            number(flow.traffic),
            if flow.controlled {
                ", flow-controlled"
            } else {
                ""
            }
        );
        attributes.push(format!("tooltip={}", quoted(&tooltip)));
        writeln!(
            out,
            "    n{} -> n{} [{}];",
            flow.from,
            flow.to,
            attributes.join(", ")
        )?;
    }
    writeln!(out, "}}")
}

fn quoted(text: &str) -> String {
    // Graphviz interprets a backslash before any character except a quote (`\N` is the node's
    // name).
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{text}\"")
}
