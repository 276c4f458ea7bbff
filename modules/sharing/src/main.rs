//! `graphmap-doctor [--dependencies] MANIFEST`: the tool that `graphmap doctor PROJECT` starts.
//!
//! Reads the output of `cargo metadata` from stdin, and prints a
//! [report](graphmap_sharing::report()) as JSON. Exits with status 2 if the arguments are wrong, or
//! if reading or writing fails.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "graphmap-doctor: {why}");
            ExitCode::from(2)
        }
    }
}

fn run() -> std::io::Result<()> {
    let mut list = false;
    let mut manifest = None;
    let usage = || {
        let usage = "this program is a part of graphmap: use `graphmap doctor PROJECT`";
        std::io::Error::new(std::io::ErrorKind::InvalidInput, usage)
    };
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--dependencies") => list = true,
            Some(option) if option.starts_with('-') => return Err(usage()),
            _ => manifest = Some(PathBuf::from(argument)),
        }
    }
    let manifest = manifest.ok_or_else(usage)?;
    let mut metadata = Vec::new();
    std::io::stdin().read_to_end(&mut metadata)?;
    let report = graphmap_sharing::report(&metadata, &manifest, list);
    let mut out = std::io::stdout();
    out.write_all(report.to_string().as_bytes())?;
    out.write_all(b"\n")
}
