//! `graphmap partition`: maps processes onto OS processes and hosts.

pub(crate) mod args;

use super::exit::Exit;
use super::graph_format::format_of;
use super::run::hosts;
use super::run::project::link_helps;
use super::session::{Outcome, Session};
use super::{graph_file, output, paths, ranks, shown_plan, tables};
use crate::codes;
use args::PartitionArgs;
use graphmap_binding::command::Launcher;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Files};

pub(crate) fn run(args: &PartitionArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    if let Some(folder) = args
        .output_dir
        .as_deref()
        .filter(|d| d.exists() && !d.is_dir())
    {
        let what = format!("`{}` is a file, not a folder", folder.display());
        return session.fail(Exit::Usage, Diagnostic::error(codes::CANNOT_WRITE, what));
    }
    let said = args.graph.format.as_deref();
    if let Some(format) = format_of(session.registry, &args.file, said) {
        return graph_file::run(format, args, session);
    }
    if let Some(name) = Session::options(&args.graph).get("launcher")
        && let Err(wrong) = Launcher::from_name(name)
    {
        return session.fail(Exit::Plugin, *wrong);
    }
    let (network, target) = session.verified_for(&args.file, &args.graph, &args.mapping)?;
    // Patient, because the mapping is the result. In other verbs Ctrl-C ends the command, because
    // the mapping is only a step.
    let given = session.given(&args.mapping, &args.compare, &network)?;
    let platform = given.platform().unwrap_or(&target.platform);
    let hardware = match given.platform() {
        Some(platform) => Some(platform.hardware(None)),
        None => target.hardware,
    };
    let has_hosts = args.mapping.hosts.is_some() || given.names_hosts();
    let how = (true, &given.known());
    let plan = session.plan_known(&network, platform, &args.graph, &args.mapping, how)?;
    session.unless_denied()?;
    let mut shown = if args.json {
        shown_plan::as_json(&plan)
    } else {
        shown_plan::as_text(&plan)
    };
    let unasked = args.mapping.hosts.is_none()
        && args.mapping.os_processes.is_none()
        && given.os_processes().is_none();
    if unasked && plan.loads.len() == 1 && !args.json {
        shown +=
            "\nnote: all processes are in one OS process; set the number with `-n` or `--hosts`\n";
    }
    if let Some(folder) = &args.output_dir {
        let mut names = vec![
            ("mapping", "mapping.json"),
            ("mapped", "mapped.dot"),
            ("svg", "mapped.svg"),
        ];
        if has_hosts {
            names.push(("mpiexec", "mpiexec.sh"));
        }
        let mut options = Session::options(&args.graph);
        let mut files = Files::new();
        let project = hosts::project_of(&args.file);
        if has_hosts {
            ranks::add_options(session, &args.file, std::iter::empty(), &mut options)?;
            // For FG-MPI, the mapping function contains the arguments.
            if project.is_none() && options.get("launcher").is_none_or(|name| name != "fgmpi") {
                tables::no_arguments(session, &args.graph)?;
            }
        }
        if let Some(project) = &project
            && has_hosts
            && !project.mpi
            && !options.contains_key("program")
        {
            let message = format!(
                "the project {} has no MPI link, so a launcher cannot join its OS processes",
                paths::shown(&project.root)
            );
            let warning = Diagnostic::warning(codes::NO_LINK, message);
            session.report(
                link_helps(warning, project)
                    .help("or name another program with `--set program=PATH`"),
            );
        }
        let network = plan.mapped.network();
        let project_tables =
            tables::of_project(session, &args.file, &args.graph, network, project.as_ref())?;
        hosts::describe(
            &mut options,
            project.as_ref(),
            (&plan.mapped, project_tables.as_deref()),
            folder,
            &mut files,
        );
        let mut found = Diagnostics::new();
        for (name, file) in names {
            let Some(emitter) = session.registry.emitters().find(|e| e.name() == name) else {
                continue;
            };
            let path = folder.join(file);
            let mut context = EmitContext::new(&path, &options, &mut found);
            context.platform = hardware.as_ref();
            if let Err(failed) = emitter.emit(&plan.mapped, &mut context, &mut files) {
                session.report_all(found);
                session.report_all(failed);
                return Err(Exit::Plugin);
            }
        }
        session.report_all(found);
        session.unless_denied()?;
        output::write_generated(session, &files)?;
    }
    session.show(&shown)?;
    Ok(Exit::Ok)
}
