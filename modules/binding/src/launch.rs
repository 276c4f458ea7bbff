//! OS processes, hosts and program of a launch, as plain data.

use crate::facts::HostFacts;
use crate::os_process::OsProcess;
use crate::{codes, facts, ranks};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::hardware::{Access, Hardware};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::placed::processes_hash;
use graphmap_kpn::programs;
use std::collections::{BTreeMap, BTreeSet};

/// Variable that contains a hash of the processes for which the mapping was made.
const PLACED: &str = "GRAPHMAP_PLACED";

/// Option that makes the launcher label the lines of output.
pub(crate) const LABEL: &str = "label";

/// A program, and the OS processes in which it is started. OS process `i` is rank `i` of the
/// launcher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Name of the network, for comments.
    pub network: String,
    /// Strategy that made the mapping, for comments.
    pub strategy: String,
    /// The program of the OS processes that have none of their own.
    pub program: String,
    /// Arguments of each program.
    pub args: Vec<String>,
    /// Variables that are set for all OS processes: names and values.
    pub environment: Vec<(String, String)>,
    /// Command that the launcher calls to start something on another host, instead of its default.
    /// It takes the name of a host and a command, as `ssh` does.
    pub agent: Option<String>,
    /// True if the launcher labels each line of output with the rank that wrote it.
    pub label: bool,
    /// The OS processes, in rank order.
    pub os_processes: Vec<OsProcess>,
    /// Properties of hosts beyond their names, by name.
    pub facts: BTreeMap<String, HostFacts>,
}

/// OS processes that are consecutive in rank order and have an equal property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a, T> {
    /// Number of the first OS process.
    pub first: usize,
    /// The property that they have in common.
    pub value: T,
    /// The OS processes, in rank order.
    pub members: &'a [OsProcess],
}

/// Returns true if the option `label` is `yes`. Returns false if it is `no` or absent.
///
/// # Errors
/// `G0437` if the value is neither `yes` nor `no`.
fn label(options: &BTreeMap<String, String>) -> Result<bool, Diagnostics> {
    match options.get(LABEL).map(String::as_str) {
        Some("yes") => Ok(true),
        None | Some("no") => Ok(false),
        Some(other) => {
            let what = format!("`{LABEL}={other}`: expected `yes` or `no`");
            Err(single(Diagnostic::error(codes::BAD_OPTION, what)))
        }
    }
}

