//! Emitters of this crate, for `--emit`.

use crate::arguments::c_type;
use crate::codes;
use crate::context::Model;
use crate::family::{self, Family, Ignored, Unsupported};
use crate::skeleton::{BuiltIn, Skeletons};
use crate::structure::{STRUCTURES, Structure};
use graphmap_kpn::controls;
use graphmap_kpn::declared::BundleKind;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::{Network, Terms};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::path::Path;

/// Option that names a folder of user skeletons.
pub const SKELETONS_OPTION: &str = "skeletons";

/// Emitter of wiring code by the skeletons of one family.
#[derive(Clone, Debug)]
pub struct SkeletonEmitter {
    /// The family.
    pub family: Family,
    /// Skeletons that the program ships with, of all families.
    pub built_in: &'static BuiltIn,
}

/// Returns an emitter for each built-in family.
///
/// # Panics
/// Panics if `families.toml` of the built-in families is invalid.
pub fn built_in(built_in: &'static BuiltIn) -> impl Iterator<Item = SkeletonEmitter> {
    let families = family::built_in(built_in).into_iter();
    families.map(move |family| SkeletonEmitter { family, built_in })
}

impl Emitter for SkeletonEmitter {
    fn name(&self) -> &str {
        self.family.emitter.as_str()
    }

    fn about(&self) -> &str {
        &self.family.about
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&[SKELETONS_OPTION])
    }

    fn accepts(&self, path: &Path) -> bool {
        let wanted = self.family.extension.as_deref();
        wanted.is_some_and(|wanted| path.extension().is_some_and(|e| e == wanted))
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let skeletons = match context.options.get(SKELETONS_OPTION) {
            Some(folder) => Skeletons::with_folder(self.built_in, Path::new(folder))?,
            None => Skeletons::built_in(self.built_in),
        };
        let network = mapped.network();
        can_express(&self.family, network)?;
        warn_ignored(&self.family, network, context.diagnostics);
        let (code, _) = render(network, &skeletons, &self.family.name, context.diagnostics)?;
        files.generated(context.path, code);
        Ok(())
    }
}

