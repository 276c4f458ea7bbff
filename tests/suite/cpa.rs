//! The notation of (CM)2PI on the command line.

use crate::common::Test;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns a test with all listings of the thesis as files.
fn listings() -> Test {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("modules/cpa/tests/listings");
    let mut test = Test::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        // It has a warning.
        let lines = text
            .lines()
            .filter(|line| !line.contains("permutecommunicators"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        test = test.file(name, text);
    }
    test
}

/// Returns the numbers of the kinds in each OS process.
fn boxes(test: Test, args: &str) -> Vec<BTreeMap<String, u64>> {
    let done = test.args(&format!("partition {args} --json")).run();
    let plan: Value = serde_json::from_str(&done.status(0).stdout()).unwrap();
    let boxes = plan["os_processes"].as_array().unwrap();
    let kinds = boxes.iter().map(|one| one["kinds"].clone());
    kinds
        .map(|kinds| serde_json::from_value(kinds).unwrap())
        .collect()
}

fn of(kinds: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let kinds = kinds.iter();
    kinds.map(|(kind, n)| ((*kind).to_owned(), *n)).collect()
}

/// Returns the smallest and the largest number of a kind in some OS processes.
fn range(boxes: &[BTreeMap<String, u64>], kind: &str) -> (u64, u64) {
    let numbers = boxes.iter().map(|one| one.get(kind).copied().unwrap_or(0));
    (numbers.clone().min().unwrap(), numbers.max().unwrap())
}

#[test]
fn a_variable_on_the_command_line_replaces_the_value() {
    let test = listings().args("check prime.cpa -D numprimes=50");
    test.run()
        .status(0)
        .stdout_is("")
        .stderr_is("prime.cpa: 50 processes of 3 kinds, 50 channels\n");
    let test = listings().args("check hello.cpa -D numprimes=50");
    test.run().status(1).stderr_is(
        "\
error[G0241]: the graph `helloworld` has no size `numprimes`
  = help: its sizes are `numHello`

graphmap: 1 error
",
    );
}

#[test]
fn an_expanded_structure_is_the_same_graph() {
    for (args, kind) in [
        ("prime.cpa -D numprimes=4", "kind=PrimeElement"),
        ("farm.cpa", "kind=Worker"),
        ("linkedlistx2.cpa", "kind=ListNode"),
    ] {
        let text = listings().args(&format!("expand {args}")).run().stdout();
        assert!(text.contains(kind), "{text}");
        let test = Test::new().file("again.dot", &text);
        let again = test.args("expand again.dot").run();
        again.status(0).stdout_is(&text);
    }
}

#[test]
fn formatting_keeps_comments_and_line_breaks() {
    let text = "structure   a( ){#x\n\n\nB=inports<>outports<>()\n||C=(B[2\n* 3])}";
    let formatted = "\
structure a () { #x

    B = inports <> outports <> ()
    || C = (B[2
                *3])
}
";
    let test = Test::new().stdin(text).args("fmt - --format cpa");
    test.run().status(0).stdout_is(formatted);
    let test = Test::new().file("f.cpa", text);
    test.args("fmt --check f.cpa")
        .run()
        .status(3)
        .stderr_has("`f.cpa` is out of date");
    let test = Test::new().file("f.cpa", text).args("fmt f.cpa");
    test.run().status(0);
    assert_eq!(test.read("f.cpa"), formatted);
    let test = Test::new().file("f.cpa", "structure a {").args("fmt f.cpa");
    test.run().status(1).stderr_is(
        "\
error[G0901]: unexpected `{`
 --> f.cpa:1:13
  |
1 | structure a {
  |             ^ expected `(`

graphmap: 1 error
",
    );
}

#[test]
fn hello_is_spread_over_eight_boxes() {
    let boxes = boxes(listings(), "hello.cpa");
    assert_eq!(boxes.len(), 8);
    assert_eq!(range(&boxes, "HelloWorld"), (1, 2));
}

#[test]
fn the_sieve_is_packed_as_its_containers_say() {
    let sieve = |container: &str, n: u32| {
        let text = fs::read_to_string(listings().folder().join("prime.cpa")).unwrap();
        let text = text.replace("prime.container", container);
        let test = listings().file("sieve.cpa", text);
        boxes(test, &format!("sieve.cpa -D numprimes={n}"))
    };
    // Listing C.12: start and end in the first and the last of eight.
    let all = sieve("prime.container", 5000);
    assert_eq!(all.len(), 8);
    assert_eq!((all[0]["PrimeStart"], all[7]["PrimeEnd"]), (1, 1));
    assert_eq!(range(&all, "PrimeElement"), (624, 625));
    assert_eq!(range(&all[1..], "PrimeStart"), (0, 0));
    // Listing C.13: all in one.
    let all = sieve("prime-one.container", 500);
    let one = [("PrimeStart", 1), ("PrimeElement", 498), ("PrimeEnd", 1)];
    assert_eq!(all, [of(&one)]);
    // Listing C.14: any box may hold the start and the end.
    let all = sieve("prime-any.container", 500);
    assert_eq!(all.len(), 8);
    assert_eq!(range(&all, "PrimeElement"), (62, 63));
    // Listing C.15: at most 10 in the first.
    let all = sieve("prime-limit.container", 500);
    assert_eq!(all[0], of(&[("PrimeStart", 1), ("PrimeElement", 9)]));
    assert_eq!(range(&all[1..7], "PrimeElement"), (70, 70));
    assert_eq!(all[7]["PrimeEnd"], 1);
    assert_eq!(range(&all[1..], "PrimeElement"), (69, 70));
}

#[test]
fn figure_3_4_has_160_boxes() {
    let all = boxes(listings(), "figure-3.1.cpa");
    assert_eq!(all.len(), 160);
    assert_eq!((all[0]["PrimeStart"], all[159]["PrimeEnd"]), (1, 1));
    assert_eq!(range(&all, "PrimeElement"), (12, 13));
    assert!(all[1..159].iter().all(|kinds| kinds.len() == 1));
}

#[test]
fn each_box_has_a_range_of_ranks() {
    let sections = |file: &str| {
        let args =
            format!("emit {file} -e mpiexec=run.sh --set launcher=fgmpi --set program=./p -q");
        let test = listings().args(&args);
        test.run().status(0);
        let script = test.read("run.sh");
        let words = script.split_whitespace().collect::<Vec<_>>().join(" ");
        words.split_once("\"$@\" ").unwrap().1.to_owned()
    };
    assert_eq!(sections("prime.cpa"), "-n 8 -nfg 625 ./p");
    let hello = "-n 2 -nfg 2 ./p : -n 6 -nfg 1 ./p";
    assert_eq!(sections("hello.cpa"), hello);
    let figure = "-n 79 -nfg 13 ./p : -n 80 -nfg 12 ./p : -n 1 -nfg 13 ./p";
    assert_eq!(sections("figure-3.1.cpa"), figure);
    let each = (1..=8).map(|i| format!("-n 1 -nfg {} ./p", 100 * i));
    let each: Vec<String> = each.collect();
    assert_eq!(sections("figure-4.2.cpa"), each.join(" : "));
    // The ranks of FG-MPI equal the ranks of the network.
    for file in ["prime.cpa", "figure-3.1.cpa"] {
        let test = listings().args(&format!("partition {file} -o out"));
        test.run().status(0);
        let mapping: Value = serde_json::from_str(&test.read("out/mapping.json")).unwrap();
        let processes = mapping["processes"].as_array().unwrap().iter();
        let numbers: Vec<_> = processes.map(|p| p["os_process"].as_u64()).collect();
        assert!(numbers.is_sorted(), "{file} {numbers:?}");
    }
}

#[test]
fn the_mapping_function_of_fg_mpi_calls_the_mapped_functions() {
    let test = listings().args("emit prime.cpa -e fgmpi=map.c");
    test.run().status(0).stderr_has("warning[G0449]");
    let text = test.read("map.c");
    for part in [
        "#include \"primeSieve.h\"\nint generator(int argc, char **argv);",
        "{0, 0, 1, 0, 0, 0, generator},\n    {1, 1, 1, 1, 0, 0, sieveElement},\n    {4999, 4999, 1, 0, 0, 0, lastElement},",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn figure_4_2_has_a_box_for_each_round_of_a_loop() {
    let all = boxes(listings(), "figure-4.2.cpa");
    let expected = (1..=8).map(|i| of(&[("SieveElement", 100 * i)]));
    assert_eq!(all, expected.collect::<Vec<_>>());
}

#[test]
fn the_boxes_of_listing_3_3_hold_one_list_each() {
    let all = boxes(listings(), "linkedlistx2.cpa");
    assert_eq!(all.len(), 16);
    assert_eq!(range(&all, "ListNode"), (2, 2));
    for list in all.chunks(8) {
        let managers = list.iter().filter_map(|kinds| kinds.get("Manager"));
        assert_eq!(managers.sum::<u64>(), 1);
    }
    // The first eight hold the first list.
    let test = listings().args("partition linkedlistx2.cpa -o out");
    test.run().status(0);
    let mapping: Value = serde_json::from_str(&test.read("out/mapping.json")).unwrap();
    for process in mapping["processes"].as_array().unwrap() {
        let is_first = process["name"].as_str().unwrap().starts_with("List1.");
        assert_eq!(is_first, process["os_process"].as_u64().unwrap() < 8);
    }
}

#[test]
fn boxes_of_rules_replace_the_boxes_of_the_file() {
    let rules = "container all = HelloWorld[5]\nboxes all*2\n";
    let test = listings().file("two.rules", rules);
    let all = boxes(test, "hello.cpa --rules two.rules");
    assert_eq!(all, vec![of(&[("HelloWorld", 5)]); 2]);
}

#[test]
fn a_kind_that_does_not_fit_is_named() {
    let container = "\
containers {
    containerspec first = < PrimeStart[1], PrimeElement[4] >
    containerspec mid = < PrimeElement[+] > / 3
    boxes ( first || mid[2] )
}
";
    let test = listings().file("prime.container", container);
    test.args("partition prime.cpa -D numprimes=12")
        .run()
        .status(4)
        .stdout_is("")
        .stderr_is(
            "\
error[G0465]: no box may hold `PrimeSieve.PrimeEnd`
 --> prime.container:4:13
  |
4 |     boxes ( first || mid[2] )
  |             ^^^^^ the boxes begin here
  |
  = help: list the kind in a container of the boxes: `PrimeEnd[*]`

graphmap: 1 error
",
        );
    let test = listings().args("partition hello.cpa -n 3");
    test.run().status(4).stderr_is(
        "\
error[G0466]: `-n 3` contradicts the boxes, which are 8 OS processes
 --> hello.container:4:13
  |
4 |     boxes ( helloWorldContainer[8] )
  |             ^^^^^^^^^^^^^^^^^^^
  |
  = help: change the numbers of boxes

graphmap: 1 error
",
    );
}

/// Files that include each other, in two folders.
fn including() -> Test {
    Test::new()
        .file(
            "main.cpa",
            "include sub/parts.cpa\ninclude sub/parts.cpa\ninclude values.cpav\n\
             structure main (n) {\n    || Main = ( Inner[n] )\n}\n",
        )
        .file(
            "sub/parts.cpa",
            "include nested.cpa\nstructure parts () {\n    ||- Inner = ( Leaf )\n}\n",
        )
        .file(
            "sub/nested.cpa",
            "include parts.cpa\ninclude ../main.cpa\n\
             structure nested () {\n    Leaf = inports <> outports <> ()\n}\n",
        )
        .file("lib/values.cpav", "initialize main { n = 3 }\n")
}

#[test]
fn each_file_is_included_once() {
    let test = including().args("check main.cpa -I lib");
    test.run()
        .status(0)
        .stderr_is("main.cpa: 3 processes of 1 kind, 0 channels\n");
    // The folder of the file that includes is searched first.
    let test = including()
        .file("values.cpav", "initialize main { n = 4 }\n")
        .file("sub/values.cpav", "initialize main { n = 5 }\n");
    test.args("check main.cpa -I lib")
        .run()
        .status(0)
        .stderr_is("main.cpa: 4 processes of 1 kind, 0 channels\n");
    let main =
        "include values.cpav\nstructure main (n) { A = inports <> outports <> () || M = ( A[n] ) }";
    let test = including().stdin(main).args("check - --format cpa -I lib");
    test.run()
        .status(0)
        .stderr_is("<stdin>: 3 processes of 1 kind, 0 channels\n");
}

#[test]
fn an_included_file_that_does_not_exist_is_an_error() {
    including()
        .args("check main.cpa")
        .run()
        .status(1)
        .stderr_is(
            "\
error[G0239]: the included file `values.cpav` does not exist
 --> main.cpa:3:9
  |
3 | include values.cpav
  |         ^^^^^^^^^^^
  |
  = note: nor in `sub`
  = help: name a folder to search in: `-I DIR`

graphmap: 1 error
",
        );
}

#[test]
fn errors_have_positions_in_included_files() {
    let nested = "structure nested () {\n    Leef = inports <> outports <> ()\n}\n";
    let test = including().file("sub/nested.cpa", nested);
    test.args("check main.cpa -I lib")
        .run()
        .status(1)
        .stderr_is(
            "\
error[G0903]: the process or composition `Leaf` is not defined
 --> sub/parts.cpa:3:19
  |
3 |     ||- Inner = ( Leaf )
  |                   ^^^^
  |
  = help: did you mean `Leef`?

graphmap: 1 error
",
        );
    let nested =
        "structure nested () {\n    Leaf = inports < outports <> ()\n    Leaf = 7\n}\nboxes\n";
    let test = including().file("sub/nested.cpa", nested);
    test.args("check main.cpa -I lib").run().status(1).stderr_is(
        "\
error[G0901]: unexpected `<`
 --> sub/nested.cpa:2:31
  |
2 |     Leaf = inports < outports <> ()
  |                               ^ expected `,` or `>`

error[G0901]: unexpected `7`
 --> sub/nested.cpa:3:12
  |
3 |     Leaf = 7
  |            ^ expected `inports`

error[G0901]: unexpected `boxes`
 --> sub/nested.cpa:5:1
  |
5 | boxes
  | ^^^^^ expected `structure`, `initialize`, `containers`, `functionmapping`, `glue`, `genv` or `include`

graphmap: 3 errors
",
    );
}

#[test]
fn an_error_of_a_part_is_reported_once() {
    let text = "\
structure s (n) {
    A = inports <in> outports <out> ()
    R = [0..n/2]
    ||- Inner = ( A[n] ) / ( for i in R { up -> in[i] }, out[0] -> down ) @ ( up, down )
    || Outer = ( Inner || B ) / ( B.out -> up, down -> B.in )
}
";
    let test = Test::new().file("s.cpa", text).args("check s.cpa -D n=3");
    test.run().status(1).stderr_is(
        "\
error[G0230]: `n/2` has no value
 --> s.cpa:3:13
  |
3 |     R = [0..n/2]
  |             ^^^ 3 / 2 is not a whole number
  |
  = help: correct a size, or subtract the remainder: `(a - a % b) / b`

error[G0903]: the process or composition `B` is not defined
 --> s.cpa:5:27
  |
5 |     || Outer = ( Inner || B ) / ( B.out -> up, down -> B.in )
  |                           ^
  |
  = help: defined are `A`, `Inner`, `Outer`

graphmap: 2 errors
",
    );
    let test = Test::new().file("s.cpa", text).args("check s.cpa");
    test.run().status(1).stderr_has("graphmap: 2 errors");
}

/// Returns the errors of `check` for a text, without the last line.
fn errors(text: &str, args: &str) -> String {
    let test = Test::new().file("t.cpa", text);
    let done = test.args(&format!("check t.cpa {args}")).run();
    let errors = done.status(1).stdout_is("").stderr();
    errors.rsplit_once("\n\n").unwrap().0.to_owned()
}

#[test]
fn check_reports_unknown_names_in_containers() {
    let text = "\
structure s () { P = inports <> outports <> () || C = ( P[4] ) }
containers {
    containerspec all = < Q[*], D.P[+], boxed > / 9
    boxes ( all || D2:all || whole )
}
";
    let found = errors(text, "");
    let lines: Vec<&str> = found.lines().filter(|l| l.starts_with("error")).collect();
    assert_eq!(
        lines,
        [
            "error[G0903]: the process `Q` is not defined",
            "error[G0903]: the composition `D` is not defined",
            "error[G0903]: the container `boxed` is not defined",
            "error[G0903]: the composition `D2` is not defined",
            "error[G0903]: the container `whole` is not defined",
        ],
        "{found}"
    );
    let positions = ["3:27", "3:33", "3:41", "4:20", "4:30"];
    for position in positions {
        assert!(found.contains(&format!("t.cpa:{position}")), "{found}");
    }
}

#[test]
fn values_of_texts_and_of_links_that_contradict_are_errors() {
    let text = "\
structure s (n, name) {
    P = inports <i> outports <o> (name)
    || C = ( P[n] )
        / ( P.o[0] -> P.i[1], P.o[0] -> P.i[1] buffersize 2,
            P.o[0] -> P.i[1] buffersize 3 )
}
initialize s { n = 2 name = \"x\" }
";
    assert_eq!(
        errors(text, "-D name=3"),
        "\
error[G0906]: two links of one channel have different values of `buffersize`
 --> t.cpa:5:13
  |
5 |             P.o[0] -> P.i[1] buffersize 3 )
  |             ^^^^^^^^^^^^^^^
  |
  = help: write `buffersize` at one of the links only

error[G0913]: `-D name` is a number, but `name` is a text
 --> t.cpa:7:29
  |
7 | initialize s { n = 2 name = \"x\" }
  |                             ^^^
  |
  = help: set the argument of a process: `-A Process.name=TEXT`"
    );
    let text = text
        .replace("buffersize 3", "tag 1")
        .replace("n = 2", "n = \"2\"");
    assert_eq!(
        errors(&text, "").lines().next().unwrap(),
        "error[G0913]: `n` is a text, and not a number"
    );
}

#[test]
fn a_loop_variable_can_be_a_tag() {
    let text = "\
structure s () {
    P = inports <i> outports <o> ()
    R = [0..2]
    || C = ( P[2] ) / ( for t in R { P.o[0] -> P.i[1] tag t+4 } )
}
";
    let test = Test::new().file("t.cpa", text).args("expand t.cpa");
    let drawn = test.run().status(0).stdout();
    for tag in ["tag=4", "tag=5", "tag=6"] {
        assert!(drawn.contains(tag), "{drawn}");
    }
}

