//! `graphmap new`: makes a project for a graph.

pub(crate) mod args;

use super::args::is_standard;
use super::exit::Exit;
use super::run::project::report_changed;
use super::session::{Outcome, Session};
use super::skeletons;
use super::{gitignore, output, paths, update, vendor};
use crate::skeletons::BUILT_IN;
use crate::{codes, program};
use args::{Link, NewArgs};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::Network;
use graphmap_wiring::bundled;
use graphmap_wiring::family::{self, Family};
use graphmap_wiring::project::{self, NewProject, Project, RANKS_GRAPH, Runtime};
use graphmap_wiring::ranks_project;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Sample graph for a project without a graph.
const FIRST_GRAPH: &str = "\
// Numbers are generated, squared by four workers, and added.
digraph NAME {
    numbers;
    worker [replicas=4];
    sum;
    numbers -> worker [type=u64 bundle=share capacity=16];
    worker -> sum [type=u64 bundle=select capacity=16];
}
";

/// Functions of the kinds of the sample graph.
const FIRST_FUNCTIONS: [(&str, &str); 3] = [
    ("src/processes/numbers.rs", include_str!("first/numbers.rs")),
    ("src/processes/worker.rs", include_str!("first/worker.rs")),
    ("src/processes/sum.rs", include_str!("first/sum.rs")),
];

pub(crate) fn run(args: &NewArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let folder = &args.folder;
    if args
        .family
        .as_deref()
        .is_none_or(|family| [family::MPI, family::RUST].contains(&family))
    {
        check_link(args, session)?;
        if args.update {
            return update::run(args, session);
        }
    }
    if folder.symlink_metadata().is_ok() && !folder.is_dir() {
        let message = format!("`{}` is not a folder", folder.display());
        let error = Diagnostic::error(codes::USAGE, message);
        return session.fail(Exit::Usage, error.help("name a folder that does not exist"));
    }
    let Some(name) = folder.file_name().and_then(|n| n.to_str()) else {
        let message = format!(
            "`{}` does not end with the name of a project",
            folder.display()
        );
        return session.fail(Exit::Usage, Diagnostic::error(codes::USAGE, message));
    };
    if let Some(wrong) = project::name_too_long(name) {
        return session.fail(Exit::Usage, wrong);
    }
    if args.family.as_deref() == Some(family::MPI) {
        return ranks(name, args, session);
    }
    if args
        .family
        .as_ref()
        .is_some_and(|family| family != family::RUST)
        && (args.runtime.is_some() || args.member || args.link.is_some() || args.vendor)
    {
        let message = "`--runtime`, `--link`, `--member` and `--vendor` are for projects in Rust";
        return session.fail(Exit::Usage, Diagnostic::error(codes::USAGE, message));
    }
    if folder.join("Cargo.toml").exists() {
        let help = match Project::open(folder) {
            Ok(Some(project)) if project.ranks => {
                format!("`graphmap run {}` runs its ranks", paths::word(folder))
            }
            Ok(Some(project)) => run_updates_files(&project),
            // `graphmap run` reports the errors of the project.
            Ok(None) | Err(_) => "it is not a project of graphmap; name another folder".to_owned(),
        };
        return already(session, folder, &help);
    }
    let is_rust = matches!(args.family.as_deref(), None | Some(family::RUST));
    if is_rust && let Some(found) = unexpected(folder, args.from.as_deref()) {
        let message = format!("`{}` is not empty: it contains `{found}`", folder.display());
        let diagnostic = Diagnostic::error(codes::USAGE, message)
            .help("name a folder that does not exist or is empty");
        return session.fail(Exit::Usage, diagnostic);
    }
    if args.member && project::workspace_above(folder).is_none() {
        let message = format!(
            "no folder above `{}` has a readable Cargo.toml with a section [workspace]",
            folder.display()
        );
        let diagnostic = Diagnostic::error(codes::USAGE, message)
            .help("omit `--member` to make the project a workspace of its own");
        return session.fail(Exit::Usage, diagnostic);
    }
    let (network, graph_path, text) = match &args.from {
        Some(file) if is_standard(file) => {
            let diagnostic = Diagnostic::error(
                codes::USAGE,
                "a project needs a graph file, not standard input",
            )
            .help("write the graph to a file, and name the file");
            return session.fail(Exit::Usage, diagnostic);
        }
        Some(file) => {
            let network = session.verified(file, &args.graph)?;
            match seen_from(folder, file) {
                Some(path) => (network, path, None),
                None => {
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    let said = Session::display(file);
                    let mut sources = session.sources.sources();
                    let source = sources.find(|source| source.name() == said);
                    let text = source.map(|source| source.text().to_owned());
                    (network, name.into_owned(), text)
                }
            }
        }
        None => {
            let text = FIRST_GRAPH.replace("NAME", &format!("{name:?}"));
            let network = session.verified_text(&format!("{name}.dot"), &text)?;
            (network, format!("{name}.dot"), Some(text))
        }
    };
    let mut options = Session::options(&args.graph);
    args.skeletons.add_to(&mut options);
    let users = skeletons::folder(&options);
    let family = match &args.family {
        Some(name) => family(session, users, name)?,
        None => None,
    };
    let skeletons = skeletons::read(session, users)?;
    let users = users.map(|users| paths::way(folder, users).display().to_string());
    let new = NewProject {
        name,
        graph_path: &graph_path,
        graph_text: text.as_deref(),
        runtime: runtime(args),
        mpi: matches!(args.link, Some(Link::Mpi)),
        skeletons: users.as_deref(),
        alone: !args.member,
    };
    let mut found = Diagnostics::new();
    let created = session.timed("wiring", |_| match &family {
        None => project::create(&network, &skeletons, &new, &mut found),
        Some(family) => family.project(name, &network, &skeletons, &mut found),
    });
    session.report_all(found);
    let mut created = created.map_err(|failed| {
        session.report_all(failed);
        Exit::Plugin
    })?;
    if family.is_none() && args.from.is_none() {
        for (path, function) in FIRST_FUNCTIONS {
            created.once(path, function);
        }
    }
    if family.is_some()
        && let Some(text) = &text
    {
        created.once(&graph_path, text.as_str());
    }
    session.unless_denied()?;
    let mut files = Files::new();
    for (path, file) in created.iter() {
        files.put(folder.join(path), file.clone());
    }
    let graph = paths::plain(&folder.join(&graph_path))
        .display()
        .to_string();
    if family.is_some() {
        // The user may have written these files.
        let mut generated = files.iter().filter(|(_, file)| !file.create_once);
        if !args.update && generated.any(|(path, _)| path.exists()) {
            return already(
                session,
                folder,
                "use `--update` to update the generated files",
            );
        }
        output::write(session, &files)?;
        return Ok(Exit::Ok);
    }
    write(args, session, &files, &new.runtime)?;
    if let Runtime::Linked(link) = &new.runtime
        && args.member
    {
        let link = paths::plain(&folder.join(link));
        session.print(&format!(
            "graphmap: all members of the workspace share the link {}\n",
            paths::shown(&link)
        ));
        let workspace = link.parent().unwrap_or(Path::new(""));
        for lacking in lacking_in_workspace(folder) {
            let file = paths::shown(&workspace.join(lacking.file));
            session.print(&format!(
                "  {file}: add {}{}\n",
                lacking.text, lacking.place
            ));
        }
    }
    let functions = folder.join("src/processes");
    let tokens = tokens(&network);
    session.print(&format!(
        "graphmap: made the project {}\n  the graph      {}\n  the functions  {}\n{tokens}  \
         run it with    graphmap run {}\n",
        paths::shown(folder),
        paths::shown(Path::new(&graph)),
        paths::shown(&functions),
        paths::word(Path::new(&graph)),
    ));
    Ok(Exit::Ok)
}

