//! Checks that real launchers obey the files: each rank prints its host and cores.
//!
//! Hosts are simulated on this machine. Instead of ssh, the launchers call a script that gives the
//! command its own host name (`unshare --uts`). If a launcher or the permission is missing, the
//! test is skipped with a message.
//!
//! `MPICH_MPIEXEC`, `OPENMPI_MPIEXEC` and `INTEL_MPIEXEC` name further launchers, of versions other
//! than Debian's `mpiexec.mpich` and `mpiexec.openmpi`. `SLURM_CONF` names the configuration of a
//! Slurm with hosts `h1`, `h2` and `h3` (`slurm_cluster.sh` in this folder starts one).
mod common;
use common::{launch, show};
use graphmap_binding::command::{Launcher, command};
use graphmap_binding::{HostFacts, Launch, intel, openmpi, slurm};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::hardware::Access;
use graphmap_testing::{Need, skip};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Number of the signal on Linux.
const SIGPIPE: i32 = 13;

/// Prints the rank, the host, `GRAPHMAP_PROCESSES`, the allowed cores and the arguments. It sleeps
/// because MPICH's `mpiexec` forwards the end of stdin, and dies of SIGPIPE if all ranks have
/// ended.
const SHOW: &str = "#!/bin/sh\n\
    rank=${OMPI_COMM_WORLD_RANK:-${SLURM_PROCID:-$PMI_RANK}}\n\
    cores=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)\n\
    args=; for arg; do args=\"$args<$arg>\"; done\n\
    echo \"$rank ${SLURMD_NODENAME:-$(hostname)} ${GRAPHMAP_PROCESSES:-?} $cores $args ${GRAPHMAP_START-}\"\n\
    sleep 0.3\n";

