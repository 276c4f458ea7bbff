//! Options of the mapping, and the search for one.

use super::args::GraphArgs;
use super::exit::Exit;
use super::input::similar_file;
use super::progress::{Patience, Progress};
use super::rules::RuleArgs;
use super::session::{Outcome, Session};
use super::talk;
use crate::cli::supervisor::{self, Bound};
use crate::{Registry, codes};
use graphmap_binding::codes::OTHER_NETWORK;
use graphmap_binding::mapping_json;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Severity};
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::input::Limit;
use graphmap_kpn::mapper::Mapper;
use graphmap_kpn::mapping::{Binding, Mapped, Mapping};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::Span;
use graphmap_partition::{Kind, Objective, Options, Strategy, Watch};
use graphmap_plan::{self as plan, Modules, Plan, Previous, Request};
use graphmap_platform::{Host, HostsFormat, Platform, local, slurm};
use graphmap_plugin as plugin;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Options of the mapping.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Mapping")]
pub(crate) struct MappingArgs {
    /// Number of OS processes [default: one per slot of the hosts; 1 without --hosts]
    #[arg(short = 'n', long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
    pub(crate) os_processes: Option<NonZeroU32>,
    /// Hosts: a hostfile or another description, `local`, `slurm` (the current job), or a synthetic
    /// description such as `hosts=4:sockets=2:cores=8`
    #[arg(long, value_name = "HOSTS")]
    pub(crate) hosts: Option<String>,
    /// Format of the host description: mpich, openmpi, intel, slurm, synthetic, hwloc [default:
    /// detected]
    #[arg(long, value_name = "FORMAT", alias = "dialect", requires = "hosts")]
    pub(crate) hosts_format: Option<String>,
    /// Method to map processes onto OS processes: auto (several searches), fast (one search, for
    /// very large networks), stack (fills OS processes in order), round-robin (distributes
    /// processes in turn), metis (METIS), ilp (an integer program, for small networks), or NAME of
    /// an executable `graphmap-map-NAME` on PATH
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) strategy: String,
    /// Quantity to minimize
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Aim::Cost)]
    pub(crate) objective: Aim,
    /// Time limit of the search, such as 100ms or 2s. Without it the result depends only on the
    /// seed, except that `ilp` stops after 10s
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) time: Option<Duration>,
    /// Threads of the search with --time [default: all available cores]; without --time the search
    /// uses one thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), allow_negative_numbers = true)]
    pub(crate) threads: Option<u16>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Tolerance by which the load of an OS process may exceed its even share, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = percent, allow_hyphen_values = true)]
    pub(crate) imbalance: f64,
    /// Fail if no mapping within the balance limit is found, instead of raising the limit
    #[arg(long)]
    pub(crate) strict_balance: bool,
    /// Effect of modules: ignore; atom (each stays in one OS process); prefer=TRAFFIC (kept
    /// together as if channels with this traffic joined its processes)
    #[arg(long, value_name = "HOW", default_value = "ignore", value_parser = modules)]
    pub(crate) modules: HowModules,
    /// Executable that solves LP files, for the strategy ilp: cbc or glpsol
    #[arg(long, value_name = "PATH")]
    pub(crate) solver: Option<PathBuf>,
    /// Use the mapping in this mapping.json instead of searching for one
    #[arg(long, value_name = "PATH", conflicts_with_all = ["os_processes", "hosts", "previous"])]
    pub(crate) mapping: Option<PathBuf>,
    /// The current mapping.json: processes that stay in their OS process cost nothing
    #[arg(long, value_name = "PATH")]
    pub(crate) previous: Option<PathBuf>,
    /// Cost of moving a process away from its OS process in `--previous` over distance 1, such as
    /// the size of its data, in units of traffic
    #[arg(
        long,
        value_name = "TRAFFIC",
        default_value_t = 1.0,
        value_parser = traffic,
        allow_negative_numbers = true,
        requires = "previous"
    )]
    pub(crate) migration: f64,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
}

