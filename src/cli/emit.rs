//! The default action: emitters write files from a graph.

use super::args::{File, GraphArgs, STANDARD, is_standard};
use super::exit::Exit;
use super::identity::Identity;
use super::session::{Outcome, Session};
use super::skeletons::{self, SkeletonArgs};
use super::{output, paths, ranks, settings, tables};
use crate::codes;
use graphmap_binding::{MAPPING_FUNCTION, describes_launch};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::nearest::nearest;
use graphmap_wiring::emitters::SkeletonEmitter;
use graphmap_wiring::family::MANIFEST;
use graphmap_wiring::project::Project;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Write files from a graph: wiring code, hostfiles, pictures (the default action)
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap farm.dot --emit wiring.rs            the file name selects the kind
  graphmap farm.dot wiring.c hostfile           the same without --emit, for two files
  graphmap farm.dot --emit json=-               `-` is standard output
  graphmap farm.dot --emit a=x --emit b=y       several files: all or none are written
  graphmap farm.dot --emit wiring.rs --check    exits with status 3 if wiring.rs is out of date
  graphmap farm.dot --skeletons mine --emit go=wiring.go
                                                with a family of your own skeletons
  graphmap passes                               lists the kinds")]
pub(crate) struct EmitArgs {
    /// Graph file; `-` is standard input [default: `file` in graphmap.toml, or the only graph file
    /// here]
    // Positional arguments have explicit indices, because `Command::mut_arg` moves `file` behind
    // the other one when it sets a default.
    #[arg(value_name = "FILE", index = 1)]
    pub(crate) file: Option<File>,
    /// Files to write, as with --emit
    #[arg(value_name = "OUTPUT", index = 2)]
    pub(crate) outputs: Vec<String>,
    /// Write PATH with the emitter KIND [default: by file name]. For launch files, KIND without a
    /// PATH is enough: the file gets its usual name
    #[arg(short, long, value_name = "[KIND=]PATH")]
    pub(crate) emit: Vec<String>,
    /// Write nothing; exit with status 3 if a file would change
    #[arg(long)]
    pub(crate) check: bool,
    /// Folder for the paths of --emit
    #[arg(short = 'o', long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skeletons: SkeletonArgs,
    #[command(flatten)]
    pub(crate) mapping: super::mapping::MappingArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

pub(crate) fn run(args: &EmitArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    // Clap requires FILE for the verb, but not for the default action.
    let Some(file) = &args.file else {
        let diagnostic = Diagnostic::error(codes::USAGE, "no graph file is named");
        return session.fail(Exit::Usage, diagnostic);
    };
    if args.emit.is_empty() && args.outputs.is_empty() {
        let shown = file.display();
        let name = paths::word(file);
        let mut diagnostic = Diagnostic::error(
            codes::USAGE,
            format!("no verb and no `--emit` for `{shown}`"),
        )
        .help(format!("`graphmap check {name}` reports its errors"));
        if !is_standard(file) {
            diagnostic = diagnostic.help(match Project::find(file) {
                Ok(Some(_)) => format!("`graphmap run {name}` builds its program and runs it"),
                _ => format!(
                    "`graphmap new {} --from {name}` makes a project for it",
                    paths::word(&file.with_extension(""))
                ),
            });
        }
        let diagnostic = diagnostic.help(format!(
            "`graphmap {name} --emit PATH` writes a file from it"
        ));
        return session.fail(Exit::Usage, diagnostic);
    }
    if args.output_dir.as_deref().is_some_and(is_standard) {
        let diagnostic =
            Diagnostic::error(codes::USAGE, "`-o` must be a folder, not standard output")
                .help("write to standard output with `--emit KIND=-`");
        return session.fail(Exit::Usage, diagnostic);
    }
    // Looks up the emitters before anything is read, so that a typing error is reported at once.
    let mut options = Session::options(&args.graph);
    args.skeletons.add_to(&mut options);
    let own = Own {
        folder: skeletons::folder(&options),
        emitters: skeletons::emitters(session, skeletons::folder(&options))?,
    };
    for text in &args.outputs {
        not_a_graph(session, file, text)?;
    }
    let mut wanted = Vec::new();
    let mut places = HashMap::new();
    for text in args.outputs.iter().chain(&args.emit) {
        let (emitter, path) = find_emitter(session, &own, text)?;
        let path = match &args.output_dir {
            Some(folder) if !is_standard(&path) => folder.join(path),
            _ => path,
        };
        let file = Identity::of_output(&path);
        if let Some(other) = places.insert(file, path.clone()) {
            return output::written_twice(session, &other, &path);
        }
        if !text.contains('=') {
            print_emitter(session, emitter.as_emitter(), &path);
        }
        wanted.push((emitter, path));
    }
    let asked: Vec<&dyn Emitter> = wanted.iter().map(|(e, _)| e.as_emitter()).collect();
    let strategy = Some(args.mapping.strategy.as_str());
    settings::check(session, &args.graph, strategy, Some(&asked))?;
    let names = || {
        wanted
            .iter()
            .map(|(emitter, _)| emitter.as_emitter().name())
    };
    let mut emit_options = options.clone();
    // A launcher script also writes the mapping function, unless its own emitter is selected.
    let function = wanted
        .iter()
        .find(|(e, _)| e.as_emitter().name() == MAPPING_FUNCTION);
    if let Some((_, path)) = function {
        let path = path.display().to_string();
        emit_options
            .entry(MAPPING_FUNCTION.to_owned())
            .or_insert(path);
    }
    if names().any(describes_launch) {
        ranks::add_options(session, file, names(), &mut emit_options)?;
        // Other files contain arguments, also the mapping function beside the script.
        let by_script = options.get("launcher").is_some_and(|name| name == "fgmpi")
            && names().any(|name| name == "mpiexec");
        let lacks_arguments = |name: &str| describes_launch(name) || name == "mapping";
        if !by_script && names().all(lacks_arguments) {
            tables::no_arguments(session, &args.graph)?;
        }
    }
    let (mapped, hardware) = session.mapped(file, &args.graph, &args.mapping)?;
    let mut sets = Vec::new();
    for (emitter, path) in wanted {
        let mut own = Files::new();
        let mut diagnostics = Diagnostics::new();
        let name = emitter.as_emitter().name().to_owned();
        let result = session.timed(&name, |_| {
            let mut context = EmitContext::new(&path, &emit_options, &mut diagnostics);
            context.platform = hardware.as_ref();
            emitter.as_emitter().emit(&mapped, &mut context, &mut own)
        });
        session.report_all(diagnostics);
        if let Err(failed) = result {
            session.report_all(failed);
            return Err(Exit::Plugin);
        }
        sets.push((own, matches!(emitter, Found::Internal(_))));
    }
    session.unless_denied()?;
    let all = sets.iter().flat_map(|(files, _)| files.iter());
    output::no_conflicts(session, all)?;
    // The files of external emitters may begin in any way, so that nothing can be checked.
    for (files, _) in sets.iter().filter(|(_, is_ours)| *is_ours) {
        output::check_owned(session, files)?;
    }
    let mut files = Files::new();
    sets.into_iter().for_each(|(own, _)| files.append(own));
    if args.check {
        output::check(session, &files)
    } else {
        output::write(session, &files)?;
        Ok(Exit::Ok)
    }
}

/// Refuses an output without `--emit` that seems to be a second graph file. A file in JSON seems to
/// be a graph if it exists, unless its name selects an emitter other than `json`.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] for such an output.
fn not_a_graph(session: &mut Session<'_>, file: &Path, text: &str) -> Outcome<()> {
    let registry = session.registry;
    let path = Path::new(text);
    let (first, second) = (paths::word(file), paths::word(path));
    let is_graph = match registry.emitter_of(path).map(Emitter::name) {
        None => true,
        Some("json") => path.exists(),
        Some(_) => false,
    };
    if !is_graph || registry.front_end_of(path).is_none() {
        return Ok(());
    }
    let message = format!("`{text}` is a second graph file, and an emitter reads one");
    let help = match (path.exists(), registry.emitter_of(path)) {
        (false, _) => format!("`graphmap expand {first} -o {second}` writes the expanded graph"),
        (true, None) => format!("`graphmap check {first} {second}` checks both graphs"),
        (true, Some(_)) => format!("`graphmap {first} --emit {second}` overwrites this file"),
    };
    let diagnostic = Diagnostic::error(codes::USAGE, message).help(help);
    session.fail(Exit::Usage, diagnostic)
}

/// Prints which emitter writes a file, if the file name does not show it: `wiring.c` is for Pilot.
/// Does not print it if the file name contains the name of the emitter, or ends in `.rs`.
fn print_emitter(session: &Session<'_>, emitter: &dyn Emitter, path: &Path) {
    let (name, about) = (emitter.name(), emitter.about());
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    if !file.contains(name) && path.extension().is_none_or(|ending| ending != "rs") {
        let path = paths::shown(path);
        session.print(&format!(
            "graphmap: writing {path} with the emitter `{name}`: {about}\n"
        ));
    }
}

/// An emitter that is built in, or one of the user's: a plug-in on PATH or a family of skeletons.
pub(crate) enum Found<'t> {
    Internal(&'t dyn Emitter),
    External(Box<dyn Emitter>),
}

impl Found<'_> {
    fn as_emitter(&self) -> &dyn Emitter {
        match self {
            Found::Internal(emitter) => *emitter,
            Found::External(emitter) => &**emitter,
        }
    }
}

