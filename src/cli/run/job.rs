//! A job under a launcher: the folder of its files, and its outcome.

use super::program::ended;
use crate::cli::child::End;
use crate::cli::exit::Exit;
use crate::cli::session::{Outcome, Session};
use crate::cli::signals::Guard;
use crate::cli::talk;
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Variable that names the [sign](Job::sign) to OS process 0.
pub(super) const SIGN: &str = "GRAPHMAP_RUNNING";
/// Exit code by which a shell reports SIGPIPE: the reader has closed the pipe.
const BROKEN_PIPE: i32 = 128 + 13;
/// Exit code of `mpiexec` of MPICH if it has lost one of its daemons.
const FAILED: i32 = 255;
/// The exit code of `mpiexec` of MPICH if SIGTERM has ended all OS processes of a run.
const TERMINATED: i32 = 15;
/// Exit code of a run that has lost one of its OS processes.
const LOST: u8 = 7;

/// One run, with a folder of its own because several runs of a project may overlap. The folder is
/// removed when the job is dropped, also if a signal ends the run.
pub(super) struct Job {
    folder: PathBuf,
    is_reported: bool,
    /// Locked until the job is dropped.
    _lock: File,
    _guard: Guard,
}

/// Name of the file in the folder of a run that is locked during the run.
const LOCK: &str = "lock";