impl Launch {
    /// Returns the launch of a mapped network, with the options `program`, `program.NAME`, `args`,
    /// `env.NAME`, `agent`, `first_rank`, `label` and `main`. Facts of hosts come from `platform`,
    /// if it is known.
    ///
    /// If `first_rank` sets a rank ([`crate::ranks`]), the variable `GRAPHMAP_PLACED` contains a
    /// hash of the processes, unless `env.GRAPHMAP_PLACED` sets it. The default of `program` is
    /// `./` and the name of the network, without characters other than ASCII letters, digits, `-`,
    /// `_` and `.`. If only dots or no characters remain, it is `./program`.
    ///
    /// # Errors
    /// `G0433` for names of hosts or variables that are not valid, and for a program that is empty
    /// or begins with `-`. `G0437` if `first_rank` or `label` has an invalid value, if a quote in
    /// `args` is not closed, if `main` is set but no rank precedes the processes, or if no process
    /// has the program of an option `program.NAME`. `G0477` if processes of different programs are
    /// in one OS process.
    pub fn of(
        mapped: &Mapped,
        options: &BTreeMap<String, String>,
        platform: Option<&Hardware>,
    ) -> Result<Launch, Diagnostics> {
        let (network, mapping) = (mapped.network(), mapped.mapping());
        let os_processes = ranks::os_processes(mapped, options)?;
        let set = options.iter();
        let set = set.filter_map(|(key, value)| {
            Some((key.strip_prefix("env.")?.to_string(), value.clone()))
        });
        let own = network.environment.iter().cloned();
        let mut environment: BTreeMap<String, String> = own.chain(set).collect();
        if ranks::first_rank(options)?.is_some() {
            let placed = || processes_hash(network);
            environment.entry(PLACED.to_string()).or_insert_with(placed);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let mut own: String = network.name.chars().filter(|c| plain(*c)).collect();
        if own.trim_matches('.').is_empty() {
            own = "program".to_string();
        }
        let launch = Launch {
            network: one_line(&network.name),
            strategy: one_line(&mapping.strategy),
            program: options
                .get("program")
                .cloned()
                .unwrap_or(format!("./{own}")),
            args: options
                .get("args")
                .map_or(Ok(Vec::new()), |args| split(args))?,
            environment: environment.into_iter().collect(),
            agent: options.get("agent").cloned(),
            label: label(options)?,
            os_processes,
            facts: facts::of(platform),
        };
        check_paths(mapped, options)?;
        for program in launch.programs() {
            check_program(program)?;
        }
        launch.check_hosts()?;
        launch.check_environment()?;
        Ok(launch)
    }

    /// Returns the program of an OS process.
    pub fn program_of<'a>(&'a self, os_process: &'a OsProcess) -> &'a str {
        os_process.program.as_deref().unwrap_or(&self.program)
    }

    /// Returns the programs of the launch, each once, in the order of their first OS processes.
    /// Without OS processes, this is the program of the launch.
    pub fn programs(&self) -> Vec<&str> {
        let mut programs: Vec<&str> = Vec::new();
        let mut last = None;
        for os_process in &self.os_processes {
            let program = self.program_of(os_process);
            // Most OS processes have the program of the one before.
            if last != Some(program) && !programs.contains(&program) {
                programs.push(program);
            }
            last = Some(program);
        }
        if programs.is_empty() {
            programs.push(&self.program);
        }
        programs
    }

    /// Returns errors (`G0433`) for names of hosts that are not valid in the line of a file. Each
    /// such name gets one error, up to 20 names.
    fn check_hosts(&self) -> Result<(), Diagnostics> {
        let bad = |host: &&str| !is_host(host);
        let mut found = Diagnostics::new();
        let mut seen = Vec::new();
        for host in self
            .os_processes
            .iter()
            .filter_map(|p| p.host.as_deref())
            .filter(bad)
        {
            if seen.len() < 20 && !seen.contains(&host) {
                seen.push(host);
                let what = format!("{host:?} cannot be the name of a host");
                found.push(Diagnostic::error(codes::NOT_PLAIN, what).help(HOST_HELP));
            }
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// Returns an error (`G0433`) for the first name of a variable that a shell does not accept. A
    /// valid name consists of ASCII letters, digits and `_`, is not empty, and does not begin with
    /// a digit.
    fn check_environment(&self) -> Result<(), Diagnostics> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let bad = |name: &str| {
            name.is_empty()
                || name.starts_with(|c: char| c.is_ascii_digit())
                || !name.chars().all(plain)
        };
        match self.environment.iter().find(|(name, _)| bad(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let what = format!("{name:?} cannot be the name of a variable");
                let help =
                    "use letters, digits and `_`, and begin with no digit: `--set env.NAME=VALUE`";
                Err(single(Diagnostic::error(codes::NOT_PLAIN, what).help(help)))
            }
        }
    }

    /// Returns the lines of a script that set and export the variables of [`Launch::environment`].
    /// Values are quoted.
    pub(crate) fn exports(&self) -> String {
        let set = |(name, value): &(String, String)| {
            format!("{name}={}\nexport {name}\n", shell_quoted(value))
        };
        self.environment.iter().map(set).collect()
    }

    /// Returns the host of each OS process, in rank order, or `None` if no OS process has one.
    /// Without OS processes, the result is an empty list.
    ///
    /// # Errors
    /// `G0430` if only some OS processes have a host, because a file that names hosts must name
    /// all.
    pub fn hosts(&self) -> Result<Option<Vec<&str>>, Diagnostics> {
        let without = self.os_processes.iter().position(|p| p.host.is_none());
        let Some(without) = without else {
            return Ok(Some(
                self.os_processes
                    .iter()
                    .filter_map(|p| p.host.as_deref())
                    .collect(),
            ));
        };
        if self.os_processes.iter().all(|p| p.host.is_none()) {
            return Ok(None);
        }
        let what = format!("OS process {without} has no host, but others have one");
        let help = "name a host for each OS process with `--hosts`";
        Err(single(Diagnostic::error(codes::NO_HOSTS, what).help(help)))
    }

    /// Returns the host of each OS process, in rank order, for a file that requires hosts. `file`
    /// names the file in messages.
    ///
    /// # Errors
    /// `G0430` if an OS process has no host.
    pub fn needed_hosts(&self, file: &str) -> Result<Vec<&str>, Diagnostics> {
        self.hosts()?.ok_or_else(|| {
            let what = format!("the mapping names no hosts, but {file} requires them");
            single(Diagnostic::error(codes::NO_HOSTS, what).help("name the hosts with `--hosts`"))
        })
    }

    /// Returns how a host is reached, or `None` if [`Launch::facts`] does not contain the host. All
    /// fields of the result may be `None`.
    pub(crate) fn access(&self, host: &str) -> Option<&Access> {
        self.facts.get(host).map(|facts| &facts.access)
    }

    /// Returns the host as `ssh` takes it: `user@host` if the user is known, and otherwise the name
    /// alone.
    pub(crate) fn login(&self, host: &str) -> String {
        let access = self.access(host);
        access.map_or_else(|| host.to_owned(), |access| access.login(host))
    }

    /// Warns (`G0445`) of known facts of hosts that a file lacks. `file` names the file in
    /// messages. `access_facts` lists the facts that the file contains: `user`, `port`,
    /// `interface`, `binding`. There is at most one warning for each sort of fact.
    pub(crate) fn check_facts(&self, file: &str, access_facts: &[&str], out: &mut Diagnostics) {
        let hosts = self.os_processes.iter().filter_map(|p| p.host.as_deref());
        facts::check(hosts, &self.facts, file, access_facts, out);
    }

    /// Divides the OS processes into runs: consecutive OS processes with an equal `value`. The runs
    /// are in rank order, and each is as long as possible. Without OS processes, there are no runs.
    /// `value` may be called several times for an OS process.
    pub fn runs<'a, T: PartialEq>(&'a self, value: impl Fn(&'a OsProcess) -> T) -> Vec<Run<'a, T>> {
        let mut first = 0;
        let same = |a: &&'a OsProcess, b: &&'a OsProcess| value(a) == value(b);
        let all: Vec<&OsProcess> = self.os_processes.iter().collect();
        let mut runs = Vec::new();
        for chunk in all.chunk_by(same) {
            let members = &self.os_processes[first..first + chunk.len()];
            runs.push(Run {
                first,
                value: value(&members[0]),
                members,
            });
            first += chunk.len();
        }
        runs
    }

    /// Returns true if every OS process is bound to cores, also if there are no OS processes.
    pub fn bound(&self) -> bool {
        self.os_processes.iter().all(|p| !p.cores.is_empty())
    }

    /// Returns true if no OS process is bound to cores, also if there are no OS processes.
    pub fn unbound(&self) -> bool {
        self.os_processes.iter().all(|p| p.cores.is_empty())
    }

    /// Returns a program and the arguments, separated by blanks, for a file whose format has no
    /// quotes.
    /// `file` names the file in messages.
    ///
    /// # Errors
    /// `G0433` if a word is empty, is a single colon, or contains white space, a control character,
    /// a quote, a backslash or a `#`.
    pub fn plain_words(&self, program: &str, file: &str) -> Result<String, Diagnostics> {
        let words: Vec<&str> = self.words(program).collect();
        let odd = |c: char| c.is_whitespace() || c.is_control() || "\"'\\#".contains(c);
        match words
            .iter()
            .find(|w| w.is_empty() || **w == ":" || w.contains(odd))
        {
            None => Ok(words.join(" ")),
            Some(word) => {
                let what = format!(
                    "{word:?} cannot be written into {file}, because words in it cannot be quoted"
                );
                let help = match **word == *program {
                    true => "move the program to a path without spaces, quotes, `\\` and `#`",
                    false => "use a script that contains the argument as `program`",
                };
                let script = "write a script, which quotes all words: `--emit mpiexec=launch.sh`";
                let error = Diagnostic::error(codes::NOT_PLAIN, what);
                Err(single(error.help(help).help(script)))
            }
        }
    }

    /// Returns a program and the arguments, separated by blanks and quoted for a POSIX shell.
    pub fn shell_words(&self, program: &str) -> String {
        self.words(program)
            .map(shell_quoted)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn words<'a>(&'a self, program: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::once(program).chain(self.args.iter().map(String::as_str))
    }

    /// Returns one line for the first comment of a file: the name of the network, the number of OS
    /// processes, the strategy, and the number of programs if there are several.
    pub(crate) fn title(&self) -> String {
        let (n, s) = (self.os_processes.len(), &self.strategy);
        let network = match self.network.as_str() {
            "" => "a network",
            name => name,
        };
        let es = if n == 1 { "" } else { "es" };
        let programs = match self.programs().len() {
            1 => String::new(),
            several => format!(", {several} programs"),
        };
        format!("{network} on {n} OS process{es}{programs}, mapped by {s}; written by graphmap")
    }
}

/// Returns the properties that the OS processes of a section have in common: program, host, number
/// of processes, and cores.
pub(crate) fn section<'a>(
    launch: &'a Launch,
    p: &'a OsProcess,
) -> (&'a str, Option<&'a str>, u32, &'a [u32]) {
    let program = launch.program_of(p);
    (program, p.host.as_deref(), p.processes, &p.cores)
}

/// Returns an error (`G0433`) if a program is empty or begins with `-`, because a launcher would
/// read it as an option.
fn check_program(program: &str) -> Result<(), Diagnostics> {
    let (why, help) = match program {
        _ if program.is_empty() => ("it is empty", "name the program".to_string()),
        _ if program.starts_with('-') => (
            "launchers treat a word that begins with `-` as an option",
            format!("for a file in the working folder, write `./{program}`"),
        ),
        _ => return Ok(()),
    };
    let what = format!("`program={program}` cannot be started: {why}");
    Err(single(Diagnostic::error(codes::NOT_PLAIN, what).help(help)))
}

/// Returns an error (`G0437`) for the first option `program.NAME` whose program no process has.
fn check_paths(mapped: &Mapped, options: &BTreeMap<String, String>) -> Result<(), Diagnostics> {
    let mut named = options
        .iter()
        .filter_map(|(key, path)| Some((key.strip_prefix(ranks::PROGRAM_PREFIX)?, path)))
        .peekable();
    if named.peek().is_none() {
        return Ok(());
    }
    let programs = programs::of_processes(mapped.network());
    let known: BTreeSet<&str> = programs.iter().filter_map(|program| program.name).collect();
    let Some((name, path)) = named.find(|(name, _)| !known.contains(name)) else {
        return Ok(());
    };
    let what = format!("`program.{name}={path}`: no process has `program={name}`");
    let error = Diagnostic::error(codes::BAD_OPTION, what);
    Err(single(match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `program.{near}`?")),
        None if known.is_empty() => error.help("set `program=` on nodes of the graph"),
        None => {
            let known: Vec<&str> = known.into_iter().collect();
            error.help(format!("the programs are {}", known.join(", ")))
        }
    }))
}

/// Longest value of a variable that a configfile or a program file sets, in bytes.
pub(crate) const LONGEST_VALUE: usize = 1000;

/// Returns the text that sets variables in a file whose format has no quotes.
///
/// `write` formats a name and a value. It gets `None` as the value if the file cannot contain the
/// value, and then `out` gets a warning (`G0433`). This is the case for a value that is empty, has
/// more than `longest` bytes, or contains other characters than ASCII letters, digits and
/// `-_./=+:,@`. `file` names the file in messages.
pub(crate) fn plain_variables<'a>(
    variables: impl IntoIterator<Item = &'a (String, String)>,
    file: &str,
    longest: usize,
    write: impl Fn(&str, Option<&str>) -> String,
    out: &mut Diagnostics,
) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@".contains(c);
    let mut text = String::new();
    for (name, value) in variables {
        if !value.is_empty() && value.len() <= longest && value.chars().all(is_plain) {
            text += &write(name, Some(value));
            continue;
        }
        text += &write(name, None);
        let takes = format!(
            "a value there has 1 to {longest} letters, digits and characters of `-_./=+:,@`"
        );
        out.push(not_set(name, file).with_note(takes));
    }
    text
}

