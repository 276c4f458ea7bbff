//! Numbers of the predefined communicators, which every scheduler can compute.

use graphmap_executor::exec::shared::Shared as Run;

/// A predefined communicator, whose members every scheduler knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The processes of a module, by its number.
    Module(u32),
    /// The processes of a kind.
    Kind(u32),
    /// The processes of an OS process.
    OsProcess(u32),
    /// The processes of a host, by its first OS process.
    Host(u32),
    /// The processes of a full name or composition, by its number.
    Prefix(u32),
}

impl Known {
    /// Returns the number of the communicator. The world has number 0. The numbers of modules,
    /// kinds, OS processes, hosts, and full names follow, in this order. Does not check that the
    /// communicator exists.
    pub(super) fn number(self, run: &Run) -> u32 {
        let kinds = 1 + run.directory.modules();
        let os_processes = kinds + run.directory.kinds() as u32;
        let hosts = os_processes + os_processes_of(run);
        let prefixes = hosts + os_processes_of(run);
        match self {
            Known::Module(number) => number,
            Known::Kind(kind) => kinds + kind,
            Known::OsProcess(number) => os_processes + number,
            Known::Host(first) => hosts + first,
            Known::Prefix(number) => prefixes + number,
        }
    }

    /// Returns the predefined communicator with `number`. `None` for the world, whose number is 0,
    /// and for numbers from [`Known::end`] on. The communicator of a [`Known::Host`] or
    /// [`Known::Prefix`] may have no members.
    pub(super) fn of_number(number: u32, run: &Run) -> Option<Known> {
        // The ranges of `number`, in descending order.
        let all: [fn(u32) -> Known; 5] = [
            Known::Prefix,
            Known::Host,
            Known::OsProcess,
            Known::Kind,
            Known::Module,
        ];
        if number == 0 || number >= Known::end(run) {
            return None;
        }
        let of = |which: &fn(u32) -> Known| number.checked_sub(which(0).number(run)).map(which);
        all.iter().find_map(of)
    }

    /// Returns the first number after all predefined communicators.
    pub(super) fn end(run: &Run) -> u32 {
        // Each composition has a module, and each full name a process. An exact count would need
        // all full names.
        let most = run.directory.modules() + run.directory.processes() as u32;
        Known::Prefix(most).number(run)
    }
}

fn os_processes_of(run: &Run) -> u32 {
    run.os_process().map_or(1, |(_, count)| count as u32)
}
