//! Statistics, the profile, and the environment that `main` reads.
#![allow(clippy::print_stdout)]

mod common;

use std::process::Command;

use common::{BOTH, Both};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, Stopped, run};

fn pair() -> Network {
    let mut net = Network::new("pair", "pair.dot");
    let w = net.kind(
        "w",
        Names::Listed(&["a \"b\""]),
        "0",
        BOTH,
        |mut p: Both<u64>| async move {
            for n in 0..10 {
                p.outs[0].write(n).await?;
            }
            Ok::<(), Stopped>(())
        },
    );
    let r = net.kind(
        "r",
        Names::Listed(&["c"]),
        "1",
        BOTH,
        |mut p: Both<u64>| async move {
            while p.ins[0].read().await.is_some() {}
            if std::env::var_os("GRAPHMAP_TEST_BLOCK").is_some() {
                std::future::pending::<()>().await;
            }
        },
    );
    net.channels::<u64>(Channels::new((w, 1), (r, 0), "0", "0"));
    net
}

#[test]
fn what_is_counted() {
    for schedulers in [1, 2] {
        let options = Options::new()
            .os_processes(schedulers)
            .stats(true)
            .profile(true);
        let report = run(pair(), &options).unwrap();
        let tokens: Vec<_> = report
            .kinds
            .iter()
            .map(|k| (k.tokens_in, k.tokens_out))
            .collect();
        assert_eq!(tokens, [(0, 10), (10, 0)]);
        assert!(
            report
                .kinds
                .iter()
                .all(|kind| kind.polls >= 1 && kind.processes == 1)
        );
        let sent: u64 = report
            .schedulers
            .iter()
            .map(|scheduler| scheduler.sent)
            .sum();
        assert_eq!(sent, if schedulers == 1 { 0 } else { 10 });
        let profile = report.profile().unwrap();
        let channel =
            r#"{"from":"a \"b\"","src":"out","to":"c","dst":"in","messages":10,"bytes":80}"#;
        assert!(profile.contains(channel), "{profile}");
        assert!(
            profile.contains(r#"{"rank":1,"name":"c","load":0."#),
            "{profile}"
        );
        assert_eq!(report.json_lines().lines().count(), 2 + schedulers + 1);
        assert!(report.to_string().contains("tokens out"));
    }
    assert!(run(pair(), &Options::new()).unwrap().profile().is_none());
}

/// Not a test by itself: the program that the next test starts.
#[test]
#[ignore = "run by `the_exit_codes_of_a_program`"]
fn program() {
    let code = rt::main(pair);
    println!("code {code:?}");
}

#[test]
#[cfg_attr(miri, ignore = "Miri starts no programs")]
fn the_exit_codes_of_a_program() {
    let start = |variables: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "program", "--ignored", "--nocapture"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).to_string();
        (text, String::from_utf8_lossy(&output.stderr).to_string())
    };
    let code = |exit: rt::Exit| format!("code {:?}", std::process::ExitCode::from(exit));
    let (out, err) = start(&[("GRAPHMAP_STATS", "1"), ("GRAPHMAP_OS_PROCESSES", "2")]);
    assert!(
        out.contains(&code(rt::Exit::Ok)) && err.contains("tokens out"),
        "{out}{err}"
    );
    let (out, err) = start(&[("GRAPHMAP_OS_PROCESSES", "none")]);
    assert!(
        out.contains(&code(rt::Exit::Usage)) && err.contains("not a number"),
        "{out}{err}"
    );
    let (out, err) = start(&[("GRAPHMAP_TEST_BLOCK", "1")]);
    assert!(
        out.contains(&code(rt::Exit::Blocked)) && err.contains("c (rank 1)"),
        "{out}{err}"
    );
}
