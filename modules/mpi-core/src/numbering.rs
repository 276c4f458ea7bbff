//! The numbers of communicators that nobody makes: all know them.

use graphmap_executor::exec::shared::Shared as Run;

/// A communicator that every scheduler knows the members of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Of the processes in a module, by its number.
    Module(u32),
    /// Of a kind.
    Kind(u32),
    /// Of the processes in an OS process.
    OsProcess(u32),
    /// Of those on a host, by the first of its OS processes.
    Host(u32),
}

impl Known {
    /// That of the world is 0, and modules are counted from 1.
    pub(super) fn number(self, run: &Run) -> u32 {
        let kinds = 1 + run.directory.modules();
        let os_processes = kinds + run.directory.kinds() as u32;
        let hosts = os_processes + os_processes_of(run);
        match self {
            Known::Module(number) => number,
            Known::Kind(kind) => kinds + kind,
            Known::OsProcess(number) => os_processes + number,
            Known::Host(first) => hosts + first,
        }
    }

    /// Which one has such a number.
    pub(super) fn of_number(number: u32, run: &Run) -> Option<Known> {
        // As above, from behind.
        let all: [fn(u32) -> Known; 4] =
            [Known::Host, Known::OsProcess, Known::Kind, Known::Module];
        if number == 0 || number >= Known::end(run) {
            return None;
        }
        let of = |which: &fn(u32) -> Known| number.checked_sub(which(0).number(run)).map(which);
        all.iter().find_map(of)
    }

    /// The first number that is none of theirs.
    pub(super) fn end(run: &Run) -> u32 {
        Known::Host(os_processes_of(run)).number(run)
    }
}

fn os_processes_of(run: &Run) -> u32 {
    run.os_process().map_or(1, |(_, count)| count as u32)
}
