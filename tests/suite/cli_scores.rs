//! Tables of given mappings: `partition --mapping` and `--compare`.

use crate::common::{Done, Test};
use serde_json::Value;

/// Farm with six workers.
const FARM: &str = "digraph farm {
    source -> worker [bundle=share];
    worker [replicas=6];
    worker -> sink [bundle=select];
}
";

/// Returns a `mapping.json` of [`FARM`]: the hosts of its OS processes, and the OS process of each
/// process in rank order.
fn mapping(hosts: &[Option<&str>], os_processes: &[u32]) -> String {
    let workers = (1..=6).map(|i| format!("worker{i}"));
    let names = ["source".to_owned()].into_iter().chain(workers);
    let names = names.chain(["sink".to_owned()]);
    let place = |(name, at): (String, &u32)| serde_json::json!({"name": name, "os_process": at});
    let json = serde_json::json!({
        "format": "graphmap-mapping",
        "version": 1,
        "network": {"name": "farm", "hash": HASH},
        "strategy": "by hand",
        "os_processes": hosts.iter().map(|h| serde_json::json!({"host": h})).collect::<Vec<_>>(),
        "processes": names.zip(os_processes).map(place).collect::<Vec<_>>(),
    });
    json.to_string()
}

/// Hash of [`FARM`].
const HASH: &str = "a510eb7ee8d4f158";
/// In blocks, and the first and the last process beside each other.
const BLOCKS: &[u32] = &[0, 0, 0, 0, 1, 1, 1, 1];
const ENDS: &[u32] = &[0, 0, 0, 1, 1, 1, 1, 0];

fn farm() -> Test {
    let two = [Some("n1"), Some("n2")];
    let turned = [Some("n2"), Some("n1")];
    Test::new()
        .file("farm.dot", FARM)
        .file("m.json", mapping(&[None, None], BLOCKS))
        .file("ends.json", mapping(&[None, None], ENDS))
        .file("hosts.json", mapping(&two, BLOCKS))
        .file("turned.json", mapping(&turned, ENDS))
        .file("three.json", mapping(&[None; 3], BLOCKS))
        .file("mixed.json", mapping(&[Some("n1"), None], BLOCKS))
}

fn partition(options: &str) -> Done {
    farm().args(&format!("partition farm.dot {options}")).run()
}

fn plan(options: &str) -> Value {
    let done = partition(&format!("--json {options}"));
    serde_json::from_str(&done.status(0).stderr_is("").stdout()).expect("a plan")
}

#[test]
fn the_table_of_a_mapping_is_shown() {
    let done = partition("--mapping hosts.json --compare turned.json");
    done.status(0).stderr_is("").stdout_is(
        "farm: 8 processes in 2 OS processes on 2 hosts, mapping hosts.json

  OS  host  load   share  same OS process  other host  kinds
   0  n1       4  100.0%                3           6  source, worker x 3
   1  n2       4  100.0%                3           6  worker x 3, sink

  host  OS processes  load  traffic with other hosts
  n1               1     4                         6
  n2               1     4                         6

                                       hosts.json   stack  round-robin  turned.json
  cost (traffic times distance)            375270  375270       375270       500180
    same OS process (distance 45)             270     270          270          180
    other host (distance 62500)            375000  375000       375000       500000
  largest load, relative to its share      100.0%  100.0%       100.0%       100.0%
  largest traffic of a host                     6       6            6            8
  channels between OS processes                 6       6            6            8
  within all limits                           yes     yes          yes          yes

bound: no mapping costs less than 375270 (gap 0.0%)
",
    );
}

#[test]
fn the_plan_as_json_has_levels_and_compared_mappings() {
    let plan = plan("--mapping m.json --compare ends.json --compare m.json");
    assert_eq!(plan["mapping"], "m.json");
    assert_eq!(plan["strategy"], "file");
    let level = |level: &Value| {
        let [distance, traffic, cost] = ["distance", "traffic", "cost"].map(|name| {
            let value = &level[name];
            value.as_f64().unwrap()
        });
        assert!((distance * traffic - cost).abs() < 1e-9);
        cost
    };
    let sum = |plan: &Value| -> f64 { plan["levels"].as_array().unwrap().iter().map(level).sum() };
    assert_eq!(Value::from(sum(&plan)), plan["cost"]);
    assert_eq!(plan["levels"][1]["level"], "same host");
    let others = plan["others"].as_array().unwrap();
    let names: Vec<&Value> = others.iter().map(|other| &other["strategy"]).collect();
    assert_eq!(names, ["stack", "round-robin", "ends.json", "m.json"]);
    for other in others {
        assert_eq!(Value::from(sum(other)), other["cost"]);
    }
    assert_eq!(others[3]["cost"], plan["cost"]);
}

