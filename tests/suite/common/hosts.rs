//! Hosts that a test makes itself: network namespaces (`modules/link-mpi/tests/hosts.sh`).

use graphmap_testing::{Need, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Standard output and standard error.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Whether this machine can build for an MPI.
pub(crate) fn is_there(mpi: &str, need: Need) -> bool {
    let compiler = format!("mpicc.{mpi}");
    match Command::new(&compiler).arg("--version").output() {
        Ok(_) => true,
        Err(error) => {
            skip(need, format!("{compiler} does not start: {error}"));
            false
        }
    }
}

/// Hosts, as long as it lives.
pub(crate) struct Hosts(pub(crate) PathBuf);

impl Hosts {
    /// So many, named h1, h2 and so on; none where nobody may make them, which is told.
    pub(crate) fn new(folder: &Path, count: usize) -> Option<Hosts> {
        Hosts::with_own(folder, count, None)
    }

    /// The same; all but the first have a folder of their own at `own`, which is empty.
    pub(crate) fn with_own(folder: &Path, count: usize, own: Option<&Path>) -> Option<Hosts> {
        let hosts = Hosts(folder.join("namespaces"));
        fs::create_dir_all(&hosts.0).unwrap();
        let mut more = vec![count.to_string()];
        more.extend(own.map(|own| own.display().to_string()));
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let made = hosts.script("start", &more);
        if made.status.success() {
            return Some(hosts);
        }
        let why = format!("no hosts, so all is on one: {}", said(&made));
        skip(Need::Namespaces, why);
        None
    }

    /// What `hosts.sh` is asked for.
    pub(crate) fn script(&self, verb: &str, more: &[&str]) -> Output {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let script = root.join("modules/link-mpi/tests/hosts.sh");
        let mut command = Command::new("sh");
        command.arg(script).arg(verb).arg(&self.0).args(more);
        command.output().unwrap()
    }

    /// Bytes that all have sent.
    pub(crate) fn sent(&self) -> u64 {
        let output = self.script("bytes", &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.parse::<u64>().unwrap()).sum()
    }

    /// A command on the first of them.
    pub(crate) fn on_first(&self, program: &str) -> Command {
        let mut command = Command::new(self.0.join("on-first"));
        command.arg(program);
        command
    }

    /// What a launcher is told to reach them, and to use their network and nothing else.
    pub(crate) fn options(&self, mpi: &str) -> Vec<String> {
        let agent = self.0.join("agent").display().to_string();
        let options = match mpi {
            "mpich" => format!("-launcher ssh -launcher-exec {agent}"),
            _ => format!(
                "--mca plm_rsh_agent {agent} --mca btl_tcp_if_include net0 \
                 --mca oob_tcp_if_include net0"
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

/// What launchers need to start more than there is room for, as whoever, over TCP.
pub(crate) fn prepare(command: &mut Command) -> &mut Command {
    for name in [
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "OMPI_MCA_rmaps_base_oversubscribe",
    ] {
        command.env(name, "1");
    }
    let command = command.env("OMPI_MCA_btl", "tcp,self");
    command.env("UCX_TLS", "tcp").stdin(Stdio::null())
}
