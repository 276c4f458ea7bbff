//! Ranks: a new project, its profile, a graph of the profile, its mapping, and a run with this
//! mapping.

use crate::common::Test;
use std::fs;
use std::path::Path;

/// Program in which each rank exchanges messages with the rank that is half of all ranks further
/// on.
const PAIRS: &str = "\
use mpi::collective::SystemOperation;
use mpi::point_to_point::send_receive;
use mpi::traits::*;

pub fn run<C: Communicator>(world: &C) {
    let (rank, size) = (world.rank(), world.size());
    let other = world.process_at_rank((rank + size / 2) % size);
    let mut sum = 0;
    for round in 0..200 {
        let (come, _): (i64, _) = send_receive(&(i64::from(rank) * round), &other, &other);
        sum += come;
    }
    let mut total = 0i64;
    world.all_reduce_into(&sum, &mut total, SystemOperation::sum());
    if rank == 0 {
        println!(\"{total}\");
    }
}
";

/// Returns the number of frames that the link sent, from the statistics of a run.
fn frames(path: &Path) -> u64 {
    let text = fs::read_to_string(path).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let schedulers: Vec<_> = lines.filter(|line| line["what"] == "scheduler").collect();
    assert_eq!(schedulers.len(), 2, "{text}");
    schedulers
        .iter()
        .map(|one| one["frames"].as_u64().unwrap())
        .sum()
}

#[test]
fn a_run_is_placed_by_what_ranks_have_sent_each_other() {
    let test = Test::new().env("CARGO_NET_OFFLINE", "true");
    let test = test.args("new net --family mpi --quiet");
    test.run().status(0).stdout_is("").stderr_is("");
    let net = test.folder().join("net");

    // The project has no shared state. It was not built yet.
    let test = test.args("doctor net");
    let test = test.env("PATH", &crate::cli_doctor_project::path_with_tool());
    test.run()
        .status(0)
        .stderr_is("")
        .stdout_has("net 0.1.0: 2 files checked\n        no shared state found\n");

    // In blocks, all messages leave their OS process.
    fs::write(net.join("src/ring.rs"), PAIRS).unwrap();
    let test = test
        .within("net")
        .env("GRAPHMAP_STATS", "json:blocks")
        .args("run --dev --quiet --link shm -n 2 --profile profile.json -- 8");
    test.run().status(0).stdout_is("557200\n").stderr_is("");
    let blocks = frames(&net.join("blocks"));
    assert!(blocks >= 8 * 200, "{blocks}");

    // The messages as a graph: four pairs, in both directions.
    let test = test.args("import profile.json --load equal -o ranks.dot");
    test.run().status(0).stdout_is("");
    let drawing = fs::read_to_string(net.join("ranks.dot")).unwrap();
    assert_eq!(drawing.matches(" -> ").count(), 8, "{drawing}");
    assert_eq!(
        drawing.matches("label=\"200 messages, ").count(),
        8,
        "{drawing}"
    );
    assert!(
        drawing.contains("// \"world\": 8 collective calls"),
        "{drawing}"
    );
    let test = test.args("check ranks.dot --quiet");
    test.run().status(0).stderr_is("");

    // With the mapping, all messages stay in their OS process.
    let test = test.args("partition ranks.dot -n 2 -o plan --quiet");
    test.run().status(0);
    let test = test
        .env("GRAPHMAP_STATS", "json:placed")
        .args("run ranks.dot --dev --link shm --mapping plan/mapping.json --quiet");
    test.run().status(0).stdout_is("557200\n").stderr_is("");
    let placed = frames(&net.join("placed"));
    assert!(placed * 100 <= blocks, "{placed} of {blocks}");

    // A folder alone starts the number of ranks of its program, or one for each OS process. A graph
    // or a mapping starts the ranks of the graph. Each rank adds 19,900 times its number to the
    // sum: the sum of four ranks is 119,400, and the sum of two is 19,900.
    let test = test.env("GRAPHMAP_STATS", "");
    let test = test.args("run . --dev --quiet");
    test.run().status(0).stdout_is("119400\n").stderr_is("");
    let test = test.args("run . --dev --quiet --link shm -n 2");
    test.run().status(0).stdout_is("19900\n").stderr_is("");
    let test = test.args("run --dev");
    test.run()
        .status(0)
        .stdout_is("557200\n")
        .stderr_has("graphmap: using ranks.dot, the graph of the ranks here; ");
    let test = test.args("run . --dev --link shm --quiet --mapping plan/mapping.json");
    test.run().status(0).stdout_is("557200\n").stderr_is("");
    let test = test.args("run --dev -- 9");
    test.run()
        .status(2)
        .stdout_is("")
        .stderr_has("error[G0011]: 9 ranks are requested, but ranks.dot has 8")
        .stderr_has("or run any number of ranks, in consecutive blocks: `graphmap run .`");

    // An existing project is not created again, but updated.
    let test = test.within("").args("new net --family mpi");
    test.run()
        .status(2)
        .stderr_has("`net` already contains a project");
    let test = test.args("new net --update");
    test.run().status(0).stdout_is("").stderr_is("");
    assert_eq!(fs::read_to_string(net.join("src/ring.rs")).unwrap(), PAIRS);
}

#[test]
fn what_a_project_of_ranks_has_not_is_refused() {
    for (option, told) in [
        (
            "--from net.dot",
            "`--from` is not for a project of ranks: it has no graph",
        ),
        ("--link shm", "every project has the link `shm`"),
        ("--member", "`--member` is not for a project of ranks"),
    ] {
        let test = Test::new().args(&format!("new net --family mpi {option}"));
        test.run().status(2).stdout_is("").stderr_has(told);
        assert!(test.files().is_empty(), "{option}");
    }
}

const PROFILE: &str = r#"{"processes":[{"rank":1,"name":"b\\","load":0.5},{"rank":0,"name":"a \"x\"","load":2}],
"channels":[{"from":"b\\","src":"out","to":"a \"x\"","dst":"in","messages":1,"bytes":8}],
"unmeasured":[],
"communicators":[{"name":"world","calls":6},{"name":"world.dup","calls":2}],
"pairs":[{"communicator":0,"from":0,"to":1,"messages":3,"bytes":24},
{"communicator":1,"from":0,"to":1,"messages":2,"bytes":2},
{"communicator":1,"from":1,"to":1,"messages":9,"bytes":9}]}
"#;

