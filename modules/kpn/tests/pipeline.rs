//! Passes run in order and are timed. If the result is invalid, the pass is named.

use graphmap_kpn::diagnostic::{Code, Diagnostic, Diagnostics};
use graphmap_kpn::json::{self, Positions};
use graphmap_kpn::network::{Network, Verified};
use graphmap_kpn::pass::{Pass, PassContext};
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand, infer, pipeline, resolve, verify};
use std::collections::BTreeMap;

fn network(text: &str) -> Verified {
    let mut sources = SourceMap::new();
    let source = sources.add("net.json", text).unwrap();
    let declared = json::read(source.text(), &source, &sources, Positions::Here).unwrap();
    let (declared, _) = expand::expand(declared).unwrap();
    infer::infer(resolve::resolve(declared).unwrap().0)
        .and_then(verify::verify)
        .unwrap()
        .0
}

fn pair() -> Verified {
    network(
        r#"{"graphmap": 1, "processes": [{"name": "a", "load": 3}, {"name": "b"}],
            "channels": [{"from": "a", "to": "b"}]}"#,
    )
}

/// A pass that calls a function.
struct Does<F>(&'static str, F);

impl<F: Fn(&mut PassContext<'_>) -> Result<(), Diagnostics>> Pass for Does<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn about(&self) -> &str {
        "for a test"
    }

    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
        (self.1)(context)
    }
}

fn run(passes: &[&dyn Pass]) -> (Result<(Verified, Diagnostics), Diagnostics>, Vec<String>) {
    let mut timings = Vec::new();
    let options = BTreeMap::from([("by".to_owned(), "2".to_owned())]);
    let result = pipeline::run(
        passes,
        pair(),
        &options,
        None,
        &Diagnostics::new(),
        &mut timings,
    );
    (result, timings.into_iter().map(|t| t.name).collect())
}

#[test]
fn passes_run_in_order_with_their_options() {
    let double = Does("double", |context: &mut PassContext<'_>| {
        let by: f64 = context.options["by"].parse().unwrap();
        context
            .network
            .processes
            .values_mut()
            .for_each(|p| p.load *= by);
        Ok(())
    });
    let plus = Does("plus", |context: &mut PassContext<'_>| {
        context
            .network
            .processes
            .values_mut()
            .for_each(|p| p.load += 1.0);
        context
            .diagnostics
            .push(Diagnostic::note(Code(900), "one more"));
        Ok(())
    });
    let (result, timings) = run(&[&double, &plus]);
    let (network, found) = result.unwrap();
    let loads: Vec<f64> = network.processes.values().map(|p| p.load).collect();
    assert_eq!(loads, [7.0, 3.0]);
    assert_eq!(
        found.iter().map(|d| d.message.as_str()).collect::<Vec<_>>(),
        ["one more"]
    );
    let passes: Vec<_> = timings
        .iter()
        .filter(|name| !["infer", "verify"].contains(&name.as_str()))
        .collect();
    assert_eq!(passes, ["double", "plus"]);
    assert_eq!(timings.last().unwrap(), "verify");
}

#[test]
fn no_pass_costs_nothing() {
    let (result, timings) = run(&[]);
    assert!(result.unwrap().1.is_empty());
    assert!(timings.is_empty());
}

#[test]
fn the_first_failure_ends_it() {
    let fails = Does("fails", |_: &mut PassContext<'_>| {
        let mut all = Diagnostics::new();
        all.push(Diagnostic::error(Code(901), "no"));
        Err(all)
    });
    let never = Does("never", |_: &mut PassContext<'_>| panic!("it does not run"));
    let (result, _) = run(&[&fails, &never]);
    assert_eq!(result.unwrap_err().iter().next().unwrap().code, Code(901));
}

#[test]
fn the_pass_that_breaks_the_network_is_named() {
    let keeps = Does("keeps", |_: &mut PassContext<'_>| Ok(()));
    let breaks = Does("breaks", |context: &mut PassContext<'_>| {
        *context.network = Network::default();
        Ok(())
    });
    let (result, _) = run(&[&keeps, &breaks, &keeps]);
    let found: Vec<Diagnostic> = result.unwrap_err().into_iter().collect();
    assert_eq!(found[0].code, pipeline::PASS_BROKE_NETWORK);
    let blamed = if cfg!(debug_assertions) {
        "the pass `breaks`"
    } else {
        "one of the passes `keeps`, `breaks`, `keeps`"
    };
    assert!(found[0].message.starts_with(blamed), "{}", found[0].message);
    assert_eq!(found[1].code, graphmap_kpn::codes::NO_PROCESS);
}

#[test]
fn known_diagnostics_are_not_repeated() {
    let text = r#"{"graphmap": 1, "processes": [{"name": "a"}, {"name": "b"}, {"name": "alone"}],
        "channels": [{"from": "a", "to": "b"}]}"#;
    let known = {
        let mut sources = SourceMap::new();
        let source = sources.add("net.json", text).unwrap();
        let declared = json::read(source.text(), &source, &sources, Positions::Here).unwrap();
        infer::infer(resolve::resolve(declared).unwrap().0)
            .and_then(verify::verify)
            .unwrap()
            .1
    };
    assert_eq!(known.len(), 1);
    let keeps = Does("keeps", |_: &mut PassContext<'_>| Ok(()));
    let run = |known: &Diagnostics| {
        let options = BTreeMap::new();
        pipeline::run(
            &[&keeps],
            network(text),
            &options,
            None,
            known,
            &mut Vec::new(),
        )
        .unwrap()
        .1
    };
    assert_eq!(run(&known).len(), 0);
    assert_eq!(run(&Diagnostics::new()).len(), 1);
}