/// Returns the source of the runtime for the new project: the path of `--runtime`, a copy with
/// `--vendor`, and otherwise a link. The link of a member is in the folder of the workspace.
fn runtime(args: &NewArgs) -> Runtime {
    if let Some(path) = &args.runtime {
        return Runtime::Path(path.clone());
    }
    if args.vendor {
        return Runtime::Copied;
    }
    // All members of a workspace must have the same runtime, so the link is beside the manifest of
    // the workspace.
    let workspace = args.member.then(|| project::workspace_above(&args.folder));
    let folder = match workspace.flatten() {
        Some((there, _)) => paths::way(&args.folder, &there),
        None => PathBuf::new(),
    };
    Runtime::Linked(folder.join(bundled::FOLDER).display().to_string())
}

/// A setting that a workspace lacks for a new member.
struct Lacking {
    file: &'static str,
    text: String,
    place: &'static str,
}

/// Returns the settings that the workspace above the folder `member` lacks for it as a new member.
/// The list is empty if there is no workspace above.
fn lacking_in_workspace(member: &Path) -> Vec<Lacking> {
    let Some((folder, manifest)) = project::workspace_above(member) else {
        return Vec::new();
    };
    let list = |name| -> Vec<&str> {
        let list = manifest
            .get("workspace")
            .and_then(|workspace| workspace.get(name)?.as_array());
        list.map_or_else(Vec::new, |list| {
            list.iter().filter_map(|v| v.as_str()).collect()
        })
    };
    let path = paths::way(&folder, member).display().to_string();
    let is_named = |pattern: &&str| {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        match pattern.find(['*', '?', '[']) {
            // Cargo expands the pattern. Here only its fixed prefix is compared.
            Some(end) => path.starts_with(&pattern[..end]),
            None => path == pattern,
        }
    };
    let mut lacking = Vec::new();
    let manifest = "Cargo.toml";
    if !list("members").iter().any(is_named) {
        let text = format!("{path:?}");
        lacking.push(Lacking {
            file: manifest,
            text,
            place: " to `members` of [workspace]",
        });
    }
    if !list("exclude").contains(&bundled::FOLDER) {
        let text = format!("{:?}", bundled::FOLDER);
        lacking.push(Lacking {
            file: manifest,
            text,
            place: " to `exclude` of [workspace]",
        });
    }
    let ignored = input::text(&folder.join(".gitignore"), Limit::SOURCE).unwrap_or_default();
    if !gitignore::hides_link(&ignored) {
        let text = format!("/{}", bundled::FOLDER);
        lacking.push(Lacking {
            file: ".gitignore",
            text,
            place: "",
        });
    }
    lacking
}

