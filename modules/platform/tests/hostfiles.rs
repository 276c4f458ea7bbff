//! Hostfiles of MPICH, Open MPI and Intel MPI, Slurm's node lists, and detection of the format.

mod common;
use common::{diagnostics, good, show, slots, try_read};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_platform::{HostsFormat, intel, mpich, nodelist, openmpi, slurm};
use std::collections::BTreeMap;

#[test]
fn mpich_keeps_the_order_of_lines() {
    let platform = good(None, "# three\r\n h3:2 # fast\nh1\n\nh3:1\n");
    assert_eq!(slots(&platform), [("h3", 3), ("h1", 1)]);
    let runs: Vec<_> = platform
        .order()
        .iter()
        .map(|r| (r.host.index(), r.count))
        .collect();
    assert_eq!(runs, [(0, 2), (1, 1), (0, 1)]);
    assert_eq!(mpich::print(&platform), "h3:2\nh1:1\nh3:1\n");
    assert_eq!(intel::print(&platform), mpich::print(&platform));
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let text = "a:0\nb:x\nc:2x\nd:99999999999\n::1\nh\u{f6}st:1\na:1 usr=me\n:4\ne:\n";
    assert_eq!(
        diagnostics(Some(HostsFormat::Mpich), text),
        [
            "G0413 error 1:3 the number of slots is zero",
            "G0414 error 2:3 `x` is not a valid number of slots",
            "G0414 error 3:3 `2x` is not a valid number of slots",
            "G0415 error 4:3 `99999999999` is too large for the number of slots",
            "G0416 error 5:1 `::1` cannot be the name of a host",
            "G0416 error 6:2 `h\u{f6}st` cannot be the name of a host",
            "G0417 error 7:5 `usr=me` has no meaning after a host",
            "G0416 error 8:1 `` cannot be the name of a host",
            "G0414 error 9:3 the number of slots is missing",
        ]
    );
}

#[test]
fn names_are_as_long_as_names_can_be() {
    let longest = "a".repeat(253);
    for text in [format!("{longest}:2"), format!("{}[1-2],b", &longest[1..])] {
        assert!(good(None, &text).slot_count() >= 2);
    }
    let long = format!(
        "G0416 error 1:1 `{}...` is too long for the name of a host",
        "a".repeat(60)
    );
    for text in [
        format!("{longest}a:2"),
        format!("{longest}[1-2],b"),
        format!("{longest}b[1][2]"),
    ] {
        let found = diagnostics(None, &text);
        assert_eq!(found, [long.as_str()]);
    }
}

#[test]
fn a_file_without_hosts_is_an_error() {
    for text in ["", "\n \n", "# nothing\n", "\u{feff}"] {
        assert_eq!(
            diagnostics(None, text),
            ["G0410 error 1:1 `hosts` names no host"]
        );
    }
    assert_eq!(
        diagnostics(None, "a\0b"),
        ["G0410 error - `hosts` is not a text file"]
    );
}

#[test]
fn wrong_format_is_reported_once() {
    let text = "a slots=2\nb slots=4\n";
    assert_eq!(
        diagnostics(Some(HostsFormat::Mpich), text),
        [
            "G0411 error 1:3 `slots=` belongs in an Open MPI hostfile, but this text is read as an MPICH hostfile"
        ]
    );
    let mut sources = SourceMap::new();
    let source = sources.add("hosts", text).unwrap();
    let mut out = Diagnostics::new();
    mpich::read(&source, &mut out);
    let help = &out.iter().next().unwrap().help;
    assert_eq!(help[0], "in an MPICH hostfile, write `a:2`");
    assert!(help[1].contains("use `--hosts-format openmpi`"));

    let found = |format, text| diagnostics(Some(format), text).join("\n");
    assert!(
        found(HostsFormat::OpenMpi, "a:2\n").contains("a number after `:` belongs in an MPICH")
    );
    assert!(found(HostsFormat::Mpich, "n[1-4]\n").contains("belongs in a Slurm node list"));
    assert!(found(HostsFormat::OpenMpi, "hosts=4\n").contains("belongs in a synthetic platform"));
    assert!(found(HostsFormat::Mpich, "<?xml?>\n").contains("belongs in an hwloc XML file"));
    assert!(
        found(HostsFormat::Mpich, "a:1 ifhn=b\n").contains("belongs in an Intel MPI machinefile")
    );
    assert!(found(HostsFormat::Slurm, "a:2 b:2\n").contains("belongs in an MPICH hostfile"));
    assert!(
        found(HostsFormat::Synthetic, "a slots=2\n").contains("belongs in an Open MPI hostfile")
    );
    // If formats are mixed in one file, the first line that is specific to a format decides.
    assert_eq!(
        diagnostics(None, "a\nb slots=2\nc:3\n"),
        [
            "G0411 error 3:1 a number after `:` belongs in an MPICH hostfile, but this text is read as an Open MPI hostfile",
            "G0427 warning 1:1 the number of slots of host `a` is not given; one is assumed",
        ]
    );
}

