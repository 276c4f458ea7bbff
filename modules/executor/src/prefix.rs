//! Output that says whose it is: each line of an OS process begins with its number.
//!
//! What an OS process writes to its standard output and standard error goes through pipes. A thread for each reads lines
//! and writes them with what they begin with; the threads are those of the first OS process, of which all others are
//! children. Its own two streams are led into pipes as well, and back before it ends.

use std::fs::Metadata;
use std::io::{self, PipeReader, Read, Write};
use std::process::Child;
use std::sync::Mutex;
use std::time::Duration;

use crate::own_stream::OwnStream;
use crate::say::within_while;
use crate::sync::lock;

/// A line that is longer is told in pieces: it is kept until its end has come.
const LONGEST: usize = 64 << 20;
/// Most bytes of a write: `PIPE_BUF` of Linux, which a pipe takes as a whole. So whoever reads the pipe, such as a
/// launcher, never finds a part of a line in it, unless the line is longer.
const PIECE: usize = 4096;
/// How much is read at a time.
const CHUNK: usize = 64 << 10;
/// How long the lock of standard output is waited for, and, by who cannot wait for long, what is on its way.
const SOON: Duration = Duration::from_millis(300);

static CURRENT: Mutex<Option<system::Streams>> = Mutex::new(None);

/// From now on lines of this OS process begin with its number, until [`finish`].
pub fn begin(me: usize) -> io::Result<()> {
    let mut current = lock(&CURRENT);
    if current.is_none() {
        *current = Some(system::Streams::begin(me)?);
    }
    Ok(())
}

pub fn is_on() -> bool {
    lock(&CURRENT).is_some()
}

/// Which stream led to this file before its lines were numbered.
pub(crate) fn led_to(file: &Metadata) -> Option<OwnStream> {
    lock(&CURRENT).as_ref()?.led_to(file)
}

/// Why lines cannot be written, if they could not: who writes them is only told that nobody reads them.
pub fn failure() -> Option<String> {
    lock(&CURRENT).as_ref()?.failure()
}

/// Lines of a child, whose streams are piped, begin with its number.
pub fn adopt(number: usize, child: &mut Child) -> io::Result<()> {
    match &*lock(&CURRENT) {
        Some(streams) => streams.adopt(number, child),
        None => Ok(()),
    }
}

/// All that was written is told, and the streams are what they were. Who comes while another is at it waits.
///
/// # Errors
/// What was written could not be told: the first reason.
pub fn finish() -> io::Result<()> {
    finish_by(false)
}

/// As [`finish`], where somebody may read nothing: what is still to be told is lost then.
pub fn finish_soon() {
    // Nobody is there any more who could be told.
    let _ = finish_by(true);
}

fn finish_by(soon: bool) -> io::Result<()> {
    let mut current = lock(&CURRENT);
    let Some(streams) = current.take() else {
        return Ok(());
    };
    // What is left in buffers goes the way of all that was written before.
    flush(soon);
    streams.finish(soon)
}

/// Writes what is left in the buffer of standard output, unless somebody keeps its lock, as a process of the network or a thread of its own
/// may for ever. Who has it because nobody reads yet what he writes is waited for, if not `soon`.
fn flush(soon: bool) {
    let is_busy = || !soon && system::is_full();
    let _ = within_while(SOON, is_busy, || io::stdout().flush());
}

/// Lines to be written: what has come of the last, and what each begins with.
struct Lines {
    prefix: String,
    text: Vec<u8>,
    /// So much of it is whole lines.
    whole: usize,
    /// The next byte begins a line.
    begins: bool,
}

impl Lines {
    fn new(number: usize) -> Self {
        Lines {
            prefix: format!("[{number}] "),
            text: Vec::new(),
            whole: 0,
            begins: true,
        }
    }

    /// Adds what has come.
    fn add(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            if std::mem::take(&mut self.begins) {
                self.text.extend_from_slice(self.prefix.as_bytes());
            }
            self.text.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.begins = true;
                self.whole = self.text.len();
            }
        }
        if self.text.len() > LONGEST {
            self.end();
        }
    }

    /// The last line ends here.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.begins, true) {
            self.text.push(b'\n');
            self.whole = self.text.len();
        }
    }

    /// Takes out the lines that are whole.
    fn take(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.whole > 0 {
            write(&self.text[..self.whole])?;
            self.text.drain(..self.whole);
            self.whole = 0;
        }
        Ok(())
    }
}

