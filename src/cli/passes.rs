//! `graphmap passes`: lists passes, strategies and emitters.

use super::exit::Exit;
use super::session::{Outcome, Session};
use super::skeletons::{self, SkeletonArgs};
use graphmap_kpn::emit::Emitter;
use graphmap_plugin as plugin;

/// List passes, strategies and emitters: built-in ones, plug-ins on PATH, and families of your own
/// skeletons
#[derive(clap::Args, Debug)]
#[command(after_help = "\
An executable `graphmap-pass-NAME`, `graphmap-map-NAME` or `graphmap-emit-NAME` on PATH is also a
pass, a strategy or an emitter. The chapter `plugins` of the book (docs/src/plugins.md) describes its
input and output.

Examples:
  graphmap passes
  graphmap farm.dot --pass NAME --emit NAME=PATH
  graphmap partition farm.dot -n 4 --strategy NAME")]
pub(crate) struct PassesArgs {
    #[command(flatten)]
    skeletons: SkeletonArgs,
}

pub(crate) fn run(args: &PassesArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let own = skeletons::emitters(session, args.skeletons.skeletons.as_deref())?;
    let registry = session.registry;
    let mut text = String::new();
    let mut list =
        |title: &str, mut lines: Vec<(String, String)>, external: Vec<plugin::Executable>| {
            lines.extend(
                external
                    .into_iter()
                    .map(|found| (found.name, format!("external: {}", found.path.display()))),
            );
            text += &format!("{title}:\n");
            if lines.is_empty() {
                text += "  (none)\n";
            }
            for (name, about) in lines {
                text += &format!("  {name:<18} {about}\n");
            }
        };
    let pair = |name: &str, about: &str| (name.to_owned(), about.to_owned());
    let passes = registry
        .passes()
        .map(|p| pair(p.name(), p.about()))
        .collect();
    list("Passes", passes, plugin::on_path(plugin::PASS));
    let strategies = registry.strategies().map(|s| pair(&s.name, &s.about));
    let external = plugin::on_path(plugin::STRATEGY);
    list("Strategies", strategies.collect(), external);
    let emitters = registry.emitters().map(|e| pair(e.name(), e.about()));
    let own = own.iter().map(|e| pair(e.name(), e.about()));
    let emitters = emitters.chain(own).collect();
    list("Emitters", emitters, plugin::on_path(plugin::EMITTER));
    session.show(&text)?;
    Ok(Exit::Ok)
}
