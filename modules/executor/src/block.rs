//! What is told of a network that cannot go on.

use std::fmt;

use crate::place::Place;

/// A network that cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// How many processes there are left; all of them wait.
    pub processes: usize,
    /// A cycle of processes, each waiting for the next, the last for the first; empty if there is
    /// none. At most 20 of its processes.
    pub cycle: Vec<BlockedProcess>,
    /// How many processes the cycle has.
    pub cycle_len: usize,
    /// How many cycles there are that have no process in common, the one above included.
    pub cycles: usize,
    /// How many of these are of the same kinds of processes as the one above, itself included.
    pub cycles_alike: usize,
    /// Others that wait, by rank, those on further cycles left out; at most 20 with the cycle's.
    pub others: Vec<BlockedProcess>,
    /// How many such others there are.
    pub others_len: usize,
}

/// A process in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedProcess {
    /// Its name.
    pub name: String,
    /// Its rank.
    pub rank: usize,
    /// The OS process that it is in, where there are several.
    pub os_process: Option<usize>,
    /// The host that this is on, where there are several and it is known.
    pub host: Option<String>,
    /// What it waits for. A process at a select or share waits for any of several. Empty if it
    /// waits for something that the runtime knows nothing of.
    pub waits: Vec<BlockedWait>,
    /// How many more channels it waits for than `waits` lists.
    pub more: usize,
}

/// What a process in a block waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockedWait {
    /// The call of `mpi` in which it waits, in words; then nothing else is told but `place`, which
    /// is that of the call.
    pub call: Option<String>,
    /// Waiting to write to a full channel; otherwise to read from an empty one.
    pub write: bool,
    /// Waiting for the reader to leave (`Output::stopped`); `write` is
    /// true then, too, for it is the writing end.
    pub stop: bool,
    /// Waiting for the other end of a flow-controlled channel to open, to leave or to close;
    /// `write` is false then.
    pub control: bool,
    /// The port of the process that waits; empty if unknown.
    pub port: String,
    /// The process at the other end and its port, if known.
    pub peer: Option<(String, String)>,
    /// How many tokens the channel may hold.
    pub capacity: usize,
    /// Where the channel is drawn, or where the call is in the program.
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
    /// Whether a process waits for something that the runtime knows nothing of.
    pub fn waits_for_foreign(&self) -> bool {
        self.others.iter().any(|process| process.waits.is_empty())
    }

    /// Returns true if all processes of the cycle wait to read from channels of the graph. Then a
    /// token in one of the channels at the start lets a process begin.
    fn lacks_a_first_token(&self) -> bool {
        let reads = |wait: &BlockedWait| {
            let is_read = wait.call.is_none() && !wait.write && !wait.control;
            is_read && wait.place.is_some()
        };
        let mut processes = self.cycle.iter();
        !self.cycle.is_empty()
            && processes.all(|process| process.more == 0 && process.waits.iter().all(reads))
    }

    /// The block as that of a network that something outside of it may still wake: see
    /// [`Options::on_quiet`](crate::Options::on_quiet).
    pub fn quiet(&self) -> Quiet<'_> {
        Quiet(self)
    }

    /// The processes, after a line that says what they are.
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

/// A [`Block`] that may end by itself: see [`Block::quiet`].
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
    /// What it waits for at a channel.
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