#[test]
fn format_is_detected() {
    let of = |text: &str| {
        let mut sources = SourceMap::new();
        HostsFormat::detect(&sources.add("hosts", text).unwrap())
    };
    assert_eq!(of("a\nb\n"), HostsFormat::Mpich);
    assert_eq!(of("a\nb:2\n"), HostsFormat::Mpich);
    assert_eq!(of("# x slots=1\na max_slots = 2"), HostsFormat::OpenMpi);
    assert_eq!(of("me@a"), HostsFormat::Mpich);
    assert_eq!(of("me@a slots=2"), HostsFormat::OpenMpi);
    assert_eq!(of("me@a:2"), HostsFormat::Mpich);
    assert_eq!(of("// a\na\n"), HostsFormat::OpenMpi);
    assert_eq!(of("/* a:2\n b:2 */\na\n"), HostsFormat::OpenMpi);
    assert_eq!(of("a:2 ifhn=a-ib"), HostsFormat::Mpich);
    assert_eq!(of("a,b"), HostsFormat::Slurm);
    assert_eq!(of("node[1-2]"), HostsFormat::Slurm);
    assert_eq!(of("sockets=2:cores=4"), HostsFormat::Synthetic);
    assert_eq!(of("\u{feff} <?xml"), HostsFormat::Hwloc);
    assert_eq!(HostsFormat::from_name("slurm").unwrap(), HostsFormat::Slurm);
    let wrong = HostsFormat::from_name("openmp").unwrap_err();
    assert_eq!(wrong.help, ["did you mean `openmpi`?"]);
}

#[test]
fn host_on_two_consecutive_lines_is_reported() {
    assert_eq!(
        diagnostics(None, "a:2\na:2\n"),
        ["G0412 warning 2:1 host `a` is named on two consecutive lines"]
    );
    assert_eq!(
        slots(&good(None, "a\na\na:1\nb:1\na:1\n")),
        [("a", 4), ("b", 1)]
    );
}

#[test]
fn intel_machinefiles() {
    let platform = good(Some(HostsFormat::Intel), "a:2 ifhn=a-ib\nb:1 user=me\n");
    assert_eq!(slots(&platform), [("a", 2), ("b", 1)]);
    assert_eq!(platform.hosts()[1].access.user.as_deref(), Some("me"));
    assert!(
        diagnostics(Some(HostsFormat::Intel), "a slots=2")
            .join("")
            .starts_with("G0411")
    );
}

#[test]
fn open_mpi_hostfiles() {
    let text = "a slots=2 max_slots=4\nme@b slots = 1\nc slots=1\nc\nd count=2 max-slots =3 # x\n";
    let platform = good(None, text);
    assert_eq!(slots(&platform), [("a", 2), ("b", 1), ("c", 2), ("d", 2)]);
    assert_eq!(platform.hosts()[1].access.user.as_deref(), Some("me"));
    assert_eq!(platform.hosts()[3].max_slots, Some(3));
    assert_eq!(
        openmpi::print(&platform),
        "a slots=2 max_slots=4\nme@b slots=1\nc slots=2\nd slots=2 max_slots=3\n"
    );
}

#[test]
fn errors_in_open_mpi_hostfiles() {
    let text = "a slots=2\na slots=3\nb\nb slots=1\nc slots=0\nd slots=\ne solts=2\nf slots=4 \
                max_slots=2\ng =2\n";
    assert_eq!(
        diagnostics(Some(HostsFormat::OpenMpi), text),
        [
            "G0412 error 2:3 host `a` has `slots=` on two lines",
            "G0412 error 4:3 host `b` has `slots=` after a line without it",
            "G0417 error 6:3 `slots` has no value",
            "G0417 error 7:3 `solts` is not a key of Open MPI",
            "G0417 error 9:3 `=` has no key before it",
            "G0417 error 9:4 `2` has no meaning here",
            "G0426 error 8:1 the number of slots of host `f` is 4, but its limit is 2",
            "G0427 warning 3:1 the number of slots of host `b` is not given; one is assumed",
        ]
    );
}

