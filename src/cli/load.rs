//! Reads and verifies a graph, and runs passes on its network.

use super::args::GraphArgs;
use super::exit::Exit;
use super::mapping::{MappingArgs, Target};
use super::progress::Progress;
use super::session::{Outcome, Session};
use crate::cli::plugins::{Guarded, GuardedMapper, Reader};
use crate::cli::signals;
use crate::cli::supervisor::{self, Bound};
use crate::codes;
use crate::front_end::FrontEnd;
use crate::search::ReadOptions;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Emitter;
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::Verified;
use graphmap_kpn::pass::Pass;
use graphmap_kpn::pipeline;
use graphmap_plugin::{self as plugin, External};
use graphmap_wiring::ranks_project;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

impl<'t> Session<'t> {
    /// Reads a graph file, verifies it, and runs the passes that the command line selects.
    ///
    /// # Errors
    /// Reports the diagnostics and returns the exit status: [`Exit::Graph`] if the graph has
    /// errors, also by a level, [`Exit::Usage`] if a file cannot be read or a pass is unknown, and
    /// [`Exit::Plugin`] if a pass fails.
    pub(crate) fn verified(&mut self, file: &Path, graph: &GraphArgs) -> Outcome<Verified> {
        self.verified_with(file, graph, None)
    }

    /// Like [`Session::verified`], but also reports if the file `other` is missing, and then
    /// returns [`Exit::Usage`].
    pub(crate) fn verified_with(
        &mut self,
        file: &Path,
        graph: &GraphArgs,
        other: Option<&Path>,
    ) -> Outcome<Verified> {
        let none = |_: &mut Self| Ok(((), None));
        let checked = |s: &mut Self| s.declared(file, graph).and_then(|d| s.checked(d));
        self.verified_on(checked, graph, other.into_iter().collect(), none)
            .map(|(network, ..)| network)
    }

    /// Like [`Session::verified`], for a network that is to be mapped. Also returns the target of
    /// the mapping, which the passes can read.
    ///
    /// # Errors
    /// As for [`Session::verified`] and [`Session::target`], and [`Exit::Usage`] if a file of the
    /// mapping does not exist.
    pub(crate) fn verified_for(
        &mut self,
        file: &Path,
        graph: &GraphArgs,
        mapping: &MappingArgs,
    ) -> Outcome<(Verified, Target)> {
        let early = Cell::new(None);
        let checked = |s: &mut Self| {
            s.os_processes = mapping.os_processes.map(NonZeroU32::get);
            s.hosts_follow = mapping.hosts.is_some();
            let mut declared = s.declared(file, graph)?;
            s.hosts_follow = false;
            if !declared.fitted.is_empty() && s.os_processes.is_none() && mapping.hosts.is_some() {
                // The number of slots determines the size of the network. The hosts are read
                // second, because spans in requests of plug-ins count the texts.
                let target = s.target(mapping);
                let slots = target
                    .as_ref()
                    .ok()
                    .map(|(platform, _)| platform.slot_count());
                s.os_processes = slots.and_then(|slots| u32::try_from(slots).ok());
                early.set(Some(target));
                declared = s.declared_again(file, graph, &declared)?;
            }
            s.checked(declared)
        };
        let target = |s: &mut Self| early.take().unwrap_or_else(|| s.target(mapping));
        let (network, platform, hardware) =
            self.verified_on(checked, graph, mapping.files(), target)?;
        Ok((network, Target { platform, hardware }))
    }

    /// Like [`Session::verified_for`], for ranks without a graph file and a known target.
    pub(crate) fn verified_ranks(
        &mut self,
        ranks: u32,
        graph: &GraphArgs,
        target: &Target,
    ) -> Outcome<Verified> {
        let known = |_: &mut Self| Ok(((), target.hardware.clone()));
        // These diagnostics say that no channel reaches a process, which is true of all ranks.
        let checked = |s: &mut Self| {
            let (network, _) = s.checked(ranks_project::without_graph(ranks))?;
            Ok((network, Diagnostics::new()))
        };
        self.verified_on(checked, graph, Vec::new(), known)
            .map(|(network, ..)| network)
    }

    fn verified_on<T>(
        &mut self,
        checked: impl FnOnce(&mut Self) -> Outcome<(Verified, Diagnostics)>,
        graph: &GraphArgs,
        others: Vec<&Path>,
        onto: impl FnOnce(&mut Self) -> Outcome<(T, Option<Hardware>)>,
    ) -> Outcome<(Verified, T, Option<Hardware>)> {
        let errors = self.errors();
        let passes = self.find_passes(graph)?;
        let _progress = Progress::start(self, "reading the graph", None, None);
        let options = Self::options(graph);
        let weights = options.get(crate::weights::FILE).map(Path::new);
        weights.iter().for_each(|file| self.remember(file));
        let there = self.check_existence(weights.into_iter().chain(others));
        let checked = checked(self);
        // Errors of the hosts and missing files are reported together with errors of the graph.
        let onto = onto(self);
        let (network, known) = checked?;
        let (onto, hardware) = match there.and(onto) {
            Ok(onto) => onto,
            Err(exit) => {
                self.report_all(known);
                return Err(exit);
            }
        };
        let network = self.passed(network, known, &passes, &options, hardware.as_ref())?;
        // The options may have made a warning an error.
        match self.errors() > errors {
            true => Err(Exit::Graph),
            false => Ok((network, onto, hardware)),
        }
    }

