//! Test of the command: files in a temporary folder, arguments, and the expected result.

pub(crate) mod hosts;
pub(crate) mod networks;

use graphmap_testing::{build_cheaply, start_with_default_signals};
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Valid network as JSON.
pub(crate) const NET: &str = r#"{
  "graphmap": 1,
  "name": "pair",
  "processes": [{"name": "a"}, {"name": "b"}],
  "channels": [{"from": "a", "to": "b", "type": "u64"}]
}
"#;

/// Returns the data folder of all tests, so that the runtime is compiled once.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("data")
}

/// Variable that excludes a project from the build folder that projects share.
pub(crate) const UNSHARED: (&str, &str) = ("CARGO_BUILD_BUILD_DIR", "target");

/// Returns the command. It ignores no signal, even if the caller of the tests ignores some.
pub(crate) fn graphmap() -> Command {
    start_with_default_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_graphmap"));
    build_cheaply(&mut command).env("GRAPHMAP_DATA", data());
    command
}

/// One run of the command in a temporary folder, which is removed after the test.
pub(crate) struct Test {
    folder: TempDir,
    /// Subfolder that the command runs in.
    within: String,
    args: Vec<String>,
    stdin: Vec<u8>,
    env: Vec<(String, String)>,
}

impl Test {
    pub(crate) fn new() -> Test {
        // The command prints paths without links.
        let place = fs::canonicalize(std::env::temp_dir()).unwrap();
        let folder = tempfile::Builder::new()
            .prefix("graphmap-test-")
            .tempdir_in(place);
        Test {
            folder: folder.unwrap(),
            within: String::new(),
            args: Vec::new(),
            stdin: Vec::new(),
            env: Vec::new(),
        }
    }

    /// Returns the temporary folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Creates a file in the folder.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Test {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Creates an executable on the PATH of the command.
    pub(crate) fn executable(mut self, name: &str, content: &str) -> Test {
        use std::os::unix::fs::PermissionsExt;
        let bin = self.folder.path().join("bin");
        self = self.file(&format!("bin/{name}"), content);
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        if name == "cargo" {
            // A stub of Cargo is started only to build.
            self = self.env(UNSHARED.0, UNSHARED.1);
        }
        let path = std::env::var("PATH").unwrap();
        self.env("PATH", &format!("{}:{path}", bin.display()))
    }

    /// Sets the arguments, which are separated by spaces.
    pub(crate) fn args(mut self, args: &str) -> Test {
        self.args = args.split_whitespace().map(str::to_owned).collect();
        self
    }

    /// Sets the arguments without splitting them.
    pub(crate) fn words(mut self, args: &[&str]) -> Test {
        self.args = args.iter().map(|&arg| arg.to_owned()).collect();
        self
    }

    /// Runs the command in a subfolder.
    pub(crate) fn within(mut self, folder: &str) -> Test {
        self.within = folder.to_owned();
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Test {
        self.stdin = bytes.as_ref().to_owned();
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Test {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Returns the command, for tests that start it in another way.
    pub(crate) fn command(&self) -> Command {
        let mut command = graphmap();
        command
            .args(&self.args)
            .current_dir(self.folder.path().join(&self.within))
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS")
            .envs(self.env.iter().map(|(n, v)| (n, v)));
        command
    }

    /// Starts the command, for tests that end it while it works.
    pub(crate) fn start(&self) -> Started {
        let mut command = self.command();
        // Files instead of pipes, because processes that are left over may hold pipes open.
        let output = |name| fs::File::create(self.folder.path().join(name)).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(output("said-out"))
            .stderr(output("said-err"));
        Started::of(&mut command)
    }

    /// Runs the command.
    pub(crate) fn run(&self) -> Done {
        let mut command = self.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Started::of(&mut command);
        let mut stdin = child.stdin.take().unwrap();
        let bytes = self.stdin.clone();
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &bytes));
        let output = child.output();
        let _ = writer.join();
        Done {
            output,
            args: self.args.join(" "),
        }
    }

    /// Runs the command with standard output on a terminal, and returns the text sent there.
    pub(crate) fn shown_on_terminal(&self) -> String {
        let mut command = self.command();
        fs::write(self.folder.path().join("said-in"), &self.stdin).unwrap();
        let stdin = fs::File::open(self.folder.path().join("said-in")).unwrap();
        let (ours, theirs) = terminal();
        let child = Started::of(command.stdin(stdin).stdout(theirs));
        // Closes our copy of the other end. Then reading ends, with an error, when the child ends.
        drop(command);
        let shown = sent(ours);
        assert!(child.output().status.success());
        shown
    }

    /// Runs the command with standard error on a terminal.
    pub(crate) fn run_at_terminal(&self) -> Done {
        let mut command = self.command();
        let (ours, theirs) = terminal();
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = Started::of(command.stderr(theirs));
        drop(command);
        let stderr = sent(ours).into_bytes();
        let output = child.output();
        Done {
            output: Output { stderr, ..output },
            args: self.args.join(" "),
        }
    }

    /// Returns the paths of all files in the folder, sorted, including hidden files and subfolders.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    // The target of a link is not in the folder.
                    if !path.is_symlink() {
                        folders.push(path);
                    }
                } else {
                    let name = path.strip_prefix(self.folder.path()).unwrap();
                    found.push(name.display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    /// Returns the content of a file in the folder.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

/// Returns both ends of a pseudo-terminal.
fn terminal() -> (fs::File, fs::File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let mut options = fs::OpenOptions::new();
    let theirs = options.read(true).write(true).open(name).unwrap();
    (fs::File::from(ours), theirs)
}

/// Returns the text sent to a terminal, until its other end is closed.
fn sent(mut ours: fs::File) -> String {
    let mut shown = Vec::new();
    let _ = std::io::Read::read_to_end(&mut ours, &mut shown);
    String::from_utf8_lossy(&shown).replace("\r\n", "\n")
}

/// Time limit of all waits of the tests. A loaded machine must not reach it. Programs that wait for
/// a signal sleep longer.
pub(crate) const LONGEST: Duration = Duration::from_secs(600);

/// A command that was started. It is killed if the test fails before the command has ended.
///
/// A command that is killed ends the processes that it started: `faults.rs` tests that.
pub(crate) struct Started(Option<Child>);

impl Deref for Started {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().unwrap()
    }
}

impl DerefMut for Started {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }
}

impl Started {
    /// Starts a command.
    pub(crate) fn of(command: &mut Command) -> Started {
        start_with_default_signals();
        Started(Some(command.spawn().unwrap()))
    }

