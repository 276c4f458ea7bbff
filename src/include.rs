//! Reads a graph together with the graphs that it includes.

use crate::codes;
use crate::front_end::FrontEnd;
use crate::library_networks;
use crate::registry::Registry;
use crate::search::{ReadOptions, find, folder_of};
use graphmap_kpn::codes::{LEAST_REPLICAS, NOT_INCLUDED, UNUSED_SIZE};
use graphmap_kpn::compose::{self, Included, Origin, Request};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;
use std::path::{Path, PathBuf};

/// Limit on the number of included graphs. Without a limit, a few files that include each other
/// twice could stand for billions.
const MOST_INCLUDED: usize = 10_000;

/// A text to read, and its name in diagnostics.
pub(crate) struct Text<'a> {
    pub(crate) front_end: &'a dyn FrontEnd,
    pub(crate) name: &'a str,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a graph and the graphs that it includes, for a picture if `picture` is true. Returns it
/// with all warnings. Its sources are all texts that were read.
///
/// # Errors
/// Returns all errors in the texts.
pub(crate) fn read(
    registry: &Registry,
    text: Text<'_>,
    options: &ReadOptions,
    sources: &mut SourceMap,
    picture: bool,
) -> Result<(Declared, Diagnostics), Diagnostics> {
    let Text {
        front_end,
        name,
        bytes,
    } = text;
    let mut sizes = options.default_sizes.clone();
    sizes.set_os_processes(options.os_processes);
    for (name, value) in options.sizes.iter() {
        sizes.set(name, value);
    }
    let own = ReadOptions {
        sizes: sizes.clone(),
        ..options.clone()
    };
    let (declared, mut diagnostics) = match picture {
        true => front_end.read_picture(name, bytes, &own, sources)?,
        false => front_end.read(name, bytes, &own, sources)?,
    };
    let mut reader = Reader {
        registry,
        folders: &options.folders,
        sources,
        included: 0,
    };
    let mut declared = compose::compose(
        declared,
        origin(Path::new(name)),
        &sizes,
        &mut |request, diagnostics| reader.read(request, diagnostics),
        &mut diagnostics,
    );
    declared.sources = sources.clone();
    report_unused(&options.sizes, &declared, front_end, &mut diagnostics);
    match diagnostics.has_errors() {
        true => Err(diagnostics),
        false => Ok((declared, diagnostics)),
    }
}

/// Notes numbers of instances that are the smallest ones because the OS processes are unknown.
pub(crate) fn note_least(
    declared: &Declared,
    options: &ReadOptions,
    diagnostics: &mut Diagnostics,
) {
    let noted = options.os_processes.is_none();
    for (span, least) in declared.fitted.iter().filter(|_| noted) {
        let message = format!(
            "`replicas=` is {least}, the smallest number, because the OS processes are unknown"
        );
        diagnostics.push(
            Diagnostic::note(LEAST_REPLICAS, message)
                .at(*span, "")
                .help("name the OS processes: `-n 4` or `--hosts FILE`"),
        );
    }
}

/// Reports given values for sizes that the graph does not have.
fn report_unused(
    sizes: &Given,
    declared: &Declared,
    front_end: &dyn FrontEnd,
    diagnostics: &mut Diagnostics,
) {
    let known = || declared.sizes.iter().map(|name| &**name);
    for (name, _) in sizes.iter() {
        // After an error, the sizes of an included graph may be unknown.
        let is_unknown = diagnostics.has_errors() && name.contains('.');
        if is_unknown || known().any(|known| known == name) {
            continue;
        }
        let message = format!("the graph `{}` has no size `{name}`", declared.name);
        let error = Diagnostic::error(UNUSED_SIZE, message);
        let all: Vec<String> = known().map(|name| format!("`{name}`")).collect();
        diagnostics.push(match nearest(name, known()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None if all.is_empty() && !front_end.has_sizes() => error.help(format!(
                "a network in the format `{}` has no sizes; define them in a graph in DOT",
                front_end.name()
            )),
            None if all.is_empty() && front_end.name() != "dot" => {
                error.help("define it, and use it for a number of instances")
            }
            None if all.is_empty() => error.help(format!(
                "define it in the graph, such as `sizes=\"{name}=8\"`, and use it for a number: \
                 `replicas=\"{name}\"`"
            )),
            None => error.help(format!("its sizes are {}", all.join(", "))),
        });
    }
}