/// Returns the warning (`G0433`) that `file` does not set the variable `name`.
pub(crate) fn not_set(name: &str, file: &str) -> Diagnostic {
    let what = format!("the value of the variable `{name}` is not written into {file}");
    let help = format!("export `{name}` where you start the launcher, which passes it on");
    Diagnostic::warning(codes::NOT_PLAIN, what).help(help)
}

/// Returns a collection of one diagnostic.
pub(crate) fn single(diagnostic: Diagnostic) -> Diagnostics {
    let mut all = Diagnostics::new();
    all.push(diagnostic);
    all
}

/// Returns true if a text can be the name or the address of a host: 1 to 253 ASCII letters, digits,
/// `-`, `_` and `.`, not beginning with `-` or `.`.
pub(crate) fn is_host(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    // Longest name in the domain name system.
    (1..=253).contains(&name.len()) && !name.starts_with(['-', '.']) && name.chars().all(fits)
}

/// Help text about valid names of hosts.
pub(crate) const HOST_HELP: &str =
    "use 1 to 253 letters, digits, `-`, `.` and `_`, and do not begin with `-` or `.`";

/// Splits a text into words at white space, with the quotes and backslashes of a POSIX shell.
/// Expands nothing. Operators and `#` are ordinary characters, and a backslash before a newline
/// does not join lines. A backslash at the end of the text is removed. Quotes without content make
/// an empty word.
///
/// # Errors
/// `G0437` if a quote is not closed.
fn split(text: &str) -> Result<Vec<String>, Diagnostics> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some('"'), '\\') if matches!(chars.peek(), Some('"' | '\\' | '$' | '`')) => {
                word.get_or_insert_default().extend(chars.next());
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(quote) = quote {
        let what = format!("`args={text}`: the quote {quote} is not closed");
        let help = "quote the words as for a shell";
        return Err(single(
            Diagnostic::error(codes::BAD_OPTION, what).help(help),
        ));
    }
    words.extend(word);
    Ok(words)
}

