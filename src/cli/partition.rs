//! `graphmap partition`: where each process is to run.

use super::args::{File, GraphArgs};
use super::exit::Exit;
use super::mapping::MappingArgs;
use super::run::{hosts, link_helps};
use super::session::{Outcome, Session};
use super::{graph_file, output, paths, shown_plan};
use crate::codes;
use graphmap_binding::command::Launcher;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Files};
use std::path::PathBuf;

/// Map processes onto OS processes and hosts, and show the plan
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap partition farm.dot -n 4
  graphmap partition farm.dot --hosts hostfile --time 100ms -o plan
  graphmap partition farm.dot --hosts hosts=4:sockets=2:cores=8 --strategy metis
  graphmap partition farm.dot --hosts hostfile --pin 'manager=node1' --hold 'kind:worker=1-4'
  graphmap partition farm.dot -n 4 --pin 'worker*=1-3' --together source,sink --rules farm.rules
  graphmap run farm.dot --mapping plan/mapping.json
  graphmap partition mesh.graph --format metis -n 8 -o parts

With -o the mapping is written as mapping.json, as a picture (mapped.svg, mapped.dot), and, where the
hosts have names, as a script that starts it (mpiexec.sh; `--set launcher=openmpi` for another one).
FILE may also be a graph without names, of METIS (.graph) or Scotch (.grf): then -o writes the partition as
they do, mesh.graph.part.8 or mesh.map, and options that speak of processes are refused.
Ctrl-C ends the search, and the best mapping found so far is used; a second one ends the command.
Ends with 4 when no mapping meets all constraints.")]
pub(crate) struct PartitionArgs {
    /// Graph file; `-` is standard input. Left out: that of graphmap.toml, or the only drawing here
    #[arg(value_name = "FILE", required = false)]
    pub(super) file: File,
    /// Write the plan as JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
    /// Write the mapping in this folder
    #[arg(short, long, value_name = "DIR")]
    pub(super) output_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) mapping: MappingArgs,
    #[command(flatten)]
    pub(super) graph: GraphArgs,
}

pub(crate) fn run(args: &PartitionArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    if args.mapping.mapping.is_some() {
        let what = "`partition` looks for a mapping, and `--mapping` says that there is one";
        let error = Diagnostic::error(codes::USAGE, what);
        let error = error.help("to keep near to it: `--previous`; to write files from it: `emit`");
        return session.fail(Exit::Usage, error);
    }
    if let Some(folder) = args
        .output_dir
        .as_deref()
        .filter(|d| d.exists() && !d.is_dir())
    {
        let what = format!("`{}` is a file, not a folder", folder.display());
        return session.fail(Exit::Usage, Diagnostic::error(codes::CANNOT_WRITE, what));
    }
    let said = args.graph.format.as_deref();
    if let Some(format) = graph_file::format_of(session, &args.file, said) {
        return graph_file::run(format, args, session);
    }
    if let Some(name) = Session::options(&args.graph).get("launcher")
        && let Err(wrong) = Launcher::from_name(name)
    {
        return session.fail(Exit::Plugin, *wrong);
    }
    let (network, target) = session.verified_for(&args.file, &args.graph, &args.mapping)?;
    // Other verbs go on to something else: there Ctrl-C means what it always does.
    let plan = session.plan(&network, &target.platform, &args.mapping, true)?;
    session.unless_denied()?;
    let mut shown = if args.json {
        shown_plan::as_json(&plan)
    } else {
        shown_plan::as_text(&plan)
    };
    let unasked = args.mapping.hosts.is_none() && args.mapping.os_processes.is_none();
    if unasked && !args.json {
        shown +=
            "\nnote: all in one OS process: `-n` says how many there are to be, or `--hosts`\n";
    }
    if let Some(folder) = &args.output_dir {
        let mut names = vec![
            ("mapping", "mapping.json"),
            ("mapped", "mapped.dot"),
            ("svg", "mapped.svg"),
        ];
        if args.mapping.hosts.is_some() {
            names.push(("mpiexec", "mpiexec.sh"));
        }
        let mut options = Session::options(&args.graph);
        let mut files = Files::new();
        let project = hosts::project_of(&args.file);
        if let Some(project) = &project
            && args.mapping.hosts.is_some()
            && !project.mpi
            && !options.contains_key("program")
        {
            let message = format!(
                "what is to be launched cannot join its OS processes: the project {} has no MPI link",
                paths::shown(&project.root)
            );
            let warning = Diagnostic::warning(codes::NO_LINK, message);
            session.find(link_helps(warning).help("`--set program=PATH` names another program"));
        }
        hosts::describe(
            &mut options,
            project.as_ref(),
            &plan.mapped,
            folder,
            &mut files,
        );
        let mut found = Diagnostics::new();
        for (name, file) in names {
            let Some(emitter) = session.registry.emitters().find(|e| e.name() == name) else {
                continue;
            };
            let mut context = EmitContext {
                path: &folder.join(file),
                options: &options,
                platform: target.hardware.as_ref(),
                diagnostics: &mut found,
            };
            if let Err(failed) = emitter.emit(&plan.mapped, &mut context, &mut files) {
                session.find_all(found);
                session.find_all(failed);
                return Err(Exit::Plugin);
            }
        }
        session.find_all(found);
        session.unless_denied()?;
        output::write(session, &files)?;
    }
    session.show(&shown)?;
    Ok(Exit::Ok)
}
