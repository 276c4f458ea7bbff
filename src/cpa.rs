//! Front end for the notation of (CM)2PI, which reads the included files.

use crate::codes;
use crate::front_end::{FrontEnd, ends_with, text};
use crate::search::{ReadOptions, find, folder_of};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::source::{Source, SourceMap, Span};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the notation of (CM)2PI.
pub(crate) struct Cpa;

impl FrontEnd for Cpa {
    fn name(&self) -> &str {
        "cpa"
    }

    fn about(&self) -> &str {
        "structures, containers and functions in the notation of (CM)2PI (.cpa)"
    }

    fn accepts(&self, path: &Path) -> bool {
        ends_with(path, &["cpa"])
    }

    fn read(
        &self,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        let source = text(name, bytes, sources)?;
        let mut included = Included {
            folders: Vec::new(),
            others: &options.folders,
            read: BTreeSet::from([identity(Path::new(name))]),
        };
        let mut include =
            |file: &str, at: Span, sources: &mut SourceMap| included.read(file, at, sources);
        graphmap_cpa::read(&source, &options.sizes, &mut include, sources)
    }

    fn format(
        &self,
        name: &str,
        bytes: Vec<u8>,
        sources: &mut SourceMap,
    ) -> Option<Result<String, Diagnostics>> {
        let source = text(name, bytes, sources);
        Some(source.and_then(|source| graphmap_cpa::format(&source)))
    }
}

struct Included<'a> {
    /// Folders of the files that were read.
    folders: Vec<PathBuf>,
    others: &'a [PathBuf],
    /// Identities of the files that were read.
    read: BTreeSet<PathBuf>,
}

impl Included<'_> {
    /// Returns the text of a file, or `None` if it was read before. It is searched in the folder of
    /// the file that includes it, in the folders of the files that were read, from the last one to
    /// the first, and then in the others.
    fn read(
        &mut self,
        file: &str,
        at: Span,
        sources: &mut SourceMap,
    ) -> Result<Option<Arc<Source>>, Diagnostics> {
        let fail = |error: Diagnostic| Diagnostics::from(error.at(at, ""));
        let from = sources
            .location(at)
            .map_or_else(String::new, |from| from.file);
        let from = folder_of(&from).to_owned();
        self.folders.retain(|folder| *folder != from);
        self.folders.push(from);
        let known = self.folders.iter().rev().chain(self.others);
        let path = find(file, known.map(PathBuf::as_path)).map_err(|error| fail(*error))?;
        if !self.read.insert(identity(&path)) {
            return Ok(None);
        }
        let name = path.display().to_string();
        let bytes = input::bytes(&path, Limit::NETWORK)
            .map_err(|why| fail(codes::cannot_read(&name, &why)))?;
        let folder = folder_of(&name).to_owned();
        if !self.folders.contains(&folder) {
            self.folders.push(folder);
        }
        text(&name, bytes, sources).map(Some)
    }
}

/// Returns a path that is the same for all names of a file.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
