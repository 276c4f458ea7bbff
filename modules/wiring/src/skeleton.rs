//! Skeletons: built-in Handlebars templates and templates in a user's folder.
//!
//! The name of a skeleton is its path without `.hbs`, such as `rust/chain`. A user's file replaces
//! the built-in skeleton of the same name. Each skeleton can include all others as partials.

mod errors;
mod folder;

use crate::budget::{self, Bounded, Budget};
use crate::codes;
use crate::helpers;
use errors::bad;
pub(crate) use errors::unreadable;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Span;
use handlebars::template::{Parameter, Template, TemplateElement};
use handlebars::{
    Context, Handlebars, RenderContext, RenderError, Renderable, TemplateError, no_escape,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Maximum nesting of blocks and of parentheses in a template. The limit exists because the parser
/// of templates is recursive.
const NESTING: usize = 100;

/// The skeletons that a program ships with.
#[derive(Debug)]
pub struct BuiltIn {
    /// Their `families.toml`.
    pub families: &'static str,
    /// The name (`rust/chain`) and text of each skeleton.
    pub skeletons: &'static [(&'static str, &'static str)],
}

/// A set of skeletons.
pub struct Skeletons {
    engine: Handlebars<'static>,
    budget: Budget,
    names: BTreeSet<String>,
    /// File of each skeleton of the user's folder.
    files: BTreeMap<String, PathBuf>,
}

impl Skeletons {
    /// Compiles the built-in skeletons.
    ///
    /// # Panics
    /// Panics if one of them cannot be used: for the errors of [`Skeletons::with_folder`] about
    /// templates. A test compiles the skeletons of graphmap.
    pub fn built_in(built_in: &BuiltIn) -> Skeletons {
        Skeletons::collect(built_in, Vec::new())
            .unwrap_or_else(|diagnostics| panic!("{diagnostics:?}"))
    }

    /// Compiles the built-in skeletons and the skeletons of a folder. The folder takes precedence.
    ///
    /// # Errors
    /// Returns an error for each file or folder that cannot be read, for folders that nest too
    /// deep, and for too many files. If there are none, returns all other errors. They are invalid
    /// templates, partials with a block, an inline definition or a computed name, and partials that
    /// include each other in a cycle.
    pub fn with_folder(built_in: &BuiltIn, folder: &Path) -> Result<Skeletons, Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        let users = folder::read(folder, &mut diagnostics);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        Skeletons::collect(built_in, users)
    }

    /// Returns the files that [`Skeletons::with_folder`] reads, in an order that does not depend on
    /// the system. Skips folders that cannot be read, so that the result is empty for a folder that
    /// does not exist.
    pub fn files_of(folder: &Path) -> Vec<PathBuf> {
        let found = folder::list(folder, &mut Diagnostics::new());
        found.into_iter().map(|found| found.path).collect()
    }

    fn collect(
        built_in: &BuiltIn,
        users: Vec<(String, PathBuf, String)>,
    ) -> Result<Skeletons, Diagnostics> {
        let mut engine = Handlebars::new();
        engine.set_strict_mode(true);
        engine.register_escape_fn(no_escape);
        let budget = Budget::default();
        helpers::register(&mut engine, &budget);
        budget.register(&mut engine);
        let mut diagnostics = Diagnostics::new();
        let mut names = BTreeSet::new();
        let mut files = BTreeMap::new();
        let built_in = built_in
            .skeletons
            .iter()
            .map(|&(name, text)| (name.to_owned(), None, text.to_owned()));
        let users = users
            .into_iter()
            .map(|(name, path, text)| (name, Some(path), text));
        let mut partials = BTreeMap::new();
        for (name, path, text) in built_in.chain(users) {
            let shown = match &path {
                Some(path) => path.display().to_string(),
                None => format!("{name}.hbs (built in)"),
            };
            match compile(&name, &text) {
                Ok(mut template) => {
                    let mut uses = BTreeSet::new();
                    if let Err(what) = partials_of(&template, &mut uses) {
                        diagnostics.push(bad(format!("cannot use the skeleton {shown}: {what}")));
                    }
                    partials.insert(name.clone(), uses);
                    if let Err(what) = budget::count(&mut template) {
                        diagnostics.push(bad(format!("cannot use the skeleton {shown}: {what}")));
                    }
                    engine.register_template(&name, template);
                }
                Err(what) => diagnostics.push(
                    bad(format!("cannot read the skeleton {shown}: {what}")).help(
                        "write it as a Handlebars template; see the chapter on skeletons in the \
                         book",
                    ),
                ),
            }
            if let Some(path) = path {
                files.insert(name.clone(), path);
            }
            names.insert(name);
        }
        if let Some(circle) = circle(&partials) {
            diagnostics.push(
                bad(format!("skeletons include each other in a cycle: {circle}")).help(
                    "remove one of the includes: a partial must not include itself, directly or \
                     indirectly",
                ),
            );
        }
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        Ok(Skeletons {
            engine,
            budget,
            names,
            files,
        })
    }

    /// Returns the names of all skeletons, in ascending order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns true if a skeleton has this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns the skeletons of a family that wire a network, such as `chain` for `rust/chain`, in
    /// ascending order. A name that begins with an underscore, or is in a folder of the family, is
    /// a partial and not in the result. The result is empty for an unknown family.
    pub fn family<'a>(&'a self, family: &'a str) -> impl Iterator<Item = &'a str> {
        self.names().filter_map(move |name| {
            let rest = name.strip_prefix(family)?.strip_prefix('/')?;
            (!rest.contains('/') && !rest.starts_with('_')).then_some(rest)
        })
    }

    /// Returns the error that a family has no skeleton `name` that wires a network. `span` is the
    /// position that requests it. The caller has checked that there is none.
    pub fn missing(&self, family: &str, name: &str, span: Span) -> Diagnostic {
        let known: Vec<&str> = self.family(family).collect();
        let message = format!("unknown skeleton `{name}` in the family `{family}`");
        let mut diagnostic =
            Diagnostic::error(codes::NO_SKELETON, message).at(span, "requested here");
        if known.is_empty() {
            let families: BTreeSet<&str> = self
                .names()
                .filter_map(|n| Some(n.split_once('/')?.0))
                .collect();
            let list = families.iter().copied().collect::<Vec<_>>().join("`, `");
            if let Some(near) = nearest(family, families) {
                diagnostic = diagnostic.help(format!("did you mean the family `{near}`?"));
            }
            return diagnostic.with_note(format!("the families are `{list}`"));
        }
        if let Some(near) = nearest(name, known.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        if self.has(&format!("{family}/{name}")) {
            return diagnostic
                .with_note(format!(
                    "`{family}/{name}.hbs` is a partial, because its name begins with `_` or \
                     contains `/`"
                ))
                .with_note(format!("the family has `{}`", known.join("`, `")));
        }
        diagnostic
            .help(format!(
                "add it as `{family}/{name}.hbs` in the folder of `--skeletons`"
            ))
            .with_note(format!("the family has `{}`", known.join("`, `")))
    }

    /// Renders a text that is a template, such as the path of a file.
    ///
    /// # Errors
    /// Returns an error if the text is not a template, if rendering fails, or if it takes too many
    /// steps or its output is too long.
    pub fn render_text<T: Serialize>(&self, text: &str, data: &T) -> Result<String, Diagnostics> {
        compile("", text)
            .and_then(|mut template| {
                budget::count(&mut template)?;
                let rendered = self.run(&template, data);
                rendered.map_err(|error| error.reason().to_string())
            })
            .map_err(|what| {
                let message = format!("the template `{text}` fails: {what}");
                Diagnostics::from(Diagnostic::error(codes::SKELETON_FAILED, message))
            })
    }

    /// Renders a skeleton.
    ///
    /// # Errors
    /// Returns an error if no skeleton has this name, if rendering fails, or if it takes too many
    /// steps or its output is too long. The message about a failed rendering contains the template,
    /// and its line and column if they are known.
    pub fn render<T: Serialize>(&self, name: &str, data: &T) -> Result<String, Diagnostics> {
        if !self.has(name) {
            let (family, rest) = name.split_once('/').unwrap_or(("", name));
            return Err(Diagnostics::from(self.missing(family, rest, Span::NONE)));
        }
        let rendered = match self.engine.get_template(name) {
            Some(template) => self.run(template, data),
            None => self.engine.render(name, data),
        };
        rendered.map_err(|error| {
            let template = error.template_name.as_deref().unwrap_or(name);
            let shown = match self.files.get(template) {
                Some(path) => path.display().to_string(),
                None => format!("{template}.hbs (built in)"),
            };
            let place = match (error.line_no, error.column_no) {
                (Some(line), Some(column)) => format!("{shown}:{line}:{column}"),
                _ => shown,
            };
            let message = format!("the skeleton {place} fails: {}", error.reason());
            Diagnostics::from(
                Diagnostic::error(codes::SKELETON_FAILED, message)
                    .help("use `--emit model.json` to see the data of a skeleton"),
            )
        })
    }
}

impl Skeletons {
    /// Renders a template within the budget. Returns an error if the data cannot be serialized, if
    /// rendering fails, or if it exceeds the budget.
    fn run<T: Serialize>(&self, template: &Template, data: &T) -> Result<String, RenderError> {
        let context = Context::wraps(data)?;
        self.budget.renew(context.data());
        let mut out = Bounded::default();
        let mut state = RenderContext::new(template.name.as_ref());
        template.render(&self.engine, &context, &mut state, &mut out)?;
        Ok(out.0)
    }
}

fn compile(name: &str, text: &str) -> Result<Template, String> {
    if let Some(line) = too_deep(text) {
        return Err(format!("line {line}: nested more than {NESTING} deep"));
    }
    Template::compile_with_name(text, name.to_owned()).map_err(|error: TemplateError| {
        let place = error
            .pos()
            .map(|(line, column)| format!("line {line}, column {column}: "));
        format!("{}{}", place.unwrap_or_default(), error.reason())
    })
}

/// Returns the first line where blocks, or parentheses, brackets and braces within a tag, nest more
/// than about 100 deep. Lines count from 1. The check is not exact, because it does not parse
/// comments and texts. Returns `None` if there is no such line.
fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut line, mut blocks, mut parentheses, mut inside) = (1, 0usize, 0usize, false);
    for (i, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => line += 1,
            b'{' if bytes[i..].starts_with(b"{{") => {
                inside = true;
                let tag = &bytes[i..];
                let tag = &tag[tag.iter().take_while(|&&b| b == b'{' || b == b'~').count()..];
                match tag.first() {
                    // A tag is counted once for each of its braces except the last. Counting twice
                    // is harmless because the limit is generous, but an opening and a closing tag
                    // must count the same.
                    Some(b'#' | b'^') => blocks += 1,
                    Some(b'/') => blocks = blocks.saturating_sub(1),
                    _ => {}
                }
            }
            b'}' => (inside, parentheses) = (false, 0),
            b'(' | b'[' | b'{' if inside => parentheses += 1,
            b')' | b']' if inside => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        if blocks > NESTING || parentheses > NESTING {
            return Some(line);
        }
    }
    None
}

