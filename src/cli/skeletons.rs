//! The user's own skeletons: their folder, and the families in it.

use super::exit::Exit;
use super::session::{Outcome, Session};
use crate::skeletons::BUILT_IN;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_wiring::emitters::{SKELETONS_OPTION, SkeletonEmitter};
use graphmap_wiring::family::{self, Family};
use graphmap_wiring::skeleton::Skeletons;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where skeletons come from.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct SkeletonArgs {
    /// Folder of your own skeletons, which take precedence over built-in ones; its `families.toml`
    /// adds families and their emitters
    #[arg(long, value_name = "DIR", help_heading = "Skeletons")]
    pub(crate) skeletons: Option<PathBuf>,
}

impl SkeletonArgs {
    /// Adds the folder to the options of emitters.
    pub(crate) fn add_to(&self, options: &mut BTreeMap<String, String>) {
        if let Some(folder) = &self.skeletons {
            let folder = folder.to_string_lossy().into_owned();
            options.insert(SKELETONS_OPTION.to_owned(), folder);
        }
    }
}

/// Returns the folder that the options of emitters name, or `None` if they name none.
pub(crate) fn folder(options: &BTreeMap<String, String>) -> Option<&Path> {
    options.get(SKELETONS_OPTION).map(Path::new)
}

/// Reads the built-in skeletons and those in a folder, which take precedence. Records the files of
/// the folder as inputs.
///
/// # Errors
/// Reports the errors and returns [`Exit::Plugin`] if the folder cannot be read, or if a skeleton
/// in it cannot be used.
pub(crate) fn read(session: &mut Session<'_>, folder: Option<&Path>) -> Outcome<Skeletons> {
    let files = folder.map(Skeletons::files_of).unwrap_or_default();
    files.iter().for_each(|file| session.remember(file));
    match folder.map(|folder| Skeletons::with_folder(&BUILT_IN, folder)) {
        None => Ok(Skeletons::built_in(&BUILT_IN)),
        Some(Ok(skeletons)) => Ok(skeletons),
        Some(Err(failed)) => fail(session, failed),
    }
}

/// Returns the emitters of the families in a folder, which is empty if `folder` is `None`. Records
/// the files of the folder as inputs.
///
/// # Errors
/// Reports the errors and returns [`Exit::Plugin`] if `families.toml` cannot be used, or if an
/// emitter or an extension of it is already in use.
pub(crate) fn emitters(
    session: &mut Session<'_>,
    folder: Option<&Path>,
) -> Outcome<Vec<SkeletonEmitter>> {
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    // The emitters read these files, but do not record them as inputs.
    session.remember(&folder.join(family::MANIFEST));
    let files = Skeletons::files_of(folder);
    files.iter().for_each(|file| session.remember(file));
    let registry = session.registry;
    let taken = |family: &Family| -> Option<Diagnostic> {
        let Family { emitter, .. } = family;
        if registry.emitters().any(|other| other.name() == emitter) {
            let message = format!("the emitter `{emitter}` already exists");
            let help = "set another name with `emitter = NAME`";
            return Some(family::taken(message, family).help(help));
        }
        let ending = family.extension.as_ref()?;
        let path = PathBuf::from(format!("wiring.{ending}"));
        let other = registry.emitters().find(|other| other.accepts(&path))?;
        let message = format!(
            "the emitter of files `*.{ending}` is already `{}`",
            other.name()
        );
        Some(family::taken(message, family).help(format!(
            "omit `extension`, and use `--emit {emitter}=FILE.{ending}`"
        )))
    };
    match family::of_folder(folder, &BUILT_IN, &mut session.sources, taken) {
        Ok(families) => {
            let families = families.into_iter();
            let emitter = |family| SkeletonEmitter {
                family,
                built_in: &BUILT_IN,
            };
            Ok(families.map(emitter).collect())
        }
        Err(failed) => fail(session, failed),
    }
}

fn fail<T>(session: &mut Session<'_>, failed: Diagnostics) -> Outcome<T> {
    session.report_all(failed);
    Err(Exit::Plugin)
}