    /// Verifies a graph in DOT that is not in a file. No passes run.
    ///
    /// # Errors
    /// Reports the diagnostics and returns [`Exit::Graph`] if the graph has errors.
    pub(crate) fn verified_text(&mut self, name: &str, text: &str) -> Outcome<Verified> {
        let bytes = text.as_bytes().to_vec();
        let result =
            crate::front_end::Dot.read(name, bytes, &ReadOptions::default(), &mut self.sources);
        let declared = self.take(Exit::Graph, result)?;
        let (network, known) = self.checked(declared)?;
        self.report_all(known);
        Ok(network)
    }

    /// Verifies a declared network. Also returns the diagnostics to report after its passes have
    /// run. Reports the diagnostics and returns [`Exit::Graph`] if the network has errors.
    fn checked(&mut self, declared: Declared) -> Outcome<(Verified, Diagnostics)> {
        let mut timings = Vec::new();
        let result = pipeline::check(declared, &mut timings);
        self.add_timings(timings);
        result.map_err(|diagnostics| {
            self.report_all(diagnostics);
            Exit::Graph
        })
    }

    fn passed(
        &mut self,
        network: Verified,
        known: Diagnostics,
        passes: &[FoundPass<'t>],
        options: &BTreeMap<String, String>,
        hardware: Option<&Hardware>,
    ) -> Outcome<Verified> {
        let passes: Vec<&dyn Pass> = passes.iter().map(|p| p.as_pass()).collect();
        let mut timings = Vec::new();
        let result = pipeline::run(&passes, network, options, hardware, &known, &mut timings);
        self.report_all(known);
        self.add_timings(timings);
        self.take(Exit::Plugin, result)
    }

    fn find_passes(&mut self, graph: &GraphArgs) -> Outcome<Vec<FoundPass<'t>>> {
        let registry = self.registry;
        let mut found = Vec::new();
        let first = graph.passes.weights.iter().map(|_| "weights");
        let asked = graph.passes.pass.iter().map(String::as_str);
        for name in first.chain(asked) {
            if let Some(pass) = registry.passes().find(|p| p.name() == name) {
                found.push(FoundPass::Internal(pass));
                continue;
            }
            if let Some(path) = plugin::find(plugin::PASS, name) {
                found.push(FoundPass::External(Guarded(self.external(name, path))));
                continue;
            }
            let names: Vec<&str> = registry.passes().map(|p| p.name()).collect();
            let mut diagnostic =
                Diagnostic::error(codes::UNKNOWN_PASS, format!("unknown pass `{name}`"));
            if let Some(near) = nearest(name, names.iter().copied()) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            let diagnostic = diagnostic.help(format!(
                "`graphmap passes` lists the passes; an executable \
                 `graphmap-pass-{name}` on PATH is also a pass"
            ));
            return self.fail(Exit::Usage, diagnostic);
        }
        Ok(found)
    }

    /// Returns the emitter that the executable `graphmap-emit-NAME` on PATH provides, or `None` if
    /// there is none.
    pub(crate) fn external_emitter(&self, name: &str) -> Option<Box<dyn Emitter>> {
        let path = plugin::find(plugin::EMITTER, name)?;
        Some(Box::new(Guarded(self.external(name, path))))
    }

    /// Returns the strategy that the executable `graphmap-map-NAME` on PATH provides, or `None` if
    /// there is none. It receives the options of the command line (`--set`).
    pub(crate) fn external_strategy(&self, name: &str, graph: &GraphArgs) -> Option<GuardedMapper> {
        let path = plugin::find(plugin::STRATEGY, name)?;
        Some(GuardedMapper {
            external: self.external(name, path),
            options: Self::options(graph),
        })
    }

    /// Returns the front end that the executable `graphmap-read-NAME` on PATH provides. Returns
    /// `None` if there is none.
    pub(crate) fn external_front_end(
        &self,
        name: &str,
        options: BTreeMap<String, String>,
    ) -> Option<Reader> {
        let path = plugin::find(plugin::FRONT_END, name)?;
        let external = self.external(name, path);
        Some(Reader { external, options })
    }

    fn external(&self, name: &str, path: PathBuf) -> External {
        External {
            name: name.to_owned(),
            path,
            timeout: Duration::from_secs_f64(self.common.plugin_timeout),
            interrupt: signals::interrupt(),
            launch: |path| supervisor::command(path.as_os_str(), Bound::Everything),
        }
    }
}

/// A pass that is built in, or one found on PATH.
enum FoundPass<'t> {
    Internal(&'t dyn Pass),
    External(Guarded),
}

impl FoundPass<'_> {
    fn as_pass(&self) -> &dyn Pass {
        match self {
            FoundPass::Internal(pass) => *pass,
            FoundPass::External(pass) => pass,
        }
    }
}
