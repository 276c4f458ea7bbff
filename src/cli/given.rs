//! Mappings from files, whose tables `partition` shows.

use super::check::plural;
use super::exit::Exit;
use super::mapping::{Known, MappingArgs};
use super::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapper::{Assignment, MapContext, Mapper, Place, Proposal};
use graphmap_kpn::mapping::{Binding, Mapping};
use graphmap_kpn::network::Verified;
use graphmap_platform::{Host, Platform};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A mapping from a file.
struct FromFile {
    /// Path of the file.
    name: String,
    mapping: Mapping,
}

impl Mapper for FromFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_given(&self) -> bool {
        true
    }

    fn map(&self, _: &mut MapContext<'_>) -> Result<Proposal, Diagnostics> {
        let place = |binding: &Binding| {
            Some(Place {
                host: binding.host.clone()?,
                cores: binding.cores.clone(),
            })
        };
        let places: Option<Vec<Place>> = self.mapping.bindings.values().map(place).collect();
        Ok(Proposal {
            assignment: Assignment::Ranks(self.mapping.numbers().collect()),
            bindings: places.unwrap_or_default(),
        })
    }
}

/// The mappings of `--mapping` and `--compare`, which all have the same number of OS processes.
#[derive(Default)]
pub(crate) struct Given {
    own: Option<FromFile>,
    compared: Vec<FromFile>,
    /// The hosts that the mappings name, or this host. `None` if `--hosts` describes the hosts, or
    /// without mappings.
    platform: Option<Platform>,
}

impl Given {
    /// Returns the mappings as input of the planner.
    pub(crate) fn known(&self) -> Known<'_> {
        fn mapper(one: &FromFile) -> &(dyn Mapper + Sync) {
            one
        }
        Known {
            mapper: self.own.as_ref().map(mapper),
            compared: self.compared.iter().map(mapper).collect(),
            os_processes: self.os_processes(),
            names_hosts: self.names_hosts(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &FromFile> {
        self.own.iter().chain(&self.compared)
    }

    /// Returns the number of OS processes of the mappings.
    pub(crate) fn os_processes(&self) -> Option<usize> {
        self.all().next().map(|first| first.mapping.bindings.len())
    }

    /// Returns the platform of the mappings, if `--hosts` does not describe one.
    pub(crate) fn platform(&self) -> Option<&Platform> {
        self.platform.as_ref()
    }

    /// Returns true if the platform consists of hosts that a mapping names.
    pub(crate) fn names_hosts(&self) -> bool {
        self.platform.is_some() && self.all().any(|one| names_hosts(&one.mapping))
    }
}

fn names_hosts(mapping: &Mapping) -> bool {
    let mut bindings = mapping.bindings.values();
    bindings.any(|binding| binding.host.is_some())
}

impl Session<'_> {
    /// Reads the mappings of `--mapping` and `--compare`.
    ///
    /// # Errors
    /// As for [`Session::mapping_file`]. Reports an error and returns [`Exit::Usage`] if the
    /// numbers of OS processes are not equal, or if only some OS processes of a mapping have a
    /// host.
    pub(crate) fn given(
        &mut self,
        args: &MappingArgs,
        compare: &[PathBuf],
        network: &Verified,
    ) -> Outcome<Given> {
        let own = match &args.mapping {
            Some(path) => Some(self.given_mapping(path, "mapping", args, None, network)?),
            None => None,
        };
        let mut given = Given {
            own,
            ..Given::default()
        };
        for path in compare {
            let first = given.all().next();
            let first = first.map(|one| (one.name.clone(), one.mapping.bindings.len()));
            let one = self.given_mapping(path, "compare", args, first, network)?;
            given.compared.push(one);
        }
        if args.hosts.is_none()
            && let Some(count) = given.os_processes()
        {
            let mappings = given.all().map(|one| &one.mapping);
            given.platform = Some(Platform::new(hosts(mappings, count)).or_else(|error| {
                self.fail(
                    Exit::Usage,
                    Diagnostic::error(codes::USAGE, error.to_string()),
                )
            })?);
        }
        Ok(given)
    }

    /// Reads the mapping of an option. `first` is the name of the first mapping, and its number of
    /// OS processes.
    fn given_mapping(
        &mut self,
        path: &Path,
        option: &str,
        args: &MappingArgs,
        first: Option<(String, usize)>,
        network: &Verified,
    ) -> Outcome<FromFile> {
        let mapping = self.mapping_file(path, network)?;
        let (name, count) = (Session::display(path), mapping.bindings.len());
        let has_host = |binding: &Binding| binding.host.is_some();
        let without = mapping.bindings.values().position(|b| !has_host(b));
        if let Some(without) = without.filter(|_| names_hosts(&mapping)) {
            let message =
                format!("OS process {without} has no host in `{name}`, but others have one");
            let error = Diagnostic::error(codes::USAGE, message);
            return self.fail(
                Exit::Usage,
                error.help("give each OS process a host, or none"),
            );
        }
        let there = plural(count, "OS process");
        if let Some(asked) = args.os_processes.filter(|n| n.get() as usize != count) {
            let message = format!("`-n {asked}` and `--{option} {name}` disagree");
            let error = Diagnostic::error(codes::USAGE, message)
                .with_note(format!("the mapping has {there}"))
                .help("omit `-n` to use the number of the mapping");
            return self.fail(Exit::Usage, error);
        }
        if let Some((first, other)) = first.filter(|(_, other)| *other != count) {
            let other = plural(other, "OS process");
            let message = format!("`{name}` has {there}, but `{first}` has {other}");
            let help = "compare mappings with the same number of OS processes";
            let error = Diagnostic::error(codes::USAGE, message);
            return self.fail(Exit::Usage, error.help(help));
        }
        Ok(FromFile { name, mapping })
    }
}

/// Returns the hosts that mappings name, in the order of their first OS processes. Each has as many
/// slots as a mapping has OS processes on it. Without names, returns this host with `count` slots.
fn hosts<'m>(mappings: impl Iterator<Item = &'m Mapping>, count: usize) -> Vec<Host> {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    let mut hosts: Vec<Host> = Vec::new();
    for mapping in mappings {
        let mut used: BTreeMap<usize, u32> = BTreeMap::new();
        for name in mapping.bindings.values().filter_map(|b| b.host.as_deref()) {
            let at = *index.entry(name).or_insert(hosts.len());
            if at == hosts.len() {
                hosts.push(Host::new(name, 1));
            }
            let used = used.entry(at).or_default();
            *used += 1;
            hosts[at].slots = hosts[at].slots.max(*used);
        }
    }
    if hosts.is_empty() {
        let slots = u32::try_from(count).unwrap_or(u32::MAX);
        hosts.push(Host::new("localhost", slots.max(1)));
    }
    hosts
}
