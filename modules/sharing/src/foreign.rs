//! Code of other languages: functions of C with known effects, and build scripts that compile other
//! code.

use crate::reach::Reach;

/// Functions of C's library and of POSIX that keep state for the whole OS process, or block the
/// thread.
const FUNCTIONS: &[(Reach, &[&str])] = &[
    (
        Reach::Environment,
        &["clearenv", "putenv", "setenv", "unsetenv"],
    ),
    (Reach::Folder, &["chdir", "chroot", "fchdir"]),
    (
        Reach::End,
        &["_Exit", "_exit", "abort", "exit", "quick_exit"],
    ),
    (
        Reach::Signals,
        &[
            "alarm",
            "pthread_sigmask",
            "setitimer",
            "sigaction",
            "signal",
            "sigprocmask",
        ],
    ),
    (Reach::Identity, &["getpid", "gettid", "pthread_self"]),
    (Reach::Once, &["at_quick_exit", "atexit", "on_exit"]),
    (
        Reach::Mode,
        &[
            "feenableexcept",
            "fesetround",
            "nice",
            "sched_setaffinity",
            "setlocale",
            "setpriority",
            "setrlimit",
            "tzset",
            "umask",
        ],
    ),
    (
        Reach::Random,
        &[
            "drand48",
            "initstate",
            "lcong48",
            "lrand48",
            "mrand48",
            "rand",
            "random",
            "seed48",
            "setstate",
            "srand",
            "srand48",
            "srandom",
        ],
    ),
    (
        Reach::Library,
        &[
            "asctime",
            "basename",
            "ctime",
            "dirname",
            "ecvt",
            "fcvt",
            "getgrnam",
            "gethostbyname",
            "getlogin",
            "getopt",
            "getopt_long",
            "getpwnam",
            "getpwuid",
            "gmtime",
            "hcreate",
            "hdestroy",
            "hsearch",
            "lgamma",
            "localtime",
            "strerror",
            "strtok",
            "tmpnam",
            "ttyname",
        ],
    ),
    (
        Reach::Thread,
        &[
            "clock_nanosleep",
            "epoll_wait",
            "flock",
            "lockf",
            "nanosleep",
            "pause",
            "poll",
            "pthread_barrier_wait",
            "pthread_cond_timedwait",
            "pthread_cond_wait",
            "pthread_join",
            "select",
            "sem_wait",
            "sigwait",
            "sleep",
            "usleep",
            "wait",
            "waitpid",
        ],
    ),
];

/// Functions that keep no state and do not block. Ranks may call them freely.
const HARMLESS: &[&str] = &[
    "abs",
    "atan",
    "atan2",
    "atof",
    "atoi",
    "calloc",
    "cbrt",
    "ceil",
    "clock",
    "clock_gettime",
    "cos",
    "cosh",
    "erf",
    "exp",
    "fabs",
    "floor",
    "fma",
    "fmod",
    "free",
    "getenv",
    "gettimeofday",
    "hypot",
    "isatty",
    "labs",
    "log",
    "log10",
    "log2",
    "malloc",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "posix_memalign",
    "pow",
    "printf",
    "puts",
    "qsort",
    "rand_r",
    "realloc",
    "round",
    "sin",
    "sinh",
    "snprintf",
    "sqrt",
    "strcmp",
    "strcpy",
    "strlen",
    "strncmp",
    "strtod",
    "strtok_r",
    "strtol",
    "sysconf",
    "tan",
    "tanh",
    "tgamma",
    "time",
    "write",
];

/// Returns the effect of a C function, by its name. Returns `None` if no effect is known.
pub(crate) fn of(name: &str) -> Option<Reach> {
    let found = FUNCTIONS.iter().find(|(_, names)| names.contains(&name));
    found.map(|(reach, _)| *reach)
}

/// Returns the effect of a function in the Rust bindings of C's library, by its full path. Returns
/// `None` for other paths, and if no effect is known.
pub(crate) fn of_path(path: &str) -> Option<Reach> {
    let libc = ["libc::", "nix::libc::", "rustix::libc::"];
    libc.iter().find_map(|libc| of(path.strip_prefix(libc)?))
}

/// Returns whether a C function is known to share no state.
pub(crate) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Packages that compile code of other languages in a build script.
const BUILDERS: &[&str] = &[
    "autocxx_build",
    "autotools",
    "cc",
    "cmake",
    "cuda_builder",
    "cxx_build",
    "gcc",
    "meson",
    "nvcc",
];

/// Returns whether a path in a build script leads into one of [`BUILDERS`], as `cc::Build` does. A
/// path of a single name does not.
pub(crate) fn is_builder(path: &str) -> bool {
    let first = path.split("::").next();
    first.is_some_and(|first| path.contains("::") && BUILDERS.contains(&first))
}

/// Programs that compile code of other languages.
const COMPILERS: &[&str] = &[
    "ar",
    "c++",
    "cc",
    "clang",
    "clang++",
    "cmake",
    "f77",
    "f90",
    "flang",
    "g++",
    "gcc",
    "gfortran",
    "ifort",
    "ifx",
    "icc",
    "icx",
    "make",
    "meson",
    "mpicc",
    "mpicxx",
    "mpifort",
    "ninja",
    "nvcc",
    "nvfortran",
];

/// Returns whether a string in a build script is the name or the path of one of [`COMPILERS`], or
/// makes Cargo link a library.
pub(crate) fn builds(text: &str) -> bool {
    let links = ["cargo:rustc-link-lib", "cargo::rustc-link-lib"];
    let links = links.iter().any(|line| text.starts_with(line));
    let program = text.rsplit('/').next().unwrap_or(text);
    links || COMPILERS.contains(&program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_function_is_known_once() {
        let names = FUNCTIONS.iter().flat_map(|(_, names)| *names);
        let all: Vec<&&str> = names.chain(HARMLESS).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn build_scripts_that_compile_are_known() {
        for yes in ["cc::Build::new", "cmake::build", "cxx_build::bridge"] {
            assert!(is_builder(yes), "{yes}");
        }
        for no in ["cc", "std::cc::Build", "bindgen::Builder::default"] {
            assert!(!is_builder(no), "{no}");
        }
        for yes in [
            "gfortran",
            "/usr/bin/cc",
            "cargo:rustc-link-lib=static=solver",
        ] {
            assert!(builds(yes), "{yes}");
        }
        for no in ["cargo:rerun-if-changed=src/a.c", "cc -O2", "OUT_DIR", ""] {
            assert!(!builds(no), "{no}");
        }
    }
}
