//! Networks and launches for the tests.
#![allow(dead_code, reason = "each test file uses its part")]

use graphmap_binding::{Launch, OsProcess};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::mapping::{Binding, Mapped, Mapping, OsProcessId};
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand, infer, resolve, verify};

/// Returns the network of a graph in DOT, which must be valid.
pub(crate) fn network(dot: &str) -> Verified {
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    let declared = graphmap_dot::language::load(&mut sources, "test.dot", dot.into(), &mut out);
    let declared = declared.unwrap_or_else(|| panic!("{out:#?}"));
    let (expanded, _) = expand::expand(declared).unwrap_or_else(|d| panic!("{d:#?}"));
    let (network, _) = resolve::resolve(expanded).unwrap_or_else(|d| panic!("{d:#?}"));
    infer::infer(network)
        .and_then(verify::verify)
        .unwrap_or_else(|d| panic!("{d:#?}"))
        .0
}

/// Returns a mapped network, from the OS process of each rank, and the host and cores of each OS
/// process.
pub(crate) fn mapped(dot: &str, os_process: &[u32], bindings: &[(Option<&str>, &[u32])]) -> Mapped {
    let binding = |(host, cores): &(Option<&str>, &[u32])| Binding {
        host: host.map(str::to_string),
        cores: cores.to_vec(),
    };
    let mapping = Mapping {
        os_process: os_process
            .iter()
            .map(|&o| OsProcessId::from_index(o as usize))
            .collect(),
        bindings: bindings.iter().map(binding).collect(),
        strategy: "test".into(),
    };
    Mapped::new(network(dot), mapping).expect("it fits")
}

/// Returns a launch, from host, cores and number of processes of each OS process.
pub(crate) fn launch(os_processes: &[(&str, &[u32], u32)]) -> Launch {
    let one = |(host, cores, processes): &(&str, &[u32], u32)| OsProcess {
        host: Some(host.to_string()).filter(|h| !h.is_empty()),
        cores: cores.to_vec(),
        program: None,
        processes: *processes,
    };
    Launch {
        label: false,
        network: "farm".into(),
        strategy: "test".into(),
        program: "./farm".into(),
        args: vec!["-v".into()],
        environment: Vec::new(),
        agent: None,
        os_processes: os_processes.iter().map(one).collect(),
        facts: Default::default(),
    }
}

/// Formats diagnostics, one per line: `G0430 error the message`.
pub(crate) fn show(out: &Diagnostics) -> Vec<String> {
    out.iter()
        .map(|d| format!("{} {} {}", d.code, d.severity, d.message))
        .collect()
}
