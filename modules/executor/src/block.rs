//! Description of a network that cannot continue.

use std::fmt;

use crate::place::Place;

/// A network that cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// Number of processes that have not ended. All of them wait.
    pub processes: usize,
    /// A cycle of processes, at most the first 20. Each process waits for the next, and the last
    /// one waits for the first. Empty if there is no cycle.
    pub cycle: Vec<BlockedProcess>,
    /// Number of processes in the cycle.
    pub cycle_len: usize,
    /// Number of cycles that have no process in common, including `cycle`.
    pub cycles: usize,
    /// Number of these cycles with the same kinds of processes as `cycle`, including itself.
    pub cycles_alike: usize,
    /// Other waiting processes, without those on further cycles. Together with `cycle` at most 20.
    /// Processes with empty `waits` come first, the others follow in order of rank.
    pub others: Vec<BlockedProcess>,
    /// Number of these other processes.
    pub others_len: usize,
}

/// A process that waits in a blocked network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedProcess {
    /// Name of the process.
    pub name: String,
    /// Rank of the process.
    pub rank: usize,
    /// OS process of the process, if there are several.
    pub os_process: Option<usize>,
    /// Host of the OS process, if there are several and it is known.
    pub host: Option<String>,
    /// Channels and calls that the process waits for. At a select or share it waits for any of
    /// several. Empty if the runtime does not know the event that it waits for.
    pub waits: Vec<BlockedWait>,
    /// Number of channels that the process waits for beyond those in `waits`.
    pub more: usize,
}

/// A channel or call that a blocked process waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockedWait {
    /// Description of the `mpi` call in which the process waits. The other fields are then unused,
    /// except `place`, the position of the call.
    pub call: Option<String>,
    /// True if the process waits to write to a full channel, false if to read from an empty one.
    pub write: bool,
    /// True if the process waits for the reader to leave (`Output::stopped`). `write` is true then,
    /// too, because the process has the writing end.
    pub stop: bool,
    /// True if the process waits for the other end of a flow-controlled channel to open, to leave
    /// or to close. `write` is false then.
    pub control: bool,
    /// Port of the process that waits. Empty if unknown.
    pub port: String,
    /// Process at the other end and its port, if known.
    pub peer: Option<(String, String)>,
    /// Capacity of the channel in tokens.
    pub capacity: usize,
    /// Position of the channel in the graph file, or of the call in the program.
    pub place: Option<Place>,
}

crate::payload!(Block {
    processes,
    cycle,
    cycle_len,
    cycles,
    cycles_alike,
    others,
    others_len
});
crate::payload!(BlockedProcess {
    name,
    rank,
    os_process,
    host,
    waits,
    more
});
crate::payload!(BlockedWait {
    call,
    write,
    stop,
    control,
    port,
    peer,
    capacity,
    place
});

impl Block {
    /// Returns true if one of the processes listed in `others` has no known waits, so that it waits
    /// for an event that the runtime does not know.
    pub fn waits_for_foreign(&self) -> bool {
        self.others.iter().any(|process| process.waits.is_empty())
    }

    /// Returns true if a cycle exists and all its listed processes wait only to read from channels
    /// with a position in the graph file. An initial token in one of these channels then lets a
    /// process begin.
    fn lacks_a_first_token(&self) -> bool {
        let reads = |wait: &BlockedWait| {
            let is_read = wait.call.is_none() && !wait.write && !wait.control;
            is_read && wait.place.is_some()
        };
        let mut processes = self.cycle.iter();
        !self.cycle.is_empty()
            && processes.all(|process| process.more == 0 && process.waits.iter().all(reads))
    }

