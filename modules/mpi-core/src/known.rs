//! Communicators that every rank knows: all processes, the processes of a module, a kind or a full
//! name, and the processes in an OS process or on a host.
//!
//! All schedulers can compute the members and the number of such a communicator. The numbers are
//! reserved. The creation therefore needs no communication. A scheduler joins the communicator when
//! the first of its ranks asks for it, and messages that arrive earlier are kept.

use std::rc::Rc;

use super::communicator::Communicator;
use super::error::Error;
use super::group::Group;
use super::numbering::Known;
use super::split_type::SplitType;
use super::state::World;
use graphmap_executor::Connection;
use graphmap_executor::exec::report::{modules_around, numbers_around};

/// Returns the communicator of the module around the calling process at a level, ranked as in the
/// network. Level 0 is the [world](super::world), level 1 the outermost module around the process,
/// and so on inwards. The last level is one above that of the innermost module. It is the
/// communicator of all processes with the same [full name](graphmap_executor::FullName), also in
/// other modules ([`of_prefix`]). Returns `None` for higher levels. The call is not collective.
/// Repeated calls return the same communicator.
///
/// ```
/// # use graphmap_runtime::{Ends, Names, Network, Options, Ports, mpi, run};
/// # struct None;
/// # impl Ports for None { fn connect(_: &mut Ends<'_>) -> Self { None } }
/// # let mut net = Network::new("rows", "rows.dot");
/// # let cell = net.kind("cell", Names::Numbered("cell", "1+1*6"), "0+1*6", &[], |_: None| async {
/// // Six cells in two rows, each of which is a module.
/// if let Some(row) = mpi::of_level(1)? {
///     let sum = row.allreduce(1, |a, b| a + b).await?;
///     assert_eq!((row.size(), sum), (3, 3));
/// }
/// # Ok::<(), mpi::Error>(())
/// # });
/// # net.modules("row", Names::Numbered("row", "1+1*2"), "0+0*2");
/// # net.inside(cell, "1+0*3+1*2");
/// # run(net, &Options::new()).unwrap();
/// ```
///
/// # Errors
/// [`Error::NoProcess`] outside of a process of a run, also on a thread that owns a rank.
/// [`Error::Over`] if the run has ended.
pub fn of_level(level: usize) -> Result<Option<Communicator>, Error> {
    let (shared, rank) = World::current()?;
    let Some(inwards) = level.checked_sub(1) else {
        return Ok(Some(Communicator::new(shared, rank)));
    };
    let world = &shared.world;
    let directory = &*world.run().directory;
    let (kind, index) = directory.of_rank(rank);
    let around = numbers_around(directory, kind, index);
    let which = match around.get(inwards) {
        Some(&number) => Known::Module(number),
        None if inwards == around.len() => Known::Prefix(directory.full_name_of(kind, index).0),
        None => return Ok(None),
    };
    world.known(which, rank).map(Some)
}

/// Returns the communicator of all processes whose [full name](graphmap_executor::FullName) is
/// `name`, or begins with `name` and a dot. For `app.farm` these are all processes in modules of
/// kind `farm` directly inside outermost modules of kind `app`. In contrast to [`of_module`], these
/// modules share one communicator.
///
/// The empty name is the [world](super::world). Returns `None` if the calling process does not
/// belong to the communicator. Ranks are in the order of the network, and equal the indices of a
/// full name if these ascend with the ranks of the network. The call is not collective, and
/// repeated calls return the same communicator.
///
/// ```
/// # use graphmap_runtime::{Ends, Names, Network, Options, Ports, mpi, run};
/// # struct None;
/// # impl Ports for None { fn connect(_: &mut Ends<'_>) -> Self { None } }
/// # let mut net = Network::new("rows", "rows.dot");
/// # let cell = net.kind("cell", Names::Numbered("cell", "1+1*6"), "0+1*6", &[], |_: None| async {
/// // Six cells in two rows.
/// let rows = mpi::of_prefix("row")?.ok_or("not in a row")?;
/// let cells = mpi::of_prefix("row.cell")?.ok_or("not a cell in a row")?;
/// assert_eq!((rows.size(), cells.size()), (6, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # });
/// # net.modules("row", Names::Numbered("row", "1+1*2"), "0+0*2");
/// # net.inside(cell, "1+0*3+1*2");
/// # run(net, &Options::new()).unwrap();
/// ```
///
/// # Errors
/// As for [`of_level`].
pub fn of_prefix(name: &str) -> Result<Option<Communicator>, Error> {
    let (shared, rank) = World::current()?;
    if name.is_empty() {
        return Ok(Some(Communicator::new(shared, rank)));
    }
    let world = &shared.world;
    let directory = &*world.run().directory;
    let (kind, index) = directory.of_rank(rank);
    let own = directory.full_name_of(kind, index).0;
    let found = directory.find_full_name(name);
    found
        .filter(|&number| directory.is_under(own, number))
        .map(|number| world.known(Known::Prefix(number), rank))
        .transpose()
}

