//! `graphmap cc` and `graphmap cxx`: compile programs so that each rank has its own globals.
//!
//! A program is linked as a shared object with an entry point. It runs as any executable does, and
//! can be loaded many times. Its thread-local variables are accessed by module, so that they are
//! private, too. In an executable they would be at fixed offsets.

use super::library::{self, INTERPRETER};
use crate::cli::child;
use crate::cli::exit::Exit;
use crate::cli::run;
use crate::cli::session::{Outcome, Session};
use crate::cli::supervisor::{self, Bound};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Compile an MPI program in C, to run it with `graphmap run`
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
The arguments go to the compiler, which is $GRAPHMAP_CC, or cc. `-show` prints the command,
and `-show-bin` prints a folder with `mpicc`, `mpicxx` and `mpiexec` for build systems.

Examples:
  graphmap cc -O2 ring.c -o ring
  graphmap run ./ring --ranks 1000
  CC=\"$(graphmap cc -show-bin)/mpicc\" ./configure"
)]
pub(crate) struct CcArgs {
    /// Arguments of the compiler
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    args: Vec<OsString>,
}

/// Compile an MPI program in C++, to run it with `graphmap run`
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
The arguments go to the compiler, which is $GRAPHMAP_CXX, or c++. `-show` prints the command,
and `-show-bin` prints a folder with `mpicc`, `mpicxx` and `mpiexec` for build systems.

Examples:
  graphmap cxx -O2 solver.cpp -o solver
  graphmap run ./solver --ranks 1000"
)]
pub(crate) struct CxxArgs {
    /// Arguments of the compiler
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    args: Vec<OsString>,
}

pub(crate) fn cc(args: &CcArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    compile("GRAPHMAP_CC", "cc", &args.args, session)
}

pub(crate) fn cxx(args: &CxxArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    compile("GRAPHMAP_CXX", "c++", &args.args, session)
}

/// Runs the compiler of a variable or the default one. Blocks until it ends.
fn compile(
    variable: &str,
    default: &str,
    given: &[OsString],
    session: &mut Session<'_>,
) -> Outcome<Exit> {
    let library = library::find(session)?;
    if given.iter().any(|argument| argument == "-show-bin") {
        session.show(&format!("{}\n", library.scripts().display()))?;
        return Ok(Exit::Ok);
    }
    let compiler = std::env::var_os(variable).unwrap_or_default();
    // The variable names a file, or has several words, such as `ccache gcc`.
    let compiler = match Path::new(&compiler).is_file() {
        true => vec![compiler],
        false => words(&compiler.to_string_lossy()),
    };
    let mut compiler = compiler.into_iter();
    let (compiler, options) = match compiler.next() {
        Some(first) => (first, compiler.collect()),
        None => (default.into(), Vec::new()),
    };
    let (headers, libraries) = (library.headers(), library.libraries());
    let given = [options.clone(), response_files(given)].concat();
    let arguments = arguments(&given, &headers, &libraries, &|| {
        start_file(&compiler, &options)
    });
    if given.iter().any(|argument| argument == "-show") {
        let words: Vec<_> = arguments
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        session.show(&format!(
            "{} {}\n",
            compiler.to_string_lossy(),
            words.join(" ")
        ))?;
        return Ok(Exit::Ok);
    }
    let result = supervisor::command(&compiler, Bound::Program).and_then(|mut command| {
        command.args(arguments);
        session.timed("compiler", |_| child::run(&mut command))
    });
    run::program_ended(session, Path::new(&compiler), result)
}

/// Arguments that conflict with a shared object, or that graphmap reads itself.
const DROPPED: [&str; 9] = [
    "-static",
    "-pie",
    "-no-pie",
    "-fpie",
    "-fPIE",
    "-fno-pie",
    "-fno-PIE",
    "-show",
    "-static-pie",
];

/// Arguments with which a compiler does not link.
const NO_LINK: [&str; 8] = [
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-r",
    "--version",
];

/// Replaces arguments such as `@FILE` by the words of the file, because they decide whether the
/// compiler links. The file is read as compilers read it: words are separated by spaces, and may be
/// quoted. An argument stays if its file cannot be read.
fn response_files(given: &[OsString]) -> Vec<OsString> {
    let words_of = |argument: &OsString| {
        let file = argument.to_str()?.strip_prefix('@')?;
        Some(response_files(&words(&fs::read_to_string(file).ok()?)))
    };
    let all = given
        .iter()
        .map(|argument| words_of(argument).unwrap_or_else(|| vec![argument.clone()]));
    all.flatten().collect()
}

