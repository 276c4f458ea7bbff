//! Hosts that a test makes itself: network namespaces with names and interfaces of their own (`hosts.sh`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::skip::{Need, skip};

/// Hosts h1, h2 and so on, as long as it lives.
#[derive(Debug)]
pub struct Hosts {
    /// What is known of them: `hosts`, their names, a line each; `agent`, which launchers take for ssh.
    pub folder: PathBuf,
}

impl Hosts {
    /// So many, with what is known of them in a folder within this one; none where nobody may make them, which is told.
    ///
    /// # Panics
    ///
    /// If the folder cannot be made.
    #[track_caller]
    pub fn new(within: &Path, count: usize) -> Option<Hosts> {
        Hosts::with_own(within, count, None)
    }

    /// The same; all but the first have a folder of their own at `own`, which is empty.
    ///
    /// # Panics
    ///
    /// As there.
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

    /// What `hosts.sh` is asked for.
    ///
    /// # Panics
    ///
    /// If there is no shell.
    pub fn script(&self, verb: &str, more: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts.sh");
        let mut command = Command::new("sh");
        command.arg(script).arg(verb).arg(&self.folder).args(more);
        command.output().expect("there is a shell")
    }

    /// Bytes that each has sent over its interface.
    ///
    /// # Panics
    ///
    /// If they are not told.
    pub fn sent_by_each(&self) -> Vec<u64> {
        let output = self.script("bytes", &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        let bytes = text.lines().map(|line| line.parse().expect("a number"));
        bytes.collect()
    }

    /// Bytes that all have sent.
    ///
    /// # Panics
    ///
    /// As there.
    pub fn sent(&self) -> u64 {
        self.sent_by_each().into_iter().sum()
    }

    /// A command on the first of them.
    pub fn on_first(&self, program: &str) -> Command {
        let mut command = Command::new(self.folder.join("on-first"));
        command.arg(program);
        command
    }

    /// What launchers call instead of ssh.
    pub fn agent(&self) -> PathBuf {
        self.folder.join("agent")
    }

    /// What a launcher of MPICH or Open MPI 4 is told to reach them, and to use their network and nothing else.
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
