//! Communicators that every rank knows: all processes, the processes of a module or a kind, and the
//! processes in an OS process or on a host.
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
use graphmap_executor::exec::report::modules_around;

/// Returns the communicator of the module around the calling process at a level, ranked as in the
/// network. Level 0 is the [world](super::world), level 1 the outermost module around the process,
/// and so on inwards. Returns `None` if the process has no module of that level around it. The call
/// is not collective. Repeated calls return the same communicator.
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
    let around = world.modules_of(rank);
    let found = around.into_iter().rev().nth(inwards);
    found
        .map(|(number, ..)| world.known(Known::Module(number), rank))
        .transpose()
}

/// Returns the communicator of a module around the calling process, by name. The name is the
/// module's own name, its path, or the name of its kind. A path is the names of the enclosing
/// modules and its own, separated by dots.
///
/// If several modules match, the innermost is used. Names and paths take precedence over kinds. The
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
    let own_name = |path: &str| path == name || is_last(path, name);
    let named = around.iter().find(|(_, path, _)| own_name(path));
    let found = named.or_else(|| around.iter().find(|(.., kind)| kind == name));
    found
        .map(|(number, ..)| world.known(Known::Module(*number), rank))
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

impl World {
    /// Returns the number, path and kind of each module around a process, the innermost first.
    /// Empty if there are none.
    fn modules_of(&self, rank: u32) -> Vec<(u32, String, String)> {
        let directory = &*self.run().directory;
        let (kind, index) = directory.of_rank(rank);
        self.modules_from(directory.module_of(kind, index))
    }

    /// Returns the number, path and kind of a module and of each module around it, the innermost
    /// first. Empty if `innermost` is `None`.
    fn modules_from(&self, innermost: Option<u32>) -> Vec<(u32, String, String)> {
        let around = modules_around(&*self.run().directory, innermost);
        let mut path = String::new();
        let mut all: Vec<_> = around
            .into_iter()
            .rev()
            .map(|(number, module)| {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&module.name);
                (number, path.clone(), module.kind)
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
        }
    }

    /// Returns the name of a predefined communicator in reports.
    fn name_of(&self, which: Known) -> String {
        let run = self.run();
        match which {
            Known::Module(number) => {
                let innermost = self.modules_from(Some(number)).into_iter().next();
                innermost.map_or_else(String::new, |(_, path, _)| path)
            }
            Known::Kind(kind) => format!("kind {}", run.directory.kind(kind).0),
            Known::OsProcess(number) => format!("OS process {number}"),
            Known::Host(first) => match run.host_of(first as usize) {
                Some(host) => format!("host {host}"),
                None => format!("the host of OS process {first}"),
            },
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
