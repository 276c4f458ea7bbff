//! A file that comes of a run: what its path leads to, found out once, and how that is written.
//!
//! A file is there as a whole, or not at all; what cannot be put in place, such as a pipe, is written to when all is known.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex};

use crate::own_stream::{OwnStream, is_same_file};
use crate::prefix;
use crate::sync::lock;
use crate::unnamed;

/// A file of an option. Clones are the same.
#[derive(Debug, Clone)]
pub struct OutputFile {
    path: PathBuf,
    /// What it led to when the run began: a process may go to another folder.
    target: Arc<Mutex<Option<Target>>>,
}

impl OutputFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        OutputFile {
            path: path.into(),
            target: Arc::default(),
        }
    }

    /// As it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Finds out what it leads to, and whether that can be written.
    pub fn probe(&self) -> io::Result<()> {
        let target = Target::find(&self.path)?;
        if let Target::File(file) = &target {
            writable(file)?;
            drop(Part::new(file)?);
        }
        *lock(&self.target) = Some(target);
        Ok(())
    }

    /// What it leads to, as [`OutputFile::probe`] has found, if that was called.
    fn target(&self) -> io::Result<Target> {
        match &*lock(&self.target) {
            Some(target) => Ok(target.clone()),
            None => Target::find(&self.path),
        }
    }

    /// Whether it is put in its place as a whole, which takes as long as the disk does: nobody has to read it.
    pub fn is_put_in_place(&self) -> bool {
        matches!(self.target(), Ok(Target::File(_)))
    }

    /// Whether both lead to one file, which the later of two outputs would take from the earlier. What is no file, such as
    /// a pipe, takes both.
    pub fn is_same(&self, other: &OutputFile) -> bool {
        match (self.target(), other.target()) {
            (Ok(Target::File(one)), Ok(Target::File(other))) => is_same_place(&one, &other),
            _ => false,
        }
    }

    /// Writes it: a file beside it, which is put in its place when it is whole.
    pub fn write(&self, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let whole = |out: &File| {
            let mut out = BufWriter::new(out);
            contents(&mut out)?;
            out.flush()
        };
        match self.target()? {
            Target::Own(stream) => whole(&stream.open()?),
            Target::Stream(file) => whole(&File::options().append(true).open(file)?),
            Target::File(file) => {
                let permissions = writable(&file)?;
                let part = Part::new(&file)?;
                if let Some(permissions) = permissions {
                    part.out.set_permissions(permissions)?;
                }
                whole(&part.out)?;
                part.put(&file)
            }
        }
    }
}

/// What was found of it does not count.
impl PartialEq for OutputFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for OutputFile {}

