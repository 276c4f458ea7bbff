//! Statistics, the profile, and the environment variables that `main` reads.
#![allow(clippy::print_stdout)]

use std::process::Command;

use crate::common::itself::Itself;
use crate::common::{BOTH, Both};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, Stopped, run};

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

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
            .threads(schedulers)
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

/// Runs a network of two channels from one process to another, whose tokens `token` makes. The
/// reader takes `reads` tokens from the first channel and all from the second. Returns the profile.
fn measured<T: Send + 'static>(
    format: Option<rt::Format<T>>,
    tokens: usize,
    reads: usize,
    token: fn(usize) -> T,
    schedulers: usize,
) -> String {
    let mut net = Network::new("pair", "pair.dot");
    let w = net.kind(
        "w",
        Names::Listed(&["w"]),
        "0",
        BOTH,
        move |mut p: Both<T>| async move {
            for n in 0..tokens {
                let _ = p.outs[0].write_or_discard(token(n)).await;
                p.outs[1].write(token(n)).await?;
            }
            Ok::<(), Stopped>(())
        },
    );
    let r = net.kind(
        "r",
        Names::Listed(&["r"]),
        "1",
        BOTH,
        move |mut p: Both<T>| async move {
            let mut first = p.ins.remove(0);
            for _ in 0..reads {
                first.read().await;
            }
            drop(first);
            let mut rest = rt::Select::from(p.ins);
            while rest.read().await.is_some() {}
        },
    );
    net.payload(format);
    let class = Channels::new((w, 1), (r, 0), "0 0", "0 0");
    let class = Channels {
        capacity: 2,
        ..class
    };
    net.channels::<T>(class);
    let options = Options::new().os_processes(schedulers).profile(true);
    run(net, &options).unwrap().profile().unwrap()
}

#[track_caller]
fn assert_bytes(profile: &str, bytes: [usize; 2], unmeasured: &str) {
    let found: Vec<usize> = profile
        .split("\"bytes\":")
        .skip(1)
        .map(|rest| rest.split('}').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(found, bytes, "{profile}");
    assert!(
        profile.contains(&format!("\"unmeasured\":[{unmeasured}]}}")),
        "{profile}"
    );
}

#[test]
fn bytes_are_those_of_the_payload() {
    #[derive(Debug)]
    struct Strip(Vec<u8>);
    rt::payload!(Strip(pixels));
    struct Opaque(#[allow(dead_code)] Vec<u8>);
    for schedulers in [1, 2] {
        // Each token has 1 + n bytes: the ten tokens have 55, and the first three have 6.
        let strip = rt::format_of!(Strip);
        let profile = measured(strip, 10, 3, |n| Strip(vec![0; n]), schedulers);
        assert_bytes(&profile, [6, 55], "");
        let numbers = rt::format_of!(u64);
        let profile = measured(numbers, 10, 0, |n| n as u64, schedulers);
        assert_bytes(&profile, [0, 80], "");
        // A token without a payload counts as its size in memory, and the profile names its type.
        let opaque = rt::format_of!(Opaque);
        let profile = measured(opaque, 10, 10, |n| Opaque(vec![0; n]), schedulers);
        let name = format!("{:?}", std::any::type_name::<Opaque>());
        let bytes = 10 * size_of::<Opaque>();
        assert_bytes(&profile, [bytes, bytes], &name);
    }
}

/// If `Payload::size` panics, the process that reads fails, and the error names it.
#[test]
fn a_size_that_panics() {
    struct Bad;
    impl rt::Payload for Bad {
        fn size(&self) -> usize {
            panic!("no size")
        }
        fn encode<'a>(&'a self, _to: &mut rt::Encoder<'a>) {}
        fn decode(_from: &mut rt::Decoder<'_>) -> Result<Self, rt::DecodeError> {
            Ok(Bad)
        }
    }
    for schedulers in [1, 2] {
        let mut net = Network::new("net", "net.dot");
        let w = net.kind(
            "w",
            Names::Listed(&["w"]),
            "0",
            BOTH,
            |mut p: Both<Bad>| async move { p.outs[0].write(Bad).await },
        );
        let r = net.kind(
            "r",
            Names::Listed(&["r"]),
            "1",
            BOTH,
            |mut p: Both<Bad>| async move {
                p.ins[0].read().await;
            },
        );
        net.channels::<Bad>(Channels::new((w, 1), (r, 0), "0", "0"));
        net.payload(rt::format_of!(Bad));
        let error = run(net, &Options::new().os_processes(schedulers).profile(true)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("no size") && text.contains('r'), "{text}");
    }
}

/// This is not a test, but the program that the next test starts.
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
        let mut command = ITSELF.program();
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
        out.contains(&code(rt::Exit::Usage)) && err.contains("expected an integer"),
        "{out}{err}"
    );
    let (out, err) = start(&[("GRAPHMAP_TEST_BLOCK", "1")]);
    assert!(
        out.contains(&code(rt::Exit::Blocked)) && err.contains("c (rank 1)"),
        "{out}{err}"
    );
}