/// Adds the names of the partials that a template includes to `uses`, also from its blocks.
///
/// # Errors
/// Returns the message of the first error: a partial with a block, an inline partial, or a partial
/// whose name is not literal.
fn partials_of(template: &Template, uses: &mut BTreeSet<String>) -> Result<(), String> {
    for element in &template.elements {
        match element {
            TemplateElement::PartialBlock(_) => {
                return Err(
                    "a partial cannot take a block: pass values, as in `{{> part name=value}}`"
                        .into(),
                );
            }
            TemplateElement::PartialExpression(partial) => {
                let name = match &partial.name {
                    Parameter::Literal(serde_json::Value::String(name)) => Some(name.as_str()),
                    other => other.as_name(),
                };
                let Some(name) = name else {
                    return Err("the name of a partial must be written literally".into());
                };
                uses.insert(name.to_owned());
            }
            TemplateElement::DecoratorBlock(_) | TemplateElement::DecoratorExpression(_) => {
                return Err("a partial must be a file, not `inline`".into());
            }
            TemplateElement::HelperBlock(helper) => {
                for block in [&helper.template, &helper.inverse].into_iter().flatten() {
                    partials_of(block, uses)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns a cycle of partials as `a -> b -> a`, or `None` if there is none. `partials` has the
/// names that each partial includes.
fn circle(partials: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    // Repeatedly removes partials that include none of those left. Only partials that lead to a
    // cycle remain.
    let mut left = partials.clone();
    loop {
        let before = left.len();
        let names: BTreeSet<String> = left.keys().cloned().collect();
        left.retain(|_, uses| uses.iter().any(|name| names.contains(name)));
        if left.len() == before {
            break;
        }
    }
    let mut walk = vec![left.keys().next()?];
    loop {
        let last = walk.last().expect("begins with one");
        let next = left[*last].iter().find(|name| left.contains_key(*name))?;
        if let Some(start) = walk.iter().position(|name| *name == next) {
            walk.push(next);
            let names: Vec<&str> = walk[start..].iter().map(|name| name.as_str()).collect();
            return Some(names.join(" -> "));
        }
        walk.push(next);
    }
}