impl MappingArgs {
    /// Returns the options for `-n N --strategy NAME`.
    pub(crate) fn simple(os_processes: NonZeroU32, strategy: &str) -> MappingArgs {
        MappingArgs {
            os_processes: Some(os_processes),
            hosts: None,
            hosts_format: None,
            strategy: strategy.to_owned(),
            objective: Aim::Cost,
            time: None,
            threads: None,
            seed: 0,
            imbalance: 3.0,
            strict_balance: false,
            modules: HowModules(Modules::Ignore),
            solver: None,
            mapping: None,
            previous: None,
            migration: 0.0,
            rules: RuleArgs::default(),
        }
    }

    /// Returns the files that are read once the network is known.
    pub(crate) fn files(&self) -> Vec<&Path> {
        let named = [&self.mapping, &self.previous];
        let named = named.into_iter().flatten().map(PathBuf::as_path);
        named.chain(self.rules.files()).collect()
    }

    /// Returns true if modules have an effect on the mapping.
    pub(crate) fn uses_modules(&self) -> bool {
        self.modules.0 != Modules::Ignore
    }

    /// Returns the quantity to minimize.
    pub(crate) fn objective(&self) -> Objective {
        match self.objective {
            Aim::Cost => Objective::Cost,
            Aim::Bottleneck => Objective::Bottleneck,
            Aim::LargestLoad => Objective::LargestLoad,
            Aim::RemoteChannels => Objective::RemoteChannels,
        }
    }

    /// Returns a guard that makes signals end the search. Returns `None` if the search of the
    /// strategy cannot end early, or if the strategy is unknown.
    pub(crate) fn patience(&self, registry: &Registry) -> Option<Patience> {
        let searches = self.is_strategy(registry, Kind::is_own_search);
        searches.then(Patience::new)
    }

    /// Returns true if the strategy exists and is of the given kind. Returns false for an
    /// executable on PATH.
    fn is_strategy(&self, registry: &Registry, of_kind: impl Fn(Kind) -> bool) -> bool {
        let found = registry.strategy_named(&self.strategy);
        found.is_ok_and(|strategy| of_kind(strategy.kind))
    }

    /// Returns the options of the search.
    ///
    /// # Errors
    /// Returns an error if the strategy is unknown or is not compiled in.
    pub(crate) fn search(
        &self,
        registry: &Registry,
        watch: Option<&Arc<Watch>>,
    ) -> Result<Options, Diagnostics> {
        let strategy = registry
            .strategy_named(&self.strategy)
            .map_err(|error| error.report().diagnostics().clone())?;
        Ok(self.options(strategy, watch))
    }

    /// Returns the options of the search with a strategy.
    fn options(&self, strategy: Strategy, watch: Option<&Arc<Watch>>) -> Options {
        Options {
            strategy,
            time: self.time,
            threads: self.threads(),
            seed: self.seed,
            strict_balance: self.strict_balance,
            solver: self.solver.clone(),
            launch: Some(|path| supervisor::command(path.as_os_str(), Bound::Everything)),
            watch: watch.cloned(),
            ..Options::default()
        }
    }

    /// Returns the number of threads of the search: `--threads`, or all available cores. Returns 1
    /// if the number of cores is unknown.
    fn threads(&self) -> NonZeroUsize {
        let all = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let said = self.threads.and_then(|n| NonZeroUsize::new(n.into()));
        said.unwrap_or_else(all)
    }
}

/// Mappings that are known before the search.
#[derive(Default)]
pub(crate) struct Known<'a> {
    /// The mapping that takes the place of the search.
    pub(crate) mapper: Option<&'a (dyn Mapper + Sync)>,
    /// The mappings to compare with.
    pub(crate) compared: Vec<&'a (dyn Mapper + Sync)>,
    /// Number of OS processes of all these mappings.
    pub(crate) os_processes: Option<usize>,
    /// True if the platform consists of hosts that the mappings name.
    pub(crate) names_hosts: bool,
}