/// Reads included graphs.
struct Reader<'a> {
    registry: &'a Registry,
    folders: &'a [PathBuf],
    sources: &'a mut SourceMap,
    included: usize,
}

impl Reader<'_> {
    fn read(&mut self, request: &Request<'_>, diagnostics: &mut Diagnostics) -> Option<Included> {
        self.included += 1;
        if self.included > MOST_INCLUDED {
            if self.included == MOST_INCLUDED + 1 {
                let message = format!("more than {MOST_INCLUDED} graphs are included");
                let error = Diagnostic::error(NOT_INCLUDED, message).at(request.span, "");
                diagnostics.push(error.help("use `replicas=` to repeat a network"));
            }
            return None;
        }
        let result = if is_library_name(request.file) {
            self.of_library(request)
        } else {
            self.of_file(request)
        };
        match result {
            Ok((included, found)) => {
                diagnostics.append(found);
                Some(included)
            }
            Err(found) => {
                diagnostics.append(found);
                None
            }
        }
    }

    fn options(&self, request: &Request<'_>) -> ReadOptions {
        ReadOptions {
            sizes: request.sizes.clone(),
            folders: self.folders.to_vec(),
            ..ReadOptions::default()
        }
    }

    fn of_library(
        &mut self,
        request: &Request<'_>,
    ) -> Result<(Included, Diagnostics), Diagnostics> {
        let name = request.file;
        let Some(text) = library_networks::text(name) else {
            let message = format!("the library has no network `{name}`");
            let error = Diagnostic::error(NOT_INCLUDED, message).at(request.span, "");
            let names = || library_networks::names();
            return Err(match nearest(name, names()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => {
                    let all: Vec<String> = names().map(|name| format!("`{name}`")).collect();
                    error.help(format!("its networks are {}", all.join(", ")))
                }
            }
            .help("write the extension of a file, such as `.dot`")
            .into());
        };
        let path = format!("{}{name}.dot", library_networks::PREFIX);
        let front_end = crate::front_end::Dot;
        let bytes = text.as_bytes().to_vec();
        let (declared, found) =
            front_end.read(&path, bytes, &self.options(request), self.sources)?;
        let identity = path.clone();
        let origin = Origin { path, identity };
        Ok((Included { origin, declared }, found))
    }

    fn of_file(&mut self, request: &Request<'_>) -> Result<(Included, Diagnostics), Diagnostics> {
        let at = |error: Diagnostic| Diagnostics::from(error.at(request.span, ""));
        let folders = self.folders.iter().map(PathBuf::as_path);
        let folders = std::iter::once(folder_of(request.from)).chain(folders);
        let path = find(request.file, folders).map_err(|error| at(*error))?;
        let name = path.display().to_string();
        let Some(front_end) = self.registry.front_end_of(&path) else {
            let message = format!("unknown format of the included file `{name}`");
            return Err(at(Diagnostic::error(codes::UNKNOWN_FORMAT, message)));
        };
        let bytes = input::bytes(&path, Limit::NETWORK)
            .map_err(|why| at(codes::cannot_read(&name, &why)))?;
        let (declared, found) =
            front_end.read(&name, bytes, &self.options(request), self.sources)?;
        let origin = origin(&path);
        Ok((Included { origin, declared }, found))
    }
}

/// Returns the origin of a graph in a file. A text without a file is its own origin.
fn origin(path: &Path) -> Origin {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Origin {
        path: path.display().to_string(),
        identity: real.display().to_string(),
    }
}

/// Returns true if `use=` names a network of the library: a word without extension and folder.
fn is_library_name(file: &str) -> bool {
    !file.contains(['.', '/', '\\'])
}
