//! Graphviz file of a mapped network: OS processes as coloured clusters, grouped by host.
//!
//! With all processes, graphmap reads the file again (`drawing`). With kinds, it is only a
//! picture, which graphmap refuses to read.

mod drawing;
mod frames;
mod rows;
mod style;

use crate::shown::{detail, number};
use crate::{Detail, Scene};
use graphmap_dot::language::PICTURE;
use graphmap_dot::write;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use std::fmt::Write;
use std::path::Path;
use style::{BETWEEN_HOSTS, MARK, ON_ONE_HOST, open_host, open_os_process, quoted};

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
        let network = mapped.network();
        let error = match detail {
            Detail::Processes => write::check(network).or_else(|| write::unnamed(network)),
            Detail::Kinds => None,
        };
        if let Some(error) = error {
            let mut found = Diagnostics::new();
            found.push(error.help("or draw kinds instead of processes: `--set detail=kinds`"));
            return Err(found);
        }
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

fn draw_to(out: &mut String, name: &str, scene: &Scene) -> std::fmt::Result {
    writeln!(out, "digraph {} {{", quoted(name))?;
    writeln!(out, "    {MARK}")?;
    writeln!(out, "    graphmap={PICTURE};")?;
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