/// Writes the files of a new project. Then makes its link to the sources of the runtime, or copies
/// the packages of the registry that copied sources need. Blocks until Cargo has copied them.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the sources, the files or the link cannot be
/// written. Also fails as [`vendor::dependencies`] does.
fn write(
    args: &NewArgs,
    session: &mut Session<'_>,
    files: &Files,
    runtime: &Runtime,
) -> Outcome<()> {
    let unpacked = match runtime {
        Runtime::Linked(_) => match program::unpacked() {
            Ok(unpacked) => Some(unpacked),
            Err(wrong) => return session.fail(Exit::Usage, *wrong),
        },
        Runtime::Copied | Runtime::Path(_) => None,
    };
    session.timed("write files", |s| output::write_quietly(s, files))?;
    if let (Some(unpacked), Runtime::Linked(link)) = (unpacked, runtime) {
        report_changed(session, unpacked.changed.as_deref());
        if let Err(wrong) = program::make_link(&args.folder.join(link), &unpacked.folder) {
            return session.fail(Exit::Usage, *wrong);
        }
    }
    if *runtime == Runtime::Copied {
        vendor::dependencies(session, &args.folder)?;
    }
    Ok(())
}

/// Returns the name of an entry of the folder, other than the graph of the project and `.git`.
/// Returns `None` if there is none, or if the folder cannot be read.
fn unexpected(folder: &Path, graph: Option<&Path>) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?.flatten();
    let mut names = names.map(|entry| entry.file_name());
    let is_graph = |name: &OsStr| {
        graph.is_some_and(|graph| {
            graph.file_name() == Some(name) && seen_from(folder, graph).is_some()
        })
    };
    let found = names.find(|name| name != ".git" && !is_graph(name))?;
    Some(found.to_string_lossy().into_owned())
}

/// Refuses `--link` with a link that every project has.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] for the links `shm` and `threads`.
fn check_link(args: &NewArgs, session: &mut Session<'_>) -> Outcome<()> {
    let link = match args.link {
        Some(Link::Shm) => "shm",
        Some(Link::Threads) => "threads",
        Some(Link::Mpi) | None => return Ok(()),
    };
    let message = format!("every project has the link `{link}`, so `--link {link}` has no use");
    let help = format!("omit `--link`; `graphmap run FILE -n 4 --link {link}` uses this link");
    let diagnostic = Diagnostic::error(codes::USAGE, message).help(help);
    session.fail(Exit::Usage, diagnostic)
}

fn run_updates_files(project: &Project) -> String {
    let graph = paths::word(&paths::plain(&project.graph));
    format!("`graphmap run {graph}` updates its generated files if the graph has changed")
}

