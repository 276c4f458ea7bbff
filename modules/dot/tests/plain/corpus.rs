//! The graphs in Graphviz's own source package, fetched once into the target folder.

use graphmap_testing::{Need, skip};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns all graphs of the package, sorted, each once. Prints a reason and returns `None` if they
/// are not available.
///
/// `GRAPHMAP_GRAPHVIZ_SOURCE` names a folder with the unpacked package. By default Debian's is
/// fetched.
#[track_caller]
pub(crate) fn files() -> Option<Vec<PathBuf>> {
    let files = unpacked();
    files.map_err(|why| skip(Need::GraphvizSources, why)).ok()
}

fn unpacked() -> Result<Vec<PathBuf>, String> {
    let root = match std::env::var_os("GRAPHMAP_GRAPHVIZ_SOURCE") {
        Some(folder) => PathBuf::from(folder),
        None => fetched()?,
    };
    let (mut open, mut files) = (vec![root], Vec::new());
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|why| why.to_string())?;
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "gv" || e == "dot") {
                files.push(path);
            }
        }
    }
    files.sort();
    // Many files occur twice, or differ only in their names.
    let mut seen = HashSet::new();
    files.retain(|path| std::fs::read(path).is_ok_and(|bytes| seen.insert(bytes)));
    Ok(files)
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<(), String> {
    let run = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|why| format!("{program} cannot be run: {why}"))?;
    match run.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&run.stderr)
                .trim()
                .replace('\n', "; ");
            Err(format!("{program} {} failed: {said}", arguments.join(" ")))
        }
    }
}

fn fetched() -> Result<PathBuf, String> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("graphviz-corpus");
    let ready = cache.join("ready");
    if ready.is_dir() {
        return Ok(ready);
    }
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let line = |key: &str| {
        let found = release.lines().find_map(|l| l.strip_prefix(key));
        found.map(|v| v.trim_matches('"').to_owned())
    };
    if line("ID=").as_deref() != Some("debian") {
        return Err("this is no Debian, whose source packages hold the graphs".to_owned());
    }
    let release = line("VERSION_CODENAME=").ok_or("a Debian without a code name")?;
    for folder in ["lists/partial", "cache/archives/partial", "unpacked"] {
        std::fs::create_dir_all(cache.join(folder)).map_err(|why| why.to_string())?;
    }
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let list = format!("deb-src [signed-by={keys}] http://deb.debian.org/debian {release} main\n");
    std::fs::write(cache.join("sources.list"), list).map_err(|why| why.to_string())?;
    let at = cache.display();
    let options = [
        format!("-oDir::Etc::SourceList={at}/sources.list"),
        "-oDir::Etc::SourceParts=/dev/null".to_owned(),
        format!("-oDir::State::Lists={at}/lists"),
        format!("-oDir::Cache={at}/cache"),
        "-oAcquire::http::Timeout=20".to_owned(),
        "-oAcquire::Retries=1".to_owned(),
    ];
    let apt = |arguments: &[&str]| {
        let options = options.iter().map(String::as_str);
        let all: Vec<&str> = options.chain(arguments.iter().copied()).collect();
        run("apt-get", &all, &cache)
    };
    apt(&["update"])?;
    apt(&["source", "--download-only", "graphviz"])?;
    let entries = std::fs::read_dir(&cache).map_err(|why| why.to_string())?;
    let archive = entries
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .find(|name| name.contains(".orig.tar."))
        .ok_or("the source package has no archive")?;
    run("tar", &["-xf", &archive, "-C", "unpacked"], &cache)?;
    // Renamed last, so that an incomplete fetch is not used.
    std::fs::rename(cache.join("unpacked"), &ready).map_err(|why| why.to_string())?;
    Ok(ready)
}
