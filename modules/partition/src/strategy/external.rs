//! Solvers for integer programs that are separate executables: `cbc` and `glpsol`.
//!
//! The solver reads the program from an LP file, and writes its answer to another file. A solver
//! may be missing, hang, crash or write nonsense. It is stopped when its time is over, and its
//! answer is parsed and checked before it is used.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use good_lp::ResolutionError;

/// Time beyond its limit that a solver has to write its answer.
const GRACE: Duration = Duration::from_millis(500);

/// Time that a solver has to end after the signal TERM. A supervisor that ends all processes of the
/// solver needs milliseconds, and up to a second on a busy machine. If it were killed before, those
/// processes would remain.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SolverKind {
    Cbc,
    Glpsol,
}

/// Function that creates the command which runs an executable, or returns an error if there is
/// none. The child process gets the signal TERM if its time is over, and later KILL.
pub type Launch = fn(&Path) -> io::Result<Command>;

/// An executable that solves LP files.
#[derive(Clone, Debug)]
pub(super) struct ExternalSolver {
    path: PathBuf,
    launch: Launch,
    kind: SolverKind,
}

/// The result that a solver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Optimal,
    Infeasible,
    Unbounded,
    TimeLimit,
}

/// Values of a solution by variable name. Variables without an entry are 0.
pub(super) struct Solution {
    pub(super) values: HashMap<String, f64>,
    /// Whether the solver claims that no solution is better. False if it ran out of time.
    pub(super) complete: bool,
}

impl ExternalSolver {
    /// Creates a solver from a path, or from a name that is looked up on `PATH` when the solver
    /// starts. Its file name decides which options and which answer format it gets.
    ///
    /// # Errors
    ///
    /// Returns a message if the file name is not that of a known solver, or if `launch` fails.
    /// Without `launch`, [`plain`] takes its place.
    pub(super) fn new(path: &Path, launch: Option<Launch>) -> Result<ExternalSolver, String> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let kind = match &*name {
            name if name.contains("cbc") => SolverKind::Cbc,
            name if name.contains("glpsol") => SolverKind::Glpsol,
            _ => {
                return Err(format!(
                    "`{}` is not a known solver; the known solvers are cbc and glpsol",
                    path.display()
                ));
            }
        };
        let solver = ExternalSolver {
            path: path.to_owned(),
            launch: launch.unwrap_or(plain),
            kind,
        };
        // This does not start the solver, because the processes that it starts would run too.
        solver.command().map(|_| solver)
    }

    fn command(&self) -> Result<Command, String> {
        (self.launch)(&self.path).map_err(|e| self.cannot_start(&e))
    }

    fn cannot_start(&self, error: &io::Error) -> String {
        format!("`{}` cannot be started: {error}", self.path.display())
    }
}

impl ExternalSolver {
    /// Solves a program in LP format within `time`. Returns `None` if the solver did not end within
    /// `time` and [`GRACE`]. The solver is then stopped. The values may be empty if the solver
    /// found no solution. Blocks until the solver has ended.
    ///
    /// # Errors
    ///
    /// Returns `Infeasible` and `Unbounded` if the solver reports them. Returns `Str` if a
    /// temporary file cannot be written, or if the solver cannot be started, fails, or gives an
    /// answer that cannot be read.
    pub(super) fn solve(
        &self,
        program: &str,
        time: Duration,
    ) -> Result<Option<Solution>, ResolutionError> {
        let answer = self.answer(program, time).map_err(ResolutionError::Str)?;
        match answer {
            None => Ok(None),
            Some((Status::Infeasible, _)) => Err(ResolutionError::Infeasible),
            Some((Status::Unbounded, _)) => Err(ResolutionError::Unbounded),
            Some((status, values)) => Ok(Some(Solution {
                values,
                complete: status == Status::Optimal,
            })),
        }
    }

    fn answer(&self, program: &str, time: Duration) -> Result<Option<Answer>, String> {
        let files = Files::new();
        let cannot_write = |e: io::Error| format!("cannot write a file for the solver: {e}");
        fs::write(&files.program, program).map_err(cannot_write)?;
        let output = File::create(&files.output).map_err(cannot_write)?;
        let mut command = self.command()?;
        let seconds = time.as_secs_f64();
        match self.kind {
            SolverKind::Cbc => command
                .arg(&files.program)
                .args(["seconds", &format!("{seconds:.2}"), "solve", "solution"])
                .arg(&files.answer),
            // `glpsol` accepts whole seconds only.
            SolverKind::Glpsol => (command.arg("--lp").arg(&files.program))
                .args(["--tmlim", &format!("{:.0}", seconds.ceil()), "--output"])
                .arg(&files.answer),
        };
        command
            .stdin(Stdio::null())
            .stderr(output.try_clone().map_err(cannot_write)?)
            .stdout(output);
        let mut child = command.spawn().map_err(|e| self.cannot_start(&e))?;
        let name = self.path.display();
        let Some(status) = wait(&mut child, time + GRACE) else {
            return Ok(None);
        };
        if !status.success() {
            return Err(format!(
                "`{name}` ended with {status}{}",
                files.last_output()
            ));
        }
        let answer = fs::read(&files.answer)
            .map_err(|_| format!("`{name}` wrote no answer{}", files.last_output()))?;
        let answer = String::from_utf8_lossy(&answer);
        let read = match self.kind {
            SolverKind::Cbc => cbc(&answer),
            SolverKind::Glpsol => glpsol(&answer),
        };
        let answer = read.ok_or_else(|| format!("the answer of `{name}` cannot be read"))?;
        Ok(Some(answer))
    }
}

