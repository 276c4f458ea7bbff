//! Virtual hosts that a test creates: network namespaces with host names and interfaces
//! (`hosts.sh`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::skip::{Need, skip};

/// Virtual hosts h1, h2 and so on. They are removed when the value is dropped.
#[derive(Debug)]
pub struct Hosts {
    /// Folder of the hosts. The file `hosts` has their names, one per line. Launchers use the
    /// program `agent` as ssh.
    pub folder: PathBuf,
}

impl Hosts {
    /// Creates `count` hosts, with their folder inside `within`. If the machine does not permit
    /// this, reports a skip and returns `None`.
    ///
    /// # Panics
    ///
    /// If the folder cannot be created, or if the skip is not allowed ([`skip()`]).
    #[track_caller]
    pub fn new(within: &Path, count: usize) -> Option<Hosts> {
        Hosts::with_own(within, count, None)
    }

    /// Creates hosts as [`Hosts::new`] does. If `own` is given, each host but the first has a
    /// separate, empty folder at this path.
    ///
    /// # Panics
    ///
    /// If the folder cannot be created, or if the skip is not allowed ([`skip()`]).
    #[track_caller]
    pub fn with_own(within: &Path, count: usize, own: Option<&Path>) -> Option<Hosts> {
        let folder = within.join("namespaces");
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let hosts = Hosts { folder };
        let mut more = vec![count.to_string()];
        more.extend(own.map(|own| own.display().to_string()));
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let made = hosts.script("start", &more);
        if made.status.success() {
            return Some(hosts);
        }
        let why = String::from_utf8_lossy(&made.stderr);
        skip(Need::Namespaces, format!("there are no hosts: {why}"));
        None
    }

    /// Runs `hosts.sh` with a verb and arguments, and returns its output.
    ///
    /// # Panics
    ///
    /// If no shell can be started.
    pub fn script(&self, verb: &str, more: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts.sh");
        let mut command = Command::new("sh");
        command.arg(script).arg(verb).arg(&self.folder).args(more);
        command.output().expect("there is a shell")
    }

    /// Returns the number of bytes that each host has sent over its interface.
    ///
    /// # Panics
    ///
    /// If `hosts.sh` prints something other than numbers.
    pub fn sent_by_each(&self) -> Vec<u64> {
        let output = self.script("bytes", &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        let bytes = text.lines().map(|line| line.parse().expect("a number"));
        bytes.collect()
    }

    /// Returns the number of bytes that all hosts have sent.
    ///
    /// # Panics
    ///
    /// If `hosts.sh` prints something other than numbers.
    pub fn sent(&self) -> u64 {
        self.sent_by_each().into_iter().sum()
    }

    /// Returns a command that runs a program on the first host.
    pub fn on_first(&self, program: &str) -> Command {
        let mut command = Command::new(self.folder.join("on-first"));
        command.arg(program);
        command
    }

    /// Returns the path of the program that launchers call instead of ssh.
    pub fn agent(&self) -> PathBuf {
        self.folder.join("agent")
    }

    /// Returns the options that make a launcher of MPICH or Open MPI 4 reach the hosts, and use
    /// only their network.
    pub fn options(&self, mpi: &str) -> Vec<String> {
        let agent = self.agent().display().to_string();
        let options = match mpi {
            "mpich" => format!("-launcher ssh -launcher-exec {agent}"),
            _ => format!(
                "--mca plm_rsh_agent {agent} --mca btl_tcp_if_include net0 --mca oob_tcp_if_include net0"
            ),
        };
        options.split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.script("stop", &[]);
    }
}
