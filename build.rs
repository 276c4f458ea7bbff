//! Lists the pages of the error index, which the command carries with it for `graphmap explain`, and their codes.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("docs/src/errors");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
        let number = name.strip_prefix('G').and_then(|n| n.parse::<u16>().ok());
        if let Some(number) = number {
            pages.push((number, path));
        }
    }
    pages.sort();
    let mut list = String::from("&[\n");
    let mut codes = String::from("&[\n");
    for (number, path) in pages {
        let _ = writeln!(list, "    ({number}, include_str!({path:?})),");
        let _ = writeln!(codes, "    {number},");
    }
    list.push_str("]\n");
    codes.push_str("]\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("pages.rs"), list)?;
    fs::write(Path::new(&out).join("codes.rs"), codes)
}