/// Target of a mapping.
pub(crate) struct Target {
    pub(crate) platform: Platform,
    /// The platform in the form for plug-ins. `None` if the command line does not describe it.
    pub(crate) hardware: Option<Hardware>,
}

/// Quantity to minimize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Aim {
    /// Traffic times distance
    Cost,
    /// Largest traffic of one host
    Bottleneck,
    /// Largest load of an OS process
    LargestLoad,
    /// Number of channels between OS processes
    RemoteChannels,
}

/// Effect of modules on the mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HowModules(Modules);

pub(crate) fn number(text: &str) -> Result<NonZeroU32, String> {
    let wanted = |_| format!("expected a whole number from 1 to {}", u32::MAX);
    text.parse().map_err(wanted)
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let wanted = |_| format!("expected a whole number from 0 to {}", u64::MAX);
    text.parse().map_err(wanted)
}

/// Upper bound of a duration: about thirty years.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// Parses a duration with its unit. The unit of a bare number is seconds.
///
/// # Errors
/// Returns the message if the text is not a duration, or if the duration is 0 or at least
/// [`LONGEST`].
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok();
    let seconds = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let said = seconds.or_else(|| humantime::parse_duration(text).ok());
    match said {
        Some(time) if !time.is_zero() && time < LONGEST => Ok(time),
        _ => Err("expected a time such as 100ms or 2s".into()),
    }
}

/// Largest imbalance that the engine accepts.
const MOST_PERCENT: f64 = 100_000.0;

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(value) if (0.0..=MOST_PERCENT).contains(&value) => Ok(value),
        _ => Err(format!("expected a number from 0 to {MOST_PERCENT}")),
    }
}

fn traffic(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a number of at least 0".into()),
    }
}

fn modules(text: &str) -> Result<HowModules, String> {
    let how = match (text, text.strip_prefix("prefer=")) {
        ("ignore", _) => Modules::Ignore,
        ("atom", _) => Modules::Atom,
        (_, Some(traffic)) => match traffic.parse::<f64>() {
            Ok(traffic) if traffic >= 0.0 && traffic.is_finite() => Modules::Prefer(traffic),
            _ => return Err("expected a number of at least 0 after prefer=".into()),
        },
        _ => return Err("expected ignore, atom or prefer=TRAFFIC".into()),
    };
    Ok(HowModules(how))
}

