//! Copies a program to the hosts that do not have it.
//!
//! A host is asked for the checksum of the file (`cksum` of POSIX, which also counts bytes). It
//! gets the file if the checksum differs. The file is written under another name first, so that an
//! incomplete program is never started.

use crate::cli::child::Watched;
use crate::cli::exit::Exit;
use crate::cli::paths::{shown, word};
use crate::cli::progress::Progress;
use crate::cli::session::{Outcome, Session};
use crate::cli::signals::{Guard, interrupted};
use crate::cli::supervisor::{self, Bound};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::mapping::Mapping;
use graphmap_platform::Platform;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Maximum number of hosts that are contacted at the same time: servers of ssh refuse many
/// unauthenticated connections (`MaxStartups` is 10).
pub(super) const AT_A_TIME: usize = 8;

/// Program to call instead of ssh. `None` is ssh, with options against prompts and long waits for a
/// host.
struct Agent<'a>(Option<&'a str>);

impl Agent<'_> {
    fn program(&self) -> &str {
        self.0.unwrap_or("ssh")
    }

    /// Returns help for a host that does not answer.
    fn help(&self, host: &Remote<'_>) -> String {
        format!(
            "make `{} {} true` work without a prompt, or use another program with `--set agent=PROGRAM`",
            self.program(),
            host.login
        )
    }

    /// Runs a script in a shell on a host, with `input` on its standard input, and returns its
    /// output, also if it fails. Blocks until it ends. Returns an error if the agent cannot be run.
    ///
    /// The host comes before its port, as in the calls of Open MPI, so that any agent that works
    /// for a launcher works here.
    fn ask(&self, host: &Remote<'_>, script: &str, input: Stdio) -> io::Result<Output> {
        let mut command = supervisor::command(self.program().as_ref(), Bound::Program)?;
        if self.0.is_none() {
            command.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]);
        }
        command.args(host.words()).arg(script).stdin(input);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = child.spawn()?;
        let _watched = Watched::new(child.id(), None);
        child.wait_with_output()
    }
}

/// A host, and how to reach it.
struct Remote<'a> {
    name: &'a str,
    /// Name of the host, with the user if one is known.
    login: String,
    port: Option<u16>,
}

impl<'a> Remote<'a> {
    fn new(name: &'a str, platform: &Platform) -> Remote<'a> {
        let access = platform.host(name).map(|host| &host.access);
        Remote {
            name,
            login: access.map_or_else(|| name.to_owned(), |access| access.login(name)),
            port: access.and_then(|access| access.port),
        }
    }

    /// Returns the arguments that name the host to an agent: the login, then `-p` and the port if
    /// there is one.
    fn words(&self) -> Vec<String> {
        let port = self.port.map(|port| ["-p".to_owned(), port.to_string()]);
        let words = port.into_iter().flatten();
        std::iter::once(self.login.clone()).chain(words).collect()
    }
}

/// Outcome of the copy to a host.
enum Copied {
    WasThere,
    Now,
    /// Reason and help.
    Failed(String, String),
}

/// Copies a program to all hosts of a mapping except this one. Hosts that have it are skipped.
/// `agent` is the program to call instead of ssh. Blocks until all copies have ended.
///
/// # Errors
/// Reports an error for each host to which the program cannot be copied, and returns
/// [`Exit::Usage`]. Also returns it if the launcher is Slurm, and if the program cannot be read.
/// Returns the exit status of the signal if a signal interrupted the copies.
pub(super) fn to_hosts(
    session: &mut Session<'_>,
    (mapping, platform): (&Mapping, &Platform),
    program: &Path,
    agent: Option<&str>,
    launcher: &str,
) -> Outcome<()> {
    if launcher == "slurm" {
        let error = Diagnostic::error(codes::USAGE, "`--copy` does not support Slurm")
            .help("copy the program to the hosts of the job with `sbcast`");
        return session.fail(Exit::Usage, error);
    }
    let from_here = std::env::current_dir().ok();
    let from_here = from_here.and_then(|here| program.strip_prefix(here).ok());
    let told = shown(from_here.unwrap_or(program));
    let program = std::path::absolute(program).unwrap_or_else(|_| program.to_owned());
    let names = mapping
        .bindings
        .values()
        .filter_map(|binding| binding.host.as_deref());
    let here = this_host();
    let hosts: BTreeSet<&str> = names.filter(|name| !is_here(name, &here)).collect();
    let remote = |name| Remote::new(name, platform);
    let hosts: Vec<Remote<'_>> = hosts.into_iter().map(remote).collect();
    let agent = Agent(agent);
    let own = match checksum(&program) {
        Ok(own) => own,
        Err(error) => {
            let what = format!("`{told}` cannot be copied: {error}");
            return session.fail(Exit::Usage, Diagnostic::error(codes::NOT_COPIED, what));
        }
    };
    let guard = Guard::new();
    let progress = Progress::start(session, "copying the program to hosts", None, None);
    let (next, copied) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(hosts.len()) {
            scope.spawn(|| {
                while interrupted().is_none()
                    && let Some(host) = hosts.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let result = copy(&agent, host, &program, &own);
                    let result = result.unwrap_or_else(|error| {
                        let why = format!("`{}` cannot be run: {error}", agent.program());
                        Copied::Failed(why, agent.help(host))
                    });
                    let mut copied = copied.lock().unwrap_or_else(|error| error.into_inner());
                    copied.push((host.name, result));
                }
            });
        }
    });
    drop((progress, guard));
    if let Some(signal) = interrupted() {
        return Err(Exit::signal(signal));
    }
    let mut copied = copied
        .into_inner()
        .unwrap_or_else(|error| error.into_inner());
    copied.sort_by_key(|(host, _)| *host);
    let (mut new, mut is_failed) = (Vec::new(), false);
    for (host, result) in copied {
        match result {
            Copied::WasThere => {}
            Copied::Now => new.push(host),
            Copied::Failed(why, help) => {
                is_failed = true;
                let what = format!("the program cannot be copied to `{host}`: {why}");
                session.report(Diagnostic::error(codes::NOT_COPIED, what).help(help));
            }
        }
    }
    if !new.is_empty() {
        let hosts = new.join(", ");
        session.print(&format!("graphmap: copied {told} to {hosts}\n"));
    }
    match is_failed {
        true => Err(Exit::Usage),
        false => Ok(()),
    }
}

