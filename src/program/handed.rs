//! A mapping as it is handed to the program of a network.

use graphmap_kpn::mapping::{Mapping, Place};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many files this process has made: several runs may be under way at once.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A mapping, as the runtime reads it.
pub(crate) struct Handed {
    file: TemporaryFile,
    /// The cores of each OS process.
    cores: Option<String>,
}

impl Handed {
    /// Writes it to a file that goes when this is dropped.
    pub(crate) fn new(mapping: &Mapping) -> io::Result<Handed> {
        let text = graphmap_wiring::sequence::encode(&mapping.os_process);
        let cores = cores(&mapping.places);
        TemporaryFile::new(&text).map(|file| Handed { file, cores })
    }

    /// Tells a program of ours where it is, in the environment.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env("GRAPHMAP_MAPPING", &self.file.0);
        if let Some(cores) = &self.cores {
            command.env("GRAPHMAP_CORES", cores);
        }
        command.env_remove("GRAPHMAP_PLACEMENT");
        command.env_remove("GRAPHMAP_PLACED");
    }
}

/// The cores of each OS process, where all have some, and all are those of one host.
fn cores(places: &[Place]) -> Option<String> {
    let first = places.first()?;
    let named = |place: &Place| !place.cores.is_empty() && place.host == first.host;
    let list = |place: &Place| {
        let cores: Vec<String> = place.cores.iter().map(u32::to_string).collect();
        cores.join(",")
    };
    let all: Vec<String> = places.iter().map(list).collect();
    places.iter().all(named).then(|| all.join(" "))
}

/// A file that goes when it is dropped.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(text: &str) -> io::Result<TemporaryFile> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("graphmap-mapping-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Not through a link that somebody else has put there.
        let _ = fs::remove_file(&path);
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        let file_of_ours = TemporaryFile(path);
        file.write_all(text.as_bytes())?;
        Ok(file_of_ours)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_one_host_are_handed_on() {
        let place = |host: Option<&str>, cores: &[u32]| Place {
            host: host.map(str::to_string),
            cores: cores.to_vec(),
        };
        let here = [place(None, &[2]), place(None, &[0, 1])];
        assert_eq!(cores(&here).as_deref(), Some("2 0,1"));
        let one = [place(Some("a"), &[0]), place(Some("a"), &[1])];
        assert_eq!(cores(&one).as_deref(), Some("0 1"));
        let two = [place(Some("a"), &[0]), place(Some("b"), &[0])];
        assert_eq!(cores(&two), None);
        assert_eq!(cores(&[place(None, &[0]), place(None, &[])]), None);
        assert_eq!(cores(&[]), None);
    }
}