/// Returns the communicator for a channel of the calling process, and the rank of the process at
/// the other end in it. It is the communicator of the innermost module that contains both
/// processes, or the [world](super::world). Returns `None` if the connection is not one of the
/// calling process. The call is not collective, and repeated calls return the same communicator.
///
/// ```
/// # use graphmap_runtime::{Channels, Ends, Input, Names, Network, Options, Output, Ports, mpi, run};
/// # struct End(Input<u8>, Output<u8>);
/// # impl Ports for End {
/// #     fn connect(ends: &mut Ends<'_>) -> Self { End(ends.input(), ends.output()) }
/// # }
/// # let mut net = Network::new("pair", "pair.dot");
/// # let ends = &["in", "out"];
/// # let stage = net.kind("stage", Names::Numbered("stage", "1+1*2"), "0+1*2", ends, |_: End| async {
/// # use graphmap_runtime as rt;
/// for connection in rt::connections() {
///     let (inner, peer) = mpi::of_connection(&connection)?.ok_or("another process")?;
///     let tag = connection.tag.unwrap_or(0);
///     match connection.direction {
///         rt::Direction::Out => inner.send(7, peer, tag).await?,
///         rt::Direction::In => assert_eq!(inner.recv::<i32>(peer, tag).await?.0, 7),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # });
/// # net.modules("row", Names::Listed(&["row"]), "0");
/// # net.inside(stage, "1 1");
/// # net.channels::<u8>(Channels::new((stage, 1), (stage, 0), "0", "1"));
/// # net.tag(5);
/// # run(net, &Options::new()).unwrap();
/// ```
///
/// # Errors
/// As for [`of_level`].
pub fn of_connection(connection: &Connection) -> Result<Option<(Communicator, usize)>, Error> {
    let (shared, rank) = World::current()?;
    let found = match connection.level.checked_sub(1) {
        None => Communicator::new(shared, rank),
        Some(inwards) => {
            let world = &shared.world;
            let directory = &*world.run().directory;
            let (kind, index) = directory.of_rank(rank);
            let around = numbers_around(directory, kind, index);
            let Some(&number) = around.get(inwards) else {
                return Ok(None);
            };
            world.known(Known::Module(number), rank)?
        }
    };
    let peer = u32::try_from(connection.peer.rank).ok();
    let peer = peer.and_then(|peer| found.group().rank_of(peer));
    Ok(peer.map(|peer| (found, peer as usize)))
}

/// Returns the communicator of a module around the calling process, by name. The name is the
/// module's own name, its path, or its kind. A path is the names of the enclosing modules and its
/// own, the outermost first, separated by dots. Outer modules can be left out. A path may also
/// consist of kinds instead of names, as in a [full name](graphmap_executor::FullName).
///
/// If several modules match, the innermost is used. Names take precedence over kinds. The
/// empty name is the [world](super::world). Returns `None` if no module around the process matches.
/// Modules that are not around the process are not searched. The call is not collective, and
/// repeated calls return the same communicator.
///
/// # Errors
/// As for [`of_level`].
pub fn of_module(name: &str) -> Result<Option<Communicator>, Error> {
    let (shared, rank) = World::current()?;
    if name.is_empty() {
        return Ok(Some(Communicator::new(shared, rank)));
    }
    let world = &shared.world;
    let around = world.modules_of(rank);
    let matches = |path: &str| path == name || is_last(path, name);
    let named = around.iter().find(|module| matches(&module.path));
    let found = named.or_else(|| around.iter().find(|module| matches(&module.kinds)));
    found
        .map(|module| world.known(Known::Module(module.number), rank))
        .transpose()
}