/// Copies the program to one host, unless that has an executable file with the same checksum. `own`
/// is the checksum of the program here. Blocks until the agent ends.
///
/// # Errors
/// Returns an error if the agent cannot be run or the program cannot be opened. If the agent exits
/// with a failure, the result is [`Copied::Failed`].
fn copy(agent: &Agent<'_>, host: &Remote<'_>, program: &Path, own: &str) -> io::Result<Copied> {
    let (file, folder) = (program, program.parent().unwrap_or(program));
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    let shown = folder.display().to_string();
    let (file, folder, new) = (word(file), word(folder), word(new.as_ref()));
    // A file that is not executable counts as missing.
    let asks = format!("test ! -f {file} || test ! -x {file} || cksum < {file}");
    let asked = agent.ask(host, &asks, Stdio::null())?;
    if !asked.status.success() {
        return Ok(Copied::Failed(last_words(&asked), agent.help(host)));
    }
    if String::from_utf8_lossy(&asked.stdout).trim() == own {
        return Ok(Copied::WasThere);
    }
    // An incomplete copy is removed, and the previous file stays.
    let script = format!(
        "mkdir -p {folder} && cat > {new} && chmod 755 {new} && sum=$(cksum < {new}) && \
         {{ test \"$sum\" = \"{own}\" || {{ echo \"the copy is incomplete\" >&2; false; }}; }} && \
         mv -f {new} {file} || {{ code=$?; rm -f {new}; exit $code; }}"
    );
    // The login shell of the user may be another one.
    let script = format!("sh -c {}", word(Path::new(&script)));
    let sent = agent.ask(host, &script, File::open(program)?.into())?;
    if sent.status.success() {
        return Ok(Copied::Now);
    }
    let help = format!(
        "make the folder `{shown}` of `{}` writable, with space for the program",
        host.name
    );
    Ok(Copied::Failed(last_words(&sent), help))
}

/// Returns the last line that a program printed on standard error and that is not blank, or its
/// exit status if there is none.
fn last_words(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned())
}

/// Returns the checksum of the program here, in the format of the reply of a host. Returns an error
/// if the program cannot be opened, or if `cksum` cannot be run or fails.
fn checksum(program: &Path) -> io::Result<String> {
    let mut command = supervisor::command("cksum".as_ref(), Bound::Program)?;
    let output = command.stdin(File::open(program)?).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(io::Error::other(last_words(&output))),
    }
}

/// Returns the name of this host, as `uname` reports it.
pub(super) fn this_host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Returns true if `name` is `localhost`, a loopback address, or the name `here` of this host. If
/// one of them is without a domain, only the first parts are compared: `node1` matches
/// `node1.cluster`.
pub(super) fn is_here(name: &str, here: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let is_whole = name.contains('.') && here.contains('.');
    // The dots of an IP address do not separate a domain.
    let same = match is_whole || name.parse::<IpAddr>().is_ok() {
        true => name == here,
        false => short(name) == short(here),
    };
    same || ["localhost", "127.0.0.1", "::1"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_reached_as_the_hostfile_says() {
        let access = graphmap_platform::Access {
            user: Some("bob".to_owned()),
            port: Some(2222),
            ..graphmap_platform::Access::default()
        };
        let mut host = graphmap_platform::Host::new("node1", 1);
        host.access = access;
        let platform = Platform::new(vec![host]).unwrap();
        let words = |name| Remote::new(name, &platform).words();
        assert_eq!(words("node1"), ["bob@node1", "-p", "2222"]);
        assert_eq!(words("node2"), ["node2"]);
    }

    #[test]
    fn this_host_has_several_names() {
        for (name, here, is) in [
            ("node1", "node1", true),
            ("node1", "node1.cluster", true),
            ("node1.cluster", "node1", true),
            ("node1.a", "node1.b", false),
            ("node11", "node1", false),
            ("localhost", "node1", true),
            ("10.0.0.1", "10", false),
        ] {
            assert_eq!(is_here(name, here), is, "{name} on {here}");
        }
    }
}
