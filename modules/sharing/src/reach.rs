//! Functions that affect the whole OS process, and therefore all its ranks. `foreign.rs` has those
//! of C.

/// The part of the OS process that a function affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Environment,
    Folder,
    End,
    Signals,
    Identity,
    Hook,
    Once,
    Mode,
    /// The random sequence of C's library.
    Random,
    /// State that C's library keeps between calls, or returns a pointer to.
    Library,
    /// The thread, which the call blocks.
    Thread,
}

/// Functions by full path. A path that ends with `::` matches all paths below it.
const FUNCTIONS: &[(&str, Reach)] = &[
    ("std::env::set_var", Reach::Environment),
    ("std::env::remove_var", Reach::Environment),
    ("std::env::set_current_dir", Reach::Folder),
    ("nix::unistd::chdir", Reach::Folder),
    ("rustix::process::chdir", Reach::Folder),
    ("std::process::exit", Reach::End),
    ("std::process::abort", Reach::End),
    ("nix::sys::signal::signal", Reach::Signals),
    ("nix::sys::signal::sigaction", Reach::Signals),
    ("signal_hook::", Reach::Signals),
    ("ctrlc::", Reach::Signals),
    ("std::process::id", Reach::Identity),
    ("std::thread::current", Reach::Identity),
    ("std::panic::set_hook", Reach::Hook),
    ("std::panic::take_hook", Reach::Hook),
    ("log::set_logger", Reach::Once),
    ("log::set_boxed_logger", Reach::Once),
    ("env_logger::init", Reach::Once),
    ("tracing::subscriber::set_global_default", Reach::Once),
    ("tracing_subscriber::fmt::init", Reach::Once),
];

/// Returns the effect of a function, by its full path. Returns `None` if no effect is known.
pub(crate) fn of(path: &str) -> Option<Reach> {
    let is = |known: &str| match known.ends_with("::") {
        true => path.starts_with(known),
        false => path == known,
    };
    let found = FUNCTIONS.iter().find(|(known, _)| is(known));
    found.map(|(_, reach)| *reach)
}

/// Methods by name, with their full paths.
const METHODS: &[(&str, &str, Reach)] = &[(
    "build_global",
    "rayon::ThreadPoolBuilder::build_global",
    Reach::Once,
)];

/// Returns the full path of a method and its effect, by its name. Returns `None` if no effect is
/// known.
pub(crate) fn of_method(name: &str) -> Option<(&'static str, Reach)> {
    let found = METHODS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, path, reach)| (*path, *reach))
}

impl Reach {
    /// Returns the effect on ranks. The text follows the name of the function in a message.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Reach::Environment => "changes the environment of all ranks of the OS process",
            Reach::Folder => "changes the current folder of all ranks of the OS process",
            Reach::End => "ends all ranks of the OS process",
            Reach::Signals => "handles signals for all ranks of the OS process",
            Reach::Identity => "returns the same value for all ranks of a thread or OS process",
            Reach::Hook => "handles panics of all ranks of the OS process",
            Reach::Once => "can be called only once in an OS process, but every rank calls it",
            Reach::Mode => "changes a setting of all ranks of the OS process",
            Reach::Random => "uses one random sequence for all ranks of the OS process",
            Reach::Library => "keeps its state for all ranks of the OS process",
            Reach::Thread => "blocks all ranks of the thread",
        }
    }

    /// Returns the help text.
    pub(crate) fn instead(self) -> &'static str {
        match self {
            Reach::Environment => "pass the value as an argument, or set it before the ranks start",
            Reach::Folder => {
                "join paths to a folder that the rank knows, or change the folder before the ranks \
                 start"
            }
            Reach::End => {
                "return from the rank, or use `panic!`, which ends the run with a message, or \
                 `world.abort(code)` as in MPI"
            }
            Reach::Signals => "do it once, before the ranks start",
            Reach::Identity => "use `world.rank()` to distinguish ranks",
            Reach::Hook | Reach::Once => {
                "do it before the ranks start, or in one rank with a `std::sync::Once`"
            }
            Reach::Mode => "do it once, before the ranks start",
            Reach::Random => "keep a generator in each rank, with its number as the seed",
            Reach::Library => {
                "call the variant that uses memory of the caller (`strtok_r`, `localtime_r`), or \
                 the function of Rust"
            }
            Reach::Thread => {
                "wait for a message instead, which lets other ranks run; do blocking work in a \
                 separate thread, which then sends a message to the rank"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reach, of};

    #[test]
    fn a_function_is_known_by_its_path() {
        assert_eq!(of("std::process::exit"), Some(Reach::End));
        assert_eq!(of("signal_hook::flag::register"), Some(Reach::Signals));
        assert_eq!(of("std::process::exit_code"), None);
        assert_eq!(of("exit"), None);
    }
}
