//! The Rust files of a project, read one after the other: all of them, or it is told that some are not.

use graphmap_kpn::input::{self, Limit};
use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};

/// Most bytes that are read of one project.
const BUDGET: u64 = 32 << 20;
/// What an entry of a folder counts for, in bytes: to look at it takes time, too.
const ENTRY: u64 = 1 << 10;

/// What may still be read, and what has been.
pub(crate) struct Sources {
    budget: u64,
    /// By device and number: many links may lead to one file.
    seen: HashSet<(u64, u64)>,
}

impl Sources {
    pub(crate) fn new() -> Sources {
        Sources {
            budget: BUDGET,
            seen: HashSet::new(),
        }
    }

    /// Has a file read, unless that was done before. `None` where it cannot be: what it says is not known.
    pub(crate) fn file(
        &mut self,
        path: &Path,
        read: &mut impl FnMut(&str) -> Option<()>,
    ) -> Option<()> {
        // To open a pipe may take for ever, and a device may do anything.
        let found = fs::metadata(path).ok().filter(Metadata::is_file)?;
        // Those of /proc say that they are empty, and some of them wait for a reader.
        if found.len() == 0 || identity(&found).is_some_and(|file| !self.seen.insert(file)) {
            return Some(());
        }
        let file = File::open(path).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let limit = Limit {
            file: self.budget,
            stream: 0,
        };
        let text = input::decode(input::open(&file, limit).ok()?).ok()?;
        self.budget -= text.len() as u64;
        read(&text)
    }

    /// Has the Rust files below a folder read. `None` where one of them cannot be, or a link leads to another folder.
    pub(crate) fn folder(
        &mut self,
        folder: &Path,
        read: &mut impl FnMut(&str) -> Option<()>,
    ) -> Option<()> {
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).ok()? {
                let entry = entry.ok()?;
                self.budget = self.budget.checked_sub(ENTRY)?;
                // No module is called so. Editors keep files of theirs under such names.
                if entry.file_name().as_encoded_bytes().starts_with(b".") {
                    continue;
                }
                self.entry(entry.path(), &mut folders, read)?;
            }
        }
        Some(())
    }

    fn entry(
        &mut self,
        path: PathBuf,
        folders: &mut Vec<PathBuf>,
        read: &mut impl FnMut(&str) -> Option<()>,
    ) -> Option<()> {
        let kind = fs::symlink_metadata(&path).ok()?.file_type();
        if kind.is_dir() {
            folders.push(path);
            return Some(());
        }
        if path.extension().is_some_and(|extension| extension == "rs") {
            return self.file(&path, read);
        }
        // Modules of a folder that a link leads to are modules as well.
        match kind.is_symlink() && path.is_dir() {
            true => None,
            false => Some(()),
        }
    }
}

#[cfg(unix)]
fn identity(found: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// How many files are read; `None` where one cannot be.
    fn count(folder: &Path) -> Option<usize> {
        let mut count = 0;
        let mut read = |_: &str| {
            count += 1;
            Some(())
        };
        Sources::new().folder(folder, &mut read)?;
        Some(count)
    }

    #[test]
    fn each_file_is_read_once_and_only_rust() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        for name in ["x.rs", "a/y.rs", "a/b/z.rs", "text.md", ".hidden.rs"] {
            fs::write(at(name), "fn x() {}").unwrap();
        }
        fs::write(at("empty.rs"), "").unwrap();
        symlink("nowhere", at(".#x.rs")).unwrap();
        for number in 0..20 {
            symlink("x.rs", at(&format!("link{number}.rs"))).unwrap();
        }
        assert_eq!(count(folder.path()), Some(3));
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let large = "x".repeat(BUDGET as usize / 2);
        type Make<'m> = &'m dyn Fn(&Path);
        let makes: [(&str, Make<'_>); 6] = [
            ("a pipe", &|at| {
                let made = std::process::Command::new("mkfifo")
                    .arg(at.join("x.rs"))
                    .status();
                assert!(made.unwrap().success());
            }),
            ("a device", &|at| {
                symlink("/dev/stdin", at.join("x.rs")).unwrap()
            }),
            ("a link to a folder", &|at| {
                symlink("/", at.join("x")).unwrap()
            }),
            ("a link to nothing", &|at| {
                symlink("nowhere", at.join("x.rs")).unwrap()
            }),
            ("no text", &|at| {
                fs::write(at.join("x.rs"), b"\xff").unwrap()
            }),
            ("too much", &|at| {
                for name in ["x.rs", "y.rs"] {
                    fs::write(at.join(name), &large).unwrap();
                }
            }),
        ];
        for (what, make) in makes {
            let folder = tempfile::tempdir().unwrap();
            make(folder.path());
            assert_eq!(count(folder.path()), None, "{what}");
        }
        assert_eq!(count(Path::new("nowhere")), None);
    }
}