/// Checks that the target of a family supports all features of a network.
///
/// # Errors
/// Returns an error for each use of a feature that the target lacks. A repeated declaration of
/// flow-controlled channels is reported once.
pub(crate) fn can_express(family: &Family, network: &Network) -> Result<(), Diagnostics> {
    let emitter = &family.emitter;
    let mut diagnostics = Diagnostics::new();
    let lacked: Vec<BundleKind> = family.lacks.iter().filter_map(|l| l.bundle()).collect();
    for bundle in network.bundles.values() {
        if !lacked.contains(&bundle.kind) {
            continue;
        }
        let (kind, port) = (bundle.kind.name(), network.port_name(bundle.port));
        let message = format!(
            "the family `{emitter}` does not support {kind} bundles, such as port `{port}`"
        );
        let mut diagnostic =
            Diagnostic::error(codes::NOT_EXPRESSIBLE, message).at(bundle.span, "requested here");
        if bundle.kind == BundleKind::Share && !lacked.contains(&BundleKind::Select) {
            diagnostic = diagnostic.help("let readers request tokens through a `select` bundle");
        }
        diagnostics.push(diagnostic);
    }
    let no_initial = family.lacks.contains(&Unsupported::Initial);
    let channels = network.channels.values();
    let begins = |terms| network.terms[terms].initial > 0;
    for channel in channels.filter(|channel| no_initial && begins(channel.terms)) {
        let port = network.port_name(channel.from);
        let message = format!("`{emitter}` does not support initial tokens, which `{port}` has");
        diagnostics.push(
            Diagnostic::error(codes::NOT_EXPRESSIBLE, message)
                .at(channel.span, "this channel")
                .help("let the writer write them first, and remove `initial=`"),
        );
    }
    let no_loop = family.lacks.contains(&Unsupported::Loop);
    for (id, channel) in network.channels.iter().filter(|_| no_loop) {
        let process = network.writer(id);
        if network.reader(id) != process {
            continue;
        }
        let name = network.process_name(process);
        let message = format!(
            "`{emitter}` does not support channels from a process to itself, as of `{name}`"
        );
        diagnostics.push(
            Diagnostic::error(codes::NOT_EXPRESSIBLE, message)
                .at(channel.span, "this channel")
                .help("keep these values in variables of the process"),
        );
    }
    let no_arguments = family.lacks.contains(&Unsupported::Arguments);
    for (id, kind) in network.kinds.iter().filter(|_| no_arguments) {
        if !network.parameters.contains_key(&id) {
            continue;
        }
        let name = network.name(kind.name);
        let message = format!("`{emitter}` does not support arguments, which `{name}` has");
        diagnostics.push(
            Diagnostic::error(codes::NOT_EXPRESSIBLE, message)
                .at(kind.span, "a process of this kind")
                .help("let another process send the values, and remove `params=` and `args=`"),
        );
    }
    let no_glue = family.lacks.contains(&Unsupported::Glue);
    for glue in network.glue.iter().filter(|_| no_glue) {
        let message = format!(
            "`{emitter}` does not support glue functions, such as `{}`",
            glue.function
        );
        diagnostics.push(
            Diagnostic::error(codes::NOT_EXPRESSIBLE, message)
                .help("call the function in the functions of the processes"),
        );
    }
    let no_i128 = family.lacks.contains(&Unsupported::I128);
    for (id, kind) in network.kinds.iter().filter(|_| no_i128) {
        let parameters = network.parameters.get(&id).into_iter();
        let parameters = parameters.flat_map(|parameters| parameters.iter());
        for parameter in parameters.filter(|parameter| c_type(parameter.ty).is_empty()) {
            let (of, name, ty) = (
                network.name(kind.name),
                &parameter.name,
                parameter.ty.name(),
            );
            let message =
                format!("`{emitter}` does not support `{ty}`, the type of `{name}` of `{of}`");
            diagnostics.push(
                Diagnostic::error(codes::NOT_EXPRESSIBLE, message)
                    .at(kind.span, "a process of this kind")
                    .help("use `i64` or `u64`, or pass the digits as a `String`"),
            );
        }
    }
    let is_flow = |terms| network.terms[terms].flow.is_some();
    let mut reported = FxHashSet::default();
    for channel in network.channels.values() {
        // Reports a declaration once, even if it is repeated.
        if !family.lacks.contains(&Unsupported::Flow)
            || !is_flow(channel.terms)
            || !reported.insert(channel.span)
        {
            continue;
        }
        let port = network.port_name(channel.from);
        let message =
            format!("`{emitter}` does not support flow-controlled channels, such as `{port}`");
        diagnostics.push(
            Diagnostic::error(codes::NOT_EXPRESSIBLE, message)
                .at(channel.span, "this channel")
                .help("let readers request tokens over separate channels, and remove `flow=`"),
        );
    }
    match diagnostics.is_empty() {
        true => Ok(()),
        false => Err(diagnostics),
    }
}

/// Warns of attributes of channels that the wiring of a family ignores (`G0446`), once for each
/// attribute.
pub(crate) fn warn_ignored(family: &Family, network: &Network, out: &mut Diagnostics) {
    for ignored in &family.ignores {
        // A channel without `capacity=` has capacity 1.
        let (word, said): (_, fn(&Terms) -> bool) = match ignored {
            Ignored::Tag => ("tag", |terms| terms.tag.is_some()),
            Ignored::Capacity => ("capacity", |terms| terms.capacity > 1),
        };
        let mut channels = network.channels.values();
        let Some(first) = channels.find(|channel| said(&network.terms[channel.terms])) else {
            continue;
        };
        let others = channels.filter(|channel| said(&network.terms[channel.terms]));
        let what = format!("the emitter `{}` ignores `{word}=`", family.emitter);
        let mut warning = Diagnostic::warning(codes::ATTRIBUTE_IGNORED, what);
        warning = warning.at(first.span, format!("this channel has `{word}=`"));
        match others.count() {
            0 => {}
            1 => warning = warning.with_note("1 other channel has the attribute"),
            n => warning = warning.with_note(format!("{n} other channels have the attribute")),
        }
        out.push(warning.help(match ignored {
            Ignored::Tag => {
                "remove it; only the wiring in Rust, `--emit model.json` and `--emit json=PATH` \
                 contain it"
            }
            Ignored::Capacity => {
                "remove it: the capacity of a channel depends on the library that sends the \
                 messages"
            }
        }));
    }
}