/// The parts of a text that are written at once: whole lines, but for a line that is longer than a part may be.
fn pieces(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let most = &text[..text.len().min(PIECE)];
        let lines = most.iter().rposition(|&byte| byte == b'\n');
        let (piece, rest) = text.split_at(lines.map_or(most.len(), |end| end + 1));
        text = rest;
        Some(piece)
    })
}

/// Reads to the end, and writes lines. When nobody takes them any more it ends, and who writes next is told so.
fn forward(
    mut from: impl Read,
    number: usize,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut lines = Lines::new(number);
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => lines.add(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        lines.take(&mut write)?;
    }
    lines.end();
    lines.take(&mut write)
}

#[cfg(not(miri))]
mod system {
    use std::ffi::{c_int, c_short, c_ulong, c_void};
    use std::fs::{File, Metadata};
    use std::io::{self, Read, Write};
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::process::Child;
    use std::ptr;
    use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::sync::{Arc, Mutex, Once};
    use std::thread;
    use std::time::Duration;

    use super::{PipeReader, forward, pieces};
    use crate::own_stream::{OwnStream, is_same_file};
    use crate::sync::lock;

    unsafe extern "C" {
        fn dup2(from: c_int, to: c_int) -> c_int;
        fn atexit(call: extern "C" fn()) -> c_int;
        fn signal(signal: c_int, handler: usize) -> usize;
        fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
        fn poll(files: *mut c_void, count: c_ulong, milliseconds: c_int) -> c_int;
    }

    const SIGABRT: c_int = 6;
    const FIONREAD: c_ulong = 0x541b;
    /// How many milliseconds who aborts waits until what it wrote has been read, and then until it is told.
    const LAST: c_int = 200;
    const TOLD: c_int = 10;

    const STDOUT: c_int = 1;
    const STDERR: c_int = 2;
    /// How long a pipe that somebody else still has may be silent before it is left.
    const SILENCE: Duration = Duration::from_secs(2);

    pub(super) struct Streams {
        out: Arc<Mutex<File>>,
        err: Arc<Mutex<File>>,
        /// What the two were.
        before: [(OwnedFd, c_int); 2],
        /// Held by each thread while it has something to do.
        alive: Sender<()>,
        ended: Receiver<()>,
        /// How many threads are writing, or have been waited for.
        writing: Arc<AtomicUsize>,
        /// Why the first to fail could not write.
        failed: Arc<Mutex<Option<io::Error>>>,
    }

    /// Where its own streams are read, while they are.
    static READ: [AtomicI32; 2] = [const { AtomicI32::new(-1) }; 2];

    /// What its own streams were, while they are led elsewhere.
    static WERE: [AtomicI32; 2] = [const { AtomicI32::new(-1) }; 2];

    /// Who aborts has most often just said why. The threads that read go on meanwhile.
    extern "C" fn at_abort(_signal: c_int) {
        let wait = |milliseconds| {
            // SAFETY: it looks at no file.
            unsafe { poll(ptr::null_mut(), 0, milliseconds) };
        };
        let is_filled = |fd: &AtomicI32| {
            let mut bytes: c_int = 0;
            // SAFETY: there is room for a number; of what is no pipe nothing is told.
            unsafe { ioctl(fd.load(Ordering::SeqCst), FIONREAD, &raw mut bytes) };
            bytes > 0
        };
        // A last line has its end where the pipe has.
        for (stream, was) in [STDOUT, STDERR].into_iter().zip(&WERE) {
            // SAFETY: two numbers, of which the first is not that of a file when there is nothing to be led back.
            unsafe { dup2(was.load(Ordering::SeqCst), stream) };
        }
        for _ in 0..LAST {
            if !READ.iter().any(is_filled) {
                break;
            }
            wait(1);
        }
        wait(TOLD);
    }

    extern "C" fn at_exit() {
        super::finish_soon();
    }

