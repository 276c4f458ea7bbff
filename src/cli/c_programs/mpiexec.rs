//! `graphmap mpiexec`: runs a compiled program with the options of other launchers.

use super::start::{self, PREFIX, Start};
use crate::cli::exit::Exit;
use crate::cli::mapping;
use crate::cli::paths;
use crate::cli::session::{Outcome, Session};
use crate::codes;
use crate::visible;
use graphmap_kpn::diagnostic::Diagnostic;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// Run a compiled MPI program, with the options of other launchers
#[derive(clap::Args, Debug)]
#[command(after_help = "\
For build systems that name a launcher. `graphmap run` has more options. Options with long names may
have one or two dashes:
  -n N, -np N, -c N             number of ranks [default: 1]
  -l, -prepend-rank             begin each line of output with the rank
  -env NAME VALUE, -genv NAME VALUE, -x NAME=VALUE
                                set a variable of the environment
  -wdir DIR, -wd DIR            run in this folder
  -host HOST, -hosts HOST       only with this host, because all ranks run in one OS process
  -oversubscribe, -allow-run-as-root
                                without effect

Examples:
  graphmap mpiexec -n 4 ./a.out
  cmake -DMPIEXEC_EXECUTABLE=\"$(graphmap cc -show-bin)/mpiexec\" ..")]
pub(crate) struct MpiexecArgs {
    /// Options, program, and arguments of the program
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    words: Vec<OsString>,
}

/// Meaning of an option.
#[derive(Clone, Copy)]
enum Effect {
    Ranks,
    Prefix,
    Variable,
    /// A variable as `NAME=VALUE`. A name alone has no effect, because variables are inherited.
    Export,
    Folder,
    Host,
    Nothing,
}

/// Options without their dashes, with their numbers of values.
const OPTIONS: [(&str, usize, Effect); 15] = [
    ("n", 1, Effect::Ranks),
    ("np", 1, Effect::Ranks),
    ("c", 1, Effect::Ranks),
    ("l", 0, Effect::Prefix),
    ("prepend-rank", 0, Effect::Prefix),
    ("env", 2, Effect::Variable),
    ("genv", 2, Effect::Variable),
    ("x", 1, Effect::Export),
    ("wdir", 1, Effect::Folder),
    ("wd", 1, Effect::Folder),
    ("host", 1, Effect::Host),
    ("hosts", 1, Effect::Host),
    ("H", 1, Effect::Host),
    ("oversubscribe", 0, Effect::Nothing),
    ("allow-run-as-root", 0, Effect::Nothing),
];

/// A command line of a launcher.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    ranks: NonZeroU32,
    has_prefix: bool,
    variables: Vec<(&'a OsStr, &'a OsStr)>,
    folder: Option<&'a Path>,
    program: &'a Path,
    arguments: &'a [OsString],
}

/// Error in a command line: message and advice.
type Wrong = (String, &'static str);

impl<'a> Line<'a> {
    fn of(words: &'a [OsString], is_here: impl Fn(&str) -> bool) -> Result<Self, Wrong> {
        let mut line = Line {
            ranks: NonZeroU32::MIN,
            has_prefix: false,
            variables: Vec::new(),
            folder: None,
            program: Path::new(""),
            arguments: &[],
        };
        let mut rest = words;
        loop {
            let [word, behind @ ..] = rest else {
                return Err((
                    "the program is missing".to_owned(),
                    "name it behind the options: `graphmap mpiexec -n 4 ./a.out`",
                ));
            };
            let Some(name) = word.to_str().and_then(|word| word.strip_prefix('-')) else {
                line.program = Path::new(word);
                line.arguments = behind;
                break;
            };
            let shown = visible::name(&word.to_string_lossy()).into_owned();
            let name = name.strip_prefix('-').unwrap_or(name);
            let option = OPTIONS.iter().find(|(other, ..)| *other == name);
            let Some(&(_, count, effect)) = option else {
                return Err((
                    format!("`{shown}` does not apply to ranks of one OS process on this host"),
                    "omit it: `graphmap mpiexec --help` lists the options",
                ));
            };
            let Some((values, behind)) = behind.split_at_checked(count) else {
                return Err((format!("`{shown}` needs a value"), "state it"));
            };
            let text = || values[0].to_string_lossy();
            match effect {
                Effect::Ranks => {
                    let number = mapping::number(&text());
                    line.ranks = number.map_err(|why| {
                        (format!("`{shown} {}`: {why}", text()), "state the ranks")
                    })?;
                }
                Effect::Prefix => line.has_prefix = true,
                Effect::Variable => line.variables.push((&values[0], &values[1])),
                Effect::Export => {
                    let (name, value) = text_of(&values[0], &shown)?;
                    line.variables.extend(value.map(|value| (name, value)));
                }
                Effect::Folder => line.folder = Some(Path::new(&values[0])),
                Effect::Host => {
                    if let Some(other) = text().split(',').find(|host| !is_here(host)) {
                        return Err((
                            format!("`{shown}`: `{other}` is another host, and all ranks run here"),
                            "omit the option",
                        ));
                    }
                }
                Effect::Nothing => {}
            }
            rest = behind;
        }
        match line.arguments.iter().any(|word| word == ":") {
            true => Err((
                "`:` starts several programs, and a run has only one".to_owned(),
                "start one program that decides by its rank",
            )),
            false => Ok(line),
        }
    }
}

/// Returns the name and the value of `NAME=VALUE`, or the name alone.
fn text_of<'a>(word: &'a OsStr, option: &str) -> Result<(&'a OsStr, Option<&'a OsStr>), Wrong> {
    let text = word.to_str();
    let text = text.ok_or_else(|| (format!("the value of `{option}` is not text"), "omit it"))?;
    Ok(match text.split_once('=') {
        Some((name, value)) => (name.as_ref(), Some(value.as_ref())),
        None => (word, None),
    })
}