#[test]
fn flow_control_needs_a_buffer_size() {
    let text = |properties: &str| {
        format!(
            "structure s () {{ W = inports <> outports <o> () R = inports <i> outports <> ()
            N = [0..2] || C = ( W[3] || R ) / ( for n in N {{ o[n] -> i{properties} }} ) }}"
        )
    };
    for (properties, has_flow) in [("", false), (" buffersize 4", true)] {
        let test = Test::new().file("t.cpa", text(properties));
        let drawn = test.args("expand t.cpa").run().status(0).stdout();
        assert_eq!(drawn.contains("flow=credits"), has_flow, "{drawn}");
    }
}

#[test]
fn a_variable_grows_until_a_common_limit() {
    let text = |number: &str, containers: &str| {
        format!(
            "structure s (n) {{ P = inports <> outports <> () Q = inports <> outports <> ()
            ||- M = ( P[n] ) || C = ( M[2] || Q[2] ) }}
            initialize s {{ n = {number} }} containers {{ {containers} }}"
        )
    };
    let limit = "containerspec c = < P[*], Q[*] > / 4 boxes ( c[2] )";
    let test = Test::new().file("t.cpa", text("*", limit));
    let boxes = boxes(test, "t.cpa");
    let half = of(&[("P", 3), ("Q", 1)]);
    assert_eq!(boxes, [half.clone(), half]);
    // Each instance has boxes of its own.
    let instances =
        "containerspec c = < P[4] > containerspec q = < Q[*] > boxes ( M1:c[3] || M2:c[3] || q )";
    let test = Test::new().file("t.cpa", text("*", instances));
    let test = test.args("check t.cpa");
    test.run().status(0).stderr_has("26 processes");
    let none = "containerspec c = < P[5] > / 4 containerspec q = < Q[*] > boxes ( c || q )";
    let found = errors(&text("+", none), "");
    assert!(
        found.starts_with("error[G0909]: the boxes fit no value of `n`"),
        "{found}"
    );
}