/// Folder and emitters of the user's own skeletons.
struct Own<'o> {
    folder: Option<&'o Path>,
    emitters: Vec<SkeletonEmitter>,
}

impl Own<'_> {
    fn find<'t>(&self, is: impl Fn(&SkeletonEmitter) -> bool) -> Option<Found<'t>> {
        let emitter = self.emitters.iter().find(|emitter| is(emitter))?;
        Some(Found::External(Box::new(emitter.clone())))
    }

    /// Returns the path of `families.toml` in the user's folder of skeletons if that folder
    /// contains a folder named `family`. Otherwise returns `None`. The caller knows that
    /// `families.toml` does not list the family.
    fn unlisted(&self, family: &str) -> Option<PathBuf> {
        let folder = self.folder?;
        let there = !family.contains(['/', '\\']) && folder.join(family).is_dir();
        there.then(|| folder.join(MANIFEST))
    }
}

/// Returns the emitter and the path of `text`, which is `[KIND=]PATH`. Built-in emitters take
/// precedence over emitters of the user. A `KIND` alone means the usual file of that emitter, if it
/// has one.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the path is missing, or if no emitter has this
/// name or accepts this path.
fn find_emitter<'t>(
    session: &mut Session<'t>,
    own: &Own<'_>,
    text: &str,
) -> Outcome<(Found<'t>, PathBuf)> {
    let registry = session.registry;
    if let Some((kind, path)) = text.split_once('=') {
        if path.is_empty() {
            let message = format!("`--emit {text}` names no file");
            let diagnostic = Diagnostic::error(codes::USAGE, message)
                .help(format!("`--emit {kind}=-` writes to standard output"));
            return session.fail(Exit::Usage, diagnostic);
        }
        if let Some(emitter) = registry.emitters().find(|e| e.name() == kind) {
            return Ok((Found::Internal(emitter), PathBuf::from(path)));
        }
        if let Some(emitter) = own.find(|e| e.name() == kind) {
            return Ok((emitter, PathBuf::from(path)));
        }
        if let Some(emitter) = session.external_emitter(kind) {
            return Ok((Found::External(emitter), PathBuf::from(path)));
        }
        return unknown(
            session,
            own,
            format!("unknown emitter `{kind}`"),
            Some(kind),
        );
    }
    let path = Path::new(text);
    if text != STANDARD
        && let Some(emitter) = registry.emitters().find(|e| e.accepts(path))
    {
        return Ok((Found::Internal(emitter), path.to_owned()));
    }
    if let Some(emitter) = own.find(|e| e.accepts(path)) {
        return Ok((emitter, path.to_owned()));
    }
    let by_name = registry.emitters().find(|e| e.name() == text);
    if let Some(emitter) = by_name
        && let Some(file) = emitter.usual_file()
    {
        return Ok((Found::Internal(emitter), PathBuf::from(file)));
    }
    // `--emit json` means the kind, not a file of that name.
    let named = registry.emitters().any(|e| e.name() == text)
        || own.find(|e| e.name() == text).is_some()
        || session.external_emitter(text).is_some();
    if named {
        let message = format!("`--emit {text}` names no file");
        let diagnostic = Diagnostic::error(codes::USAGE, message)
            .help(format!("`--emit {text}=-` writes to standard output"));
        return session.fail(Exit::Usage, diagnostic);
    }
    unknown(
        session,
        own,
        format!("no emitter writes files such as `{text}`"),
        None,
    )
}

fn unknown<T>(
    session: &mut Session<'_>,
    own: &Own<'_>,
    message: String,
    kind: Option<&str>,
) -> Outcome<T> {
    let names = session.registry.emitters().map(|e| e.name());
    let names: Vec<&str> = names.chain(own.emitters.iter().map(|e| e.name())).collect();
    let mut diagnostic = Diagnostic::error(codes::UNKNOWN_EMITTER, message);
    if let Some(near) = kind.and_then(|kind| nearest(kind, names.iter().copied())) {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    }
    if let Some(manifest) = kind.and_then(|kind| own.unlisted(kind)) {
        diagnostic = diagnostic.help(format!(
            "there are skeletons of this family; add an entry to `{}` to make it an emitter",
            manifest.display()
        ));
    }
    let diagnostic = diagnostic.help(format!(
        "use `--emit KIND=PATH` with one of the kinds {}, or with an executable \
         `graphmap-emit-KIND` on PATH",
        names.join(", ")
    ));
    session.fail(Exit::Usage, diagnostic)
}