#[test]
fn a_searched_plan_is_compared_with_mappings() {
    let done = partition("--compare ends.json").status(0);
    let done = done
        .stdout_has("farm: 8 processes in 2 OS processes, strategy auto\n")
        .stdout_has("stack  round-robin  ends.json\n");
    assert!(!done.stdout().contains("note:"));
}

/// Checks that an OS process without a process counts, that the hosts of `--hosts` replace those of
/// the mapping, and that their levels are shown.
#[test]
fn os_processes_and_hosts_are_those_of_the_mapping() {
    let done = partition("--mapping three.json -n 3");
    done.status(0)
        .stdout_has("in 3 OS processes, mapping three.json\n")
        .stdout_has("note: OS process 2 is empty: the mapping puts nothing there\n");
    let done = partition("--mapping m.json --hosts hosts=1:sockets=2:cores=4");
    done.status(0)
        .stdout_has("   0  host1 core 0 ")
        .stdout_has("    same socket (distance ");
    let done = partition("--mapping hosts.json --hosts names=n2,n1");
    done.status(0)
        .stdout_has("   0  n1 ")
        .stdout_has("   1  n2 ");
}

#[test]
fn launch_files_are_written() {
    let test = farm().args("partition farm.dot --mapping turned.json -o plan --set program=./x");
    test.run().status(0).stdout_has("mapping turned.json\n");
    let files = test.files();
    for file in ["hostfile", "mapped.svg", "mapping.json", "mpiexec.sh"] {
        assert!(files.contains(&format!("plan/{file}")), "{files:?}");
    }
    assert!(test.read("plan/hostfile").ends_with("n2:1\nn1:1\n"));
    let written: Value = serde_json::from_str(&test.read("plan/mapping.json")).unwrap();
    assert_eq!(written["processes"][7]["os_process"], 0);
    assert_eq!(written["os_processes"][0]["host"], "n2");
}

#[test]
fn broken_rules_are_reported() {
    let done = partition("--mapping m.json --together source,sink --hold kind:worker=3-");
    done.status(4).stdout_is("").stderr_is(
        "error[G0513]: the mapping `m.json` breaks a rule
 --> --together:1:1
  |
1 | source,sink
  | ^^^^^^^^^^^ `source` and `sink` must be together
  |
  = help: change the mapping or the rule, or omit `--mapping` to search for a mapping

graphmap: 1 error
",
    );
    partition("--mapping ends.json --together source,sink").status(0);
    // The rule holds for the hosts of the mapping, of which a search would use only the first.
    let test = farm().file("hosts", "n1:2\nn2:2\n");
    let test = test.args("partition farm.dot --mapping hosts.json --hosts hosts --pin sink=n2");
    test.run().status(0).stderr_is("");
    let done = partition("--mapping hosts.json --pin sink=n1").status(4);
    done.stderr_has("error[G0513]: the mapping `hosts.json` breaks a rule\n");
    // A compared mapping is shown as outside the limits.
    let done = partition("--mapping ends.json --compare m.json --together source,sink");
    done.status(0).stdout_has(
        "\n  within all limits                          yes     yes           no      no\n",
    );
    // So is one with unequal loads, which only `--strict-balance` makes an error.
    let uneven = farm().file(
        "uneven.json",
        mapping(&[None, None], &[0, 0, 0, 0, 0, 0, 1, 1]),
    );
    let test = uneven.args("partition farm.dot --mapping uneven.json");
    test.run()
        .status(0)
        .stdout_has("the limit is 4, but the mapping exceeds it\n")
        .stdout_has("bound: no mapping within all limits costs less than ");
    let test = test.args("partition farm.dot --mapping uneven.json --strict-balance");
    test.run().status(4).stderr_has("error[G0513]");
}