/// Folder with the programs of a test.
struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    /// Returns `None`, and prints the reason, if the launcher is missing or a process may not have
    /// its own host name.
    fn new(need: Need, launcher: &str) -> Option<Sandbox> {
        if let Err(wrong) = Command::new(launcher).arg("--version").output() {
            skip(need, format!("{launcher} does not start: {wrong}"));
            return None;
        }
        let may = |words: &[&str]| {
            let tried = Command::new("unshare")
                .args(words)
                .args(["sh", "-c", "hostname h1"])
                .output();
            tried.is_ok_and(|o| o.status.success())
        };
        let unshare = match () {
            () if may(&["--uts"]) => "unshare --uts",
            () if may(&["-r", "--uts"]) => "unshare -r --uts",
            () => {
                let why = "unshare --uts is not allowed, so there are no hosts to tell apart";
                skip(Need::Namespaces, why);
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let sandbox = Sandbox { folder };
        sandbox.program("show", SHOW);
        fs::create_dir(sandbox.path().join("a folder")).unwrap();
        sandbox.program("a folder/it's", SHOW);
        let said = sandbox.path().join("said");
        let said = said.display();
        let agent = format!(
            "#!/bin/sh\nwhile case \"$1\" in -*) true ;; *) false ;; esac; do shift; done\n\
             host=${{1#*@}}; said=$1; shift\n\
             [ \"$1\" = -p ] && said=\"$said:$2\" && shift 2\n\
             echo \"$said\" >>{said}; export CMD=\"$*\"\n\
             exec {unshare} sh -c \"hostname $host; exec sh -c \\\"\\$CMD\\\"\"\n"
        );
        sandbox.program("agent", &agent);
        Some(sandbox)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes the script of a launch and its files, and runs it.
    fn run(
        &self,
        launch: &Launch,
        launcher: Launcher,
        mpiexec: &str,
        options: &[&str],
    ) -> (Vec<String>, Output) {
        let mut out = Diagnostics::new();
        let made = command(launch, launcher, &mut out).unwrap_or_else(|d| panic!("{:?}", show(&d)));
        for (name, text) in &made.files {
            fs::write(self.path().join(name), text).unwrap();
        }
        self.program("launch.sh", &made.script);
        let mut command = Command::new(self.path().join("launch.sh"));
        command.args(options).env("MPIEXEC", mpiexec);
        // These ranks end at once, and MPICH's launcher would die as in `SHOW`.
        let ends_at_once = launch.program == "./nowhere" && launcher != Launcher::OpenMpi;
        let stdin = match ends_at_once {
            true => Stdio::piped(),
            false => Stdio::null(),
        };
        self.output_with(&mut command, stdin)
    }

    /// Runs a command, and returns its lines in rank order.
    fn output(&self, command: &mut Command) -> (Vec<String>, Output) {
        self.output_with(command, Stdio::null())
    }

    /// Runs a command, and returns its lines in rank order. If its input is a pipe, it does not end
    /// before the command.
    fn output_with(&self, command: &mut Command, stdin: Stdio) -> (Vec<String>, Output) {
        command.current_dir(self.path()).stdin(stdin);
        for name in [
            "OMPI_ALLOW_RUN_AS_ROOT",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
            "PRTE_ALLOW_RUN_AS_ROOT",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
        ] {
            command.env(name, "1");
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("sh runs");
        let _stdin = child.stdin.take();
        let output = child.wait_with_output().expect("the output is read");
        let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|l| l.trim().to_string())
            .collect();
        lines.sort_by_key(|line| line.split(' ').next().unwrap_or("").parse::<u32>().ok());
        (lines, output)
    }

    /// Runs a launch, and compares the output of the ranks with it.
    fn check(&self, launch: &Launch, launcher: Launcher, mpiexec: &str, options: &[&str]) {
        let (lines, output) = self.run(launch, launcher, mpiexec, options);
        Self::compare(launch, &lines, &output, true);
    }

    /// Checks all launches of this test, on simulated hosts and on this one.
    fn check_all(&self, launcher: Launcher, mpiexec: &str, options: &[&str]) {
        let launches = [Some(unbound()), bound()].into_iter().flatten();
        for launch in launches.chain(with_sections()) {
            self.check(&launch, launcher, mpiexec, options);
            let mut here = launch;
            here.os_processes
                .iter_mut()
                .for_each(|p| p.host = Some("localhost".to_owned()));
            let (mut lines, output) = self.run(&here, launcher, mpiexec, &[]);
            // This host prints its real name.
            let name = format!(" {} ", this_host());
            lines
                .iter_mut()
                .for_each(|line| *line = line.replacen(&name, " localhost ", 1));
            Self::compare(&here, &lines, &output, true);
        }
    }

    /// Checks that an OS process that cannot be started ends the job with a message.
    fn check_failure(&self, launcher: Launcher, mpiexec: &str) {
        self.program("waits", "#!/bin/sh\nexec sleep 300\n");
        let mut launch = launch(&[
            ("localhost", &[], 1),
            ("localhost", &[8191], 1),
            ("localhost", &[], 1),
        ]);
        launch.program = "./waits".into();
        let (_, output) = self.run(&launch, launcher, mpiexec, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = format!(
            "error: OS process 1 on {} cannot be bound to cores 8191: ",
            this_host()
        );
        assert!(said.contains(&expected), "{said}");
        assert_eq!(output.status.code(), Some(2), "{}: {said}", output.status);
        launch.os_processes[1].cores.clear();
        launch.program = "./nowhere".into();
        let (_, output) = self.run(&launch, launcher, mpiexec, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains(" cannot find the executable ./nowhere\n"),
            "{said}"
        );
        // The launchers of MPICH's family may write to a rank that has ended already, although
        // their input stays open.
        let has_died = launcher != Launcher::OpenMpi && output.status.signal() == Some(SIGPIPE);
        let code = output.status.code();
        assert!(code == Some(2) || has_died, "{}: {said}", output.status);
    }

    /// Checks the rankfile alone, which cannot set the number of processes of a rank.
    fn check_rankfile(&self, launch: &Launch, mpiexec: &str, four: bool, options: &[&str]) {
        let mut out = Diagnostics::new();
        let write = |name: &str, text: String| fs::write(self.path().join(name), text).unwrap();
        write("hosts", openmpi::hostfile(launch).unwrap());
        write("ranks", openmpi::rankfile(launch, &mut out).unwrap());
        let by = match four {
            true => ["--mca rmaps_rank_file_physical 1", "--rankfile ranks"],
            false => ["--map-by", "rankfile:FILE=ranks"],
        };
        let mut command = Command::new(mpiexec);
        command.args(options).args(["--hostfile", "hosts", "-n"]);
        command.arg(launch.os_processes.len().to_string());
        command.args(by.iter().flat_map(|words| words.split(' ')));
        command.arg(&launch.program).args(&launch.args);
        let (lines, output) = self.output(&mut command);
        Self::compare(launch, &lines, &output, false);
    }

    /// Checks the appfile alone.
    fn check_appfile(&self, launch: &Launch, mpiexec: &str, options: &[&str]) {
        let mut out = Diagnostics::new();
        let write = |name: &str, text: String| fs::write(self.path().join(name), text).unwrap();
        write("hosts", openmpi::hostfile(launch).unwrap());
        write("apps", openmpi::appfile(launch, &mut out).unwrap());
        let mut command = Command::new(mpiexec);
        command
            .args(options)
            .args(["--hostfile", "hosts", "--bind-to", "none", "--app", "apps"]);
        let (lines, output) = self.output(&mut command);
        Self::compare(launch, &lines, &output, true);
    }

    /// Compares lines of the ranks with the launch. With `has_processes`, the lines must have the
    /// number of processes.
    fn compare(launch: &Launch, lines: &[String], output: &Output, has_processes: bool) {
        let all = &launch.os_processes;
        assert_eq!(lines.len(), all.len(), "{output:?}");
        for (rank, (line, p)) in lines.iter().zip(all).enumerate() {
            let mut words = line.splitn(5, ' ');
            let mut next = || words.next().unwrap_or("");
            assert_eq!(next(), rank.to_string(), "{lines:?}");
            let host = next();
            assert!(
                p.host.as_deref().is_none_or(|h| h == host),
                "rank {rank} is on {host}: {lines:?}"
            );
            let processes = next();
            assert!(
                !has_processes || processes == p.processes.to_string(),
                "{lines:?}"
            );
            let cores = next();
            let expected_cores: Vec<String> = p.cores.iter().map(u32::to_string).collect();
            assert!(
                p.cores.is_empty() || cores == expected_cores.join("-"),
                "rank {rank} is on cores {cores}: {lines:?}"
            );
            let args: String = launch.args.iter().map(|arg| format!("<{arg}>")).collect();
            assert_eq!(next(), args, "{lines:?}");
        }
    }
}

/// Returns a launch with a host that occurs again later, and different numbers of processes.
fn unbound() -> Launch {
    let mut launch = launch(&[
        ("h3", &[], 4),
        ("h3", &[], 4),
        ("h1", &[], 3),
        ("h2", &[], 3),
        ("h3", &[], 1),
    ]);
    launch.program = "./show".into();
    launch
}

/// Returns a launch on two cores. One core occurs twice, the cores are not in order, one OS process
/// is on both, and one is on none.
fn bound() -> Option<Launch> {
    if std::thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        skip(Need::Cores, "binding is only seen with two cores");
        return None;
    }
    let mut launch = launch(&[
        ("h3", &[1], 2),
        ("h3", &[0], 2),
        ("h1", &[0, 1], 2),
        ("h2", &[1], 1),
        ("h3", &[1], 2),
        ("h2", &[], 1),
    ]);
    launch.program = "./show".into();
    Some(launch)
}

/// Returns launches with one, two and three sections for each host, and different numbers of OS
/// processes. If there are two cores, they bind to cores as well. No file format could contain
/// their words.
fn with_sections() -> Vec<Launch> {
    let cores: &[&[u32]] = match std::thread::available_parallelism().map_or(1, |n| n.get()) {
        1 => &[&[]],
        _ => &[&[], &[0], &[1], &[0, 1]],
    };
    let sections = [
        ("h1", 3),
        ("h2", 1),
        ("h1", 1),
        ("h2", 2),
        ("h1", 2),
        ("h2", 3),
    ];
    [2, 4, 6]
        .map(|count| {
            let mut all = Vec::new();
            for (section, (host, n)) in sections.into_iter().take(count).enumerate() {
                for _ in 0..n {
                    let cores = cores[all.len() % cores.len()];
                    all.push((host, cores, section as u32 % 2));
                }
            }
            let mut launch = launch(&all);
            launch.program = "./a folder/it's".into();
            launch.args = ["a  b", "", ":", "\"$x\"", "-n", "#\\"]
                .map(str::to_owned)
                .to_vec();
            launch
        })
        .to_vec()
}

/// Returns the name of this host.
fn this_host() -> String {
    let output = Command::new("uname")
        .arg("-n")
        .output()
        .expect("uname runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the launcher that a variable names, together with `need`.
fn named(need: Need, variable: &str) -> Option<(Need, String)> {
    let named = std::env::var(variable).ok().filter(|m| !m.is_empty());
    if named.is_none() {
        skip(need, format!("{variable} names no mpiexec"));
    }
    named.map(|mpiexec| (need, mpiexec))
}

/// Returns options that make a launcher of MPICH's family call `agent` instead of ssh.
fn by_agent(agent: &str) -> [&str; 4] {
    ["-launcher", "ssh", "-launcher-exec", agent]
}

#[test]
fn mpich_obeys() {
    let system = Some((Need::Mpich, "mpiexec.mpich".to_owned()));
    let later = named(Need::LaterMpich, "MPICH_MPIEXEC");
    for (need, mpiexec) in system.into_iter().chain(later) {
        let Some(sandbox) = Sandbox::new(need, &mpiexec) else {
            continue;
        };
        let agent = sandbox.path().join("agent");
        let options = by_agent(agent.to_str().unwrap());
        sandbox.check_all(Launcher::Mpich, &mpiexec, &options);
        sandbox.check_failure(Launcher::Mpich, &mpiexec);
        // A section for each core would be more than `mpiexec` 4.0.2 reads.
        let cores: Vec<_> = (0..256).map(|core| ("h1", &[0][..], core % 3)).collect();
        let mut large = launch(&cores);
        large.program = "./show".into();
        sandbox.check(&large, Launcher::Mpich, &mpiexec, &options);
        let mut anywhere = unbound();
        anywhere.os_processes.iter_mut().for_each(|p| p.host = None);
        let fork = ["-launcher", "fork"];
        sandbox.check(&anywhere, Launcher::Mpich, &mpiexec, &fork);
    }
}

#[test]
fn open_mpi_obeys() {
    let system = Some((Need::OpenMpi, "mpiexec.openmpi".to_owned()));
    let later = named(Need::LaterOpenMpi, "OPENMPI_MPIEXEC");
    for (need, mpiexec) in system.into_iter().chain(later) {
        let Some(sandbox) = Sandbox::new(need, &mpiexec) else {
            continue;
        };
        // Open MPI 5 passes options to another launcher, PRRTE, which has other names for them.
        let version = Command::new(&mpiexec).arg("--version").output().unwrap();
        let four = String::from_utf8_lossy(&version.stdout).contains(" 4.");
        let agent = sandbox.path().join("agent");
        let agent = agent.to_str().unwrap();
        let options = match four {
            true => ["--mca", "plm_rsh_agent", agent],
            false => ["--prtemca", "plm_ssh_agent", agent],
        };
        sandbox.check_all(Launcher::OpenMpi, &mpiexec, &options);
        sandbox.check_failure(Launcher::OpenMpi, &mpiexec);
        // Without hosts, more OS processes than this host has cores.
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let mut here = launch(&vec![("", &[][..], 1); cores + 1]);
        here.program = "./show".into();
        sandbox.check(&here, Launcher::OpenMpi, &mpiexec, &[]);
        // The appfile alone must have all slots of a host in each section, too.
        for mut launch in with_sections() {
            (launch.program, launch.args) = ("./show".into(), vec!["-v".into()]);
            sandbox.check_appfile(&launch, &mpiexec, &options);
        }
        if let Some(mut launch) = bound() {
            launch.os_processes.truncate(4);
            sandbox.check_rankfile(&launch, &mpiexec, four, &options);
        }
    }
}

/// Returns a launch on two hosts, of which one has a user, and a port if one is given.
fn of_users(port: Option<u16>) -> Launch {
    let mut launch = launch(&[("h1", &[], 1), ("h2", &[], 1), ("h1", &[], 1)]);
    launch.program = "./show".into();
    let access = Access {
        user: Some("bob".into()),
        port,
        ..Access::default()
    };
    let facts = HostFacts {
        access,
        max_slots: Some(8),
    };
    launch.facts.insert("h1".into(), facts);
    launch
}

impl Sandbox {
    /// Compares the users, hosts and ports with which the agent was called.
    fn check_logins(&self, expected: &[&str]) {
        let said = fs::read_to_string(self.path().join("said")).unwrap_or_default();
        let said: BTreeSet<&str> = said.lines().collect();
        assert_eq!(said, expected.iter().copied().collect());
        fs::remove_file(self.path().join("said")).unwrap();
    }
}

#[test]
fn users_and_ports_reach_the_agent() {
    let mpich = [
        Some((Need::Mpich, "mpiexec.mpich".to_owned())),
        named(Need::LaterMpich, "MPICH_MPIEXEC"),
    ];
    for (need, mpiexec) in mpich.into_iter().flatten() {
        let Some(sandbox) = Sandbox::new(need, &mpiexec) else {
            continue;
        };
        let agent = sandbox.path().join("agent");
        let options = by_agent(agent.to_str().unwrap());
        sandbox.check(&of_users(None), Launcher::Mpich, &mpiexec, &options);
        sandbox.check_logins(&["bob@h1", "h2"]);
    }
    let open_mpi = [
        Some((Need::OpenMpi, "mpiexec.openmpi".to_owned())),
        named(Need::LaterOpenMpi, "OPENMPI_MPIEXEC"),
    ];
    for (need, mpiexec) in open_mpi.into_iter().flatten() {
        let Some(sandbox) = Sandbox::new(need, &mpiexec) else {
            continue;
        };
        let hosts = openmpi::hostfile(&of_users(Some(2222))).unwrap();
        fs::write(sandbox.path().join("hosts"), hosts).unwrap();
        let mut command = Command::new(&mpiexec);
        let agent = sandbox.path().join("agent");
        command.args(["--hostfile", "hosts", "-n", "3", "./show"]);
        // Each version reads one of these variables.
        command.env("OMPI_MCA_plm_rsh_agent", &agent);
        command.env("PRTE_MCA_plm_ssh_agent", &agent);
        let (lines, output) = sandbox.output(&mut command);
        assert_eq!(lines.len(), 3, "{output:?}");
        sandbox.check_logins(&["bob@h1:2222", "h2"]);
    }
    if let Some((need, mpiexec)) = named(Need::IntelMpi, "INTEL_MPIEXEC")
        && let Some(sandbox) = Sandbox::new(need, &mpiexec)
    {
        let agent = sandbox.path().join("agent");
        let options = by_agent(agent.to_str().unwrap());
        sandbox.check(&of_users(None), Launcher::Intel, &mpiexec, &options);
        sandbox.check_logins(&["bob@h1", "h2"]);
        let hosts = intel::machinefile(&of_users(None)).unwrap();
        fs::write(sandbox.path().join("machinefile"), hosts).unwrap();
        let mut command = Command::new(&mpiexec);
        command.args(options);
        command.args(["-machinefile", "machinefile", "-n", "3", "./show"]);
        let (lines, output) = sandbox.output(&mut command);
        assert_eq!(lines.len(), 3, "{output:?}");
        sandbox.check_logins(&["bob@h1", "h2"]);
    }
}

#[test]
fn intel_mpi_obeys() {
    if let Some((need, mpiexec)) = named(Need::IntelMpi, "INTEL_MPIEXEC")
        && let Some(sandbox) = Sandbox::new(need, &mpiexec)
    {
        intel_mpi(&sandbox, &mpiexec);
    }
}

fn intel_mpi(sandbox: &Sandbox, mpiexec: &str) {
    let agent = sandbox.path().join("agent");
    let options = by_agent(agent.to_str().unwrap());
    sandbox.check_all(Launcher::Intel, mpiexec, &options);
    sandbox.check_failure(Launcher::Intel, mpiexec);
    // The configfile alone.
    for mut launch in with_sections() {
        (launch.program, launch.args) = ("./show".into(), vec!["-v".into()]);
        let text = intel::configfile(&launch, &mut Diagnostics::new()).unwrap();
        fs::write(sandbox.path().join("sections"), text).unwrap();
        let mut command = Command::new(mpiexec);
        command.args(options).args(["-configfile", "./sections"]);
        let (lines, output) = sandbox.output(&mut command);
        Sandbox::compare(&launch, &lines, &output, true);
    }
    // The machinefile alone must place OS processes as well.
    let launch = unbound();
    fs::write(
        sandbox.path().join("machinefile"),
        intel::machinefile(&launch).unwrap(),
    )
    .unwrap();
    let mut command = Command::new(mpiexec);
    command
        .args(options)
        .args(["-machinefile", "machinefile", "-n", "5", "./show"]);
    let (lines, output) = sandbox.output(&mut command);
    let hosts: Vec<_> = lines.iter().filter_map(|l| l.split(' ').nth(1)).collect();
    assert_eq!(hosts, ["h3", "h3", "h1", "h2", "h3"], "{output:?}");
}

#[test]
fn slurm_obeys() {
    let Ok(conf) = std::env::var("SLURM_CONF") else {
        skip(Need::Slurm, "SLURM_CONF names no Slurm to ask");
        return;
    };
    let nodes = Command::new("sinfo")
        .args(["-h", "-N", "-o", "%N"])
        .output();
    let nodes = nodes
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default();
    if ["h1", "h2", "h3"]
        .iter()
        .any(|h| !nodes.lines().any(|n| n == *h))
    {
        skip(
            Need::Slurm,
            format!("the Slurm of {conf} has no hosts h1, h2 and h3"),
        );
        return;
    }
    let Some(sandbox) = Sandbox::new(Need::SlurmCommands, "srun") else {
        return;
    };
    sandbox.check(&unbound(), Launcher::Slurm, "", &[]);
    for mut launch in with_sections() {
        launch.os_processes.iter_mut().for_each(|p| p.cores.clear());
        sandbox.check(&launch, Launcher::Slurm, "", &[]);
    }
    // The program file alone.
    let mut launch = unbound();
    launch.args = vec!["-v".into()];
    fs::write(
        sandbox.path().join("programs"),
        slurm::multi_prog(&launch, &mut Diagnostics::new()).unwrap(),
    )
    .unwrap();
    fs::write(
        sandbox.path().join("hosts"),
        slurm::hostfile(&launch).unwrap(),
    )
    .unwrap();
    let mut srun = Command::new("srun");
    srun.args([
        "-n",
        "5",
        "--distribution=arbitrary",
        "--multi-prog",
        "programs",
    ]);
    srun.env("SLURM_HOSTFILE", "hosts");
    let (lines, output) = sandbox.output(&mut srun);
    Sandbox::compare(&launch, &lines, &output, true);
    // Slurm chooses the hosts.
    let mut anywhere = unbound();
    anywhere.os_processes.iter_mut().for_each(|p| p.host = None);
    sandbox.check(&anywhere, Launcher::Slurm, "", &[]);
}