/// Returns the communicator of all processes of the same kind as the calling process. Ranks equal
/// the [indices](graphmap_executor::Me::index) in the kind if these ascend with the ranks of the
/// network. The call is not collective, and repeated calls return the same communicator.
///
/// # Errors
/// As for [`of_level`].
pub fn of_kind() -> Result<Communicator, Error> {
    of_common(SplitType::Kind)
}

/// Returns the communicator of all processes in the OS process of the calling process. The call is
/// not collective, and repeated calls return the same communicator.
///
/// # Errors
/// As for [`of_level`].
pub fn of_os_process() -> Result<Communicator, Error> {
    of_common(SplitType::OsProcess)
}

/// Returns the communicator of all processes on the host of the calling process. If the name of the
/// host is unknown, returns the communicator of its OS process. The call is not collective, and
/// repeated calls return the same communicator.
///
/// # Errors
/// As for [`of_level`].
pub fn of_host() -> Result<Communicator, Error> {
    of_common(SplitType::Host)
}

fn of_common(what: SplitType) -> Result<Communicator, Error> {
    let (shared, rank) = World::current()?;
    let world = &shared.world;
    let first = world.lowest(what, rank);
    let which = match what {
        SplitType::Kind => Known::Kind(first),
        SplitType::Host => Known::Host(first),
        _ => Known::OsProcess(first),
    };
    world.known(which, rank)
}

/// Returns true if the path ends with a dot and `name`, which may itself contain dots. Returns
/// false if the path equals `name`.
fn is_last(path: &str, name: &str) -> bool {
    let before = path.strip_suffix(name);
    before.is_some_and(|before| before.ends_with('.'))
}

/// A module, with its path of names and its path of kinds.
struct Around {
    number: u32,
    path: String,
    kinds: String,
}