/// Each output of a run is written completely, to a file of its own. An output that cannot be
/// written is reported before the run.
#[test]
#[cfg_attr(miri, ignore = "Miri starts no programs")]
fn files_of_a_program() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("measured");
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (stats, profile, nowhere) = (file("stats.json"), file("profile.json"), file("none/x"));
    let start = |variables: &[(&str, &str)]| {
        let mut command = ITSELF.program();
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).to_string()
    };
    let json = format!("json:{stats}");
    for file in [&stats, &profile] {
        std::fs::write(file, "before").unwrap();
    }
    let said = start(&[("GRAPHMAP_STATS", &json), ("GRAPHMAP_PROFILE", &profile)]);
    assert!(
        said.contains("code ExitCode(unix_exit_status(0))"),
        "{said}"
    );
    let read = |file: &str| std::fs::read_to_string(file).unwrap();
    assert!(read(&stats).contains("{\"what\":\"run\""));
    assert!(read(&profile).starts_with("{\"processes\":["));
    let (link, missing) = (("GRAPHMAP_LINK", "shm"), format!("json:{nowhere}"));
    for link in [&[][..], &[link, ("GRAPHMAP_OS_PROCESSES", "2")]] {
        for (variable, value, what) in [
            ("GRAPHMAP_STATS", &missing, "the statistics"),
            ("GRAPHMAP_PROFILE", &nowhere, "the profile"),
            ("GRAPHMAP_TRACE", &nowhere, "the trace"),
        ] {
            let said = start(&[link, &[(variable, value)]].concat());
            let told = format!("{nowhere}: cannot write {what}: No such file or directory");
            assert_eq!(said.matches(&told).count(), 1, "{said}");
            assert!(said.contains(&format!("error: {variable}=")), "{said}");
            assert!(
                said.contains("code ExitCode(unix_exit_status(2))"),
                "{said}"
            );
        }
        let same = [("GRAPHMAP_STATS", &*json), ("GRAPHMAP_TRACE", &stats)];
        let said = start(&[link, &same].concat());
        let told = "GRAPHMAP_STATS and GRAPHMAP_TRACE name the same file: ";
        assert_eq!(said.matches(told).count(), 1, "{said}");
        assert!(
            read(&stats).contains("{\"what\":\"run\""),
            "it is as it was"
        );
    }
    let cores = [
        ("GRAPHMAP_CORES", "0"),
        ("GRAPHMAP_OS_PROCESSES", "2"),
        link,
    ];
    let told = "GRAPHMAP_CORES names the cores of one OS process, but the run has 2";
    let said = start(&cores);
    assert_eq!(said.matches(told).count(), 1, "{said}");
    // Standard output is this file. The statistics must not replace the text printed there.
    let out = std::fs::File::create(&stats).unwrap();
    let mut command = ITSELF.program();
    command
        .env("GRAPHMAP_STATS", "json:/dev/stdout")
        .stdout(out);
    assert!(command.status().unwrap().success());
    for told in ["{\"what\":\"run\"", "test measured::program ... ok"] {
        assert!(read(&stats).contains(told), "{}", read(&stats));
    }
}

/// The reader of the pipe gets all statistics, and no end of file before them.
#[test]
#[cfg_attr(miri, ignore = "Miri starts no programs")]
fn statistics_go_into_a_pipe() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("measured");
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe");
    let _ = std::fs::remove_file(&pipe);
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let mut command = ITSELF.program();
    command.env("GRAPHMAP_STATS", format!("json:{}", pipe.display()));
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    assert!(command.output().unwrap().status.success());
    assert!(reader.join().unwrap().contains("{\"what\":\"run\""));
}
