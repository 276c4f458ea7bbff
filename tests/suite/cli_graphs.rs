//! `graphmap partition` of bare graphs: files of METIS and Scotch.

use crate::common::Test;
use serde_json::Value;

/// Two squares joined by one edge.
const SQUARES: &str = "\
% Two squares and a bridge.
8 9
2 4
1 3
2 4 5
1 3
3 6 8
5 7
6 8
5 7
";

fn squares(args: &str) -> Test {
    Test::new().file("squares.graph", SQUARES).args(args)
}

#[cfg(feature = "metis")]
#[test]
fn a_graph_of_metis_is_partitioned_and_the_partition_written_as_metis_does() {
    let test = squares("partition squares.graph --format metis -n 2 -o parts");
    let done = test.run().status(0);
    done.stdout_is(
        "squares.graph: 8 vertices and 9 edges in 2 blocks, strategy auto

  block  vertices  load   share
      0         4     4  100.0%
      1         4     4  100.0%

                                          auto   metis   stack  round-robin
  cut (weight of edges between blocks)       1       1       1            8
  edges between blocks                       1       1       1            8
  largest load, relative to its share   100.0%  100.0%  100.0%       100.0%
  within the balance limit                 yes     yes     yes          yes

bound: proved, no partition cuts less
",
    )
    .stderr_is("graphmap: wrote parts/squares.graph.part.2\n");
    let text = test.read("parts/squares.graph.part.2");
    let blocks: Vec<&str> = text.lines().collect();
    assert_eq!(blocks.len(), 8);
    assert!(blocks[..4].iter().all(|b| *b == blocks[0]), "{text}");
    assert!(blocks[4..].iter().all(|b| *b == blocks[4]), "{text}");
    assert_ne!(blocks[0], blocks[4]);
    // The file name implies the format. Without `-o`, no file is written.
    let short = squares("partition squares.graph -n 2 --quiet");
    short.run().status(0).stderr_is("");
    assert_eq!(short.files(), ["squares.graph"]);
}

#[test]
fn a_graph_of_scotch_is_partitioned_and_the_mapping_written_as_scotch_does() {
    // A path of three vertices with the labels 30, 10 and 20.
    let path = "0 3 4 0 110\n30 1 7 10\n10 2 7 30 1 20\n20 1 1 10\n";
    let test = Test::new().file("path.grf", path);
    let test = test.args("partition path.grf -n 2 --imbalance 0 -o parts --quiet");
    test.run().status(0).stderr_is("");
    let text = test.read("parts/path.map");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "3");
    let block = |name: &str| {
        let line = lines[1..].iter().find_map(|l| l.strip_prefix(name));
        line.and_then(|l| l.strip_prefix('\t')).unwrap().to_owned()
    };
    assert!(
        block("30") == block("10") && block("10") != block("20"),
        "{text}"
    );
}

