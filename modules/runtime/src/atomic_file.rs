//! A file that is there as a whole, or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Whether a file can be written.
pub(crate) fn probe(file: &Path) -> io::Result<()> {
    match target(file)? {
        // To open a pipe and to leave it would tell its reader that this was all.
        Target::Stream => fs::metadata(file).map(drop),
        Target::File(file) => {
            let beside = beside(&file)?;
            File::create(&beside)?;
            fs::remove_file(beside)
        }
    }
}

/// Writes a file beside it, and puts it in its place when it is whole.
pub(crate) fn write(
    file: &Path,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let whole = |out: File| {
        let mut out = BufWriter::new(out);
        contents(&mut out)?;
        out.flush()
    };
    match target(file)? {
        Target::Stream => whole(File::options().append(true).open(file)?),
        Target::File(file) => {
            let beside = beside(&file)?;
            let written = File::create(&beside)
                .and_then(whole)
                .and_then(|()| fs::rename(&beside, &file));
            if written.is_err() {
                let _ = fs::remove_file(beside);
            }
            written
        }
    }
}

/// Whether two names are of one file, which the later of two outputs would take from the earlier. What no name of a file is, such as
/// a pipe, takes both.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let target = |file: &Path| match target(file) {
        Ok(Target::File(file)) => std::path::absolute(file).ok(),
        _ => None,
    };
    target(one).is_some_and(|one| target(other) == Some(one))
}

enum Target {
    /// A pipe, a device: nothing that can be put in place.
    Stream,
    /// A file, or what a link to one leads to.
    File(PathBuf),
}

fn target(file: &Path) -> io::Result<Target> {
    // Somebody has it open, and would go on with what it was: `/dev/stdout` may be a file.
    if ["/dev", "/proc"].iter().any(|of| file.starts_with(of)) {
        return Ok(Target::Stream);
    }
    match fs::metadata(file) {
        Ok(there) if there.is_dir() => Err(io::Error::other("it is a folder")),
        Ok(there) if there.is_file() => Ok(Target::File(fs::canonicalize(file)?)),
        Ok(_) => Ok(Target::Stream),
        Err(_) => Ok(Target::File(file.to_path_buf())),
    }
}

/// A name that nobody else has, in the same folder.
fn beside(file: &Path) -> io::Result<PathBuf> {
    let Some(name) = file.file_name() else {
        return Err(io::Error::other("it has no name"));
    };
    let mut beside = name.to_os_string();
    beside.push(format!(".{}.part", process::id()));
    Ok(file.with_file_name(beside))
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = std::env::temp_dir().join(format!("graphmap-atomic-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("out.json");
        probe(&file).unwrap();
        assert!(!file.exists());
        write(&file, |out| out.write_all(b"first")).unwrap();
        let broken = write(&file, |out| {
            out.write_all(b"sec")?;
            Err(io::Error::other("full"))
        });
        assert_eq!(broken.unwrap_err().to_string(), "full");
        assert_eq!(fs::read_to_string(&file).unwrap(), "first");
        assert!(is_same(&file, &folder.join("./out.json")));
        assert!(!is_same(&file, &folder.join("other.json")));
        assert!(!is_same(Path::new("/dev/null"), Path::new("/dev/null")));
        assert!(probe(&folder).is_err());
        assert!(probe(&folder.join("none/out.json")).is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