/// Returns a word for a POSIX shell, in quotes if it needs them. An empty word becomes `''`.
pub fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns the words that start a program on cores, which have the numbers of the operating system.
/// `words` are the program and its arguments. Without cores, returns `words` unchanged.
///
/// The result uses `taskset`, because no launcher's own option can express every binding in these
/// numbers.
pub(crate) fn on_cores(cores: &[u32], words: &str) -> String {
    match cores {
        [] => words.to_string(),
        _ => format!("taskset -c {} {words}", ranges(cores)),
    }
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Formats numbers as an ascending list of ranges without duplicates: `0-3,8`. Without numbers, the
/// text is empty.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b);
    let run = |run: &[u32]| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(found: Result<impl std::fmt::Debug, Diagnostics>) -> Diagnostic {
        let all = found.expect_err("refused");
        all.into_iter().next().expect("a reason")
    }

    #[test]
    fn words_are_quoted_or_refused() {
        let mut launch = Launch {
            program: "./farm".into(),
            ..Launch::default()
        };
        launch.args = vec!["-n".into(), "3".into()];
        let plain = |launch: &Launch| launch.plain_words("./farm", "a file");
        assert_eq!(plain(&launch).unwrap(), "./farm -n 3");
        launch.args.push("it's".into());
        assert_eq!(launch.shell_words("./farm"), r"./farm -n 3 'it'\''s'");
        assert_eq!(first(plain(&launch)).code, codes::NOT_PLAIN);
    }

    #[test]
    fn args_are_split_as_by_a_shell() {
        for (text, words) in [
            ("", &[][..]),
            (" -v  3\n", &["-v", "3"]),
            ("'a  b'c \"it's\" '' a\\ b", &["a  bc", "it's", "", "a b"]),
            (r#""\"\x\\" \"#, &[r#""\x\"#, ""]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
            let again: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
            assert_eq!(split(&again.join(" ")).unwrap(), words, "{text}");
        }
        assert_eq!(first(split("a 'b")).code, codes::BAD_OPTION);
    }

    #[test]
    fn names_of_hosts_are_names() {
        let long = "a".repeat(254);
        for name in ["", ".", "..", ".a", "-a", "a b", "a\n", "a:1", &long] {
            assert!(!is_host(name), "{name:?}");
        }
        for name in ["a", "node_1", "10.0.0.1", "a.b.", &long[1..]] {
            assert!(is_host(name), "{name:?}");
        }
    }

    #[test]
    fn hosts_are_all_or_none() {
        let on = |host: Option<&str>| OsProcess {
            host: host.map(str::to_string),
            ..OsProcess::default()
        };
        let mut launch = Launch {
            os_processes: vec![on(None), on(None)],
            ..Launch::default()
        };
        assert_eq!(launch.hosts().unwrap(), None);
        assert_eq!(first(launch.needed_hosts("it")).code, codes::NO_HOSTS);
        launch.os_processes[1] = on(Some("a"));
        assert_eq!(
            first(launch.hosts()).message,
            "OS process 0 has no host, but others have one"
        );
        launch.os_processes[0] = on(Some("b"));
        assert_eq!(launch.hosts().unwrap(), Some(vec!["b", "a"]));
    }

    #[test]
    fn numbers_become_ranges() {
        assert_eq!(ranges(&[8, 1, 0, 2, 8]), "0-2,8");
        assert_eq!(ranges(&[]), "");
    }
}
