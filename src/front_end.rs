//! Front ends, which read graph files.

use crate::codes;
use crate::search::ReadOptions;
use graphmap_dot::decode::{Encoding, decode};
use graphmap_dot::language::{load_picture, load_with};
use graphmap_exchange::{Load, graphml, node_link};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::{Source, SourceMap};
use graphmap_kpn::{input, json};
use std::path::Path;
use std::sync::Arc;

/// Reads networks in one language.
pub trait FrontEnd {
    /// Returns the name of the front end, as in `--format NAME`.
    fn name(&self) -> &str;

    /// Returns a description of the front end in one line, for `graphmap import`.
    fn about(&self) -> &str;

    /// Returns true if a file with this path is in the language of the front end.
    fn accepts(&self, path: &Path) -> bool;

    /// Returns true if graphs of the language can have sizes, for a help text. The default is true.
    fn has_sizes(&self) -> bool {
        true
    }

    /// Returns the declarations in the text of a file. Diagnostics call it `name`. The values in
    /// `options.sizes` replace sizes of the graph. A language without sizes ignores them. Graphs
    /// that a node stands for are declared, not read ([`Declared::includes`]). Other included files
    /// are searched in `options.folders`.
    ///
    /// The text must be added to `sources`, also if it contains errors, so that diagnostics can
    /// refer to positions in it.
    ///
    /// # Errors
    /// Returns all errors in the text.
    fn read(
        &self,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics>;

    /// Returns the declarations in a text as far as they can be shown in a picture, even if the
    /// network has errors. The default is [`read`](FrontEnd::read).
    ///
    /// # Errors
    /// Returns the errors that prevent a picture.
    fn read_picture(
        &self,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        self.read(name, bytes, options, sources)
    }

    /// Returns the text in its canonical layout, or `None` if the language has no canonical layout.
    /// Diagnostics call the text `name`, and it must be added to `sources`. The default is `None`.
    ///
    /// # Errors
    /// Returns all errors in the text.
    fn format(
        &self,
        name: &str,
        bytes: Vec<u8>,
        sources: &mut SourceMap,
    ) -> Option<Result<String, Diagnostics>> {
        let _ = (name, bytes, sources);
        None
    }
}

/// Returns true if a path has one of these extensions, in lower or upper case.
pub(crate) fn ends_with(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().unwrap_or_default();
    endings
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// Reads Graphviz DOT with the attributes of `docs/src/language.md`.
pub(crate) struct Dot;

impl FrontEnd for Dot {
    fn name(&self) -> &str {
        "dot"
    }

    fn about(&self) -> &str {
        "Graphviz DOT, processes as nodes and channels as edges (.dot, .gv)"
    }

    fn accepts(&self, path: &Path) -> bool {
        ends_with(path, &["dot", "gv"])
    }

    fn read(
        &self,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        match load_with(&options.sizes, sources, name, bytes, &mut diagnostics) {
            Some(declared) => Ok((declared, diagnostics)),
            None => Err(diagnostics),
        }
    }

    fn read_picture(
        &self,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        match load_picture(&options.sizes, sources, name, bytes, &mut diagnostics) {
            Some(declared) => Ok((declared, diagnostics)),
            None => Err(diagnostics),
        }
    }

    fn format(
        &self,
        name: &str,
        bytes: Vec<u8>,
        sources: &mut SourceMap,
    ) -> Option<Result<String, Diagnostics>> {
        let fail =
            |code, message: String| Some(Err(Diagnostics::from(Diagnostic::error(code, message))));
        let text = match decode(bytes) {
            Ok((text, Encoding::Utf8)) => text,
            // The result would be UTF-8, which contradicts `charset=latin1` in the text.
            Ok((_, Encoding::Latin1(at))) => {
                let message = format!("`{name}` cannot be formatted: byte {at} is not UTF-8");
                return fail(codes::NOT_TEXT, message);
            }
            Err(why) => return fail(codes::NOT_TEXT, format!("`{name}` is not text: {why}")),
        };
        match sources.add(name, text) {
            Ok(source) => Some(graphmap_dot::fmt::format(&source)),
            Err(why) => fail(codes::TOO_LARGE, format!("`{name}` is too large: {why}")),
        }
    }
}

/// Reads networks as JSON in the format of [`graphmap_kpn::json`].
pub(crate) struct Json;

impl FrontEnd for Json {
    fn name(&self) -> &str {
        "json"
    }

    fn about(&self) -> &str {
        "a network as JSON (.json), or node-link JSON"
    }

    fn accepts(&self, path: &Path) -> bool {
        ends_with(path, &["json"])
    }

    /// Only node-link JSON can have them.
    fn has_sizes(&self) -> bool {
        false
    }

    fn read(
        &self,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        let source = text(name, bytes, sources)?;
        if node_link::is_node_link(source.text()) {
            return node_link::read(&source, sources, &options.sizes, load_with);
        }
        let mut declared = json::read(source.text(), &source, sources, json::Positions::Here)?;
        if declared.name.is_empty() {
            declared.name = stem(name);
        }
        Ok((declared, Diagnostics::new()))
    }
}

/// Reads networks in a format of other programs that [`graphmap_exchange`] supports.
pub(crate) struct Exchanged {
    name: &'static str,
    about: &'static str,
    endings: &'static [&'static str],
    read: Exchange,
}

type Exchange =
    fn(&Source, &SourceMap, &Given, Load) -> Result<(Declared, Diagnostics), Diagnostics>;

/// Reads GraphML.
pub(crate) const GRAPHML: Exchanged = Exchanged {
    name: "graphml",
    about: "GraphML, with the attributes of the graph language (.graphml)",
    endings: &["graphml"],
    read: graphml::read,
};

/// Reads node-link JSON. [`Json`] recognises it in files.
pub(crate) const NODE_LINK: Exchanged = Exchanged {
    name: "node-link",
    about: "node-link JSON, as NetworkX writes it (.json, recognized by its members)",
    endings: &[],
    read: node_link::read,
};

impl FrontEnd for Exchanged {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn accepts(&self, path: &Path) -> bool {
        ends_with(path, self.endings)
    }

    fn read(
        &self,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        let source = text(name, bytes, sources)?;
        (self.read)(&source, sources, &options.sizes, load_with)
    }

    fn read_picture(
        &self,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        let source = text(name, bytes, sources)?;
        (self.read)(&source, sources, &options.sizes, load_picture)
    }
}

/// Adds the text of a file to `sources`.
///
/// # Errors
/// Returns an error if the bytes are not UTF-8, or if the texts are too large.
pub(crate) fn text(
    name: &str,
    bytes: Vec<u8>,
    sources: &mut SourceMap,
) -> Result<Arc<Source>, Diagnostics> {
    let text =
        input::decode(bytes).map_err(|why| Diagnostics::from(codes::cannot_read(name, &why)))?;
    sources.add(name, text).map_err(|error| {
        let message = format!("`{name}` is too large: {error}");
        Diagnostics::from(Diagnostic::error(codes::TOO_LARGE, message))
    })
}

/// Returns the name of a network that does not state one: the file name without extension, or
/// `network` if there is none in UTF-8.
pub(crate) fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().and_then(|s| s.to_str());
    stem.unwrap_or("network").to_owned()
}