    impl Streams {
        pub(super) fn begin(me: usize) -> io::Result<Self> {
            static REGISTERED: Once = Once::new();
            // Who calls `exit` has what was written before told, too.
            // SAFETY: the function can be called at any time, and by any thread.
            REGISTERED.call_once(|| unsafe {
                _ = atexit(at_exit);
                // Nobody who ends by it returns from there.
                signal(SIGABRT, at_abort as *const () as usize);
            });
            let out = io::stdout().as_fd().try_clone_to_owned()?;
            let err = io::stderr().as_fd().try_clone_to_owned()?;
            let (out_file, err_file) = (File::from(out.try_clone()?), File::from(err.try_clone()?));
            let same = is_same(&out_file, &err_file);
            let out_to = Arc::new(Mutex::new(out_file));
            // What goes to one place goes there line by line, also from different streams.
            let err_to = match same {
                true => Arc::clone(&out_to),
                false => Arc::new(Mutex::new(err_file)),
            };
            let (alive, ended) = channel();
            let streams = Streams {
                out: out_to,
                err: err_to,
                before: [(out, STDOUT), (err, STDERR)],
                alive,
                ended,
                writing: Arc::default(),
                failed: Arc::default(),
            };
            let (out_reader, out_writer) = io::pipe()?;
            let (err_reader, err_writer) = io::pipe()?;
            READ[0].store(out_reader.as_raw_fd(), Ordering::SeqCst);
            READ[1].store(err_reader.as_raw_fd(), Ordering::SeqCst);
            streams.start(out_reader, me, &streams.out)?;
            streams.start(err_reader, me, &streams.err)?;
            for ((before, _), was) in streams.before.iter().zip(&WERE) {
                was.store(before.as_raw_fd(), Ordering::SeqCst);
            }
            super::flush(false);
            lead(&out_writer, STDOUT)?;
            lead(&err_writer, STDERR)?;
            Ok(streams)
        }

        pub(super) fn adopt(&self, number: usize, child: &mut Child) -> io::Result<()> {
            if let Some(out) = child.stdout.take() {
                self.start(PipeReader::from(OwnedFd::from(out)), number, &self.out)?;
            }
            if let Some(err) = child.stderr.take() {
                self.start(PipeReader::from(OwnedFd::from(err)), number, &self.err)?;
            }
            Ok(())
        }

        pub(super) fn led_to(&self, file: &Metadata) -> Option<OwnStream> {
            let leads = |before: &OwnedFd| {
                let before = before.try_clone().map(File::from);
                let before = before.and_then(|before| before.metadata());
                before.is_ok_and(|before| is_same_file(&before, file))
            };
            let mut both = self.before.iter().zip(OwnStream::BOTH);
            both.find_map(|((before, _), own)| leads(before).then_some(own))
        }

        fn start(
            &self,
            from: impl Read + Send + 'static,
            number: usize,
            to: &Arc<Mutex<File>>,
        ) -> io::Result<()> {
            let (to, alive, writing) = (
                Arc::clone(to),
                self.alive.clone(),
                Arc::clone(&self.writing),
            );
            let write = move |text: &[u8]| {
                writing.fetch_add(1, Ordering::SeqCst);
                let mut to = lock(&to);
                let written = pieces(text).try_for_each(|piece| to.write_all(piece));
                drop(to);
                writing.fetch_sub(1, Ordering::SeqCst);
                written
            };
            let failed = Arc::clone(&self.failed);
            let mut from = from;
            let run = move || {
                let _alive = alive;
                if let Err(error) = forward(&mut from, number, write) {
                    lock(&failed).get_or_insert(error);
                }
                // Whoever writes from now on is told by the pipe, when it is known why.
                drop(from);
            };
            let builder = thread::Builder::new().name(format!("output {number}"));
            builder.stack_size(64 << 10).spawn(run).map(drop)
        }

        pub(super) fn failure(&self) -> Option<String> {
            lock(&self.failed).as_ref().map(io::Error::to_string)
        }

