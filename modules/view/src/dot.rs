//! Graphviz file of a mapped network: OS processes as coloured clusters, grouped by host.
//!
//! With all processes, graphmap reads the file again ([`drawing`]). With kinds, it is only a picture.

mod drawing;
mod frames;
mod rows;

use crate::shown::{detail, number, ranges};
use crate::{Detail, Host, OsProcess, Scene};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use std::fmt::Write;
use std::path::Path;

/// Line by which graphmap recognises the file before it overwrites it.
const MARK: &str = "graph [compound=true];";
/// Colours of channels between OS processes, from the palette of Okabe and Ito.
const ON_ONE_HOST: &str = "#0072b2";
const BETWEEN_HOSTS: &str = "#d55e00";
/// Colour of frames.
const OUTLINE: &str = "#555555";
/// Fills of OS processes: the scheme "light" of Paul Tol, each mixed with as much white. The first
/// three are not similar to the colours of channels.
const TINTS: [&str; 8] = [
    "#f6eec3", "#d5e5a8", "#ffd4dd", "#ccefff", "#a1dccc", "#f6c3b2", "#d4d488", "#eeeeee",
];

/// Emitter of `*.mapped.dot`, for `dot -Tsvg`.
pub struct MappedDot;

impl Emitter for MappedDot {
    fn name(&self) -> &str {
        "mapped"
    }

    fn about(&self) -> &str {
        "the graph with its mapping, for `dot -Tsvg`: hosts and OS processes as frames"
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
        files.generated(context.path, draw(mapped, detail));
        Ok(())
    }
}

/// Returns the Graphviz file of a mapped network. With [`Detail::Processes`], reading it gives the
/// same network, and mapping that gives the same mapping.
#[must_use]
pub fn draw(mapped: &Mapped, detail: Detail) -> String {
    match detail {
        Detail::Processes => drawing::draw(mapped),
        Detail::Kinds => {
            let mut out = String::new();
            let scene = Scene::of(mapped, detail);
            draw_to(&mut out, &mapped.network().name, &scene)
                .expect("a String takes all that is written");
            out
        }
    }
}

/// Returns the text of an OS process: its number, cores and load.
fn os_process_label(number_of_it: usize, os_process: &OsProcess) -> String {
    let cores = match &os_process.cores[..] {
        [] => String::new(),
        [core] => format!(", core {core}"),
        cores => format!(", cores {}", ranges(cores)),
    };
    let load = number(os_process.load);
    format!("OS process {number_of_it}{cores}\nload {load}")
}

/// Opens the frame of a host.
fn open_host(out: &mut String, number_of_it: usize, host: &Host) {
    let label = match &host.name[..] {
        "" => "any host".to_owned(),
        name => format!("host {name}"),
    };
    let _ = writeln!(
        out,
        "    subgraph cluster_host_{number_of_it} {{ module=\"\";"
    );
    let _ = writeln!(
        out,
        "        label={}; style=dashed; pencolor=\"{OUTLINE}\";",
        quoted(&label)
    );
}

fn draw_to(out: &mut String, name: &str, scene: &Scene) -> std::fmt::Result {
    writeln!(out, "digraph {} {{", quoted(name))?;
    writeln!(out, "    {MARK}")?;
    writeln!(
        out,
        "    // Only a picture: each node is all processes of a kind in an OS process. The option\n    \
         // `--set detail=processes` writes a drawing that graphmap reads again."
    )?;
    writeln!(
        out,
        "    node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\"];"
    )?;
    for (h, host) in scene.hosts.iter().enumerate() {
        open_host(out, h, host);
        for &o in &host.os_processes {
            let os_process = &scene.os_processes[o];
            open_os_process(out, o, os_process);
            for &n in &os_process.nodes {
                let node = &scene.nodes[n];
                let label = match node.processes {
                    1 => node.label.clone(),
                    many => format!("{} ×{many}", node.label),
                };
                writeln!(out, "            n{n} [label={}];", quoted(&label))?;
            }
            writeln!(out, "        }}")?;
        }
        writeln!(out, "    }}")?;
    }
    let host_of = hosts(scene);
    for flow in &scene.flows {
        let [from, to] = [flow.from, flow.to].map(|node| scene.nodes[node].os_process);
        let mut attributes = Vec::new();
        if flow.channels > 1 {
            attributes.push(format!("label=\"{}\"", flow.channels));
        }
        if from != to {
            let colour = match host_of[from] == host_of[to] {
                true => ON_ONE_HOST,
                false => BETWEEN_HOSTS,
            };
            attributes.push(format!("penwidth=2, color=\"{colour}\""));
        }
        if flow.controlled {
            attributes.push("style=dashed".to_owned());
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

/// Returns the index of the host of each OS process.
fn hosts(scene: &Scene) -> Vec<usize> {
    let mut host_of = vec![0; scene.os_processes.len()];
    for (host, all) in scene.hosts.iter().enumerate() {
        for &os_process in &all.os_processes {
            host_of[os_process] = host;
        }
    }
    host_of
}

/// Opens the frame of an OS process.
fn open_os_process(out: &mut String, number_of_it: usize, os_process: &OsProcess) {
    let _ = writeln!(
        out,
        "        subgraph cluster_os_{number_of_it} {{ module=\"\";"
    );
    let _ = writeln!(
        out,
        "            label={}; style=solid; bgcolor=\"{}\"; pencolor=\"{OUTLINE}\";",
        quoted(&os_process_label(number_of_it, os_process)),
        TINTS[number_of_it % TINTS.len()]
    );
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