    /// Returns a view of this block for a network that an external event may still wake: see
    /// [`Options::on_quiet`](crate::Options::on_quiet).
    pub fn quiet(&self) -> Quiet<'_> {
        Quiet(self)
    }

    /// Writes the processes, each list after a heading. Writes nothing for an empty list. May panic
    /// if a count of this block is lower than the length of its list.
    ///
    /// # Errors
    /// Returns the error of the formatter.
    #[doc(hidden)]
    pub fn list(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |f: &mut fmt::Formatter<'_>, processes: &[BlockedProcess], all: usize| {
            for process in processes {
                write!(f, "\n  {process}")?;
            }
            match all - processes.len() {
                0 => Ok(()),
                more => write!(f, "\n  and {more} more"),
            }
        };
        if self.cycle_len > 0 {
            write!(f, "\neach process in this cycle waits for the next")?;
            if self.cycles_alike > 1 {
                write!(f, " (one of {} similar cycles)", self.cycles_alike)?;
            }
            f.write_str(":")?;
            lines(f, &self.cycle, self.cycle_len)?;
            match self.cycles - self.cycles_alike {
                0 => {}
                1 => f.write_str("\n1 more cycle has processes of other kinds")?,
                more => write!(f, "\n{more} more cycles have processes of other kinds")?,
            }
        }
        if self.others_len > 0 {
            f.write_str(if self.cycle_len == 0 {
                "\nwaiting:"
            } else {
                "\nother processes that wait:"
            })?;
            lines(f, &self.others, self.others_len)?;
        }
        Ok(())
    }
}

/// A [`Block`] that may end by an external event: see [`Block::quiet`].
#[derive(Debug, Clone, Copy)]
pub struct Quiet<'a>(&'a Block);

impl fmt::Display for Quiet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes = self.0.processes;
        let wait = if processes == 1 {
            "process waits"
        } else {
            "processes wait"
        };
        write!(
            f,
            "no progress for a while: {processes} {wait}; an event outside the network may still \
             wake one"
        )?;
        self.0.list(f)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let are = if self.processes == 1 {
            "process remains, and it waits"
        } else {
            "processes remain, and all of them wait"
        };
        write!(f, "deadlock: {} {are}", self.processes)?;
        self.list(f)?;
        if self.lacks_a_first_token() {
            f.write_str(
                "\n\
                 if no token has been sent in this cycle yet, put one in at the start: `initial=1` \
                 on one of its channels",
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for BlockedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (rank {})", self.name, self.rank)?;
        if let Some(os_process) = self.os_process {
            write!(f, " in OS process {os_process}")?;
        }
        if let Some(host) = &self.host {
            write!(f, " on {host}")?;
        }
        if self.waits.is_empty() {
            return f.write_str(" waits for no channel or call of the network");
        }
        for (n, wait) in self.waits.iter().enumerate() {
            f.write_str(if n == 0 { " " } else { ", or " })?;
            wait.fmt(f)?;
        }
        if self.more > 0 {
            write!(f, ", or one of {} more", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Display for BlockedWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(call) = &self.call {
            write!(f, "waits in {call}")?;
        } else {
            self.at_channel(f)?;
        }
        if let Some(place) = &self.place {
            write!(f, ": {place}")?;
        }
        Ok(())
    }
}

impl BlockedWait {
    /// Writes the channel and the event that the process waits for there.
    ///
    /// # Errors
    /// Returns the error of the formatter.
    fn at_channel(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.stop {
            "waits for the reader to leave"
        } else if self.control {
            "waits for the other end to open or close"
        } else if self.write {
            "waits to write"
        } else {
            "waits to read"
        })?;
        if !self.port.is_empty() {
            let port = if self.control { ", port" } else { "" };
            write!(f, "{port} `{}`", self.port)?;
        }
        if let Some((process, port)) = &self.peer {
            let way = if self.write { "to" } else { "from" };
            write!(f, " {way} {process}")?;
            if !port.is_empty() {
                write!(f, " `{port}`")?;
            }
        }
        if self.write && !self.stop {
            write!(f, ", which is full with {}", self.capacity)?;
        }
        Ok(())
    }
}
