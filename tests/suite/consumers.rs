//! Consumers of verified networks, on networks that were changed at random and passed verification.
//! A consumer may report errors, but never panics.

use graphmap_binding::mapping_json;
use graphmap_kpn::breaks::{ALL, CROSSED, Dice, break_it, read};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::infer::infer;
use graphmap_kpn::json;
use graphmap_kpn::mapping::{Mapped, Mapping};
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::{SourceMap, Span};
use graphmap_kpn::verify::verify;
use graphmap_partition::Options;
use graphmap_plan::{Modules, Request, plan, strategy};
use graphmap_platform::Platform;
use graphmap_view::picture::Picture;
use graphmap_wiring::emitters::render;
use graphmap_wiring::project::{NewProject, Runtime, create};
use graphmap_wiring::skeleton::Skeletons;
use graphmap_wiring::structure::Structure;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;

/// Number of networks to change.
const TRIES: u64 = 800;

#[test]
fn what_verification_lets_pass_is_mapped_and_emitted_without_a_panic() {
    let sound = [ALL, CROSSED].map(|text| read(text).unwrap().into_network());
    let all = Consumers::new();
    let (mut passed, mut mapped, mut emitted) = (0, 0, 0);
    for seed in 1..TRIES {
        let mut dice = Dice::new(seed);
        let mut network = dice.one_of(&sound);
        let mut what = vec![break_it(&mut network, &mut dice)];
        // A network may have several harmless changes.
        while dice.below(3) > 0 {
            let mut next = network.clone();
            let change = break_it(&mut next, &mut dice);
            if infer(next.clone()).and_then(verify).is_ok() {
                network = next;
                what.push(change);
            }
        }
        let Ok((verified, diagnostics)) = infer(network).and_then(verify) else {
            continue;
        };
        passed += 1;
        let tried = std::panic::catch_unwind(AssertUnwindSafe(|| {
            all.consume(&verified, &diagnostics, seed)
        }));
        let (was_mapped, files) = tried
            .unwrap_or_else(|_| panic!("seed {seed}: {what:?}\n{}", json::write(&verified, None)));
        mapped += usize::from(was_mapped);
        emitted += files;
    }
    let passed_on = (passed, mapped, emitted);
    assert!(
        passed > 350 && mapped > 150 && emitted > 4000,
        "{passed_on:?}"
    );
}

struct Consumers {
    emitters: Vec<Box<dyn Emitter>>,
    skeletons: Skeletons,
    platforms: Vec<Platform>,
}

impl Consumers {
    fn new() -> Consumers {
        let mut emitters: Vec<Box<dyn Emitter>> = vec![
            Box::new(graphmap_view::dot::MappedDot),
            Box::new(graphmap_view::svg::Svg),
            Box::new(graphmap_wiring::emitters::ModelEmitter),
        ];
        for emitter in graphmap_binding::emitters() {
            emitters.push(emitter);
        }
        let mut sources = SourceMap::new();
        let platforms = ["hosts=2:cores=2", "hosts=1:cores=1", "hosts=40:cores=2"];
        let platforms = platforms.map(|text| {
            let source = sources.add("machine", text).unwrap();
            graphmap_platform::synthetic::read(&source, &mut Diagnostics::new()).unwrap()
        });
        Consumers {
            emitters,
            skeletons: Skeletons::built_in(&crate::skeletons::BUILT_IN),
            platforms: platforms.into(),
        }
    }

    /// Returns whether the network was mapped, and how many emitters wrote it.
    fn consume(&self, network: &Verified, diagnostics: &Diagnostics, seed: u64) -> (bool, usize) {
        let mut dice = Dice::new(seed);
        look_at(network, diagnostics);
        let _ = mapping_json::network_hash(network);
        let _ = (
            Structure::of(network),
            Structure::is_tree_out_of_order(network),
        );
        for picture in [Picture::of_processes(network), Picture::of_kinds(network)] {
            let _ = (picture.text(), graphmap_view::draw(&picture));
        }
        let new = NewProject {
            name: &network.name,
            graph_path: "graph.dot",
            graph_text: None,
            runtime: Runtime::Path("runtime".into()),
            mpi: false,
            skeletons: None,
            alone: true,
        };
        let mut said = Diagnostics::new();
        if let Err(told) = create(network, &self.skeletons, &new, &mut said) {
            said.append(told);
        }
        look_at(network, &said);
        // Renders as the emitters do, but they read all skeletons each time.
        let mut said = Diagnostics::new();
        if let Err(told) = render(network, &self.skeletons, "pilot", &mut said) {
            said.append(told);
        }
        look_at(network, &said);
        let request = Request {
            os_processes: dice.one_of(&[None, Some(1), Some(3), Some(1000)]),
            modules: dice.one_of(&[Modules::Ignore, Modules::Prefer(1e300), Modules::Atom]),
            options: Options {
                strategy: strategy(dice.one_of(&["auto", "stack", "round-robin", "fast"]), &[])
                    .unwrap(),
                steps: 2000,
                ..Options::default()
            },
            ..Request::default()
        };
        let platform = dice.one_of(&self.platforms);
        let (mapped, was_mapped) = match plan(network, &platform, &request) {
            Ok((plan, told)) => {
                look_at(network, &told);
                (plan.mapped, true)
            }
            Err(told) => {
                look_at(network, &told);
                let n = network.processes.len();
                let stacked = Mapping::stack(n, 1 + dice.below(4));
                (Mapped::new(network.clone(), stacked).unwrap(), false)
            }
        };
        let _ = json::write(network, Some(mapped.mapping()));
        (was_mapped, self.emit(&mapped))
    }

    fn emit(&self, mapped: &Mapped) -> usize {
        let options = BTreeMap::new();
        let mut written = 0;
        for emitter in &self.emitters {
            let (mut said, mut files) = (Diagnostics::new(), Files::new());
            let mut context = EmitContext::new(Path::new("out"), &options, &mut said);
            match emitter.emit(mapped, &mut context, &mut files) {
                Ok(()) => written += usize::from(files.get("out").is_some()),
                Err(told) => said.append(told),
            }
            look_at(mapped.network(), &said);
        }
        written
    }
}

/// Resolves the positions of diagnostics as for printing. They may be anywhere.
fn look_at(network: &Verified, diagnostics: &Diagnostics) {
    for finding in diagnostics {
        for label in finding.primary.iter().chain(&finding.secondary) {
            let _ = (
                network.location(label.span),
                network.sources.text(label.span),
            );
        }
    }
    let _ = network.location(Span::NONE);
}
