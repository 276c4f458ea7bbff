//! Reads a text and returns one line per diagnostic: `G0413 error 2:4 the message`.
#![allow(dead_code, reason = "each test file uses its part")]

use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_platform::{HostsFormat, Platform, read};

pub(crate) fn try_read(format: Option<HostsFormat>, text: &str) -> (Option<Platform>, Vec<String>) {
    let mut sources = SourceMap::new();
    let source = sources.add("hosts", text).expect("small");
    let mut out = Diagnostics::new();
    let platform = read(&source, format, &mut out);
    assert_eq!(platform.is_none(), out.has_errors(), "{out:?}");
    (platform, show(&sources, &out))
}

pub(crate) fn show(sources: &SourceMap, out: &Diagnostics) -> Vec<String> {
    let line = |d: &graphmap_kpn::diagnostic::Diagnostic| {
        let place = d.primary.as_ref().and_then(|l| sources.location(l.span));
        let place = place.map_or("-".to_string(), |l| format!("{}:{}", l.line, l.column));
        format!("{} {} {place} {}", d.code, d.severity, d.message)
    };
    out.iter().map(line).collect()
}

/// Returns the platform of a text that causes no diagnostic, without positions.
pub(crate) fn good(format: Option<HostsFormat>, text: &str) -> Platform {
    let (platform, found) = try_read(format, text);
    assert_eq!(found, Vec::<String>::new(), "in {text:?}");
    platform.expect("no finding").without_spans()
}

/// Returns the diagnostics of a text.
pub(crate) fn diagnostics(format: Option<HostsFormat>, text: &str) -> Vec<String> {
    try_read(format, text).1
}

/// Returns the names of hosts with their slots.
pub(crate) fn slots(platform: &Platform) -> Vec<(&str, u32)> {
    platform
        .hosts()
        .iter()
        .map(|h| (h.name.as_str(), h.slots))
        .collect()
}
