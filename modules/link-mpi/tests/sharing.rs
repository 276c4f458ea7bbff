//! Jobs whose OS processes share memory if they are on one host. The other tests run such cases
//! over MPI alone.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{
    SHARED_MEMORY, assert_ends_alike, check, finish, hosts, launcher, mpi, mpiexec, prepare,
    program, start,
};

/// Variable that makes OS processes share memory.
const SHARED: [(&str, &str); 1] = [(SHARED_MEMORY, "1")];

/// Runs a case with shared memory and further variables.
fn sharing(case: &str, count: usize, variables: &[(&str, &str)]) -> (i32, String) {
    start(case, count, &[&SHARED, variables].concat())
}

#[track_caller]
fn assert_ends(case: &str, count: usize, code: i32, expected: &[&str]) {
    let (got, said) = sharing(case, count, &[]);
    check(case, code, expected, got, &said);
}

#[test]
fn networks_compute_the_same() {
    for seed in 0..3 {
        assert_ends_alike(&format!("random:{seed}"), &[5], &SHARED);
        assert_ends_alike(&format!("flows:{seed}"), &[3], &SHARED);
        assert_ends_alike(&format!("of all shapes:{seed}"), &[3], &SHARED);
    }
    assert_ends("bundles", 6, 0, &["sum 1001000"]);
    assert_ends("stop", 2, 0, &["read five", "stopped"]);
    assert_ends("together", 3, 0, &["encoded 110"]);
    assert_ends("artificial:100", 4, 0, &[]);
    assert_ends("thread", 2, 0, &["read Some([1])"]);
}

/// Sends large tokens. The reader copies them from the memory of the writer or from shared memory.
#[test]
fn large_tokens_arrive_and_are_dropped() {
    let bytes = 1 + 65_519 + 65_520 + 65_521 + 300_000 + 3_000_000 + 7;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sharing.read");
    for single_copy in ["0", "1"] {
        let _gone = fs::remove_file(&file);
        let variables = [
            ("GRAPHMAP_SINGLE_COPY", single_copy),
            ("GRAPHMAP_TEST_FILE", file.to_str().unwrap()),
        ];
        let all_read = format!("read {bytes} bytes");
        for (case, expected) in [
            ("large", &[&*all_read][..]),
            ("exposed", &["dropped 40 of 40", "read 20"]),
            ("inconstant", &["read all"]),
            ("ends", &["all have ended"]),
            ("ends in a nested run", &["all have ended"]),
            ("dropped", &["all have run"]),
            ("unread", &["stopped"]),
            ("late:270000", &["read 20"]),
        ] {
            let (code, said) = sharing(case, 2, &variables);
            check(case, 0, expected, code, &said);
        }
    }
}

#[test]
fn ranks_talk_to_each_other() {
    assert_ends("messages:3", 2, 0, &[]);
    assert_ends("collectives:5", 3, 0, &[]);
    assert_ends("accesses:4", 3, 0, &[]);
    assert_ends("endpoints:5", 3, 0, &[]);
}

#[test]
fn errors_are_reported() {
    assert_ends("deadlock:500", 4, 6, &["500 processes"]);
    let expected = "waits in receive (world, from rank 1, tag 5): ";
    assert_ends("ranks in a cycle", 2, 6, &[expected]);
    let expected = ["bob (rank 1, pair.dot:4:2)", "no more", "OS process 1"];
    assert_ends("panic", 2, 1, &expected);
    assert_ends("error", 2, 1, &["alice (rank 0", "it is broken"]);
    for case in ["fails before its reader:0", "fails before its reader:1"] {
        assert_ends(case, 2, 1, &["p1 (rank 1", "it is broken"]);
    }
    let expected = ["Opaque is not a payload", "from OS process 0 to 1"];
    assert_ends("opaque", 2, 1, &expected);
    let expected = ["differs from that of OS process"];
    assert_ends("differs", 3, 1, &expected);
    assert_ends("exit", 2, 7, &["its code called `exit`"]);
    let (code, said) = sharing("stop", 2, &[(SHARED_MEMORY, "yes")]);
    let expected = ["GRAPHMAP_SHARED_MEMORY=yes: expected 0 or 1"];
    check("variable", 2, &expected, code, &said);
}

/// Reports a variable that is wrong in one OS process. If only that one checked it, the others
/// would wait for it.
#[test]
fn a_wrong_variable_of_one_os_process_is_reported() {
    let (wrong, right) = (format!("{SHARED_MEMORY}=yes"), format!("{SHARED_MEMORY}=1"));
    for [first, second] in [[&wrong, &right], [&right, &wrong]] {
        let mut command = Command::new(mpiexec(mpi()));
        prepare(&mut command).args(["-n", "1", "env", first]);
        command.arg(program()).arg("stop");
        command.args([":", "-n", "1", "env", second]);
        let (code, said) = finish(command.arg(program()).arg("stop").output().unwrap());
        let expected = format!("{wrong}: expected 0 or 1");
        check("variable", 2, &[&expected], code, &said);
    }
}

/// Sends no message by MPI if there is only one host.
#[test]
fn nothing_goes_by_mpi() {
    let (code, said) = sharing("bundles", 6, &[("GRAPHMAP_STATS", "1")]);
    assert_eq!(code, 0, "{said}");
    let mut rows = said
        .lines()
        .skip_while(|line| !line.starts_with("scheduler"));
    assert!(
        rows.next()
            .is_some_and(|head| head.contains("MPI messages")),
        "{said}"
    );
    let messages = rows.take(6).map(|row| row.split_whitespace().nth(7));
    assert!(messages.eq([Some("0"); 6]), "{said}");
}

/// Runs OS processes on two hosts, so that only some tokens go by MPI.
#[test]
fn some_are_on_another_host() {
    let Some(hosts) = hosts(2) else { return };
    for (places, case, code, expected) in [
        (&[0, 1, 0][..], "large", 0, "read 3496568 bytes"),
        (&[0, 0, 1, 1, 0], "bundles", 0, "sum 1001000"),
        (&[0, 1, 1, 0], "artificial:20", 0, ""),
        (&[0, 1, 0], "random:5", 0, "end "),
        (&[1, 0, 0], "of all shapes:2", 0, "end "),
        (&[0, 1, 0], "together", 0, "encoded 110"),
        (&[0, 1, 0], "messages:7", 0, ""),
        (&[1, 0, 1], "collectives:8", 0, ""),
        (&[1, 1, 0], "accesses:6", 0, ""),
        (
            &[0, 1, 0],
            "deadlock:5",
            6,
            " in OS process 2 on h1 waits to ",
        ),
        (&[0, 0, 1], "panic", 1, " (in OS process 1 on h1)"),
    ] {
        let mut command = launcher(&hosts, places);
        let (got, said) = finish(command.arg(program()).arg(case).output().unwrap());
        check(case, code, &[expected], got, &said);
    }
}
