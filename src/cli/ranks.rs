//! Options of launch files for programs in which each process is an OS process, as in Pilot.

use super::exit::Exit;
use super::run::hosts;
use super::session::{Outcome, Session};
use super::{paths, skeletons};
use crate::skeletons::BUILT_IN;
use graphmap_binding::ranks::FIRST_RANK;
use graphmap_wiring::family::{self, Family};
use std::collections::BTreeMap;
use std::path::Path;

/// Adds options about the program that launch files start. Its family is the one whose wiring is
/// written at the same time, by one of the `emitters`. Otherwise it is the family of a project of
/// the graph, unless the graph has a project in Rust. Options of the user take precedence. Nothing
/// is added for a family in which an OS process can run many processes.
///
/// # Errors
/// As for [`skeletons::emitters`].
pub(crate) fn add_options<'n>(
    session: &mut Session<'_>,
    file: &Path,
    mut emitters: impl Iterator<Item = &'n str>,
    options: &mut BTreeMap<String, String>,
) -> Outcome<()> {
    let families = families(session, options)?;
    let written = emitters.find_map(|name| families.iter().find(|family| family.emitter == name));
    let with_project = || {
        let projects = families
            .iter()
            .map(|family| (family, family.project_of(file)));
        let mut projects = projects.filter_map(|(family, root)| Some((family, root?)));
        hosts::project_of(file).is_none().then(|| projects.next())?
    };
    let (family, root) = match written {
        Some(family) => (family, None),
        None => match with_project() {
            Some((family, root)) => (family, Some(root)),
            None => return Ok(()),
        },
    };
    let Some(first) = family.first_rank else {
        return Ok(());
    };
    if let (Some(root), Some(program)) = (&root, &family.program) {
        let program = root.join(program);
        let program = std::path::absolute(&program).unwrap_or(program);
        let program = program.display().to_string();
        options.entry("program".to_owned()).or_insert(program);
    }
    if options.contains_key(FIRST_RANK) {
        return Ok(());
    }
    options.insert(FIRST_RANK.to_owned(), first.to_string());
    let of = root.map_or_else(String::new, |root| format!(" of {}", paths::shown(&root)));
    session.print(&format!(
        "graphmap: the family of the program{of} is `{}`: each process is a rank, the first is rank {first}\n",
        family.name
    ));
    Ok(())
}

/// Returns the families whose processes are OS processes: first the built-in ones, then those of
/// the user.
///
/// # Errors
/// As for [`skeletons::emitters`].
fn families(
    session: &mut Session<'_>,
    options: &BTreeMap<String, String>,
) -> Result<Vec<Family>, Exit> {
    let own = skeletons::emitters(session, skeletons::folder(options))?;
    let own = own.into_iter().map(|emitter| emitter.family);
    let all = family::built_in(&BUILT_IN).into_iter().chain(own);
    Ok(all.filter(|family| family.first_rank.is_some()).collect())
}