#[test]
fn import_writes_a_graph_of_a_profile() {
    let test = || Test::new().file("p.json", PROFILE);
    let drawing = r#"// Generated by graphmap from the profile p.json: ranks, and the messages between them.
// Traffic is in bytes.
// "world": 6 collective calls, the sum over its ranks.
// "world.dup": 2 collective calls, the sum over its ranks.
digraph ranks {
    graphmap=1;
    allow="G0314,G0317";
    node [kind=rank];
    "a \"x\"" [load="2"];
    "b\ " [load="0.5"];
    edge [bundle=switch];
    "a \"x\"" -> "b\ " [traffic=26, label="5 messages, 26 bytes"];
    "b\ " -> "a \"x\"" [traffic=8, label="1 messages, 8 bytes"];
}
"#;
    test()
        .args("import p.json")
        .run()
        .status(0)
        .stdout_is(drawing)
        .stderr_is("");
    let done = test()
        .args("import p.json --traffic messages --load equal")
        .run();
    done.status(0)
        .stdout_has("// Traffic is in messages.\n")
        .stdout_has("load=\"1\"")
        .stdout_has("traffic=5, ");
    // Names that DOT cannot contain are replaced, and the file can be read.
    let odd = PROFILE.replace("a \\\"x\\\"", "a\\\\\\\"\\n\\\"");
    let test = Test::new().stdin(&odd).args("import - -o ranks.dot");
    test.run().status(0).stdout_is("");
    assert!(
        test.read("ranks.dot")
            .contains("    \"a\\' \\\"\" -> \"b\\ \" [")
    );
    let test = test.args("view ranks.dot --json");
    test.run().status(0);
    // From standard input, into a file that can be read.
    let test = Test::new().stdin(PROFILE).args("import - -o ranks.dot");
    test.run().status(0).stdout_is("");
    let test = test.args("view ranks.dot --json");
    test.run().status(0);
    // Neither its input nor a file of the user is overwritten.
    let test = Test::new()
        .file("p.json", PROFILE)
        .file("x.dot", "digraph {}");
    let test = test.args("import p.json -o p.json");
    test.run().status(2);
    let test = test.args("import p.json -o x.dot");
    test.run().status(2);
    assert_eq!(
        (test.read("p.json").as_str(), test.read("x.dot").as_str()),
        (PROFILE, "digraph {}")
    );
}

/// Returns the profile of a program in which each rank, except the last two, sends one message to
/// the rank after the next.
fn profile_of(ranks: u32) -> String {
    let processes: Vec<String> = (0..ranks)
        .map(|rank| format!("{{\"rank\":{rank},\"name\":\"main{rank}\",\"load\":1}}"))
        .collect();
    let pairs: Vec<String> = (0..ranks - 2)
        .map(|from| {
            let to = from + 2;
            format!("{{\"communicator\":0,\"from\":{from},\"to\":{to},\"messages\":1,\"bytes\":8}}")
        })
        .collect();
    format!(
        "{{\"processes\":[{}],\"communicators\":[{{\"name\":\"world\",\"calls\":0}}],\"pairs\":[{}]}}",
        processes.join(","),
        pairs.join(",")
    )
}

