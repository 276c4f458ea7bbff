//! What wiring gives to `--emit`.

use crate::codes;
use crate::context::Model;
use crate::skeleton::{Skeletons, one};
use crate::structure::{STRUCTURES, Structure};
use graphmap_kpn::declared::BundleKind;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::Network;
use std::path::Path;

/// The option that names a folder of the user's own skeletons.
pub const SKELETONS_OPTION: &str = "skeletons";

/// Wiring code by the skeletons of one family.
#[derive(Clone, Debug)]
pub struct SkeletonEmitter {
    name: &'static str,
    about: &'static str,
    extension: &'static str,
    family: &'static str,
}

/// `wiring`: Rust for `graphmap-runtime`; takes `*.rs`.
pub const WIRING: SkeletonEmitter = SkeletonEmitter {
    name: "wiring",
    about: "Rust wiring for graphmap-runtime, by the skeletons in rust/",
    extension: "rs",
    family: "rust",
};

/// `pilot`: C for Pilot; takes `*.c`.
pub const PILOT: SkeletonEmitter = SkeletonEmitter {
    name: "pilot",
    about: "C wiring for Pilot, by the skeletons in pilot/",
    extension: "c",
    family: "pilot",
};

impl Emitter for SkeletonEmitter {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn accepts(&self, path: &Path) -> bool {
        path.extension()
            .is_some_and(|extension| extension == self.extension)
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let skeletons = match context.options.get(SKELETONS_OPTION) {
            Some(folder) => Skeletons::with_folder(Path::new(folder))?,
            None => Skeletons::built_in(),
        };
        let network = mapped.network();
        if self.family == PILOT.family {
            pilot_can(network)?;
        }
        let (code, _) = render(network, &skeletons, self.family, context.diagnostics)?;
        files.generated(context.path, code);
        Ok(())
    }
}

/// Whether Pilot has everything that a network asks for.
fn pilot_can(network: &Network) -> Result<(), Diagnostics> {
    let mut findings = Diagnostics::new();
    for bundle in network
        .bundles
        .values()
        .filter(|b| b.kind == BundleKind::Share)
    {
        let message = format!(
            "Pilot has no share bundles: `{}`",
            network.port_name(bundle.port)
        );
        findings.push(
            Diagnostic::error(codes::NOT_EXPRESSIBLE, message)
                .at(bundle.span, "asked for here")
                .help("let readers ask for tokens, through a `select` bundle of requests"),
        );
    }
    for channel in network
        .channels
        .values()
        .filter(|channel| channel.initial > 0)
    {
        let port = network.port_name(channel.from);
        let message = format!("Pilot's channels begin empty: `{port}` has initial tokens");
        findings.push(
            Diagnostic::error(codes::NOT_EXPRESSIBLE, message)
                .at(channel.span, "this channel")
                .help("let the writer write them first, and leave `initial=` out"),
        );
    }
    match findings.is_empty() {
        true => Ok(()),
        false => Err(findings),
    }
}

/// `model`: what a skeleton sees, as JSON; takes `model.json`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelEmitter;

impl Emitter for ModelEmitter {
    fn name(&self) -> &str {
        "model"
    }

    fn about(&self) -> &str {
        "what a skeleton sees, as JSON"
    }

    fn accepts(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == "model.json")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let network = mapped.network();
        let model = Model::new(network, Structure::of(network), context.diagnostics)?;
        let mut json = serde_json::to_string_pretty(&model).expect("the model is plain data");
        json.push('\n');
        files.generated(context.path, json);
        Ok(())
    }
}

/// The wiring code of a network by the skeletons of a family, with the model it was made from.
///
/// The skeleton is the one that the graph names, else that of the structure found, else `explicit`.
///
/// # Errors
/// No such skeleton, a structure that the network does not have, a skeleton that fails, types that
/// are none.
pub fn render(
    network: &Network,
    skeletons: &Skeletons,
    family: &str,
    diagnostics: &mut Diagnostics,
) -> Result<(String, Model), Diagnostics> {
    let (skeleton, structure) = choose(network, skeletons, family)?;
    let model = Model::new(network, structure, diagnostics)?;
    let code = skeletons.render(&format!("{family}/{skeleton}"), &model)?;
    Ok((code, model))
}

fn choose(
    network: &Network,
    skeletons: &Skeletons,
    family: &str,
) -> Result<(String, Structure), Diagnostics> {
    let has = |name: &str| skeletons.has(&format!("{family}/{name}"));
    let Some((wanted, span)) = &network.skeleton else {
        let structure = Structure::of(network);
        let name = if has(structure.name) {
            structure.name
        } else {
            "explicit"
        };
        return Ok((name.to_owned(), structure));
    };
    let structural = STRUCTURES.contains(&wanted.as_str());
    if !(has(wanted) || structural && has("explicit")) {
        return Err(one(skeletons.missing(family, wanted, *span)));
    }
    if !structural {
        return Ok((wanted.clone(), Structure::of(network)));
    }
    let Some(structure) = Structure::named(network, wanted) else {
        let found = Structure::of(network).name;
        let message = format!("the network is no {wanted}");
        return Err(one(Diagnostic::error(codes::NOT_THAT_STRUCTURE, message)
            .at(*span, "asked for here")
            .help(format!(
                "leave `skeleton=` out: the structure found is `{found}`"
            ))
            .with_note(
                "`graphmap explain G0606` says what makes a chain, farm, tree or grid",
            )));
    };
    let name = if has(wanted) {
        wanted.as_str()
    } else {
        "explicit"
    };
    Ok((name.to_owned(), structure))
}
