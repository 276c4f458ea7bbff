//! Ranks in launch files for a program whose processes are OS processes.

use crate::common::Test;

const NET: &str = "digraph net { a -> b -> c -> d; }";
/// Options for a round-robin mapping onto two hosts.
const ONTO: &str = "--hosts names=h[1-2] --strategy round-robin";

fn net() -> Test {
    Test::new().file("net.dot", NET)
}

/// Returns a file without its comments.
fn lines(test: &Test, file: &str) -> String {
    let text = test.read(file);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn written_beside_wiring_for_pilot_they_count_its_main() {
    let all = "--emit hostfile --emit rankfile --emit configfile --emit slurm-hostfile=slurm \
               --emit appfile --emit multi-prog=programs";
    let test = net().args(&format!("net.dot {ONTO} {all}"));
    test.run().status(0);
    assert_eq!(lines(&test, "hostfile"), "h1:1\nh2:1\n");
    let test = net().args(&format!("net.dot {ONTO} {all} --emit pilot.c"));
    test.run().status(0).stderr_has(
        "graphmap: the family of the program is `pilot`: each process is a rank, the first is rank 1\n",
    );
    // PI_MAIN is on the host of the first process.
    assert_eq!(lines(&test, "hostfile"), "h1:2\nh2:1\nh1:1\nh2:1\n");
    assert_eq!(lines(&test, "slurm"), "h1\nh1\nh2\nh1\nh2\n");
    let ranks = lines(&test, "rankfile");
    assert_eq!(ranks.lines().count(), 5, "{ranks}");
    assert!(ranks.contains("rank 4=h2 slot="), "{ranks}");
    let apps = lines(&test, "appfile");
    let placed = apps
        .strip_prefix("-np 1 -host h1:3 -x GRAPHMAP_PROCESSES=0 -x GRAPHMAP_PLACED=")
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or_else(|| panic!("{apps}"));
    let set = format!("-env GRAPHMAP_PLACED {placed} ./net\n");
    assert_eq!(
        lines(&test, "configfile"),
        format!("-n 1 -env GRAPHMAP_PROCESSES 0 {set}-n 4 -env GRAPHMAP_PROCESSES 1 {set}")
    );
    let set = format!("GRAPHMAP_PLACED={placed} ./net\n");
    assert_eq!(
        lines(&test, "programs"),
        format!("0 env GRAPHMAP_PROCESSES=0 {set}1-4 env GRAPHMAP_PROCESSES=1 {set}")
    );
    // The mapping itself does not change.
    let test = net().args(&format!(
        "net.dot {ONTO} --emit mapping.json --emit pilot.c"
    ));
    test.run().status(0).stderr_lacks("each process is a rank");
    assert_eq!(test.read("mapping.json").matches("\"host\"").count(), 2);
}

#[test]
fn what_the_user_says_of_ranks_holds() {
    for (set, expected) in [
        ("first_rank=none", "h1:1\nh2:1\n"),
        ("first_rank=0", "h1:1\nh2:1\nh1:1\nh2:1\n"),
        ("first_rank=2", "h1:3\nh2:1\nh1:1\nh2:1\n"),
        ("main=h9", "h9:1\nh1:1\nh2:1\nh1:1\nh2:1\n"),
    ] {
        let args = format!("net.dot {ONTO} --emit hostfile --emit pilot.c --set {set}");
        let test = net().args(&args);
        test.run().status(0);
        assert_eq!(lines(&test, "hostfile"), expected, "{set}");
    }
    for (set, wrong) in [
        (
            "first_rank=65",
            "error[G0437]: `first_rank=65`: expected a rank from 0 to 64",
        ),
        ("first_rank=one", "error[G0437]: `first_rank=one`"),
        (
            "main=h1 --set first_rank=0",
            "error[G0437]: `main=h1`: no rank precedes",
        ),
        (
            "main=h1 --set first_rank=none",
            "error[G0437]: `main=h1`: no rank precedes",
        ),
        (
            "main=-h",
            "error[G0433]: \"-h\" cannot be the name of a host",
        ),
        (
            "launcher=fgmpi --set first_rank=1",
            "error[G0437]: `first_rank=` cannot be used with FG-MPI",
        ),
    ] {
        let args = format!("net.dot {ONTO} --emit launch.sh --emit pilot.c --set {set}");
        let test = net().args(&args);
        test.run().status(5).stderr_has(wrong);
        assert_eq!(test.files(), ["net.dot"], "{set}");
    }
}

/// Checks that launch files that are written later use the ranks of the graph's project.
#[test]
fn a_project_of_a_family_is_known_by_what_is_generated_in_it() {
    let families = "[own]\nabout = 'mine'\nfirst_rank = 0\nprogram = 'build/it'\n\
                    [[own.project]]\npath = 'own.c'\n";
    let test = net().file("mine/families.toml", families).file(
        "mine/own/explicit.hbs",
        "/* {{graph.file}} {{graph.placed}} */\n",
    );
    let own = "--skeletons mine";
    let test = test.args(&format!("new net --from net.dot --family own {own}"));
    test.run().status(0);
    let told = "graphmap: the family of the program of net is `own`: each process is a rank, the first is rank 0\n";
    let test = test.args(&format!(
        "net.dot {ONTO} --emit hostfile --emit launch.sh {own}"
    ));
    test.run().status(0).stderr_has(told);
    assert_eq!(lines(&test, "hostfile"), "h1:1\nh2:1\nh1:1\nh2:1\n");
    let program = test.folder().join("net/build/it").display().to_string();
    assert!(test.read("launch.sh").contains(&program));
    let placed = test.read("net/own.c");
    let placed = placed.split(' ').nth(2).unwrap();
    let script = test.read("launch.sh");
    assert!(
        script.contains(&format!("GRAPHMAP_PLACED={placed}\n")),
        "{script}"
    );
    // A generated file of another graph does not count.
    let test = test
        .file("other.dot", NET)
        .file("other/own.c", "/* net.dot */");
    let test = test.args(&format!("other.dot {ONTO} --emit hostfile {own}"));
    test.run().status(0).stderr_lacks("each process is a rank");
    assert_eq!(lines(&test, "hostfile"), "h1:1\nh2:1\n");
}