/// Returns the words of a response file.
fn words(text: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut all = text.chars();
    while let Some(next) = all.next() {
        match next {
            '\\' => word.get_or_insert_default().extend(all.next()),
            _ if quote == Some(next) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(next);
                word.get_or_insert_default();
            }
            _ if next.is_whitespace() && quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(next),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from).collect()
}

/// Returns the arguments for the compiler. `start_file` returns the path of the code that calls
/// `main`.
fn arguments(
    given: &[OsString],
    headers: &Path,
    libraries: &Path,
    start_file: &dyn Fn() -> OsString,
) -> Vec<OsString> {
    let with = |option: &str, path: &Path| {
        let mut word = OsString::from(option);
        word.push(path);
        word
    };
    let is = |words: &[&str]| {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        given
            .iter()
            .any(|argument| words.contains(&argument.as_os_str()))
    };
    let dropped = |argument: &&OsString| !DROPPED.iter().any(|word| argument == word);
    let mut arguments: Vec<OsString> = given.iter().filter(dropped).cloned().collect();
    arguments.extend(["-fPIC".into(), "-ftls-model=global-dynamic".into()]);
    arguments.push(with("-I", headers));
    let is_input =
        |argument: &OsString| !argument.as_encoded_bytes().starts_with(b"-") || argument == "-";
    // Build systems read the options from the output of `-show`.
    let links = is(&["-show"]) || given.iter().any(is_input);
    if !links || is(&NO_LINK) {
        return arguments;
    }
    if given
        .iter()
        .any(|argument| argument.as_encoded_bytes().starts_with(b"-x"))
    {
        // The language is not that of the files below.
        arguments.push("-xnone".into());
    }
    if !is(&["-shared"]) {
        arguments.push("-shared".into());
        arguments.push(start_file());
        let options = ["-e,_start", "-Bsymbolic", "-z,defs", "-z,now"];
        arguments.extend(options.map(|option| format!("-Wl,{option}").into()));
        arguments.push(libraries.join(INTERPRETER).into());
    }
    arguments.push(with("-L", libraries));
    arguments.push(with("-Wl,-rpath,", libraries));
    arguments.push("-lmpi_abi".into());
    arguments
}

/// Returns the path of the code that calls `main`, which the compiler links into executables only.
fn start_file(compiler: &OsStr, options: &[OsString]) -> OsString {
    let name = "Scrt1.o";
    let output = Command::new(compiler)
        .args(options)
        .arg(format!("-print-file-name={name}"))
        .stdin(Stdio::null())
        .output();
    let path = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    // The compiler reports a missing file.
    path.unwrap_or_else(|_| name.to_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &str) -> String {
        let given: Vec<OsString> = given.split_whitespace().map(OsString::from).collect();
        let all = arguments(&given, Path::new("/h"), Path::new("/l"), &|| "/s.o".into());
        all.iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn objects_are_not_linked() {
        let expected = "-c a.c -fPIC -ftls-model=global-dynamic -I/h";
        assert_eq!(of("-c a.c"), expected);
        assert_eq!(of("-fPIE -c a.c"), expected);
        for given in ["--version", "-v", "-E a.c", "-r a.o -o b.o"] {
            assert!(!of(given).contains("-lmpi_abi"), "{given}");
        }
    }

    #[test]
    fn shown_options_are_complete() {
        for given in ["-show", "-show a.c", "-xc -", "-### a.c"] {
            assert!(of(given).contains("-lmpi_abi"), "{given}");
        }
    }

    #[test]
    fn a_language_is_for_the_files_of_the_user() {
        let linked = of("-x c - -o a");
        assert!(linked.contains("-xnone -shared /s.o"), "{linked}");
    }

    #[test]
    fn words_of_response_files_may_be_quoted() {
        let text = "-c \"a b\".c\n -D'X=\"1\"' \\\"c ''";
        assert_eq!(words(text), ["-c", "a b.c", "-DX=\"1\"", "\"c", ""]);
    }

    #[test]
    fn programs_have_an_entry_point() {
        let linked = of("a.o -pie -o a");
        assert!(linked.starts_with("a.o -o a -fPIC"), "{linked}");
        assert!(linked.contains("-shared /s.o -Wl,-e,_start"), "{linked}");
        assert!(linked.ends_with("-L/l -Wl,-rpath,/l -lmpi_abi"), "{linked}");
    }

    #[test]
    fn libraries_have_no_entry_point() {
        let linked = of("-shared a.o -o liba.so");
        assert!(
            !linked.contains("/s.o") && !linked.contains("_start"),
            "{linked}"
        );
        assert!(linked.contains("-lmpi_abi"), "{linked}");
    }
}
