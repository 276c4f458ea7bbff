//! Communicators that every rank knows: of all processes, of a module of the drawing, of a kind, of
//! an OS process, of a host.
//!
//! Who is in one of them is known everywhere, and so is its number, which is one of those that no
//! other communicator gets. So nobody has to be asked: a scheduler joins one when the first of its
//! ranks does, and what has come for it before waits.

use std::rc::Rc;

use super::communicator::Communicator;
use super::error::Error;
use super::group::Group;
use super::numbering::Known;
use super::split_type::SplitType;
use super::state::World;
use graphmap_executor::exec::report::modules_around;

/// The communicator of a module that the process which asks is in, ranked as in the network: by
/// level, where level 0 is the [world](super::world), level 1 the outermost module around the
/// process, and so on inwards; `None`: it is in none of that level. Nobody else has to ask, and who
/// asks again gets the same.
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
/// [`Error::NoProcess`] outside of a process of a run; [`Error::Over`].
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

/// The communicator of a module that the process which asks is in, by name: that of the module, its
/// path (the names of the modules around it and its own, with dots between), or the name of its
/// kind. Of several that a process is in, it is the innermost; a name comes before one of a kind.
/// The name of no module, `""`, is that of the [world](super::world). `None`: it is in no such
/// module.
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

/// The communicator of all processes of the kind of the one that asks: ranks are
/// [indices](graphmap_executor::Me::index) in the kind where these ascend with the ranks of the
/// network.
///
/// # Errors
/// As for [`of_level`].
pub fn of_kind() -> Result<Communicator, Error> {
    of_common(SplitType::Kind)
}

/// The communicator of the processes in the OS process of the one that asks.
///
/// # Errors
/// As for [`of_level`].
pub fn of_os_process() -> Result<Communicator, Error> {
    of_common(SplitType::OsProcess)
}

/// The communicator of the processes on the host of the one that asks; in its OS process, where the
/// name of the host is not known.
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

/// Whether a path ends with a name, which may have dots itself.
fn is_last(path: &str, name: &str) -> bool {
    let before = path.strip_suffix(name);
    before.is_some_and(|before| before.ends_with('.'))
}

impl World {
    /// The modules around a process, the innermost first: number, path and kind.
    fn modules_of(&self, rank: u32) -> Vec<(u32, String, String)> {
        let directory = &*self.run().directory;
        let (kind, index) = directory.of_rank(rank);
        self.modules_from(directory.module_of(kind, index))
    }

    /// The same of a module and those around it.
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

    /// One that a rank of the world is in.
    fn known(self: &Rc<Self>, which: Known, rank: u32) -> Result<Communicator, Error> {
        let run = self.run();
        let number = which.number(run);
        let has = self.known.borrow().get(&number).cloned();
        let shared = match has {
            Some(shared) => shared,
            None => {
                let members = Group::of(self.members(which))?;
                let shared = self.join(number, members, self.name_of(which), None);
                // Until the run is over: who lets go of it and asks again goes on where it was.
                self.known.borrow_mut().insert(number, Rc::clone(&shared));
                shared
            }
        };
        // Whoever asks is a member.
        let own = shared.group.rank_of(rank).ok_or(Error::NoProcess)?;
        Ok(Communicator::new(shared, own))
    }

    /// The ranks of the world that are in one, in ascending order.
    fn members(&self, which: Known) -> Vec<u32> {
        match which {
            Known::Module(module) => self.run().directory.in_module(module),
            Known::Kind(kind) => self.in_common(SplitType::Kind, kind),
            Known::OsProcess(number) => self.in_common(SplitType::OsProcess, number),
            Known::Host(first) => self.in_common(SplitType::Host, first),
        }
    }

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

    /// What one is called that nobody here has asked for, by its number, and the rank there of a
    /// rank of the world; `None`: somebody has made it.
    pub(super) fn unasked(&self, number: u32, member: u32) -> Option<(String, Option<u32>)> {
        let which = Known::of_number(number, self.run())?;
        let members = self.members(which);
        let rank = members.binary_search(&member).ok();
        Some((self.name_of(which), rank.map(|rank| rank as u32)))
    }

    /// The lowest number of those that have this in common with a rank of the world: of kinds,
    /// schedulers, or OS processes.
    pub(super) fn lowest(&self, by: SplitType, rank: u32) -> u32 {
        let run = self.run();
        let os_process = run.os_process_of_rank(rank);
        match by {
            SplitType::Kind => run.directory.of_rank(rank).0,
            SplitType::Scheduler => run.home_of(rank).0,
            SplitType::OsProcess => os_process as u32,
            SplitType::Host => {
                let host = run.host_of(os_process);
                let same = |&other: &usize| host.is_some() && run.host_of(other) == host;
                (0..os_process).find(same).unwrap_or(os_process) as u32
            }
        }
    }

    /// The ranks of the world of which that is the lowest number, in ascending order.
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
