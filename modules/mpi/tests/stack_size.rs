//! `GRAPHMAP_STACK`: the runtime checks it at the start, and the fiber crate reads it again. Both
//! must accept the same values.

use std::process::Command;

use mpi::{Options, RunError};

#[test]
#[ignore = "run by `both_read_the_same_sizes`"]
fn program() {
    let by_runtime = Options::from_env().err();
    let by_stacks = mpi::run_with(&Options::new(), 1, || ()).err();
    assert_eq!(by_runtime, by_stacks);
    match by_runtime {
        None => {}
        Some(RunError::Options(wrong)) => panic!("<{wrong}>"),
        Some(other) => panic!("{other}"),
    }
}

#[test]
fn both_read_the_same_sizes() {
    let start = |size: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "program", "--ignored"]);
        let output = command.env("GRAPHMAP_STACK", size).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), said)
    };
    for right in ["", "16k", "16384", " 64 KiB ", "64kB", "1M", "8mb", "1g"] {
        let (is_read, said) = start(right);
        assert!(is_read, "{right}: {said}");
    }
    let most = format!("{}k", usize::MAX);
    for wrong in [
        "0",
        "1",
        "1k",
        "16383",
        "1025m",
        "2g",
        "-5",
        "1.5m",
        "0x10000",
        "64 apples",
        "k",
        " ",
        "99999999999g",
        "1t",
        &most,
    ] {
        let (is_read, said) = start(wrong);
        let told = format!(
            "<GRAPHMAP_STACK={wrong}: expected a number of bytes from 16k to 1g, such as 64k>"
        );
        assert!(!is_read && said.contains(&told), "{wrong}: {said}");
    }
}