/// Creates the command for a solver by default. Returns an error if a path with a folder does not
/// exist. A name without a folder is not checked.
fn plain(path: &Path) -> io::Result<Command> {
    // A name without a folder is looked up on `PATH` when the command starts.
    if path.components().count() > 1 {
        fs::metadata(path)?;
    }
    Ok(Command::new(path))
}

/// Waits for a child process up to `time`. If the process is still running then, or its state
/// cannot be read, ends the process and returns `None`. Ending it can take as long as [`PATIENCE`].
fn wait(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + time;
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => std::thread::sleep(pause),
            _ => {
                terminate(child);
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Sends the signal TERM to a child process, and waits up to [`PATIENCE`] for it to end.
fn terminate(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let sent = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
    let end = Instant::now() + PATIENCE;
    while sent && Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Temporary files of one run. Dropping them removes them from the disk.
struct Files {
    program: PathBuf,
    answer: PathBuf,
    /// Output of the solver.
    output: PathBuf,
}

impl Files {
    fn new() -> Files {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("graphmap-{}-{number}.lp", std::process::id());
        let program = std::env::temp_dir().join(name);
        Files {
            answer: program.with_extension("answer"),
            output: program.with_extension("output"),
            program,
        }
    }

    /// Returns the last line that the solver printed, as the end of a message: `; its last output:
    /// LINE`. The text is empty if the solver printed no text.
    fn last_output(&self) -> String {
        let output = fs::read(&self.output).unwrap_or_default();
        let output =
            String::from_utf8_lossy(&output[output.len().saturating_sub(2000)..]).into_owned();
        let line = output.lines().rev().map(str::trim).find(|l| !l.is_empty());
        line.map_or(String::new(), |line| format!("; its last output: {line}"))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in [&self.program, &self.answer, &self.output] {
            let _ = fs::remove_file(path);
        }
    }
}

type Answer = (Status, HashMap<String, f64>);

/// Parses the answer of `cbc`: `Optimal - objective value 12`, then lines `[**] number name value
/// cost`. Returns `None` if the text has another form.
fn cbc(text: &str) -> Option<Answer> {
    let mut lines = text.lines();
    let status = match lines.next()?.split_whitespace().next()? {
        "Optimal" => Status::Optimal,
        "Infeasible" | "Integer" => Status::Infeasible,
        "Unbounded" => Status::Unbounded,
        "Stopped" => Status::TimeLimit,
        _ => return None,
    };
    Some((status, values(lines, "**")?))
}

/// Parses the answer of `glpsol`: a report with a line `Status: INTEGER OPTIMAL` and a table of
/// columns. Returns `None` if the text is not such a report.
fn glpsol(text: &str) -> Option<Answer> {
    let output = text.lines().find_map(|l| l.strip_prefix("Status:"))?;
    let status = match output.trim() {
        "INTEGER OPTIMAL" | "OPTIMAL" => Status::Optimal,
        "INTEGER NON-OPTIMAL" | "FEASIBLE" => Status::TimeLimit,
        "INTEGER EMPTY" | "INFEASIBLE (FINAL)" => Status::Infeasible,
        "UNBOUNDED" => Status::Unbounded,
        "INTEGER UNDEFINED" | "UNDEFINED" => return Some((Status::TimeLimit, HashMap::new())),
        _ => return None,
    };
    let mut lines = text.lines().skip_while(|l| !l.contains("Column name"));
    lines.next()?;
    let table = lines.skip(1).take_while(|l| !l.trim().is_empty());
    Some((status, values(table, "*")?))
}

/// Parses lines `[mark] number name value ...` and returns the values by name. Returns `None` if a
/// line has another form, or a value that is not finite.
fn values<'a>(lines: impl Iterator<Item = &'a str>, mark: &str) -> Option<HashMap<String, f64>> {
    let value = |line: &str| {
        let mut words = line.split_whitespace().filter(|w| *w != mark).skip(1);
        let (name, value) = (words.next()?, words.next()?);
        let value: f64 = value.parse().ok()?;
        value.is_finite().then(|| (name.to_owned(), value))
    };
    lines.map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers_are_read() {
        let text = "Optimal - objective value 3\n  0 v  1  0\n** 7 v2 0.5 1e-3\n";
        let (status, values) = cbc(text).unwrap();
        assert_eq!(
            (status, values["v"], values["v2"]),
            (Status::Optimal, 1.0, 0.5)
        );
        let text = "Problem:\nStatus:     INTEGER OPTIMAL\n\n   No.   Row name\n--- ---\n 1 c0 1\n\n\
            \x20  No. Column name       Activity     Lower bound\n------ ----\n\
            \x20    1 v            *              1             0             1\n\
            \x20    2 v2                          0             0             1\n\nEnd of output\n";
        let (status, values) = glpsol(text).unwrap();
        assert_eq!(
            (status, values.len(), values["v"]),
            (Status::Optimal, 2, 1.0)
        );
    }

    proptest! {
        #[test]
        fn nonsense_is_refused_without_a_panic(
            lines in prop::collection::vec(
                prop_oneof![
                    "Optimal.*", "Status: INTEGER OPTIMAL", " *No. Column name", "----", "",
                    " *[0-9]+ v[0-9]* \\*? [0-9.e-]{1,4} [01]", "\\PC{0,20}",
                ],
                0..8,
            ),
        ) {
            let text = lines.join("\n");
            for (_, values) in [cbc(&text), glpsol(&text)].into_iter().flatten() {
                prop_assert!(values.values().all(|v| v.is_finite()));
            }
        }
    }
}