/// Appends `name` to a path, with a dot if the path is not empty.
fn extend(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

impl World {
    /// Returns the modules around a process, the innermost first. Empty if there are none.
    fn modules_of(&self, rank: u32) -> Vec<Around> {
        let directory = &*self.run().directory;
        let (kind, index) = directory.of_rank(rank);
        self.modules_from(directory.module_of(kind, index))
    }

    /// Returns a module and the modules around it, the innermost first. Empty if `innermost` is
    /// `None`.
    fn modules_from(&self, innermost: Option<u32>) -> Vec<Around> {
        let around = modules_around(&*self.run().directory, innermost);
        let (mut path, mut kinds) = (String::new(), String::new());
        let mut all: Vec<_> = around
            .into_iter()
            .rev()
            .map(|(number, module)| {
                extend(&mut path, &module.name);
                extend(&mut kinds, &module.kind);
                Around {
                    number,
                    path: path.clone(),
                    kinds: kinds.clone(),
                }
            })
            .collect();
        all.reverse();
        all
    }

    /// Returns the handle of the world rank `rank` for a predefined communicator, which is created
    /// at the first call on this scheduler and kept until the run ends. [`Error::NoProcess`] if
    /// `rank` is not a member.
    fn known(self: &Rc<Self>, which: Known, rank: u32) -> Result<Communicator, Error> {
        let run = self.run();
        let number = which.number(run);
        let has = self.known.borrow().get(&number).cloned();
        let shared = match has {
            Some(shared) => shared,
            None => {
                let members = Group::of(self.members(which))?;
                let shared = self.join(number, members, self.name_of(which), None);
                // Kept until the run ends. A rank that drops the communicator and asks again
                // continues with the same collective instances.
                self.known.borrow_mut().insert(number, Rc::clone(&shared));
                shared
            }
        };
        // The caller is always a member.
        let own = shared.group.rank_of(rank).ok_or(Error::NoProcess)?;
        Ok(Communicator::new(shared, own))
    }

    /// Returns the world ranks of the members, in ascending order.
    fn members(&self, which: Known) -> Vec<u32> {
        match which {
            Known::Module(module) => self.run().directory.in_module(module),
            Known::Kind(kind) => self.in_common(SplitType::Kind, kind),
            Known::OsProcess(number) => self.in_common(SplitType::OsProcess, number),
            Known::Host(first) => self.in_common(SplitType::Host, first),
            Known::Prefix(number) => self.run().directory.under_full_name(number),
        }
    }

    /// Returns the name of a predefined communicator in reports.
    fn name_of(&self, which: Known) -> String {
        let run = self.run();
        match which {
            Known::Module(number) => {
                let innermost = self.modules_from(Some(number)).into_iter().next();
                innermost.map_or_else(String::new, |module| module.path)
            }
            Known::Kind(kind) => format!("kind {}", run.directory.kind(kind).0),
            Known::OsProcess(number) => format!("OS process {number}"),
            Known::Host(first) => match run.host_of(first as usize) {
                Some(host) => format!("host {host}"),
                None => format!("the host of OS process {first}"),
            },
            Known::Prefix(number) => {
                let name = run.directory.full_name(number).unwrap_or_default().0;
                format!("name {name}")
            }
        }
    }

    /// Returns the name of the predefined communicator with this number, which no rank here may
    /// have asked for yet. The second value is the rank of the world rank `member` in it, or `None`
    /// if it is not a member. Returns `None` if `number` is not one of the reserved numbers.
    pub(super) fn reserved_name(&self, number: u32, member: u32) -> Option<(String, Option<u32>)> {
        let which = Known::of_number(number, self.run())?;
        let members = self.members(which);
        let rank = members.binary_search(&member).ok();
        Some((self.name_of(which), rank.map(|rank| rank as u32)))
    }

    /// Returns a number that is equal for all ranks with the same property as `rank`. It is the
    /// number of the kind, of the scheduler, of the OS process, or of the first OS process on the
    /// host. If the name of the host is unknown, it is the number of the OS process.
    pub(super) fn lowest(&self, by: SplitType, rank: u32) -> u32 {
        let run = self.run();
        let os_process = run.os_process_of_rank(rank);
        match by {
            SplitType::Kind => run.directory.of_rank(rank).0,
            SplitType::Scheduler => run.owner_of(rank).0,
            SplitType::OsProcess => os_process as u32,
            SplitType::Host => {
                let host = run.host_of(os_process);
                let same = |&other: &usize| host.is_some() && run.host_of(other) == host;
                (0..os_process).find(same).unwrap_or(os_process) as u32
            }
        }
    }

    /// Returns the world ranks for which [`World::lowest`] returns `lowest`, in ascending order.
    fn in_common(&self, what: SplitType, lowest: u32) -> Vec<u32> {
        let run = self.run();
        let mut ranks: Vec<u32> = match what {
            SplitType::Kind => {
                let members = run.directory.kind(lowest).1 as u32;
                let rank = |index| run.directory.rank(lowest, index);
                (0..members).map(rank).collect()
            }
            SplitType::Host => {
                let count = run.os_process().map_or(1, |(_, count)| count);
                let host = run.host_of(lowest as usize);
                let is_there = |other: usize| {
                    other == lowest as usize || host.is_some() && run.host_of(other) == host
                };
                let there: Vec<bool> = (0..count).map(is_there).collect();
                let all = 0..self.ranks;
                all.filter(|&rank| there[run.os_process_of_rank(rank)])
                    .collect()
            }
            _ => {
                let all = 0..self.ranks;
                all.filter(|&rank| self.lowest(what, rank) == lowest)
                    .collect()
            }
        };
        ranks.sort_unstable();
        ranks
    }
}