#[test]
fn hosts_have_distances_and_names() {
    let done = squares("partition squares.graph --hosts hosts --json")
        .file("hosts", "b:2\na:2\n")
        .run()
        .status(0);
    let plan: Value = serde_json::from_str(&done.stdout()).expect("a plan and nothing else");
    let hosts: Vec<&Value> = plan["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["host"])
        .collect();
    assert_eq!(hosts, ["b", "b", "a", "a"]);
    assert_eq!((&plan["vertices"], &plan["edges"]), (&8.into(), &9.into()));
    // Each square has its own host, and only the bridge crosses hosts.
    assert_eq!(plan["own"]["bottleneck"], 1);
    assert_eq!((&plan["proved"], &plan["gap"]), (&true.into(), &0.0.into()));
    let block_of: Vec<u64> = plan["block_of"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| b.as_u64().unwrap())
        .collect();
    let of_square = |square: usize| block_of[4 * square] / 2;
    assert!(
        (0..8).all(|v| block_of[v] / 2 == of_square(v / 4)),
        "{block_of:?}"
    );
    // Counts the cut edges again.
    let edges = [
        (1, 2),
        (1, 4),
        (2, 3),
        (3, 4),
        (3, 5),
        (5, 6),
        (5, 8),
        (6, 7),
        (7, 8),
    ];
    let cut = edges
        .iter()
        .filter(|(a, b): &&(usize, usize)| block_of[a - 1] != block_of[b - 1]);
    assert_eq!(plan["own"]["edges_cut"], cut.count());
}

/// Checks that a seed reproduces the partition, from a file and from standard input.
#[test]
fn the_same_seed_gives_the_same_partition() {
    let of = |args: &str, stdin: &str| {
        let done = squares(args).stdin(stdin).run().status(0).stderr_is("");
        let mut plan: Value = serde_json::from_str(&done.stdout()).unwrap();
        plan["name"].take();
        plan
    };
    let one = of("partition squares.graph -n 3 --seed 7 --json", "");
    assert_eq!(of("partition squares.graph -n 3 --seed 7 --json", ""), one);
    assert_eq!(
        of("partition - --format metis -n 3 --seed 7 --json", SQUARES),
        one
    );
    let windows = SQUARES.replace('\n', "\r\n");
    assert_eq!(
        of("partition - --format metis -n 3 --seed 7 --json", &windows),
        one
    );
}

#[test]
fn what_is_wrong_with_a_file_is_shown_where_it_is() {
    let test = Test::new().file("g.graph", "3 2 001\n2 5\n1 5 4 1\n2 1\n");
    let done = test.args("partition g.graph -n 2 -o parts");
    done.run().status(1).stdout_is("").stderr_is(
        "error[G0473]: there is no vertex 4
 --> g.graph:3:5
  |
3 | 1 5 4 1
  |     ^
  |
  = note: the header gives 3 vertices

graphmap: 1 error
",
    );
    assert_eq!(done.files(), ["g.graph"], "nothing is written");
    let one_sided = Test::new().file("g.graph", "3 2 001\n2 5\n1 5 3 1\n2 2\n");
    one_sided
        .args("partition g.graph -n 2")
        .run()
        .status(1)
        .stdout_is("")
        .stderr_is(
            "error[G0474]: the edge between 2 and 3 has two weights, 1 and 2
 --> g.graph:4:1
  |
3 | 1 5 3 1
  |     - the other end
4 | 2 2
  | ^
  |
  = help: give both ends the same weight

graphmap: 1 error
",
        );
    let other = Test::new().file("g.grf", SQUARES.split_once('\n').unwrap().1);
    other
        .args("partition g.grf -n 2")
        .run()
        .status(1)
        .stderr_has("error[G0470]: unknown version `8`")
        .stderr_has("if it is a METIS graph, use `--format metis`");
    let picture = Test::new().file("g.graph", [0x89, b'P', 0]);
    let done = picture.args("partition g.graph -n 2").run();
    done.status(2).stderr_has("error[G0002]");
    let none = Test::new().file("mesh.graph", SQUARES);
    let done = none.args("partition mehs.graph -n 2").run();
    done.status(2)
        .stderr_has("error[G0001]")
        .stderr_has("did you mean `mesh.graph`?");
}

#[test]
fn options_that_speak_of_processes_are_refused() {
    for option in [
        "--pin a=0",
        "--hold *=-4",
        "--modules atom",
        "--weights w.json",
        "--pass p",
        "--rules r",
    ] {
        let done = squares(&format!("partition squares.graph -n 2 {option}")).run();
        let name = option.split(' ').next().unwrap();
        done.status(2)
            .stdout_is("")
            .stderr_has(&format!("error[G0011]: `{name}` is for networks"))
            .stderr_has("write the network in DOT");
    }
    squares("partition squares.graph -n 2 --solver cbc")
        .run()
        .status(2)
        .stderr_has("the strategy `auto` does not use `--solver`");
}

#[cfg(feature = "metis")]
#[test]
fn a_strategy_that_is_nearly_called_so_is_named() {
    squares("partition squares.graph -n 2 --strategy mteis")
        .run()
        .status(2)
        .stderr_has("error[G0450]: there is no strategy `mteis`")
        .stderr_has("did you mean `metis`?");
}

/// Checks that verbs that need a network name the verb that accepts a bare graph.
#[test]
fn other_verbs_point_at_partition() {
    for args in ["check squares.graph", "check squares.graph --format metis"] {
        squares(args)
            .run()
            .status(2)
            .stdout_is("")
            .stderr_has("error[G0004]")
            .stderr_has("`graphmap partition squares.graph --format metis -n 4`");
    }
}

#[test]
fn more_blocks_than_vertices_and_a_balance_that_nothing_keeps() {
    squares("partition squares.graph -n 9 -o parts")
        .run()
        .status(0)
        .stderr_has("warning[G0455]: 9 blocks are requested for 8 vertices; 8 are used")
        .stderr_has("wrote parts/squares.graph.part.8");
    let uneven = || Test::new().file("g.graph", "2 1 010\n9 2\n1 1\n");
    uneven()
        .args("partition g.graph -n 2")
        .run()
        .status(0)
        .stdout_has("within the balance limit              raised")
        .stderr_has("warning[G0457]: no partition keeps the balance limit of 3%");
    uneven()
        .args("partition g.graph -n 2 --strict-balance")
        .run()
        .status(4)
        .stdout_is("")
        .stderr_has("error[G0456]: no partition keeps the balance limit");
    squares("partition squares.graph")
        .run()
        .status(0)
        .stdout_has("note: all vertices are in one block; set the number with `-n` or `--hosts`");
}

#[test]
fn a_partition_is_not_written_over_what_was_read() {
    // The partition would overwrite the host description.
    let hosts = squares("partition squares.graph --hosts squares.graph.part.2 -n 2 -o .")
        .file("squares.graph.part.2", "h1 slots=2\n");
    hosts
        .run()
        .status(2)
        .stderr_has("error[G0011]: `./squares.graph.part.2` is an input of this run");
    assert_eq!(hosts.read("squares.graph.part.2"), "h1 slots=2\n");
    // The partition would overwrite the graph through a link.
    {
        let linked = squares("partition squares.graph -n 2 -o .");
        let link = linked.folder().join("squares.graph.part.2");
        std::os::unix::fs::symlink("squares.graph", link).unwrap();
        linked.run().status(2).stderr_has("error[G0011]");
        assert_eq!(linked.read("squares.graph"), SQUARES);
    }
    let test = squares("partition squares.graph -n 2 -o squares.graph");
    test.run()
        .status(2)
        .stderr_has("`squares.graph` is a file, not a folder");
}

/// Checks that line ends of all systems and comments between vertices are accepted, and that a file
/// that is not text is reported.
#[test]
fn lines_of_other_systems_and_what_is_no_text() {
    let plain = squares("partition squares.graph -n 2 --quiet")
        .run()
        .status(0)
        .stdout();
    let text = SQUARES
        .replace('\n', "\r\n")
        .replace("3 6 8", "  % Between.\r\n3 6\t8 ");
    let test = Test::new().file("squares.graph", &text);
    let test = test.args("partition squares.graph -n 2 --quiet");
    test.run().status(0).stdout_is(&plain);
    let test = Test::new().file("bytes.graph", b"2 1\n2\n\xff1\n");
    let test = test.args("partition bytes.graph -n 2");
    test.run()
        .status(2)
        .stderr_has("error[G0002]: `bytes.graph` cannot be read: it is not UTF-8 text");
}

/// Checks that the name of the partition is derived from the graph's name, even if it is not
/// Unicode.
#[test]
fn a_name_of_bytes_is_kept() {
    use std::os::unix::ffi::OsStrExt;
    let test = Test::new();
    for (graph, text, written) in [
        (
            &b"a\xff.graph"[..],
            "2 1\n2\n1\n",
            &b"a\xff.graph.part.2"[..],
        ),
        (b"a\xff.grf", "0 2 2 0 0 1 1 1 0", b"a\xff.map"),
    ] {
        let [graph, written] = [graph, written].map(std::ffi::OsStr::from_bytes);
        std::fs::write(test.folder().join(graph), text).unwrap();
        let mut command = crate::common::graphmap();
        command.args("partition -n 2 --quiet -o .".split(' '));
        let done = command.arg(graph).current_dir(test.folder()).output();
        assert!(done.unwrap().status.success());
        assert!(test.folder().join(written).exists());
    }
}