/// Makes the project of ranks `name`, which has no graph, and prints how to run it.
///
/// # Errors
/// Reports the diagnostics and returns [`Exit::Usage`] for an option that is not for ranks, and if
/// the folder contains a project. Returns [`Exit::Plugin`] if a skeleton cannot be rendered. Also
/// fails as [`skeletons::read`] and [`write()`] do.
fn ranks(name: &str, args: &NewArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let folder = &args.folder;
    let not_asked = [
        (args.from.is_some(), "`--from`", "it has no graph"),
        (
            args.member,
            "`--member`",
            "it replaces `mpi` by `[patch]`, which would apply to the whole workspace",
        ),
    ];
    if let Some((_, option, why)) = not_asked.into_iter().find(|(said, ..)| *said) {
        let message = format!("{option} is not for a project of ranks: {why}");
        let mut diagnostic = Diagnostic::error(codes::USAGE, message);
        if args.from.is_some() {
            let drawing = paths::word(&folder.join(RANKS_GRAPH));
            diagnostic = diagnostic
                .help("omit `--from`: the program creates its ranks itself")
                .help(format!("to map its ranks, write a graph of them: `graphmap import PROFILE -o {drawing}`"));
        }
        return session.fail(Exit::Usage, diagnostic);
    }
    let is_there = folder.join("Cargo.toml").exists();
    if is_there {
        let help = "use `--update` to update its dependencies on the runtime, or to add the link of `--link`";
        return already(session, folder, help);
    }
    let mut options = Session::options(&args.graph);
    args.skeletons.add_to(&mut options);
    let users = skeletons::folder(&options);
    let skeletons = skeletons::read(session, users)?;
    let runtime = runtime(args);
    let link = matches!(args.link, Some(Link::Mpi));
    let created = ranks_project::create(name, &runtime, link, &skeletons).map_err(|failed| {
        session.report_all(failed);
        Exit::Plugin
    })?;
    let mut files = Files::new();
    for (path, file) in created.iter() {
        files.put(folder.join(path), file.clone());
    }
    write(args, session, &files, &runtime)?;
    let on_hosts = match link {
        true => format!(
            "  on hosts       graphmap run {} --hosts hostfile -- 1000\n",
            paths::word(folder)
        ),
        false => String::new(),
    };
    session.print(&format!(
        "graphmap: made the project {}\n  the ranks      {}\n  run it with    graphmap run {} -- 1000\n{on_hosts}",
        paths::shown(folder),
        paths::shown(&folder.join("src/ring.rs")),
        paths::word(folder),
    ));
    Ok(Exit::Ok)
}

/// Returns the line of output about `Token`, the type of channels without a type. Returns an empty
/// text if all channels have a type.
fn tokens(network: &Network) -> String {
    let untyped = network.channels.values().filter(|c| c.ty.is_none());
    let mut spans = untyped.map(|channel| channel.span);
    let Some(first) = spans.next() else {
        return String::new();
    };
    let (count, all) = (1 + spans.count(), network.channels.len());
    let at = network.location(first);
    let at = at.map_or_else(String::new, |at| format!(": the first at {at}"));
    let which = match count == all {
        true => "because no channel has `type=`".to_owned(),
        false => format!("for {count} of {all} channels, which have no `type=`{at}"),
    };
    format!("  the tokens     `Token` in src/types.rs, {which}\n")
}

fn already<T>(session: &mut Session<'_>, folder: &Path, help: &str) -> Outcome<T> {
    let message = format!("`{}` already contains a project", folder.display());
    let diagnostic = Diagnostic::error(codes::USAGE, message).help(help);
    session.fail(Exit::Usage, diagnostic)
}

/// Returns the family of a project that Cargo does not build. Returns `None` for Rust. `users` is
/// the user's folder of skeletons.
///
/// # Errors
/// As for [`skeletons::emitters`], and [`Exit::Usage`] if no family has this name, which is
/// reported.
fn family(session: &mut Session<'_>, users: Option<&Path>, name: &str) -> Outcome<Option<Family>> {
    if name == family::RUST {
        return Ok(None);
    }
    let mut families = family::built_in(&BUILT_IN);
    families.extend(
        skeletons::emitters(session, users)?
            .into_iter()
            .map(|e| e.family),
    );
    let mut names: Vec<String> = families.iter().map(|f| f.name.clone()).collect();
    names.push(family::MPI.to_owned());
    names.sort();
    if let Some(family) = families.into_iter().find(|family| family.name == name) {
        return Ok(Some(family));
    }
    let message = format!("unknown family of skeletons `{name}`");
    let mut diagnostic = Diagnostic::error(codes::USAGE, message);
    if let Some(near) = nearest(name, names.iter().map(String::as_str)) {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    }
    let diagnostic = diagnostic.help(format!(
        "the families are {}; `--skeletons DIR` adds the families of `DIR/{}`",
        names.join(", "),
        family::MANIFEST,
    ));
    session.fail(Exit::Usage, diagnostic)
}

/// Returns the path of a graph relative to the folder of a project. Returns `None` unless the graph
/// is where `graphmap run` expects it: in the folder, or beside it with the same name. Also returns
/// `None` if the name is not UTF-8, or if a folder around them does not exist.
fn seen_from(folder: &Path, file: &Path) -> Option<String> {
    let absolute = |path: &Path| -> Option<PathBuf> {
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        Some(std::fs::canonicalize(parent).ok()?.join(path.file_name()?))
    };
    let (folder, file) = (absolute(folder)?, absolute(file)?);
    let name = file.file_name()?.to_str()?;
    if file.parent()? == folder {
        Some(name.to_owned())
    } else if file.with_extension("") == folder {
        Some(format!("../{name}"))
    } else {
        None
    }
}
