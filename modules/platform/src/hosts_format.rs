//! The formats of host descriptions, and their detection.

use crate::codes;
use crate::keys::{MAX_SLOTS, MPICH, NEAR, PORT, SLOTS, USER};
use crate::text::{Word, is_address};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Source;

/// A format of host descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostsFormat {
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

impl HostsFormat {
    /// All formats.
    pub const ALL: [HostsFormat; 6] = [
        HostsFormat::Mpich,
        HostsFormat::OpenMpi,
        HostsFormat::Intel,
        HostsFormat::Slurm,
        HostsFormat::Synthetic,
        HostsFormat::Hwloc,
    ];

    /// Returns the name on the command line: `mpich`, `openmpi`, `intel`, `slurm`, `synthetic` or
    /// `hwloc`.
    pub fn name(self) -> &'static str {
        match self {
            HostsFormat::Mpich => "mpich",
            HostsFormat::OpenMpi => "openmpi",
            HostsFormat::Intel => "intel",
            HostsFormat::Slurm => "slurm",
            HostsFormat::Synthetic => "synthetic",
            HostsFormat::Hwloc => "hwloc",
        }
    }

    /// Returns a noun phrase for messages, such as "an MPICH hostfile".
    pub fn about(self) -> &'static str {
        match self {
            HostsFormat::Mpich => "an MPICH hostfile",
            HostsFormat::OpenMpi => "an Open MPI hostfile",
            HostsFormat::Intel => "an Intel MPI machinefile",
            HostsFormat::Slurm => "a Slurm node list",
            HostsFormat::Synthetic => "a synthetic platform",
            HostsFormat::Hwloc => "an hwloc XML file",
        }
    }

    /// Returns the format called `name`.
    ///
    /// # Errors
    /// Returns a diagnostic ([`codes::UNKNOWN_WORD`]) that lists the formats. It suggests the most
    /// similar name, if one is similar. Names are case-sensitive.
    pub fn from_name(name: &str) -> Result<HostsFormat, Box<Diagnostic>> {
        let found = HostsFormat::ALL.into_iter().find(|d| d.name() == name);
        found.ok_or_else(|| {
            let names = HostsFormat::ALL.map(HostsFormat::name);
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
    /// A text whose first character, apart from white space, is `<` is XML of hwloc. A text with a
    /// comment that only Open MPI accepts is an Open MPI hostfile. Otherwise the first line that is
    /// specific to one format decides. If there is no such line, the text is an MPICH hostfile. So
    /// in a text of names alone, each line is a slot. Intel MPI is only detected by `ifhn=`.
    pub fn detect(source: &Source) -> HostsFormat {
        let all = Word::all(source);
        if all.text.trim_start().starts_with('<') {
            return HostsFormat::Hwloc;
        }
        let (lines, unclosed) = all.open_mpi_lines();
        let comment = |mark| {
            all.text
                .lines()
                .any(|line| line.trim_start().starts_with(mark))
        };
        if unclosed.is_some() || comment("//") || comment("/*") {
            return HostsFormat::OpenMpi;
        }
        for line in lines {
            let found = line
                .words()
                .enumerate()
                .find_map(|(i, word)| foreign(word, i == 0));
            if let Some(found) = found {
                return found.format;
            }
        }
        HostsFormat::Mpich
    }
}

/// A format that a word belongs to, and a description of the word for messages.
pub(crate) struct Foreign {
    pub(crate) format: HostsFormat,
    pub(crate) what: &'static str,
}

/// Returns the format that a word belongs to and a description of the word. Returns `None` if the
/// word is not specific to one format.
///
/// `first` is true if the word is the first of its line. There it is a host or a level, and after
/// it a key. An IPv6 address, a path or a variable gives `None` there.
pub(crate) fn foreign(word: Word, first: bool) -> Option<Foreign> {
    let key = word.text.split('=').next().unwrap_or("");
    let has = |list: &[&str]| list.contains(&key);
    let is = |format, what| Some(Foreign { format, what });
    if first {
        return match () {
            // No format contains addresses. The reader of the host name reports them.
            () if is_address(word.text) => None,
            () if word.text.starts_with('<') => is(HostsFormat::Hwloc, "an XML tag"),
            () if word.text.starts_with("//") || word.text.starts_with("/*") => {
                is(HostsFormat::OpenMpi, "a comment that starts with `/`")
            }
            // The reader of the host name reports paths and variables.
            () if word.text.contains(['/', '$']) => None,
            () if word.text.contains('=') => is(HostsFormat::Synthetic, "a level such as `hosts=`"),
            // Lists of Slurm contain no counts. The reader of the host name reports `node[1-2]:4`.
            () if word.text.contains(['[', ']', ',']) && !word.text.contains("]:") => {
                is(HostsFormat::Slurm, "a list of hosts")
            }
            () if word.text.contains(':') => is(HostsFormat::Mpich, "a number after `:`"),
            () => None,
        };
    }
    match () {
        () if key == "slots" => is(HostsFormat::OpenMpi, "`slots=`"),
        () if has(SLOTS) || has(MAX_SLOTS) || has(USER) || key == PORT => {
            is(HostsFormat::OpenMpi, "this key")
        }
        () if NEAR.iter().any(|(near, _)| *near == key) => is(HostsFormat::OpenMpi, "this key"),
        () if key == "ifhn" => is(HostsFormat::Intel, "`ifhn=`"),
        () if has(MPICH) && word.text.contains('=') => is(HostsFormat::Mpich, "this key"),
        () => None,
    }
}