    /// Waits until the command ends, and returns its output.
    pub(crate) fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    /// Sends the command a signal, such as `INT`.
    #[track_caller]
    pub(crate) fn signal(&self, name: &str) {
        let (signal, id) = (format!("-{name}"), self.id().to_string());
        let sent = Command::new("kill").args([&signal, &id]).status();
        assert!(sent.unwrap().success(), "{signal}");
    }

    /// Waits until the command, or a process that it started, has created a file.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, path: &Path) {
        self.wait_until(|| path.exists(), &path.display().to_string());
    }

    /// Waits until a condition is true.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, is_so: impl Fn() -> bool, what: &str) {
        let start = Instant::now();
        while !is_so() {
            let ended = self.try_wait().unwrap();
            assert!(ended.is_none(), "it ended by itself: {ended:?}");
            assert!(start.elapsed() < LONGEST, "no {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the command ends.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < LONGEST, "it does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends a signal, and waits until the command ends.
    #[track_caller]
    pub(crate) fn end_by(self, signal: &str) -> ExitStatus {
        self.end_after(signal).0
    }

    /// Sends a signal, waits until the command ends, and measures the time.
    #[track_caller]
    pub(crate) fn end_after(mut self, signal: &str) -> (ExitStatus, Duration) {
        let start = Instant::now();
        self.signal(signal);
        (self.ended(), start.elapsed())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns whether a process ends in time. A zombie has ended, whichever process may collect it.
pub(crate) fn gone(pid: &str) -> bool {
    let start = Instant::now();
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        if stat.map_or(true, |stat| stat.contains(") Z ")) {
            return true;
        }
        if start.elapsed() > LONGEST {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Result of a run. A failed check prints all of it.
pub(crate) struct Done {
    pub(crate) output: Output,
    args: String,
}

impl Done {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Returns standard error without the lines that depend on the load of the machine: progress of
    /// a slow build, and waiting for the build of another test.
    pub(crate) fn stderr(&self) -> String {
        let depends_on_load = |line: &&str| {
            line.starts_with("graphmap: cargo: Blocking waiting for ")
                || (line.starts_with("graphmap: building ") && line.contains(": compiling "))
        };
        let text = String::from_utf8_lossy(&self.output.stderr);
        text.split_inclusive('\n')
            .filter(|line| !depends_on_load(line))
            .collect()
    }

    fn all(&self) -> String {
        format!(
            "graphmap {}\n{}\n--- stdout\n{}\n--- stderr\n{}",
            self.args,
            self.output.status,
            self.stdout(),
            self.stderr()
        )
    }

    #[track_caller]
    pub(crate) fn status(self, code: i32) -> Done {
        assert_eq!(self.output.status.code(), Some(code), "{}", self.all());
        self
    }

    #[track_caller]
    pub(crate) fn stdout_is(self, text: &str) -> Done {
        assert_eq!(self.stdout(), text, "{}", self.all());
        self
    }

    #[track_caller]
    pub(crate) fn stderr_is(self, text: &str) -> Done {
        assert_eq!(self.stderr(), text, "{}", self.all());
        self
    }

    #[track_caller]
    pub(crate) fn stdout_has(self, text: &str) -> Done {
        assert!(self.stdout().contains(text), "no `{text}`: {}", self.all());
        self
    }

    #[track_caller]
    pub(crate) fn stderr_has(self, text: &str) -> Done {
        assert!(self.stderr().contains(text), "no `{text}`: {}", self.all());
        self
    }

    #[track_caller]
    pub(crate) fn stderr_lacks(self, text: &str) -> Done {
        assert!(!self.stderr().contains(text), "`{text}`: {}", self.all());
        self
    }
}
