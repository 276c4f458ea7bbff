//! Prefixes the lines of a program with the number of the OS process that printed them.
//!
//! Each OS process writes to pipes of its own, and a thread for each pipe prints the lines. The
//! first OS process starts the others, and opens their pipes by the names in [`VARIABLE`].

use crate::cli::talk;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{self, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Variable that names two files for each OS process after the first.
const VARIABLE: &str = "GRAPHMAP_STREAMS";
/// Maximum length of a line. Longer lines are printed in parts, because a line is stored until it
/// ends.
const LONGEST: usize = 64 << 20;
/// Size of one read, in bytes.
const CHUNK: usize = 64 << 10;
/// Time for which pipes are read after the end of the program, if a process that it started still
/// has them open.
const SILENCE: Duration = Duration::from_secs(2);

/// State that the threads share.
struct Output {
    /// Standard output and standard error, in one lock: they may be one file.
    streams: Mutex<[File; 2]>,
    /// The first error.
    failed: Mutex<Option<io::Error>>,
}

/// The pipes of a program.
pub(super) struct Prefixed {
    output: Arc<Output>,
    /// Kept until the program has ended, because its OS processes open them by name.
    writers: Vec<PipeWriter>,
    ended: Receiver<()>,
}

impl Prefixed {
    /// Redirects the output of the command, which starts `count` OS processes, to pipes. Starts two
    /// threads for each OS process, which print the lines.
    ///
    /// # Errors
    /// Returns an error if there are not enough file descriptors or threads.
    pub(super) fn begin(count: usize, command: &mut Command) -> io::Result<Prefixed> {
        let output = Arc::new(Output {
            streams: Mutex::new(talk::streams()?),
            failed: Mutex::default(),
        });
        let (alive, ended) = channel();
        let mut writers = Vec::new();
        for os_process in 0..count {
            for stream in 0..2 {
                let (reader, writer) = io::pipe()?;
                writers.push(writer);
                let (output, alive) = (Arc::clone(&output), alive.clone());
                print_lines(reader, os_process, stream, output, alive)?;
            }
        }
        let mut writers = writers.into_iter();
        if let (Some(out), Some(error)) = (writers.next(), writers.next()) {
            command.stdout(out).stderr(error);
        }
        let writers: Vec<PipeWriter> = writers.collect();
        if !writers.is_empty() {
            let own = process::id();
            let name = |writer: &PipeWriter| format!("/proc/{own}/fd/{}", writer.as_raw_fd());
            let names: Vec<String> = writers.iter().map(name).collect();
            command.env(VARIABLE, names.join(" "));
        }
        Ok(Prefixed {
            output,
            writers,
            ended,
        })
    }

    /// Blocks until all output is printed, or until [`SILENCE`] has passed and no thread is
    /// printing. The command of [`Prefixed::begin`] must have been dropped.
    ///
    /// # Errors
    /// Returns the first error if output could not be read or printed. A closed pipe is not an
    /// error.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.writers);
        while self.ended.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            // The lock is held while a thread waits for a slow reader.
            if self.output.streams.try_lock().is_ok() {
                break;
            }
        }
        let mut failed = self
            .output
            .failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match failed.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

/// Spawns a thread that prints the lines of a pipe to the stream with the index `stream`. The
/// thread drops `alive` after the last line, or after an error, which it stores in `output`.
/// Returns an error if the thread cannot be spawned.
fn print_lines(
    reader: PipeReader,
    os_process: usize,
    stream: usize,
    output: Arc<Output>,
    alive: Sender<()>,
) -> io::Result<()> {
    let print = move || {
        let _alive = alive;
        let write = |text: &[u8]| {
            let mut streams = output
                .streams
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            streams[stream].write_all(text)
        };
        if let Err(error) = forward(&reader, os_process, write) {
            let mut failed = output.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        }
    };
    let builder = thread::Builder::new().name(format!("output {os_process}"));
    builder.spawn(print).map(drop)
}

/// Reads to the end, and writes whole lines with the prefix. The last line gets a newline if it has
/// none. A line of more than [`LONGEST`] bytes is written in parts, each as a line with the prefix.
///
/// # Errors
/// Returns the first error of reading or writing.
fn forward(
    mut from: impl Read,
    os_process: usize,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let prefix = format!("[{os_process}] ");
    // The beginning of a line, or empty.
    let mut line: Vec<u8> = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match from.read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        for piece in chunk[..read].split_inclusive(|&byte| byte == b'\n') {
            if line.is_empty() || line.ends_with(b"\n") {
                line.extend_from_slice(prefix.as_bytes());
            }
            line.extend_from_slice(piece);
        }
        let is_end = read == 0 && !line.is_empty() || line.len() > LONGEST;
        if is_end && !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        let whole = line.iter().rposition(|&byte| byte == b'\n');
        if let Some(last) = whole {
            write(&line[..=last])?;
            line.drain(..=last);
        }
        if read == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_with_the_number() {
        for (text, expected) in [
            ("", ""),
            ("a\nb\n", "[7] a\n[7] b\n"),
            ("\n\na", "[7] \n[7] \n[7] a\n"),
        ] {
            let mut printed = Vec::new();
            let write = |text: &[u8]| {
                printed.extend_from_slice(text);
                Ok(())
            };
            forward(text.as_bytes(), 7, write).unwrap();
            assert_eq!(String::from_utf8(printed).unwrap(), expected);
        }
    }

    #[test]
    fn lines_are_written_as_a_whole() {
        let text = "x".repeat(3 * CHUNK) + "\nrest";
        let mut writes = Vec::new();
        let write = |text: &[u8]| {
            writes.push(text.len());
            Ok(())
        };
        forward(text.as_bytes(), 0, write).unwrap();
        assert_eq!(writes, [3 * CHUNK + 5, 9]);
    }
}