impl Session<'_> {
    /// Reads a graph file and maps its network. Also returns the hardware for emitters. Blocks
    /// until the search for a mapping ends.
    ///
    /// # Errors
    /// As for [`Session::verified_for`], and [`Session::plan`] or [`Session::mapping_file`]. Also
    /// returns [`Exit::Usage`] if `--mapping` is combined with rules.
    pub(crate) fn mapped(
        &mut self,
        file: &Path,
        graph: &GraphArgs,
        args: &MappingArgs,
    ) -> Outcome<(Mapped, Option<Hardware>)> {
        let (network, target) = self.verified_for(file, graph, args)?;
        let mapped = self.mapped_onto(&target.platform, network, graph, args)?;
        Ok((mapped, target.hardware))
    }

    fn mapped_onto(
        &mut self,
        platform: &Platform,
        network: Verified,
        graph: &GraphArgs,
        args: &MappingArgs,
    ) -> Outcome<Mapped> {
        if let Some(path) = &args.mapping {
            if !args.rules.is_empty() {
                let message = "`--mapping` names a mapping, but rules are for the search for one";
                let diagnostic = Diagnostic::error(codes::USAGE, message)
                    .help("omit the rules, or omit `--mapping`");
                return self.fail(Exit::Usage, diagnostic);
            }
            let mapping = self.mapping_file(path, &network)?;
            return self.fits(network, mapping);
        }
        let one = args.hosts.is_none() && args.os_processes.is_none_or(|n| n.get() == 1);
        if !one || !args.rules.is_empty() || !network.boxes.is_empty() {
            return Ok(self.plan(&network, platform, graph, args, false)?.mapped);
        }
        // All processes are in one OS process, so that no search is needed.
        let mapping = Mapping::stack(network.processes.len(), 1);
        self.fits(network, mapping)
    }

    fn fits(&mut self, network: Verified, mapping: Mapping) -> Outcome<Mapped> {
        Mapped::new(network, mapping).or_else(|error| {
            let diagnostic = Diagnostic::error(codes::USAGE, error.to_string());
            self.fail(Exit::Usage, diagnostic)
        })
    }

    /// Reads the mapping of a network from a file.
    ///
    /// # Errors
    /// Reports the diagnostics and returns [`Exit::Usage`] if the file cannot be read, or
    /// [`Exit::Graph`] if it is not a mapping or does not fit the network.
    pub(crate) fn mapping_file(&mut self, path: &Path, network: &Verified) -> Outcome<Mapping> {
        self.mapping_where(path, network, |_| true)
    }

    /// Like [`Session::mapping_file`], for ranks without a graph. Does not warn that the mapping
    /// was made for another network, because it may be for a graph of the ranks.
    pub(crate) fn mapping_of_ranks(&mut self, path: &Path, network: &Verified) -> Outcome<Mapping> {
        self.mapping_where(path, network, |found| {
            found.severity == Severity::Error || found.code != OTHER_NETWORK
        })
    }

    fn mapping_where(
        &mut self,
        path: &Path,
        network: &Verified,
        is_reported: impl Fn(&Diagnostic) -> bool,
    ) -> Outcome<Mapping> {
        let source = self.text_file(path, Limit::NETWORK)?;
        let mut found = Diagnostics::new();
        let document = mapping_json::read(&source, &mut found);
        let mapping = document.and_then(|d| d.fit(network, &source, &mut found));
        self.report_all(found.filter_map(|one| is_reported(&one).then_some(one)));
        mapping.ok_or(Exit::Graph)
    }

    /// Returns the number of processes in a mapping file.
    ///
    /// # Errors
    /// Reports the diagnostics and returns [`Exit::Usage`] if the file cannot be read, or
    /// [`Exit::Graph`] if it is not a mapping.
    pub(crate) fn processes_of_mapping(&mut self, path: &Path) -> Outcome<usize> {
        let source = self.text_file(path, Limit::NETWORK)?;
        let mut found = Diagnostics::new();
        match mapping_json::read(&source, &mut found) {
            // Other diagnostics are reported when the mapping is used.
            Some(document) => Ok(document.processes.len()),
            None => {
                self.report_all(found);
                Err(Exit::Graph)
            }
        }
    }

    /// Reads the mapping in use. Its processes need not be exactly those of the network, because
    /// processes are added and removed.
    ///
    /// # Errors
    /// Reports the diagnostics and returns [`Exit::Usage`] if the file cannot be read or contains
    /// no process of the network, or [`Exit::Graph`] if it is not a mapping.
    fn previous(&mut self, path: &Path, migration: f64, network: &Verified) -> Outcome<Previous> {
        let source = self.text_file(path, Limit::NETWORK)?;
        let mut found = Diagnostics::new();
        let document = mapping_json::read(&source, &mut found);
        self.report_all(found);
        let document = document.ok_or(Exit::Graph)?;
        let os_process = document.by_name(network);
        if os_process.iter().all(Option::is_none) && !os_process.is_empty() {
            let (name, hash) = (&document.network.name, &document.network.hash);
            let own = mapping_json::network_hash(network);
            let start = Span::new(source.base(), source.base());
            let message =
                "the previous mapping is for another network: none of the processes is in it";
            let diagnostic = Diagnostic::error(plan::codes::PREVIOUS, message)
                .at(start, format!("made for `{name}`, hash {hash}"))
                .with_note(format!("the network is `{}`, hash {own}", network.name))
                .help("map without it, or use the mapping that was made for this graph");
            return self.fail(Exit::Usage, diagnostic);
        }
        let binding = |p: &mapping_json::BindingJson| Binding {
            host: p.host.clone(),
            cores: p.cores.clone(),
        };
        Ok(Previous {
            os_process,
            bindings: document.os_processes.iter().map(binding).collect(),
            migration,
        })
    }

    /// Maps a network and shows progress. Blocks until the search ends. If `patient`, the first
    /// signal during the search ends the search instead of graphmap, and the best mapping found so
    /// far is used. This has no effect for strategies that cannot end early.
    ///
    /// A strategy that is neither built in nor in the registry is an executable on PATH, which
    /// receives the options of `graph`.
    ///
    /// # Errors
    /// Reports the diagnostics and returns the exit status if the options, the rules or the
    /// previous mapping have errors, or as [`exit_of`] if there is no mapping.
    pub(crate) fn plan(
        &mut self,
        network: &Verified,
        platform: &Platform,
        graph: &GraphArgs,
        args: &MappingArgs,
        patient: bool,
    ) -> Outcome<Plan> {
        self.plan_known(network, platform, graph, args, (patient, &Known::default()))
    }

    /// Like [`Session::plan`], with mappings that are known. The first takes the place of the
    /// search, and the others are compared with the result.
    ///
    /// # Errors
    /// As for [`Session::plan`]. Returns [`Exit::Infeasible`] if the mapping breaks a rule, and
    /// [`Exit::Graph`] if it does not fit the hosts.
    pub(crate) fn plan_known(
        &mut self,
        network: &Verified,
        platform: &Platform,
        graph: &GraphArgs,
        args: &MappingArgs,
        (patient, known): (bool, &Known<'_>),
    ) -> Outcome<Plan> {
        self.solver(args)?;
        let (rules, broken) = self.rules(&args.rules);
        let previous = match &args.previous {
            Some(path) => Some(self.previous(path, args.migration, network)?),
            None => None,
        };
        let patience = patient.then(|| args.patience(self.registry)).flatten();
        let watch = patience.as_ref().map(Patience::watch);
        let asked = args.os_processes.map(|n| n.get() as usize);
        let mut request = Request {
            os_processes: known.os_processes.or(asked),
            named_hosts: args.hosts.is_some() || known.names_hosts,
            options: Options::default(),
            objective: args.objective(),
            imbalance: args.imbalance / 100.0,
            modules: args.modules.0,
            rules: &rules,
            // The session shows the diagnostics, and has the texts of all sources.
            texts: None,
            previous: previous.as_ref(),
            mapper: known.mapper,
            compared: &known.compared,
        };
        if let Some(exit) = broken {
            self.report_all(plan::check(network, platform, &request));
            return Err(exit);
        }
        let external = match args.is_strategy(self.registry, |_| true) {
            true => None,
            false => self.external_strategy(&args.strategy, graph),
        };
        let external_mapper = external
            .as_ref()
            .map(|mapper| mapper as &(dyn Mapper + Sync));
        request.mapper = request.mapper.or(external_mapper);
        request.options = match external {
            Some(_) => args.options(Strategy::default(), watch),
            None => self.search_options(args, watch)?,
        };
        // Without hosts, there is a slot for each box.
        let slots = plan::os_processes_of_boxes(network, &rules)
            .filter(|_| args.hosts.is_none() && known.os_processes.is_none());
        let own = slots.and_then(|n| Platform::new(vec![Host::new("localhost", n.max(1))]).ok());
        let platform = own.as_ref().unwrap_or(platform);
        let progress = Progress::start(self, "searching for a mapping", watch, args.time);
        let muffled = talk::Muffled::begin();
        let result = self.timed("map", |_| plan::plan(network, platform, &request));
        drop(muffled);
        drop(progress);
        let exit = match (known.mapper, &external) {
            (None, Some(_)) => exit_of,
            _ => exit_of_known,
        };
        let exit = result.as_ref().err().map_or(Exit::Ok, exit);
        self.take(exit, result)
    }

    /// Returns the options of the search.
    ///
    /// # Errors
    /// Reports an error and returns [`Exit::Usage`] if the strategy is unknown or is not compiled
    /// in.
    pub(super) fn search_options(
        &mut self,
        args: &MappingArgs,
        watch: Option<&Arc<Watch>>,
    ) -> Outcome<Options> {
        let found = args
            .search(self.registry, watch)
            .map(|options| (options, Diagnostics::new()));
        let exit = found.as_ref().err().map_or(Exit::Ok, exit_of);
        let found = found.map_err(|found| {
            found.filter_map(|mut one| {
                let name = &args.strategy;
                let external = plugin::on_path(plugin::STRATEGY);
                let names = external.iter().map(|found| found.name.as_str());
                if let Some(near) = nearest(name, names) {
                    one.help = vec![format!("did you mean `{near}`?")];
                }
                Some(one.help(format!(
                    "an executable `graphmap-map-{name}` on PATH is also a strategy for networks"
                )))
            })
        });
        self.take(exit, found)
    }

    /// Records the solver as a file that must not be overwritten. Does nothing without `--solver`.
    ///
    /// # Errors
    /// Reports an error and returns [`Exit::Usage`] if the strategy does not use a solver.
    pub(super) fn solver(&mut self, args: &MappingArgs) -> Outcome<()> {
        let Some(solver) = &args.solver else {
            return Ok(());
        };
        self.remember(solver);
        if args.is_strategy(self.registry, |kind| kind == Kind::Program) {
            return Ok(());
        }
        let message = format!("the strategy `{}` does not use `--solver`", args.strategy);
        let diagnostic = Diagnostic::error(codes::USAGE, message)
            .help("use `--strategy ilp`, or omit `--solver`");
        self.fail(Exit::Usage, diagnostic)
    }

    /// Returns the platform to map onto, and the hardware for plug-ins if the command line
    /// describes it. Without `--hosts`, the platform is this host with one slot for each OS
    /// process.
    ///
    /// # Errors
    /// Reports the diagnostics and returns [`Exit::Usage`] if the description cannot be read, its
    /// format is unknown, or the number of OS processes is too large. Returns [`Exit::Graph`] if it
    /// has errors.
    pub(crate) fn target(&mut self, args: &MappingArgs) -> Outcome<(Platform, Option<Hardware>)> {
        let platform = self.platform(args)?;
        let os_processes = args.os_processes.map(NonZeroU32::get);
        let said = args.hosts.is_some() || os_processes.is_some();
        let hardware = said.then(|| platform.hardware(os_processes));
        Ok((platform, hardware))
    }

    /// Returns the platform that the command line describes, and reports the diagnostics.
    ///
    /// # Errors
    /// As for [`Session::target`].
    fn platform(&mut self, args: &MappingArgs) -> Outcome<Platform> {
        let mut found = Diagnostics::new();
        let platform = match args.hosts.as_deref() {
            None => {
                let slots = args.os_processes.map_or(1, NonZeroU32::get);
                let platform = Platform::new(vec![Host::new("localhost", slots)]);
                return platform.or_else(|error| {
                    let diagnostic = Diagnostic::error(codes::USAGE, error.to_string());
                    self.fail(Exit::Usage, diagnostic)
                });
            }
            Some("local") => local::read(Path::new("/"), &mut found),
            Some("slurm") => {
                let variables = std::env::vars_os();
                let variables = variables
                    .filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
                slurm::read(&variables.collect(), &mut self.sources, &mut found)
            }
            Some(text) => self.described(text, args.hosts_format.as_deref(), &mut found)?,
        };
        self.report_all(found);
        platform.ok_or(Exit::Graph)
    }

    /// Reads hosts from a file, or from words such as `hosts=4:cores=8` if no such file exists.
    /// Returns `None` if the description has errors, which are in `found`.
    ///
    /// # Errors
    /// Reports an error and returns [`Exit::Usage`] if the file cannot be read or the format is
    /// unknown.
    fn described(
        &mut self,
        text: &str,
        format: Option<&str>,
        found: &mut Diagnostics,
    ) -> Outcome<Option<Platform>> {
        let format = match format.map(HostsFormat::from_name) {
            None => None,
            Some(Ok(format)) => Some(format),
            Some(Err(diagnostic)) => return self.fail(Exit::Usage, *diagnostic),
        };
        let path = Path::new(text);
        let source = if text.contains('=') && !path.exists() {
            self.sources.add("--hosts", text).or_else(|error| {
                let diagnostic = Diagnostic::error(codes::TOO_LARGE, error.to_string());
                self.fail(Exit::Usage, diagnostic)
            })?
        } else if !path.exists() && !text.contains('/') {
            // The user may have written it as for `mpiexec -host node1,node2`.
            let message = format!("the file `{text}` does not exist");
            let help = "`--hosts` takes a file, `local`, `slurm`, or a description such as `names=node1,node2 slots=4`";
            let mut diagnostic = Diagnostic::error(codes::CANNOT_READ, message);
            diagnostic.help.extend(similar_file(path));
            let diagnostic = diagnostic.help(help);
            return self.fail(Exit::Usage, diagnostic);
        } else {
            self.text_file(path, Limit::SETTINGS)?
        };
        Ok(graphmap_platform::read(&source, format, found))
    }
}

