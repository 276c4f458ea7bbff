//! The dialects, and how to tell them apart.

use crate::codes;
use crate::keys::{MAX_SLOTS, MPICH, NEAR, PORT, SLOTS, USER};
use crate::text::{Word, is_address};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Source;

/// A way to describe hosts in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// MPICH's hydra: `node1:4`.
    Mpich,
    /// Open MPI: `node1 slots=4`.
    OpenMpi,
    /// Intel MPI: `node1:4 ifhn=node1-ib`.
    Intel,
    /// Slurm's node lists: `node[01-16]`.
    Slurm,
    /// The synthetic form: `hosts=4:cores=8`.
    Synthetic,
    /// The XML of `lstopo`.
    Hwloc,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 6] = [
        Dialect::Mpich,
        Dialect::OpenMpi,
        Dialect::Intel,
        Dialect::Slurm,
        Dialect::Synthetic,
        Dialect::Hwloc,
    ];

    /// The word a user says: `mpich`, `openmpi`, `intel`, `slurm`, `synthetic`, `hwloc`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Mpich => "mpich",
            Dialect::OpenMpi => "openmpi",
            Dialect::Intel => "intel",
            Dialect::Slurm => "slurm",
            Dialect::Synthetic => "synthetic",
            Dialect::Hwloc => "hwloc",
        }
    }

    /// What it is, for messages.
    pub fn about(self) -> &'static str {
        match self {
            Dialect::Mpich => "an MPICH hostfile",
            Dialect::OpenMpi => "an Open MPI hostfile",
            Dialect::Intel => "an Intel MPI machinefile",
            Dialect::Slurm => "a Slurm node list",
            Dialect::Synthetic => "a synthetic platform",
            Dialect::Hwloc => "an hwloc XML file",
        }
    }

    /// The dialect of a name.
    ///
    /// # Errors
    /// A diagnostic that names the dialects and the nearest of them.
    pub fn from_name(name: &str) -> Result<Dialect, Box<Diagnostic>> {
        let found = Dialect::ALL.into_iter().find(|d| d.name() == name);
        found.ok_or_else(|| {
            let names = Dialect::ALL.map(Dialect::name);
            let what = format!("`{name}` is not a format of host descriptions");
            let error = Diagnostic::error(codes::UNKNOWN_WORD, what);
            let error = error.with_note(format!("the formats are {}", names.join(", ")));
            Box::new(match nearest(name, names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            })
        })
    }

    /// The dialect a text is written in: by its first line that only one dialect would have; a text
    /// of bare names is MPICH's, where each line is a slot.
    pub fn detect(source: &Source) -> Dialect {
        let all = Word::all(source);
        if all.text.trim_start().starts_with('<') {
            return Dialect::Hwloc;
        }
        let (lines, unclosed) = all.open_mpi_lines();
        let comment = |mark| {
            all.text
                .lines()
                .any(|line| line.trim_start().starts_with(mark))
        };
        if unclosed.is_some() || comment("//") || comment("/*") {
            return Dialect::OpenMpi;
        }
        for line in lines {
            let found = line
                .words()
                .enumerate()
                .find_map(|(i, word)| foreign(word, i == 0));
            if let Some(found) = found {
                return found.dialect;
            }
        }
        Dialect::Mpich
    }
}

/// What one dialect has and others have not.
pub(crate) struct Foreign {
    pub(crate) dialect: Dialect,
    pub(crate) what: &'static str,
}

/// What gives a word away, if anything does; `first` says that it starts its line.
pub(crate) fn foreign(word: Word, first: bool) -> Option<Foreign> {
    let key = word.text.split('=').next().unwrap_or("");
    let has = |list: &[&str]| list.contains(&key);
    let is = |dialect, what| Some(Foreign { dialect, what });
    if first {
        return match () {
            // Nobody's: that no host is named so is told where its name is read.
            () if is_address(word.text) => None,
            () if word.text.starts_with('<') => is(Dialect::Hwloc, "an XML tag"),
            () if word.text.starts_with("//") || word.text.starts_with("/*") => {
                is(Dialect::OpenMpi, "a comment that starts with `/`")
            }
            // Paths and variables are reported where the name is read.
            () if word.text.contains(['/', '$']) => None,
            () if word.text.contains('=') => is(Dialect::Synthetic, "a level such as `hosts=`"),
            // The list of a scheduler has no counts: `node[1-2]:4` is reported where its name is read.
            () if word.text.contains(['[', ']', ',']) && !word.text.contains("]:") => {
                is(Dialect::Slurm, "a list of hosts")
            }
            () if word.text.contains(':') => is(Dialect::Mpich, "a number after `:`"),
            () => None,
        };
    }
    match () {
        () if key == "slots" => is(Dialect::OpenMpi, "`slots=`"),
        () if has(SLOTS) || has(MAX_SLOTS) || has(USER) || key == PORT => {
            is(Dialect::OpenMpi, "this key")
        }
        () if NEAR.iter().any(|(near, _)| *near == key) => is(Dialect::OpenMpi, "this key"),
        () if key == "ifhn" => is(Dialect::Intel, "`ifhn=`"),
        () if has(MPICH) && word.text.contains('=') => is(Dialect::Mpich, "this key"),
        () => None,
    }
}