#[test]
fn boxes_are_checked() {
    let rules = "container node = source[*], worker[3], sink[*]\nboxes node*2\n";
    let test = farm().file("b.rules", rules);
    let kept = test.args("partition farm.dot --mapping m.json --rules b.rules");
    kept.run().status(0).stdout_has("mapping m.json\n");
    let test = kept.file(
        "b.rules",
        rules.replace("worker[3]", "worker[2]").replace("*2", "*3"),
    );
    let count = test.args("partition farm.dot --mapping m.json --rules b.rules");
    count
        .run()
        .status(4)
        .stderr_has("error[G0466]: the mapping has 2 OS processes, but the boxes are 3\n");
    // A compared mapping need not spread the kinds evenly, as the search does.
    let count = count.file(
        "b.rules",
        "container node = source[*], worker[*], sink[*]\nboxes node*2\n",
    );
    let uneven = mapping(&[None, None], &[0, 0, 0, 0, 0, 0, 1, 1]);
    let count = count.file("uneven.json", uneven);
    let count = count.args("partition farm.dot --compare uneven.json --rules b.rules --json");
    let plan: Value = serde_json::from_str(&count.run().status(0).stdout()).unwrap();
    assert_eq!(plan["others"][2]["feasible"], true, "{plan}");
    let broken = count.file(
        "b.rules",
        "container one = source[1], worker[*]\n\
        container two = worker[*], sink[1]\nboxes two, one\n",
    );
    let broken = broken.args("partition farm.dot --mapping m.json --rules b.rules");
    broken
        .run()
        .status(4)
        .stderr_has("error[G0513]: the mapping `m.json` breaks ");
}

#[test]
fn mappings_that_do_not_fit_are_refused() {
    for (options, status, said) in [
        (
            "--mapping m.json -n 3",
            2,
            "error[G0011]: `-n 3` and `--mapping m.json` disagree\n  = note: the mapping has 2 OS processes\n",
        ),
        (
            "--compare three.json -n 2",
            2,
            "error[G0011]: `-n 2` and `--compare three.json` disagree\n",
        ),
        (
            "--mapping m.json --compare three.json",
            2,
            "error[G0011]: `three.json` has 3 OS processes, but `m.json` has 2 OS processes\n",
        ),
        (
            "--mapping mixed.json",
            2,
            "error[G0011]: OS process 1 has no host in `mixed.json`, but others have one\n",
        ),
        (
            "--mapping hosts.json --hosts names=n1,n3",
            1,
            "error[G0514]: the mapping `hosts.json` binds OS process 1 to host `n2`, which does not exist\n",
        ),
        (
            "--compare turned.json --hosts names=n1,n3",
            1,
            "error[G0514]: the mapping `turned.json` binds OS process 0 to host `n2`",
        ),
        ("--compare none.json", 2, "error[G0001]"),
        (
            "--mapping farm.dot",
            1,
            "error[G0434]: this is not a mapping",
        ),
    ] {
        let done = partition(options).status(status).stdout_is("");
        done.stderr_has(said);
    }
    for option in ["mapping", "compare"] {
        let other = farm().file("other.dot", "digraph other { a -> b }");
        let test = other.args(&format!("partition other.dot --{option} m.json"));
        test.run()
            .status(1)
            .stderr_has("error[G0436]: this mapping is for another network\n");
    }
    let mesh = farm().file("pair.graph", "2 1\n2\n1\n");
    let test = mesh.args("partition pair.graph --compare m.json");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: `--compare` is for networks");
}

#[test]
fn programs_in_one_os_process_are_an_error() {
    let graph = FARM.replace("replicas=6", "replicas=6, program=\"./work\"");
    let test = farm().file("farm.dot", graph);
    let test = test.args("partition farm.dot --mapping m.json");
    test.run()
        .status(1)
        .stdout_is("")
        .stderr_has("error[G0477]");
    let apart = mapping(&[None, None], &[1, 0, 0, 0, 0, 0, 0, 1]);
    let test = test.file("m.json", apart);
    let done = test
        .args("partition farm.dot --mapping m.json --compare ends.json")
        .run();
    done.status(0).stdout_has("./work").stdout_has("  no\n");
}