/// Emitter `model`: the model that skeletons render, as JSON. Accepts `model.json`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelEmitter;

impl Emitter for ModelEmitter {
    fn name(&self) -> &str {
        "model"
    }

    fn about(&self) -> &str {
        "model that skeletons render, as JSON"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&[])
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
        let structure = Structure::of(network);
        let model = Model::of_any_types(network, structure, context.diagnostics);
        let json = serde_json::to_string_pretty(&model).expect("the model is plain data");
        let mut json = controls::in_json(json);
        json.push('\n');
        files.generated(context.path, json);
        Ok(())
    }
}

/// Returns the wiring code of a network by the skeletons of a family, and the model that the code
/// was rendered from.
///
/// Uses the skeleton that the graph names. Without one, uses the skeleton for the structure of the
/// network. If the family has no skeleton for the structure, found or named, uses `explicit`.
///
/// # Errors
/// Returns an error if the skeleton does not exist, if the network does not have the requested
/// structure, or if rendering fails. For Rust, also returns an error for each payload type that is
/// not a Rust type. Features that the target of the family lacks are not checked.
pub fn render(
    network: &Network,
    skeletons: &Skeletons,
    family: &str,
    diagnostics: &mut Diagnostics,
) -> Result<(String, Model), Diagnostics> {
    let (skeleton, structure) = choose(network, skeletons, family)?;
    let model = if family == family::RUST {
        Model::new(network, structure, diagnostics)?
    } else {
        Model::of_any_types(network, structure, diagnostics)
    };
    let code = skeletons.render(&format!("{family}/{skeleton}"), &model)?;
    Ok((code, model))
}

/// Returns errors if a network names a skeleton with which no family can wire it. Returns `None` if
/// a family can, or if the network names no skeleton. The errors are those of the family for Rust.
pub fn wrong_skeleton(network: &Network, skeletons: &Skeletons) -> Option<Diagnostics> {
    network.skeleton.as_ref()?;
    let families = skeletons.names().filter_map(|name| name.split_once('/'));
    let families: BTreeSet<&str> = families.map(|(family, _)| family).collect();
    let mut wire = families
        .into_iter()
        .filter(|family| !family::PROJECTS.contains(family));
    match wire.any(|family| choose(network, skeletons, family).is_ok()) {
        true => None,
        false => choose(network, skeletons, family::RUST).err(),
    }
}

/// Returns the structure for which the Rust wiring of a network is rendered.
///
/// # Errors
/// As for [`render`], if the skeleton of the network does not exist or does not fit.
pub(crate) fn structure_of(
    network: &Network,
    skeletons: &Skeletons,
) -> Result<Structure, Diagnostics> {
    choose(network, skeletons, family::RUST).map(|(_, structure)| structure)
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
    // A template can be a partial, which is not a skeleton.
    let is_one = skeletons.family(family).any(|name| name == wanted);
    if !(is_one || structural && has("explicit")) {
        return Err(Diagnostics::from(skeletons.missing(family, wanted, *span)));
    }
    if !structural {
        return Ok((wanted.clone(), Structure::of(network)));
    }
    let Some(structure) = Structure::named(network, wanted) else {
        let found = Structure::of(network).name;
        let message = format!("the network is not a {wanted}");
        let mut diagnostic =
            Diagnostic::error(codes::NOT_THAT_STRUCTURE, message).at(*span, "requested here");
        if wanted == "tree" && Structure::is_tree_out_of_order(network) {
            diagnostic = diagnostic.help(
                "its channels form a tree, but the ranks are not numbered level by level: declare \
                 the root first, then its children, then their children",
            );
        }
        return Err(Diagnostics::from(
            diagnostic
                .help(format!(
                    "remove `skeleton=`: the structure of the network is `{found}`"
                ))
                .with_note("`graphmap explain G0606` defines chain, farm, tree and grid"),
        ));
    };
    let name = if has(wanted) {
        wanted.as_str()
    } else {
        "explicit"
    };
    Ok((name.to_owned(), structure))
}