/// Returns true if a host, which may have a number of slots behind it, is this one.
fn is_here(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or(host);
    let system = rustix::system::uname();
    let own = system.nodename().to_string_lossy();
    let short = own.split('.').next().unwrap_or_default();
    ["localhost", "127.0.0.1", &own, short].contains(&name)
}

pub(crate) fn run(args: &MpiexecArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let line = match Line::of(&args.words, is_here) {
        Ok(line) => line,
        Err((message, help)) => {
            let error = Diagnostic::error(codes::USAGE, message).help(help);
            return session.fail(Exit::Usage, error);
        }
    };
    let variables = line.variables.iter();
    let mut variables: Vec<(OsString, OsString)> = variables
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if line.has_prefix {
        variables.push((PREFIX.into(), "1".into()));
    }
    if let Some(folder) = line.folder.filter(|folder| !folder.is_dir()) {
        let message = format!("the folder `{}` does not exist", paths::shown(folder));
        let error = Diagnostic::error(codes::USAGE, message).help("create it, or name another one");
        return session.fail(Exit::Usage, error);
    }
    let start = Start {
        program: &found(line.program),
        ranks: line.ranks,
        arguments: line.arguments,
        variables,
        mapping: None,
        folder: line.folder,
    };
    start::start(start, session)
}

/// Returns the path of a program, which is searched on PATH if it has no `/`.
fn found(program: &Path) -> PathBuf {
    let is_name = program.components().count() == 1 && !program.exists();
    let path = std::env::var_os("PATH").filter(|_| is_name);
    let folders = path.iter().flat_map(std::env::split_paths);
    let mut paths = folders.map(|folder| folder.join(program));
    paths
        .find(|path| path.is_file())
        .unwrap_or_else(|| program.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<String, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let line = Line::of(&words, |host| host == "here").map_err(|(message, _)| message)?;
        Ok(format!(
            "{} {:?} {:?} {} {:?}",
            line.ranks,
            line.variables,
            line.folder,
            line.program.display(),
            line.arguments
        ))
    }

    #[test]
    fn options_of_other_launchers_are_understood() {
        for option in [
            "-n 3",
            "-np 3",
            "--np 3",
            "-c 3",
            "-host here,here -n 3 --oversubscribe",
        ] {
            let expected = "3 [] None ./a [\"-np\", \"7\"]";
            assert_eq!(of(&format!("{option} ./a -np 7")).unwrap(), expected);
        }
        let expected = "1 [(\"A\", \"b\"), (\"C\", \"d=e\")] Some(\"/t\") a []";
        assert_eq!(
            of("-genv A b -x C=d=e -x HOME -wdir /t a").unwrap(),
            expected
        );
    }

    #[test]
    fn other_options_are_refused_by_name() {
        let cases = [
            ("-machinefile f a", "`-machinefile` does not apply"),
            ("-n 2 --ppn 2 a", "`--ppn` does not apply"),
            ("-hosts here,there a", "`there` is another host"),
            ("-n 2 a : -n 2 b", "`:` starts several programs"),
            ("-n", "`-n` needs a value"),
            ("-n 0 a", "`-n 0`"),
            ("-n 2", "the program is missing"),
        ];
        for (line, expected) in cases {
            let message = of(line).unwrap_err();
            assert!(message.contains(expected), "{line}: {message}");
        }
    }
}