#[test]
fn slurm_node_lists() {
    let names = |text: &str| -> Vec<String> {
        let platform = good(Some(HostsFormat::Slurm), text);
        platform.hosts().iter().map(|h| h.name.clone()).collect()
    };
    assert_eq!(
        names("node[01-03,20],gpu[1-2]-ib"),
        ["node01", "node02", "node03", "node20", "gpu1-ib", "gpu2-ib"]
    );
    assert_eq!(
        names("r[1-2]n[1-2],x"),
        ["r1n1", "r1n2", "r2n1", "r2n2", "x"]
    );
    assert_eq!(
        names("n[8-11]\nm[007-0010]"),
        ["n8", "n9", "n10", "n11", "m007", "m008", "m009", "m010"]
    );
    assert_eq!(names("a,,b c,"), ["a", "b", "c"]);
}

#[test]
fn errors_in_node_lists() {
    let one = |text: &str| diagnostics(Some(HostsFormat::Slurm), text).join("\n");
    assert_eq!(one("n[1-2"), "G0418 error 1:2 a `[` is not closed");
    assert_eq!(one("a,n1]"), "G0418 error 1:5 a `]` has no `[` before it");
    assert_eq!(one("n[[1]]"), "G0418 error 1:3 a `[` is inside another");
    assert_eq!(one("n[3-1]"), "G0419 error 1:3 `3-1` is a descending range");
    assert_eq!(
        one("n[]"),
        "G0419 error 1:3 `` is not a number or a range of numbers"
    );
    assert_eq!(
        one("n[1,,2]"),
        "G0419 error 1:5 `` is not a number or a range of numbers"
    );
    assert_eq!(
        one("n[a-b]"),
        "G0419 error 1:3 `a-b` is not a number or a range of numbers"
    );
    assert_eq!(
        one("[fe80::1]"),
        "G0416 error 1:6 `fe80::1` cannot be the name of a host"
    );
    assert_eq!(
        one("n[0-4294967295]"),
        "G0419 error 1:3 `0-4294967295` names too many hosts"
    );
    assert_eq!(
        one("n[1-99999999999]"),
        "G0419 error 1:3 `1-99999999999` contains a number that is too large"
    );
    assert_eq!(
        one("a[0-999]b[0-999]c[0-999]"),
        "G0415 error 1:1 this list names too many hosts"
    );
    assert_eq!(one("n[1-3,2]"), "G0412 error 1:1 host `n2` is named twice");
    assert_eq!(one("a,b,a"), "G0412 error 1:5 host `a` is named twice");
    assert_eq!(
        one("a;b"),
        "G0416 error 1:2 `a;b` cannot be the name of a host"
    );
}

#[test]
fn ipv6_addresses_select_no_format() {
    let text =
        "node1 slots=2\n[fe80::1] slots=2\nme@[fe80::2]:22\nfe80::3 slots=1\nnode3 slots=2 bogus\n";
    let expected = [
        "G0416 error 2:1 `[fe80::1]` cannot be the name of a host",
        "G0416 error 3:4 `[fe80::2]:22` cannot be the name of a host",
        "G0416 error 4:5 `fe80::3` cannot be the name of a host",
        "G0417 error 5:15 `bogus` has no meaning here",
    ];
    assert_eq!(diagnostics(Some(HostsFormat::OpenMpi), text), expected);
    assert_eq!(diagnostics(None, text), expected);
    let expected = ["G0416 error 1:1 `[fe80::1]` cannot be the name of a host"];
    assert_eq!(diagnostics(None, "[fe80::1]\nnode2:4\n"), expected);
    // A list of hosts that is not an address is reported as Slurm's, without advice to use
    // `slots=`.
    let expected = [
        "G0411 error 2:1 a list of hosts belongs in a Slurm node list, but this text is read as an Open MPI hostfile",
    ];
    assert_eq!(
        diagnostics(Some(HostsFormat::OpenMpi), "a slots=1\nn[1:2]\n"),
        expected
    );
}

fn environment(pairs: &[(&str, &str)]) -> (Option<graphmap_platform::Platform>, Vec<String>) {
    let own = |(k, v): &(&str, &str)| (k.to_string(), v.to_string());
    let variables: BTreeMap<String, String> = pairs.iter().map(own).collect();
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    let platform = slurm::read(&variables, &mut sources, &mut out);
    let found = show(&sources, &out);
    (platform, found)
}

