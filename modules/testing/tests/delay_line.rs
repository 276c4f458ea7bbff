//! Virtual hosts that a delay line program joins in place of the kernel: lifetime of the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use graphmap_testing::{Hosts, Need, skip};

/// Returns two joined hosts, and the path of the delay line program.
fn hosts(name: &str) -> Option<(Hosts, PathBuf)> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let line = folder.join("delay-line");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/hosts/delay_line.c");
    let made = Command::new("cc").arg("-o").arg(&line).arg(source).output();
    match made {
        Ok(made) => assert!(made.status.success(), "{}", said(&made)),
        Err(error) => {
            skip(Need::C, format!("cc does not start: {error}"));
            return None;
        }
    }
    let hosts = Hosts::new(&folder, 2)?;
    let joined = join(&hosts, &line, "50");
    if !joined.status.success() {
        let why = said(&joined);
        // Some machines have namespaces, but no TUN devices.
        assert!(
            why.contains("/dev/net/tun") || why.contains("priority"),
            "{why}"
        );
        skip(
            Need::Namespaces,
            format!("no program may join hosts: {why}"),
        );
        return None;
    }
    Some((hosts, line))
}

fn join(hosts: &Hosts, line: &Path, microseconds: &str) -> Output {
    hosts.script("delay-line", &[line.to_str().unwrap(), microseconds])
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the ids of the OS processes that run this program.
fn running(line: &Path) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let ours = all.filter(|entry| {
        fs::read_link(entry.path().join("exe")).is_ok_and(|program| program == line)
    });
    ours.map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

#[test]
fn hosts_have_one_delay_line_at_a_time_and_none_when_they_are_gone() {
    let Some((hosts, line)) = hosts("one") else {
        return;
    };
    // The second delay line replaces the first.
    let again = join(&hosts, &line, "5000");
    assert!(again.status.success(), "{}", said(&again));
    assert_eq!(running(&line).len(), 1);
    let lost = hosts.script("lost", &[]);
    assert_eq!(String::from_utf8_lossy(&lost.stdout), "0\n0\n");
    let refused = join(&hosts, &line, "5ms");
    assert!(!refused.status.success());
    assert!(
        said(&refused).contains("delay-line MICROSECONDS"),
        "{}",
        said(&refused)
    );
    drop(hosts);
    assert!(running(&line).is_empty());
}

/// Measurements after its end would not be over a delay line.
#[test]
fn stop_fails_if_the_delay_line_ended() {
    let Some((hosts, line)) = hosts("ended") else {
        return;
    };
    let mut kill = Command::new("kill");
    let killed = kill.arg("-KILL").args(running(&line)).status();
    assert!(killed.unwrap().success());
    while !running(&line).is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    let stopped = hosts.script("stop", &[]);
    assert!(!stopped.status.success());
    assert!(
        said(&stopped).contains("has ended by itself"),
        "{}",
        said(&stopped)
    );
}
