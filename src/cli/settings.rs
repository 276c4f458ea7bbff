//! Checks the names of options of `--set`.

use super::args::GraphArgs;
use super::exit::Exit;
use super::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::emit::Emitter;
use graphmap_kpn::nearest::nearest;
use graphmap_wiring::emitters::SKELETONS_OPTION;
use std::collections::BTreeSet;

/// Returns true if `names` contains a name, or a prefix of it that ends with a dot.
fn is_among(names: &[&str], name: &str) -> bool {
    let is = |known: &&str| {
        let begins = known.ends_with('.') && name.len() > known.len();
        *known == name || begins && name.starts_with(known)
    };
    names.iter().any(is)
}

/// Reports options that no pass or emitter reads as errors. If `emitters` is set, also warns about
/// options that none of the requested passes and emitters reads (`G0444`).
///
/// `emitters` are the requested ones, or `None` if the verb has none. Options are not checked if a
/// requested pass or the front end is an executable on PATH, or if a pass or emitter does not list
/// its options. It may read any option. The same applies if `strategy`, the name of the requested
/// one, is not in the registry.
///
/// # Errors
/// Returns [`Exit::Usage`] if an option is unknown.
pub(crate) fn check(
    session: &mut Session<'_>,
    graph: &GraphArgs,
    strategy: Option<&str>,
    emitters: Option<&[&dyn Emitter]>,
) -> Outcome<()> {
    let registry = session.registry;
    let set: BTreeSet<&str> = graph.passes.set.iter().map(|(name, _)| &**name).collect();
    let asked = graph.passes.pass.iter();
    let own = |name: &String| registry.passes().find(|pass| pass.name() == name);
    let format = graph.format.as_deref();
    if format.is_some_and(|name| registry.front_end_named(name).is_none()) {
        // The front end is an executable.
        return Ok(());
    }
    // `None` if a pass is an executable, which may read any option.
    let used: Option<Vec<_>> = asked.map(own).collect();
    let (Some(used), false) = (used, set.is_empty()) else {
        return Ok(());
    };
    if strategy.is_some_and(|name| registry.strategy_named(name).is_err()) {
        return Ok(());
    }
    let all = registry.passes().map(|pass| pass.options());
    let all = all.chain(registry.emitters().map(|emitter| emitter.options()));
    let Some(known) = all.collect::<Option<Vec<&[&str]>>>() else {
        return Ok(());
    };
    let known = known.concat();
    let weights = registry
        .passes()
        .filter(|pass| graph.passes.weights.is_some() && pass.name() == crate::weights::FILE);
    let read = used.into_iter().chain(weights).map(|pass| pass.options());
    let read = read.chain(
        emitters
            .unwrap_or(&[])
            .iter()
            .map(|emitter| emitter.options()),
    );
    let Some(read) = read.collect::<Option<Vec<&[&str]>>>() else {
        return Ok(());
    };
    let read = read.concat();
    let mut unknown = false;
    for name in set {
        if !is_among(&known, name) {
            unknown = true;
            let error =
                Diagnostic::error(codes::UNKNOWN_OPTION, format!("unknown option `{name}`"));
            let names: BTreeSet<&str> = known.iter().copied().collect();
            session.report(match nearest(name, names.iter().copied()) {
                Some(near) => error.help(format!("did you mean `--set {near}=`?")),
                None => {
                    let names: Vec<&str> = names.into_iter().collect();
                    error.help(format!("the options are {}", names.join(", ")))
                }
            });
        } else if emitters.is_some() && name != SKELETONS_OPTION && !is_among(&read, name) {
            let what =
                format!("none of the requested passes and emitters reads the option `{name}`");
            let reads = registry.emitters().filter(|emitter| {
                emitter
                    .options()
                    .is_some_and(|options| is_among(options, name))
            });
            let reads: Vec<String> = reads
                .map(|emitter| format!("`{}`", emitter.name()))
                .collect();
            let warning = Diagnostic::warning(codes::UNKNOWN_OPTION, what);
            session.report(match reads.is_empty() {
                true => warning.help("a pass reads it: add `--pass` or `--weights`"),
                false => warning.help(format!(
                    "the emitters that read it are {}",
                    reads.join(", ")
                )),
            });
        }
    }
    match unknown {
        true => Err(Exit::Usage),
        false => Ok(()),
    }
}