/// Whether a file that is there may be written, and by whom; none if there is nothing yet.
fn writable(file: &Path) -> io::Result<Option<Permissions>> {
    let permissions = match fs::metadata(file) {
        Ok(there) => there.permissions(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Whoever may do everything could, and whoever owns the folder could put another in its place.
    if permissions.readonly() {
        return Err(io::Error::other("it is read-only"));
    }
    File::options().write(true).open(file)?;
    Ok(Some(permissions))
}

/// What the path of an output leads to: whatever it is called, and through whatever links.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// A file, or the place of one that is not there yet: what it is called in the end.
    File(PathBuf),
    /// A pipe, a device, or a file that somebody has open and would go on with: nothing that can be put in place.
    Stream(PathBuf),
    /// What this OS process prints to, be it a file.
    Own(OwnStream),
}

/// Most links from one to the next, as the kernel has it.
const LINKS: usize = 40;

impl Target {
    fn find(path: &Path) -> io::Result<Target> {
        let path = std::path::absolute(path)?;
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => return Err(io::Error::other("it is a folder")),
            Ok(there) => {
                if let Some(own) = own_stream(&there) {
                    return Ok(Target::Own(own));
                }
                if is_socket(&there) {
                    return Err(io::Error::other("it is a socket"));
                }
                if !there.is_file() {
                    return Ok(Target::Stream(path));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Target::follow(path)
    }

    /// Where a file is, or will be.
    fn follow(path: PathBuf) -> io::Result<Target> {
        let mut place = path.clone();
        for _ in 0..LINKS {
            let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
                return Err(io::Error::other("it has no name"));
            };
            let folder = fs::canonicalize(folder)?;
            // `/dev/fd/5`: what an OS process has open.
            if is_of_processes(&folder) {
                return Ok(Target::Stream(path));
            }
            let file = folder.join(name);
            match fs::read_link(&file) {
                Ok(to) => place = folder.join(to),
                Err(_) => return Ok(Target::File(file)),
            }
        }
        Err(io::Error::other("it is a link that leads nowhere"))
    }
}

/// Which stream of this OS process leads to this, or did before its lines were numbered.
fn own_stream(there: &Metadata) -> Option<OwnStream> {
    let mut both = OwnStream::BOTH.into_iter();
    both.find(|own| own.leads_to(there))
        .or_else(|| prefix::led_to(there))
}

/// Whether two files, whose links have been followed, have one name in one folder.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let folder = |file: &Path| file.parent().and_then(|folder| fs::metadata(folder).ok());
    let is_same = || {
        folder(one)
            .zip(folder(other))
            .is_some_and(|(a, b)| is_same_file(&a, &b))
    };
    one == other || (one.file_name() == other.file_name() && is_same())
}

fn is_socket(there: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    there.file_type().is_socket()
}

/// Whether a folder is one of those in which the kernel shows what processes have.
fn is_of_processes(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |folder: &Path| fs::metadata(folder).map(|folder| folder.dev());
    let shown = ["/proc/self/fd", "/dev/fd"].map(|of| device(of.as_ref()));
    device(folder).is_ok_and(|of| shown.iter().flatten().any(|shown| *shown == of))
}

/// A file that is not whole yet. Where the file system can, it has no name, so that nothing is left of it however the
/// program ends; else it has one that nobody else has, in the same folder.
struct Part {
    out: File,
    name: PathBuf,
    is_named: bool,
}

impl Part {
    fn new(file: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(io::Error::other("it has no name"));
        };
        let mut beside = name.to_os_string();
        beside.push(format!(".{}.part", process::id()));
        let name = folder.join(beside);
        // Of another that had this number, and was killed.
        let _ = fs::remove_file(&name);
        let (out, is_named) = match unnamed::create(folder) {
            Ok(out) => (out, false),
            Err(_) => (File::create_new(&name)?, true),
        };
        Ok(Part {
            out,
            name,
            is_named,
        })
    }

    /// It is whole.
    fn put(mut self, file: &Path) -> io::Result<()> {
        if !self.is_named {
            unnamed::link(&self.out, &self.name)?;
            self.is_named = true;
        }
        fs::rename(&self.name, file)?;
        self.is_named = false;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.is_named {
            let _ = fs::remove_file(&self.name);
        }
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = std::env::temp_dir().join(format!("graphmap-output-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let of = |name: &str| OutputFile::new(folder.join(name));
        let (file, path) = (of("out.json"), folder.join("out.json"));
        file.probe().unwrap();
        assert!(!path.exists());
        file.write(|out| out.write_all(b"first")).unwrap();
        let broken = file.write(|out| {
            out.write_all(b"sec")?;
            Err(io::Error::other("full"))
        });
        assert_eq!(broken.unwrap_err().to_string(), "full");
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert!(file.is_same(&of("./out.json")));
        assert!(!file.is_same(&of("other.json")));
        assert!(!OutputFile::new("/dev/null").is_same(&OutputFile::new("/dev/null")));
        assert!(OutputFile::new(&folder).probe().is_err());
        assert!(of("none/out.json").probe().is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Of a file that is there, and of one that will be.
    #[test]
    fn names_of_one_file() {
        use std::os::unix::fs::symlink;
        let folder = std::env::temp_dir().join(format!("graphmap-names-{}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("d/e")).unwrap();
        symlink("d", folder.join("l")).unwrap();
        symlink("../d/x", folder.join("d/link")).unwrap();
        symlink(folder.join("l/link"), folder.join("chain")).unwrap();
        let of = |name: &str| OutputFile::new(folder.join(name));
        let names = ["d/x", "l/x", "d/e/../x", "d/../d/x", "d/link", "chain"];
        for is_there in [false, true] {
            for one in names {
                assert!(
                    names.iter().all(|other| of(one).is_same(&of(other))),
                    "{one}"
                );
                assert!(!of(one).is_same(&of("d/y")), "{one} {is_there}");
                assert!(!of(one).is_same(&of("d/e/x")), "{one} {is_there}");
            }
            of("chain").write(|out| out.write_all(b"here")).unwrap();
            assert_eq!(fs::read_to_string(folder.join("d/x")).unwrap(), "here");
            for link in ["d/link", "chain"] {
                assert!(folder.join(link).is_symlink(), "{link}");
            }
        }
        symlink("loop", folder.join("loop")).unwrap();
        assert!(of("loop").probe().is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_somebody_has_open_is_not_replaced() {
        use std::os::fd::AsRawFd;
        let path = std::env::temp_dir().join(format!("graphmap-open-{}", process::id()));
        let mut open = File::options()
            .append(true)
            .create(true)
            .open(&path)
            .unwrap();
        open.write_all(b"before ").unwrap();
        for folder in ["/proc/self/fd", "/dev/fd", "/dev/../dev/fd"] {
            let file = OutputFile::new(format!("{folder}/{}", open.as_raw_fd()));
            file.probe().unwrap();
            file.write(|out| out.write_all(b"here ")).unwrap();
        }
        open.write_all(b"after").unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "before here here here after"
        );
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_keeps_who_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("graphmap-mode-{}", process::id()));
        let file = OutputFile::new(&path);
        let mode = |mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        fs::write(&path, "before").unwrap();
        mode(0o600);
        file.write(|out| out.write_all(b"after")).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        mode(0o400);
        for error in [file.probe(), file.write(|out| out.write_all(b"not"))] {
            assert_eq!(error.unwrap_err().to_string(), "it is read-only");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        fs::remove_file(path).unwrap();
    }
}
