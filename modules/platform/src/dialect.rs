//! The formats of host descriptions, and their detection.

use crate::codes;
use crate::keys::{MAX_SLOTS, MPICH, NEAR, PORT, SLOTS, USER};
use crate::text::{Word, is_address};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Source;

/// A format of host descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// Hostfile of MPICH's launcher, hydra: `node1:4`.
    Mpich,
    /// Hostfile of Open MPI: `node1 slots=4`.
    OpenMpi,
    /// Machinefile of Intel MPI: `node1:4 ifhn=node1-ib`.
    Intel,
    /// Node list of Slurm: `node[01-16]`.
    Slurm,
    /// Synthetic platform: `hosts=4:cores=8`.
    Synthetic,
    /// XML of hwloc's `lstopo`.
    Hwloc,
}

impl Dialect {
    /// All formats.
    pub const ALL: [Dialect; 6] = [
        Dialect::Mpich,
        Dialect::OpenMpi,
        Dialect::Intel,
        Dialect::Slurm,
        Dialect::Synthetic,
        Dialect::Hwloc,
    ];

    /// Returns the name on the command line: `mpich`, `openmpi`, `intel`, `slurm`, `synthetic` or
    /// `hwloc`.
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

    /// Returns a noun phrase for messages, such as "an MPICH hostfile".
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

    /// Returns the format called `name`.
    ///
    /// # Errors
    /// Returns a diagnostic that lists the formats and suggests the most similar name.
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

    /// Detects the format of a text.
    ///
    /// A text that starts with `<` is XML of hwloc. A text with a comment that only Open MPI
    /// accepts is an Open MPI hostfile. Otherwise the first line that is specific to one format
    /// decides. A text that consists of names alone is an MPICH hostfile, in which each line is a
    /// slot.
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

/// A format that a word belongs to, and a description of the word for messages.
pub(crate) struct Foreign {
    pub(crate) dialect: Dialect,
    pub(crate) what: &'static str,
}

/// Returns the format that a word belongs to, if the word is specific to one.
///
/// `first` is true if the word is the first of its line.
pub(crate) fn foreign(word: Word, first: bool) -> Option<Foreign> {
    let key = word.text.split('=').next().unwrap_or("");
    let has = |list: &[&str]| list.contains(&key);
    let is = |dialect, what| Some(Foreign { dialect, what });
    if first {
        return match () {
            // No format contains addresses. The reader of the host name reports them.
            () if is_address(word.text) => None,
            () if word.text.starts_with('<') => is(Dialect::Hwloc, "an XML tag"),
            () if word.text.starts_with("//") || word.text.starts_with("/*") => {
                is(Dialect::OpenMpi, "a comment that starts with `/`")
            }
            // The reader of the host name reports paths and variables.
            () if word.text.contains(['/', '$']) => None,
            () if word.text.contains('=') => is(Dialect::Synthetic, "a level such as `hosts=`"),
            // Lists of Slurm contain no counts. The reader of the host name reports `node[1-2]:4`.
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