/// Returns the exit status of a command whose search failed with the diagnostics `found`. Checks
/// for these causes in this order: infeasible, a failed solver or plug-in, wrong usage. For all
/// others, returns [`Exit::Graph`].
pub(super) fn exit_of(found: &Diagnostics) -> Exit {
    let mut errors = found.iter().filter(|d| d.severity == Severity::Error);
    let has = |code| found.iter().any(|d| d.code == code);
    let of_plugin = [
        plan::codes::SOLVER,
        plan::codes::NOT_A_MAPPING,
        plan::codes::BREAKS_RULE,
        plan::codes::BAD_BINDING,
        graphmap_kpn::codes::OTHER_VERSION,
    ];
    let of_plugin = |code| of_plugin.contains(&code) || plugin::codes::ALL.contains(&code);
    let infeasible = [
        plan::codes::INFEASIBLE,
        plan::codes::BOX_MISSING,
        plan::codes::BOX_COUNT,
    ];
    if infeasible.into_iter().any(has) {
        Exit::Infeasible
    } else if errors.any(|error| of_plugin(error.code)) {
        Exit::Plugin
    } else if has(plan::codes::UNKNOWN_STRATEGY) || has(plan::codes::PREVIOUS) {
        Exit::Usage
    } else {
        Exit::Graph
    }
}

/// Like [`exit_of`], if no plug-in searches for the mapping. Errors of a mapping are then about a
/// known one.
fn exit_of_known(found: &Diagnostics) -> Exit {
    let has = |code| found.iter().any(|one| one.code == code);
    if has(plan::codes::BREAKS_RULE) {
        Exit::Infeasible
    } else if has(plan::codes::BAD_BINDING) || has(plan::codes::NOT_A_MAPPING) {
        Exit::Graph
    } else {
        exit_of(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        let said = [
            ("100ms", 100),
            ("0.5s", 500),
            ("2s", 2000),
            ("2 s", 2000),
            ("2", 2000),
            ("1.5", 1500),
            ("1min", 60_000),
            ("1min 30s", 90_000),
            ("500us", 0),
        ];
        for (text, milliseconds) in said {
            let time = duration(text).unwrap();
            assert_eq!(time.as_millis(), milliseconds, "{text}");
        }
        for wrong in [
            "",
            "0",
            "0s",
            "-1s",
            "-1",
            "soon",
            "inf",
            "NaN",
            "1e9",
            "1e30",
            "99999999y",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
