//! Builder that the readers share. It adds hosts to a platform line by line.

use crate::access::Key;
use crate::codes;
use crate::host_access::HostAccess;
use crate::hosts_format::{Foreign, HostsFormat};
use crate::model::{Host, HostId, MAX_CORES, MAX_HOSTS, Platform, Run};
use crate::report::Report;
use crate::text::Word;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::{Source, Span};
use rustc_hash::FxHashMap;

/// A platform under construction. The order of its slots is the order of the lines that add them.
pub(crate) struct Build<'a> {
    pub(crate) format: HostsFormat,
    pub(crate) report: Report,
    pub(crate) hosts: Vec<Host>,
    order: Vec<Run>,
    index: FxHashMap<&'a str, HostId>,
    access: FxHashMap<&'a str, HostAccess>,
    slots: u64,
    foreign: Vec<HostsFormat>,
    full: bool,
}

impl<'a> Build<'a> {
    pub(crate) fn new(format: HostsFormat) -> Build<'a> {
        Build {
            format,
            report: Report::default(),
            hosts: Vec::new(),
            order: Vec::new(),
            index: FxHashMap::default(),
            access: FxHashMap::default(),
            slots: 0,
            foreign: Vec::new(),
            full: false,
        }
    }

    /// Returns the id of the host called `name`, or `None` if no call of [`add`](Self::add) has
    /// created it.
    pub(crate) fn host_named(&self, name: &str) -> Option<HostId> {
        self.index.get(name).copied()
    }

    /// Returns the last run of slots, or `None` if no slots were added yet.
    pub(crate) fn last(&self) -> Option<Run> {
        self.order.last().copied()
    }

    /// Adds `count` slots to the host called `name`, and returns its id. Creates the host if it is
    /// new. `span` is the position of the line.
    ///
    /// Returns `None` and adds nothing if the platform would exceed [`MAX_HOSTS`] or [`MAX_CORES`].
    /// Only the first such call reports an error.
    pub(crate) fn add(&mut self, name: &'a str, count: u32, span: Span) -> Option<HostId> {
        self.slots += u64::from(count);
        let new = !self.index.contains_key(name);
        if self.slots > MAX_CORES as u64 || (new && self.hosts.len() == MAX_HOSTS) {
            if !std::mem::replace(&mut self.full, true) {
                let what = "this platform is too large".to_string();
                let limit = format!("the limit is {MAX_HOSTS} hosts and {MAX_CORES} slots");
                let found = Diagnostic::error(codes::TOO_LARGE, what);
                self.report
                    .push(found.at(span, "exceeds the limit here").with_note(limit));
            }
            return None;
        }
        let next = HostId::from_index(self.hosts.len());
        let host = *self.index.entry(name).or_insert(next);
        if host == next {
            let mut made = Host::new(name, count);
            made.span = span;
            self.hosts.push(made);
        } else {
            self.hosts[host.index()].slots += count;
        }
        match self.order.last_mut() {
            Some(run) if run.host == host => run.count += count,
            _ => self.order.push(Run { host, count, span }),
        }
        Some(host)
    }

    /// Records the user, port, interface or binding of a host, which need not exist yet. For an
    /// invalid value, reports an error and keeps the earlier value. If the value differs from an
    /// earlier one, replaces it and reports a warning.
    pub(crate) fn set_access(&mut self, host: Word<'a>, key: Key, value: Word) {
        let access = self.access.entry(host.text).or_default();
        access.set(key, value, host, &mut self.report);
    }

    /// Reports an error about a word that belongs to the format `foreign`. Only the first such word
    /// of each format is reported. `instead` is text to write in place of it in the own format.
    pub(crate) fn foreign(&mut self, word: Word, foreign: &Foreign, instead: Option<String>) {
        if self.foreign.contains(&foreign.format) {
            return;
        }
        self.foreign.push(foreign.format);
        let (this, other) = (self.format, foreign.format);
        let what = format!(
            "{} belongs in {}, but this text is read as {}",
            foreign.what,
            other.about(),
            this.about()
        );
        let mut found = Diagnostic::error(codes::WRONG_FORMAT, what).at(word.span(), "");
        if let Some(instead) = instead {
            found = found.help(format!("in {}, write `{instead}`", this.about()));
        }
        let name = other.name();
        self.report.push(found.help(format!(
            "if the whole file is {}, use `--hosts-format {name}`",
            other.about()
        )));
    }

    /// Returns the platform if no error was reported, and `None` otherwise. A platform without
    /// hosts is an error. Appends the diagnostics to `out`: the first 50, and a note with the
    /// number of the others.
    pub(crate) fn finish(mut self, source: &Source, out: &mut Diagnostics) -> Option<Platform> {
        if self.hosts.is_empty() && !self.report.failed() {
            self.report.push(no_host(source));
        }
        for host in &mut self.hosts {
            if let Some(access) = self.access.remove(host.name.as_str()) {
                host.access = access.access();
            }
        }
        let made = match self.report.failed() {
            true => None,
            false => Platform::with_order(self.hosts, self.order).ok(),
        };
        self.report.finish(made, out)
    }
}

/// Returns the error for a text that names no host.
pub(crate) fn no_host(source: &Source) -> Diagnostic {
    let at = Span::new(source.base(), source.base());
    Diagnostic::error(codes::NO_HOST, format!("`{}` names no host", source.name()))
        .at(at, "")
        .help("write one host per line, such as `node1:4`")
}