/// Removes the folders of runs in `within` that were killed, which are not locked. Errors are
/// ignored.
fn remove_left(within: &Path) {
    for run in fs::read_dir(within).into_iter().flatten().flatten() {
        let folder = run.path();
        // A run that starts may not have a lock file yet, so that a folder without one stays.
        let lock = File::open(folder.join(LOCK));
        if lock.is_ok_and(|lock| try_lock(&lock)) {
            // A folder that cannot be removed is harmless, because a run uses a free number.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Locks the file without blocking. Returns false if it is already locked or cannot be locked.
fn try_lock(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// State of the program, as OS process 0 has reported it in the [sign](Job::sign).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// No report, and OS process 0 may be unable to report.
    Nothing,
    /// No report, because OS process 0 has not started.
    Missing,
    /// OS process 0 has started, but not all have initialized MPI.
    Begun,
    /// All OS processes have initialized MPI.
    Joined,
    /// The program has ended successfully.
    Ended,
}

impl Job {
    /// Creates the folder, inside `within`, and locks a file in it until the job is dropped.
    /// Signals do not end graphmap in that time. Also removes the folders of runs that were killed.
    ///
    /// `is_reported` says that OS process 0 runs on this host and writes the [sign](Job::sign).
    /// Then an empty sign means that OS process 0 has not started.
    ///
    /// # Errors
    /// Returns the error of the operating system if the folder or a file in it cannot be created.
    pub(super) fn new(within: &Path, is_reported: bool) -> io::Result<Job> {
        let guard = Guard::new();
        fs::create_dir_all(within)?;
        remove_left(within);
        let mut number = 1_u32;
        loop {
            let folder = within.join(format!("run-{number}"));
            match fs::create_dir(&folder) {
                Ok(()) => {
                    // The file gets its name when it is locked, so that `remove_left` of another
                    // run never finds it unlocked.
                    let unnamed = folder.join("new-lock");
                    let lock = File::create(&unnamed)?;
                    try_lock(&lock);
                    fs::rename(unnamed, folder.join(LOCK))?;
                    let job = Job {
                        folder,
                        is_reported,
                        _lock: lock,
                        _guard: guard,
                    };
                    fs::write(job.sign(), "")?;
                    return Ok(job);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the sign, by which OS process 0 reports. It writes a byte when it
    /// starts, and another when all have initialized MPI. It removes the file when its program ends
    /// successfully. The sign is needed because a launcher may exit with 0 or 255 before the run is
    /// over.
    pub(super) fn sign(&self) -> PathBuf {
        self.folder.join("running")
    }

    fn seen(&self) -> Seen {
        match fs::metadata(self.sign()) {
            Ok(sign) if sign.len() == 0 && self.is_reported => Seen::Missing,
            Ok(sign) if sign.len() == 0 => Seen::Nothing,
            Ok(sign) if sign.len() == 1 => Seen::Begun,
            Ok(_) => Seen::Joined,
            Err(_) => Seen::Ended,
        }
    }

    /// Converts the outcome of the launcher to the outcome of the command. If the reader of the
    /// output has closed the pipe, the exit code 141 (128 plus SIGPIPE) is not an error.
    ///
    /// # Errors
    /// Reports an error and returns the exit status if the exit code is the launcher's and not the
    /// program's, or as [`ended`] does.
    pub(super) fn ended(
        &self,
        session: &mut Session<'_>,
        result: io::Result<End>,
    ) -> Outcome<Exit> {
        let code = match result {
            Ok(End::Code(code)) => code,
            other => return ended(session, &self.folder, other),
        };
        if code == BROKEN_PIPE && talk::is_unread() {
            return Ok(Exit::Program(BROKEN_PIPE as u8));
        }
        let Some((what, note, exit)) = cause(code, self.seen()) else {
            return ended(session, &self.folder, Ok(End::Code(code)));
        };
        let error = Diagnostic::error(codes::PROGRAM, what).with_note(note);
        session.fail(
            Exit::Program(exit),
            error.help("start the run again: none of its OS processes is left"),
        )
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Explains an exit code that is the launcher's and not the program's. Returns the event, a note,
/// and the code to exit with. Returns `None` if the code may be the program's, or is above 128 but
/// not for a known signal.
fn cause(code: i32, seen: Seen) -> Option<(String, String, u8)> {
    match (code, seen) {
        (0, Seen::Missing | Seen::Begun | Seen::Joined) => Some((
            match seen {
                Seen::Missing => "the launcher exited with status 0 before the program started".to_owned(),
                _ => "the launcher exited with status 0 while the program was running".to_owned(),
            },
            "`mpiexec` of MPICH exits with this status if a signal ends it".to_owned(),
            LOST,
        )),
        // Before MPI is initialized, the launcher reports the reason itself.
        (FAILED, Seen::Joined) => Some((
            "the launcher failed while the program was running".to_owned(),
            "its daemon on a host (`hydra_pmi_proxy`) was killed, or the host is lost"
                .to_owned(),
            LOST,
        )),
        (TERMINATED, Seen::Begun | Seen::Joined) => Some((
            format!("the launcher exited with status {TERMINATED} while the program was running"),
            "`mpiexec` of MPICH exits with this status if SIGTERM ends it and all OS processes of the run"
                .to_owned(),
            TERMINATED as u8,
        )),
        (129.., _) => {
            let signal = code - 128;
            let name = signal_hook::low_level::signal_name(signal)?;
            let note = match code {
                BROKEN_PIPE => {
                    "`mpiexec` of MPICH may end in this way if an OS process is lost in MPI_Init: it \
                     writes to a closed connection"
                }
                _ => "launchers exit with 128 plus the number of the signal",
            };
            let what = format!(
                "the launcher exited with status {code}: signal {signal} ({name}) ended it or an OS process of the run"
            );
            Some((what, note.to_owned(), code as u8))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_folders_of_their_own_until_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let within = folder.path().join("hosts");
        let [one, two] = [(), ()].map(|()| Job::new(&within, false).unwrap());
        assert_ne!(one.folder(), two.folder());
        fs::write(one.folder().join("hostfile"), "h1").unwrap();
        let first = one.folder().to_owned();
        drop(one);
        assert!(!first.exists() && two.folder().exists());
        // A run that was killed leaves its folder.
        let left = within.join("run-7");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        drop(Job::new(&within, false).unwrap());
        assert!(two.folder().exists() && !left.exists());
        drop(two);
        assert_eq!(fs::read_dir(&within).unwrap().count(), 0);
    }

    #[test]
    fn codes_that_are_not_the_programs_are_explained() {
        let folder = tempfile::tempdir().unwrap();
        let mut job = Job::new(folder.path(), true).unwrap();
        let of = |code, job: &Job| cause(code, job.seen()).map(|(.., exit)| exit);
        assert_eq!(
            [0, 255, 1, 7].map(|code| of(code, &job)),
            [Some(7), None, None, None]
        );
        job.is_reported = false;
        let exit = |code| of(code, &job);
        // Without a report, the code is not explained.
        assert_eq!([0, 255, 1, 7].map(exit), [None; 4]);
        fs::write(job.sign(), "1").unwrap();
        assert_eq!([0, 255, 1, 7].map(exit), [Some(7), None, None, None]);
        assert_eq!(exit(15), Some(15));
        fs::write(job.sign(), "11").unwrap();
        assert_eq!([0, 255, 1, 7].map(exit), [Some(7), Some(7), None, None]);
        fs::remove_file(job.sign()).unwrap();
        assert_eq!([0, 255, 1, 7, 15].map(exit), [None; 5]);
        for (code, name) in [
            (129, "1 (SIGHUP)"),
            (137, "9 (SIGKILL)"),
            (141, "13 (SIGPIPE)"),
        ] {
            let (what, _, exit) = cause(code, Seen::Nothing).unwrap();
            assert!(what.contains(name), "{what}");
            assert_eq!(i32::from(exit), code);
        }
        assert_eq!(exit(128 + 100), None);
    }
}
