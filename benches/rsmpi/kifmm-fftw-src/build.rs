//! Links the FFTW of the system.

use std::path::Path;
use std::process::Command;

fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    println!("cargo:rustc-link-search={}", said("libdir"));
    println!("cargo:rustc-link-lib=static=fftw3");
    println!("cargo:rustc-link-lib=static=fftw3f");
    // The binding expects the header at its path in the sources of FFTW.
    let api = Path::new(&out).join("api");
    std::fs::create_dir_all(&api).unwrap();
    std::fs::copy(
        Path::new(&said("includedir")).join("fftw3.h"),
        api.join("fftw3.h"),
    )
    .unwrap();
    println!("cargo:root={out}");
}

fn said(variable: &str) -> String {
    let done = Command::new("pkg-config")
        .arg(format!("--variable={variable}"))
        .arg("fftw3")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).unwrap().trim().to_string()
}
