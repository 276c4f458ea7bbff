//! Reasons why a program is not run, with the codes of `graphmap explain`.

use std::fmt;
use std::io;
use std::path::Path;

/// Code of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "G{:04}", self.0)
    }
}

/// The command line is wrong.
const USAGE: u16 = 11;
/// A file is not a program that can run here.
const NOT_A_PROGRAM: Code = Code(720);
/// A program is linked statically.
const STATIC: Code = Code(721);
/// A program is not position-independent.
const FIXED: Code = Code(722);
/// A program has thread-local variables at fixed offsets.
const THREAD_LOCAL: Code = Code(723);
/// A program was compiled for another MPI.
const OTHER_MPI: Code = Code(724);
/// The system allows fewer copies of a program than there are ranks.
const TOO_MANY_RANKS: Code = Code(725);
/// A rank duplicates or replaces the OS process of all ranks.
pub(crate) const FORK: Code = Code(726);
/// A program is compiled with a sanitizer that must be loaded first.
const SANITIZER: Code = Code(727);

/// Reason why a program is not run.
#[derive(Debug)]
pub(crate) enum Refused {
    Unreadable(io::Error),
    NotElf(String),
    /// The file is linked statically.
    Static,
    /// The file is not position-independent.
    Fixed,
    /// The executable has thread-local variables at fixed offsets.
    ThreadLocal,
    /// The program was compiled for another MPI.
    OtherMpi(String),
    /// A private library does not exist.
    NoLibrary(String),
    /// A private library belongs to the C library or is this library, which all ranks share.
    SharedLibrary(String),
    /// A private library does not state its name, which must differ for each rank.
    NamelessLibrary(String),
    /// The system allows fewer memory mappings than the ranks need.
    TooManyRanks {
        ranks: usize,
        needed: usize,
        limit: usize,
        /// Number of ranks that fit.
        most: usize,
    },
    /// The program is compiled with this option of a sanitizer.
    Sanitizer(&'static str),
}

impl Refused {
    fn code(&self) -> Code {
        match self {
            Refused::Unreadable(_) | Refused::NotElf(_) => NOT_A_PROGRAM,
            Refused::Static => STATIC,
            Refused::Fixed => FIXED,
            Refused::ThreadLocal => THREAD_LOCAL,
            Refused::OtherMpi(_) => OTHER_MPI,
            Refused::NoLibrary(_) | Refused::SharedLibrary(_) | Refused::NamelessLibrary(_) => {
                Code(USAGE)
            }
            Refused::TooManyRanks { .. } => TOO_MANY_RANKS,
            Refused::Sanitizer(_) => SANITIZER,
        }
    }

    /// Returns the message of the diagnostic about a program.
    pub(super) fn message(&self, program: &str) -> String {
        match self {
            Refused::Unreadable(error) => format!("`{program}` cannot be read: {error}"),
            Refused::NotElf(why) => {
                format!("`{program}` is not a program that can run here: {why}")
            }
            Refused::Static => format!("`{program}` is linked statically"),
            Refused::Fixed => format!("`{program}` is not position-independent"),
            Refused::ThreadLocal => {
                format!("the thread-local variables of `{program}` cannot be made private")
            }
            Refused::OtherMpi(name) => {
                format!("`{program}` needs {name}, which has another binary interface")
            }
            Refused::NoLibrary(name) => {
                format!("`{program}` neither needs nor opens the private library {name}")
            }
            Refused::NamelessLibrary(name) => {
                format!(
                    "{name} cannot be private, because it does not state its name (`DT_SONAME`)"
                )
            }
            Refused::SharedLibrary(name) => {
                format!("{name} cannot be private: all ranks of `{program}` share it")
            }
            Refused::TooManyRanks {
                ranks,
                needed,
                limit,
                ..
            } => format!(
                "{ranks} ranks of `{program}` need about {needed} memory mappings, and the system \
                 allows {limit}"
            ),
            Refused::Sanitizer(option) => format!(
                "`{program}` was compiled with `{option}`, whose library cannot be loaded for a rank"
            ),
        }
    }

    /// Returns advice for the user.
    fn help(&self) -> Vec<String> {
        let one = |text: &str| vec![text.to_string()];
        match self {
            Refused::Unreadable(_) => Vec::new(),
            Refused::NotElf(_) => one("name a program that `graphmap cc` has compiled"),
            Refused::Static => one("link it dynamically, without `-static`"),
            Refused::Fixed | Refused::ThreadLocal => {
                one("compile and link it with `graphmap cc` or `graphmap cxx`")
            }
            Refused::OtherMpi(_) => one(
                "compile it with `graphmap cc`, or with another compiler for the ABI of MPI-5.0 \
                 such as `mpicc_abi` of MPICH 5",
            ),
            Refused::NamelessLibrary(name) => {
                vec![format!(
                    "link it with `-Wl,-soname,{name}`, and then the program again"
                )]
            }
            Refused::SharedLibrary(_) => one("leave out this `--private`"),
            Refused::NoLibrary(_) => one("`ldd` lists the libraries of a program"),
            Refused::TooManyRanks { needed, most, .. } => vec![
                format!("start at most {most} ranks"),
                format!("or raise the limit: `sysctl -w vm.max_map_count={needed}`"),
            ],
            Refused::Sanitizer(option) => vec![
                format!("compile it without `{option}`"),
                "or start the program directly, as the only rank".to_string(),
            ],
        }
    }

    /// Returns the diagnostic about a program, in the form in which the command prints diagnostics.
    pub(crate) fn diagnostic(&self, program: &Path) -> String {
        let message = self.message(&program.display().to_string());
        let help = self.help().into_iter();
        let help: String = help.map(|text| format!("\n  = help: {text}")).collect();
        format!("error[{}]: {message}{help}", self.code())
    }
}