#[test]
fn ranks_of_a_profile_are_one_kind() {
    let test = Test::new().file("p.json", profile_of(1000));
    let test = test.args("import p.json -o ranks.dot");
    test.run().status(0);
    let test = test.args("check ranks.dot --deny warnings");
    test.run()
        .status(0)
        .stderr_is("ranks.dot: 1000 processes of 1 kind, 998 channels\n");
    // The picture fits a screen.
    let test = test.args("view ranks.dot -o ranks.svg");
    test.run().status(0);
    let picture = test.read("ranks.svg");
    let (_, width) = picture.split_once(" width=\"").unwrap();
    let width: u32 = width.split('"').next().unwrap().parse().unwrap();
    assert!(width < 1000, "{picture}");
    assert!(picture.contains("main ×1000"), "{picture}");
    // A plan names ranks by their ranges.
    let test = test.file("p.json", profile_of(16));
    let test = test.args("import p.json -o ranks.dot");
    test.run().status(0);
    let test = test.args("partition ranks.dot -n 2 --strategy round-robin");
    test.run()
        .status(0)
        .stdout_has("main 0, 2, 4, 6, 8, 10, 12, 14\n");
    let test = test.args("partition ranks.dot -n 2 --strategy stack");
    test.run()
        .status(0)
        .stdout_has("main 0-7\n")
        .stdout_has("main 8-15\n");
}

#[test]
fn a_graph_of_ranks_outside_its_project_is_reported() {
    let test = Test::new().file("p.json", profile_of(16));
    let test = test.args("import p.json -o ranks.dot");
    test.run().status(0);
    let test = test.args("run ranks.dot");
    test.run()
        .status(2)
        .stderr_has("error[G0701]")
        .stderr_has("it is a graph of ranks")
        .stderr_has("= help: move it to `ranks.dot` in the folder of that project")
        .stderr_lacks("graphmap new");
    let test = test.args("new jacobi --family mpi --quiet");
    test.run().status(0);
    let test = test.args("run ranks.dot");
    test.run()
        .status(2)
        .stderr_has("= help: the project jacobi expects it at jacobi/ranks.dot: move it there\n")
        .stderr_lacks("graphmap new");
    let drawn = test.folder().join("ranks.dot");
    fs::rename(drawn, test.folder().join("jacobi/ranks.dot")).unwrap();
    let test = test.args("run jacobi/ranks.dot --no-build");
    test.run().status(0).stderr_is("");
}

#[test]
fn a_project_of_ranks_is_brought_up_to_date_as_it_was_changed() {
    let test = Test::new().args("new jacobi --family mpi --quiet");
    test.run().status(0);
    // The source of the program was renamed. The only graph file here is not used.
    let folder = test.folder().join("jacobi");
    fs::rename(folder.join("src/ring.rs"), folder.join("src/jacobi.rs")).unwrap();
    fs::remove_file(folder.join("README.md")).unwrap();
    let test = test.file("jacobi/ranks.dot", "digraph { main0 -> main1 }");
    let test = test.file("ranks.dot", "digraph { main0 -> main1 }");
    let mut test = test;
    for command in [
        "new jacobi --update",
        "new jacobi --family mpi --link mpi --update",
    ] {
        test = test.args(command);
        test.run()
            .status(0)
            .stderr_lacks("the only graph file here")
            .stderr_lacks("error");
        assert!(!folder.join("src/ring.rs").exists());
        assert!(!folder.join("README.md").exists());
    }
    assert!(
        test.read("jacobi/Cargo.toml")
            .contains("\ngraphmap-link-mpi = ")
    );
    let test = test.args("new jacobi --from ranks.dot --update");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: the project `jacobi` exists, so `--from` has no use")
        .stderr_has("update it with `graphmap new jacobi --update`");
}

#[test]
fn an_invalid_profile_of_ranks_is_an_error() {
    let with = |from: &str, to: &str| PROFILE.replace(from, to);
    for (text, told) in [
        ("{".to_owned(), "EOF"),
        ("{}".to_owned(), "missing field `processes`"),
        (with("\"rank\":1", "\"rank\":2"), "expected rank 1, found 2"),
        (with("\"rank\":1", "\"rank\":0"), "expected rank 1, found 0"),
        (with("0.5", "-1"), "the load of `b\\` is -1"),
        (
            with("\"to\":1,\"messages\":3", "\"to\":7,\"messages\":3"),
            "rank 7 does not exist: there are 2 ranks",
        ),
        (
            with("\"communicator\":1", "\"communicator\":2"),
            "communicator 2 does not exist",
        ),
        (with("{\"from\":\"b", "{\"from\":\"c"), "process `c"),
        (
            with("a \\\"x\\\"", "b\\\\"),
            "ranks 0 and 1 have the same name \"b\\ \"",
        ),
        (
            "{\"processes\":[]}".to_owned(),
            "no rank sent a message to another rank",
        ),
    ] {
        let done = Test::new()
            .file("p.json", &text)
            .args("import p.json")
            .run();
        done.status(1)
            .stdout_is("")
            .stderr_has("error[G0013]: `p.json` is not a profile of ranks: ")
            .stderr_has(told);
    }
    Test::new()
        .args("import p.json")
        .run()
        .status(2)
        .stderr_has("error[G0001]");
    let done = Test::new()
        .file("p.json", b"\xff")
        .args("import p.json")
        .run();
    done.status(2).stderr_has("error[G0002]");
    Test::new()
        .args("import -o x")
        .run()
        .status(2)
        .stderr_has("<PROFILE>");
}