#[test]
fn the_environment_of_a_slurm_job() {
    let nodes = ("SLURM_JOB_NODELIST", "node[01-03],big");
    let (platform, found) = environment(&[
        nodes,
        ("SLURM_TASKS_PER_NODE", "12(x3),64"),
        ("SLURM_JOB_CPUS_PER_NODE", "24(x3),128"),
        ("SLURM_MEM_PER_NODE", "1024"),
    ]);
    assert_eq!(found, Vec::<String>::new());
    let platform = platform.unwrap();
    assert_eq!(
        slots(&platform),
        [("node01", 12), ("node02", 12), ("node03", 12), ("big", 64)]
    );
    assert_eq!(platform.hosts()[0].memory, Some(1 << 30));

    let (platform, _) = environment(&[nodes, ("SLURM_JOB_CPUS_PER_NODE", "2(x4)")]);
    assert_eq!(platform.unwrap().slot_count(), 8);
    let (platform, _) = environment(&[nodes, ("SLURM_NTASKS_PER_NODE", "3")]);
    assert_eq!(platform.unwrap().slot_count(), 12);
    let (platform, _) = environment(&[("SLURM_JOB_NODELIST", "a"), ("SLURM_CPUS_ON_NODE", "5")]);
    assert_eq!(platform.unwrap().slot_count(), 5);
    let (platform, found) = environment(&[nodes]);
    assert_eq!(platform.unwrap().slot_count(), 4);
    assert!(found[0].starts_with("G0427 warning 1:1"), "{found:?}");
}

#[test]
fn a_slurm_environment_that_contradicts_itself() {
    let nodes = ("SLURM_JOB_NODELIST", "node[01-03]");
    let of = |value| {
        environment(&[nodes, ("SLURM_TASKS_PER_NODE", value)])
            .1
            .join("\n")
    };
    assert_eq!(
        of("2(x2)"),
        "G0420 error 1:1 $SLURM_TASKS_PER_NODE describes 2 hosts, but the job has 3"
    );
    assert_eq!(of("2(x3"), "G0418 error 1:2 a `(x` is not closed");
    assert_eq!(of("0(x3)"), "G0413 error 1:1 the number of tasks is zero");
    assert_eq!(
        of("2(xq)"),
        "G0414 error 1:4 `q` is not a valid number of repetitions"
    );
    assert_eq!(
        of("1(x4294967295)"),
        "G0415 error 1:1 the list has more than 4194304 tasks"
    );
    let (_, found) = environment(&[]);
    assert_eq!(
        found,
        ["G0420 error - the environment is not that of a Slurm job"]
    );
    let (_, found) = environment(&[("SLURM_JOB_NODELIST", "")]);
    assert_eq!(found, ["G0410 error 1:1 $SLURM_JOB_NODELIST names no host"]);
}

#[test]
fn large_inputs_stay_linear_and_bounded() {
    let mut text = String::new();
    for i in 0..200_000 {
        text.push_str(&format!("host{i}:2\n"));
    }
    assert_eq!(good(None, &text).slot_count(), 400_000);
    // If every line is an error, the first errors are kept and the others counted.
    let found = diagnostics(Some(HostsFormat::Mpich), &"a:0\n".repeat(100_000));
    assert_eq!(found.len(), 51);
    assert!(
        found[50].contains("99950 more diagnostics"),
        "{}",
        found[50]
    );
    let (platform, found) = try_read(Some(HostsFormat::Slurm), "n[0-1000000],m[0-1000000]");
    assert!(
        platform.is_none() && found[0].contains("too many"),
        "{found:?}"
    );
    // A line with many keys, and a name with many brackets. Quadratic time would take minutes.
    let keys = format!("a slots=1{}", " username=me".repeat(200_000));
    assert_eq!(good(None, &keys).slot_count(), 1);
    let brackets = format!("a{}", "[1]".repeat(200_000));
    assert_eq!(
        diagnostics(Some(HostsFormat::Slurm), &brackets).len(),
        1,
        "a name too long"
    );
    let names: Vec<String> = (1..=100_000).map(|i| format!("n{i:06}")).collect();
    assert_eq!(
        nodelist::print(names.iter().map(String::as_str)),
        "n[000001-100000]"
    );
}

#[test]
fn file_of_another_purpose_is_one_error() {
    let error = |text: &str| {
        let found = diagnostics(None, text);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };
    let mapping = "{\n  \"format\": \"graphmap-mapping\",\n  \"version\": 1\n}\n";
    assert_eq!(
        error(mapping),
        "G0410 error - `hosts` is a mapping, not a description of hosts"
    );
    assert_eq!(
        error("{\"nodes\": []}"),
        "G0410 error - `hosts` is JSON, not a description of hosts"
    );
    assert_eq!(
        error("digraph farm {\n a -> b\n}\n"),
        "G0410 error - `hosts` is a graph, not a description of hosts"
    );
    assert_eq!(diagnostics(None, "graph\nstrict\n"), Vec::<String>::new());
}