#[test]
fn a_composition_without_processes_is_an_error() {
    let text =
        "structure s (n) { P = inports <> outports <> () || C = ( P[n] ) } initialize s { n = 2 }";
    assert_eq!(
        errors(text, "-D n=0"),
        "\
error[G0910]: no composition has a process
 --> t.cpa:1:52
  |
1 | structure s (n) { P = inports <> outports <> () || C = ( P[n] ) } initialize s { n = 2 }
  |                                                    ^
  |
  = help: correct the numbers of instances"
    );
}

#[test]
fn rules_and_permutations_apply_within_boxes() {
    let text = "\
structure s () {
    S = inports <> outports <> ()
    P = inports <> outports <> ()
    || A = ( S || P[4] )
}
containers {
    containerspec c = < S[*], P[*] >
    boxes ( c[2] )
}
";
    for n in [0, 1] {
        let test = Test::new().file("t.cpa", text);
        let boxes = boxes(test, &format!("t.cpa --pin A.S={n}"));
        assert_eq!(boxes[n].get("S"), Some(&1));
        assert_eq!(range(&boxes, "P"), (2, 2));
    }
    let test = Test::new().file("t.cpa", text).file("order", "1 0 2 3");
    let args = "partition t.cpa --pin A.P1=0 --pin A.P2=1 --permute kind:P=order";
    test.args(args)
        .run()
        .status(4)
        .stderr_has("the permuted mapping `even` breaks 2 rules")
        .stderr_has("  = help: permute processes that the rules treat alike");
}