        pub(super) fn finish(self, soon: bool) -> io::Result<()> {
            for (before, stream) in &self.before {
                let _ = lead(before, *stream);
            }
            // The numbers may be those of other files soon.
            READ.iter()
                .chain(&WERE)
                .for_each(|fd| fd.store(-1, Ordering::SeqCst));
            drop(self.alive);
            // The pipes end when nobody has them any more. What OS processes have started may have them for ever.
            let silence = if soon { super::SOON } else { SILENCE };
            while self.ended.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
                if soon || self.writing.load(Ordering::SeqCst) == 0 {
                    break;
                }
            }
            lock(&self.failed).take().map_or(Ok(()), Err)
        }
    }

    /// Whether standard output takes no more for now, as nobody reads what is there.
    pub(super) fn is_full() -> bool {
        const POLLOUT: c_short = 4;
        #[repr(C)]
        struct Pollfd {
            fd: c_int,
            events: c_short,
            came: c_short,
        }
        let mut out = Pollfd {
            fd: STDOUT,
            events: POLLOUT,
            came: 0,
        };
        // SAFETY: there is one, and room for what is told of it.
        let ready = unsafe { poll((&raw mut out).cast(), 1, 0) };
        ready == 0 && out.came == 0
    }

    /// Whether both lead to the same place.
    fn is_same(one: &File, other: &File) -> bool {
        match (one.metadata(), other.metadata()) {
            (Ok(one), Ok(other)) => is_same_file(&one, &other),
            _ => false,
        }
    }

    /// Has a stream lead where `to` does.
    fn lead(to: &impl AsRawFd, stream: c_int) -> io::Result<()> {
        // SAFETY: it takes two numbers of files that are open.
        match unsafe { dup2(to.as_raw_fd(), stream) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

#[cfg(miri)]
mod system {
    use std::fs::Metadata;
    use std::io;
    use std::process::Child;

    use crate::own_stream::OwnStream;

    pub(super) struct Streams;

    impl Streams {
        pub(super) fn begin(_me: usize) -> io::Result<Self> {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "it is there on Linux only",
            ))
        }

        pub(super) fn adopt(&self, _number: usize, _child: &mut Child) -> io::Result<()> {
            Ok(())
        }

        pub(super) fn led_to(&self, _file: &Metadata) -> Option<OwnStream> {
            None
        }

        pub(super) fn failure(&self) -> Option<String> {
            None
        }

        pub(super) fn finish(self, _soon: bool) -> io::Result<()> {
            Ok(())
        }
    }

    pub(super) fn is_full() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(pieces: &[&str]) -> Vec<String> {
        struct Pieces<'a>(Vec<&'a str>);
        impl Read for Pieces<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let piece = self.0.pop().unwrap_or("");
                into[..piece.len()].copy_from_slice(piece.as_bytes());
                Ok(piece.len())
            }
        }
        let mut written = Vec::new();
        let pieces = Pieces(pieces.iter().rev().copied().collect());
        let write = |text: &[u8]| {
            written.push(String::from_utf8(text.to_vec()).unwrap());
            Ok(())
        };
        forward(pieces, 3, write).unwrap();
        written
    }

    #[test]
    fn lines_are_written_as_wholes() {
        assert_eq!(forwarded(&["a\n"]), ["[3] a\n"]);
        assert_eq!(forwarded(&["a", "b\nc", "d\n"]), ["[3] ab\n", "[3] cd\n"]);
        assert_eq!(forwarded(&["a\nb\n\n"]), ["[3] a\n[3] b\n[3] \n"]);
    }

    #[test]
    fn the_last_line_gets_its_end() {
        assert_eq!(forwarded(&["a\nb"]), ["[3] a\n", "[3] b\n"]);
        assert_eq!(forwarded(&[]), [""; 0]);
    }

    #[test]
    fn a_write_is_whole_lines_that_a_pipe_takes_at_once() {
        let line = |len: usize| "x".repeat(len - 1) + "\n";
        let text: String = (1..200).map(line).collect();
        let parts: Vec<&[u8]> = pieces(text.as_bytes()).collect();
        assert_eq!(parts.concat(), text.as_bytes());
        assert!(parts.len() <= 1 + text.len() / (PIECE - 200));
        for part in parts {
            assert!(part.len() <= PIECE && part.ends_with(b"\n"));
        }
        // As long as a write may be, and longer.
        let lens =
            |text: &str| -> Vec<usize> { pieces(text.as_bytes()).map(<[u8]>::len).collect() };
        assert_eq!(lens(&(line(PIECE) + "a\n")), [PIECE, 2]);
        assert_eq!(lens(&(line(PIECE + 1) + "a\n")), [PIECE, 3]);
        assert_eq!(
            lens(&("a\n".to_owned() + &line(3 * PIECE))),
            [2, PIECE, PIECE, PIECE]
        );
        assert!(lens("").is_empty());
    }

    #[test]
    fn who_reads_no_more_ends_it() {
        let gone = |_: &[u8]| Err(io::ErrorKind::BrokenPipe.into());
        assert!(forward(&b"a\nb\n"[..], 0, gone).is_err());
    }
}
