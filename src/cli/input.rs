//! Reads files and records them as inputs of the run.

use super::args::is_standard;
use super::exit::Exit;
use super::identity::{self, Identity};
use super::session::{Outcome, Session};
use crate::codes::{self, cannot_read};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::input::{self, Limit, Unreadable};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Source;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

impl Session<'_> {
    /// Returns the name of an input for messages: `<stdin>` for `-`, and otherwise the path.
    pub(crate) fn display(path: &Path) -> String {
        if is_standard(path) {
            "<stdin>".to_owned()
        } else {
            path.display().to_string()
        }
    }

    /// Returns the bytes of an input file, or of standard input, and records the file as an input.
    /// Blocks like [`input::bytes`].
    ///
    /// # Errors
    /// Reports an error and returns [`Exit::Usage`] if the path is a folder, or if the file cannot
    /// be read or exceeds the limit.
    pub(crate) fn read_bytes(&mut self, path: &Path, limit: Limit) -> Outcome<Vec<u8>> {
        if !is_standard(path) && path.is_dir() {
            let message = format!("`{}` is a folder, not a file", path.display());
            let mut diagnostic = Diagnostic::error(codes::CANNOT_READ, message);
            if let Some(inside) = self.graph_in(path) {
                diagnostic = diagnostic.help(format!("did you mean `{inside}`?"));
            }
            return self.fail(Exit::Usage, diagnostic);
        }
        let read = match is_standard(path) {
            true => identity::standard_input(),
            false => File::open(path),
        };
        let read = read.map_err(Unreadable::from).and_then(|file| {
            self.remember_open(&file, path);
            input::open(&file, limit)
        });
        read.or_else(|why| self.fail(Exit::Usage, unreadable(path, &why)))
    }

    /// Reports all files that do not exist, before any of them is read. Standard input is skipped.
    ///
    /// # Errors
    /// Returns [`Exit::Usage`] if a file does not exist or cannot be examined.
    pub(crate) fn check_existence<'p>(
        &mut self,
        files: impl Iterator<Item = &'p Path>,
    ) -> Outcome<()> {
        let mut all = Ok(());
        for path in files.filter(|path| !is_standard(path)) {
            if let Err(why) = std::fs::metadata(path) {
                let diagnostic = unreadable(path, &Unreadable::from(why));
                all = self.fail(Exit::Usage, diagnostic);
            }
        }
        all
    }

    /// Reads a text other than a graph, and adds it to the sources.
    ///
    /// # Errors
    /// As for [`Session::read_bytes`], and [`Exit::Usage`] if the file is not UTF-8 text or the
    /// sources become too large.
    pub(crate) fn text_file(&mut self, path: &Path, limit: Limit) -> Outcome<Arc<Source>> {
        let bytes = self.read_bytes(path, limit)?;
        let name = Self::display(path);
        let text = match input::decode(bytes) {
            Ok(text) => text,
            Err(why) => return self.fail(Exit::Usage, cannot_read(&name, &why)),
        };
        self.sources.add(name, text).or_else(|error| {
            let diagnostic = Diagnostic::error(codes::TOO_LARGE, error.to_string());
            self.fail(Exit::Usage, diagnostic)
        })
    }

    fn remember_open(&mut self, file: &File, path: &Path) {
        let found = file.metadata();
        if let Some(file) = found.ok().and_then(|m| Identity::of_input(&m)) {
            self.inputs.entry(file).or_insert_with(|| path.to_owned());
        }
    }

    /// Records a file as an input that another function reads. Has no effect if the file does not
    /// exist or is not a regular file.
    pub(crate) fn remember(&mut self, path: &Path) {
        let found = std::fs::metadata(path);
        if let Some(file) = found.ok().and_then(|m| Identity::of_input(&m)) {
            self.inputs.entry(file).or_insert_with(|| path.to_owned());
        }
    }

    /// Removes a file from the inputs, because it is to be written again.
    pub(crate) fn forget(&mut self, path: &Path) {
        self.inputs.remove(&Identity::of_output(path));
    }

    /// Returns the first file of a folder, in order of name, that a front end accepts. Returns
    /// `None` if there is none or the folder cannot be read.
    fn graph_in(&self, folder: &Path) -> Option<String> {
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .ok()?
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|path| self.registry.front_ends().any(|f| f.accepts(path)))
            .collect();
        paths.sort();
        Some(paths.first()?.display().to_string())
    }
}

/// Returns the diagnostic for a file that cannot be read, with a similar file as help if it is
/// missing.
fn unreadable(path: &Path, why: &Unreadable) -> Diagnostic {
    let mut diagnostic = cannot_read(&Session::display(path), why);
    if why.is_missing() {
        diagnostic.help.extend(similar_file(path));
    }
    diagnostic
}

/// Returns help that names a similar file: one of the same folder with a similar name, with or
/// without extension. Otherwise names a file of the same name in the current folder. Returns `None`
/// if there is none of these.
pub(super) fn similar_file(path: &Path) -> Option<String> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        (!entry.path().is_dir()).then_some(name)
    });
    let wanted = path.file_name()?.to_str()?;
    // A dangling link counts, too.
    let mut names: Vec<String> = files.filter(|name| name != wanted).collect();
    names.sort();
    let stem = |name: &str| Some(Path::new(name).file_stem()?.to_str()?.to_owned());
    let near = nearest(wanted, names.iter().map(String::as_str)).or_else(|| {
        // The user may have omitted the extension.
        let stems: Vec<String> = names.iter().filter_map(|name| stem(name)).collect();
        let near = nearest(wanted, stems.iter().map(String::as_str))?.to_owned();
        let mut all = names.iter().map(String::as_str);
        all.find(|name| stem(name).as_deref() == Some(&near))
    });
    let near = match near {
        Some(near) => path.with_file_name(near),
        None => Path::new(wanted).is_file().then(|| wanted.into())?,
    };
    Some(format!("did you mean `{}`?", near.display()))
}
