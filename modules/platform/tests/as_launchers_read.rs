//! Hostfiles are read in the same way as by Open MPI 4.1.4 and 5.0.11 and by hydra 4.0.2 and 5.0.2.
//! All information in them is kept.

mod common;
use common::{diagnostics, good, slots, try_read};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_platform::{Access, HostsFormat, read, slurm};

/// Returns the help of the only diagnostic.
fn help(format: Option<HostsFormat>, text: &str) -> String {
    let mut sources = SourceMap::new();
    let source = sources.add("hosts", text).unwrap();
    let mut out = Diagnostics::new();
    read(&source, format, &mut out);
    let all: Vec<_> = out.into_iter().collect();
    assert_eq!(all.len(), 1, "{text:?}: {all:?}");
    all[0].help.join("; ")
}

#[test]
fn the_limit_is_the_number_of_slots_where_no_other_is_given() {
    let platform = good(None, "a max_slots=8\nb slots=2\nc max_slots=9 slots=3\n");
    assert_eq!(slots(&platform), [("a", 8), ("b", 2), ("c", 3)]);
    assert_eq!(platform.hosts()[0].max_slots, Some(8));
    // A further line adds a slot, with or without `slots=` or `max_slots=` on the first one.
    let platform = good(
        None,
        "a slots=4\na\nb\nb max_slots=8\nc max_slots=8\nc max_slots=9\n",
    );
    assert_eq!(slots(&platform), [("a", 5), ("b", 2), ("c", 9)]);
    let limits: Vec<_> = platform.hosts().iter().map(|h| h.max_slots).collect();
    assert_eq!(limits, [None, Some(8), Some(9)]);
    assert_eq!(
        diagnostics(None, "a max_slots=8\na\nb max_slots=0 slots=1\n"),
        [
            "G0426 error 1:1 the number of slots of host `a` is 9, but its limit is 8",
            "G0426 error 3:1 the number of slots of host `b` is 1, but its limit is 0"
        ]
    );
}

#[test]
fn keys_are_those_of_open_mpi() {
    for key in ["slots", "cpu", "count"] {
        assert_eq!(
            slots(&good(None, &format!("a {key}=3"))),
            [("a", 3)],
            "{key}"
        );
    }
    for key in [
        "max_slots",
        "max-slots",
        "slots_max",
        "slots-max",
        "max_cpu",
        "max-cpu",
        "cpu_max",
        "cpu-max",
        "max_count",
        "max-count",
        "count_max",
        "count-max",
    ] {
        let platform = good(None, &format!("a slots=1 {key}=3"));
        assert_eq!(platform.hosts()[0].max_slots, Some(3), "{key}");
    }
    for (key, right) in [
        ("cpus", "cpu"),
        ("slot", "slots"),
        ("max_cpus", "max_cpu"),
        ("max-cpus", "max-cpu"),
        ("cpus_max", "cpu_max"),
        ("usernam", "username"),
        ("user", "username"),
    ] {
        let text = format!("a slots=1\nb {key}=3");
        let expected = [format!("G0417 error 2:3 `{key}` is not a key of Open MPI")];
        assert_eq!(diagnostics(None, &text), expected);
        assert_eq!(help(None, &text), format!("did you mean `{right}=`?"));
    }
    assert_eq!(
        diagnostics(None, "a slots=1 slots=2\n"),
        ["G0412 error 1:11 `slots=` is given twice on a line"]
    );
}

#[test]
fn assumed_slots_are_a_warning_once() {
    assert_eq!(
        diagnostics(None, "a slots=8\nb\nc\nd\nd\n"),
        ["G0427 warning 2:1 the number of slots of 2 hosts is not given; one each is assumed"]
    );
}

#[test]
fn a_host_with_no_slots_is_not_used() {
    assert_eq!(slots(&good(None, "head slots=0\na slots=2\n")), [("a", 2)]);
    assert_eq!(
        slots(&good(None, "head slots=0\nhead\na slots=2\n")),
        [("head", 1), ("a", 2)]
    );
    assert_eq!(
        diagnostics(None, "head slots=0\n"),
        ["G0410 error 1:1 no host of `hosts` has a slot"]
    );
    // Hydra crashes on this file.
    assert_eq!(
        diagnostics(None, "a:0\n"),
        ["G0413 error 1:3 the number of slots is zero"]
    );
    assert!(help(None, "a:0\n").contains("or omit this entry"));
}

#[test]
fn comments_of_open_mpi() {
    let text =
        "// two hosts\nnode1 slots=2\n/* spare:\nnode8 slots=8 */ node2 slots=1// x\n#\n/**/\n";
    assert_eq!(slots(&good(None, text)), [("node1", 2), ("node2", 1)]);
    // A comment ends the line in which it starts.
    let text = "node1 slots=2 /* a */ node4 slots=3 # b\n";
    assert_eq!(slots(&good(None, text)), [("node1", 2), ("node4", 3)]);
    assert_eq!(
        diagnostics(None, "node1 slots=2\n/* spare\nnode2 slots=2\n"),
        ["G0418 error 2:1 a comment is not closed"]
    );
    assert_eq!(
        diagnostics(Some(HostsFormat::Mpich), "// two\nnode1:2\n"),
        [
            "G0411 error 1:1 a comment that starts with `/` belongs in an Open MPI hostfile, but this text is read as an MPICH hostfile"
        ]
    );
}

#[test]
fn users_ports_interfaces_and_bindings_are_kept() {
    let said = |user: &str, port, interface: &str, binding: &str| {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Access {
            user: some(user),
            port,
            interface: some(interface),
            binding: some(binding),
        }
    };
    let of = |format, text: &str| -> Vec<Access> {
        let platform = good(format, text);
        platform.hosts().iter().map(|h| h.access.clone()).collect()
    };
    assert_eq!(
        of(
            None,
            "bob@node1:2\nnode2:1 user=amy binding=user:0,1\nnode1\n"
        ),
        [said("bob", None, "", ""), said("amy", None, "", "user:0,1")]
    );
    assert_eq!(
        of(Some(HostsFormat::Intel), "node1:2 ifhn=node1-ib user=bob\n"),
        [said("bob", None, "node1-ib", "")]
    );
    assert_eq!(
        of(
            None,
            "bob@node1 slots=2\nnode2 slots=2 user_name = amy port=2222\n"
        ),
        [said("bob", None, "", ""), said("amy", Some(2222), "", "")]
    );
    assert_eq!(
        diagnostics(
            None,
            "a slots=1 port=0\nb slots=1 port=70000\nc;d@e slots=1\n"
        ),
        [
            "G0428 error 1:16 `0` cannot be the port of a host",
            "G0428 error 2:16 `70000` cannot be the port of a host",
            "G0428 error 3:1 `c;d` cannot be the user of a host",
        ]
    );
    let (platform, found) = try_read(None, "bob@a slots=1 username=amy\n");
    assert_eq!(
        found,
        ["G0428 warning 1:24 host `a` has two different users"]
    );
    assert_eq!(
        platform.unwrap().hosts()[0].access.user.as_deref(),
        Some("amy")
    );
}

#[test]
fn advice_about_names_is_about_the_word() {
    for (text, part) in [
        ("$HOST\n", "variables in a file"),
        ("node[1-2]:4\n", "names=node[1-4] slots=4"),
        ("^node2\n", "remove the line"),
        ("+n0\n", "`-host`"),
        ("(null)\n", "batch system"),
        ("/etc/hosts\n", "not a path"),
        ("::1\n", "IPv6"),
        ("h\u{f6}st\n", "letters, digits"),
    ] {
        let advice = help(None, text);
        assert!(advice.contains(part), "{text:?}: {advice}");
        assert!(
            advice.contains("IPv6") == (part == "IPv6"),
            "{text:?}: {advice}"
        );
    }
    let found = diagnostics(None, "node1:2,node2:2\n");
    assert!(found[0].starts_with("G0416"), "{found:?}");
}

#[test]
fn words_that_resemble_slots_get_a_suggestion() {
    for text in [
        "node1 4\nnode2:4\n",
        "node1 4 all.q@node1 UNDEFINED\nnode2:4\n",
    ] {
        let advice = help(None, text);
        assert!(
            advice.contains("`node1:4`") && advice.contains("`node1 slots=4`"),
            "{advice}"
        );
    }
    assert!(help(Some(HostsFormat::OpenMpi), "node1 4\n").contains("`node1 slots=4`"));
    let advice = help(Some(HostsFormat::Mpich), "node1:4 slots=8\n");
    assert!(
        advice.starts_with("in an MPICH hostfile, write `node1:8`;"),
        "{advice}"
    );
    let advice = help(None, "node1:2 4\n");
    assert_eq!(
        advice,
        "remove it; `node1:2` already gives the number of slots"
    );
    let advice = help(None, "node1: 4\n");
    assert!(advice.contains("`node1:4`"), "{advice}");
    let advice = help(None, "node1,2\nnode2\n");
    assert_eq!(advice, "for 2 slots, write `node1:2`");
    for text in [
        "-n 2 -host a ./b : -n 1 -host c ./d\n",
        "# ring\n\n# two\n-np 2 ./b\n",
        "# ring\nrank 0=a slot=0\n",
    ] {
        let advice = help(None, text);
        assert!(advice.starts_with("give `--hosts` "), "{advice}");
    }
    // In Open MPI, too, a comment of this form ends the line.
    for text in [
        "a slots=2 /* two */ max_slots=4\n",
        "a slots=2\nslots=4 b\n",
    ] {
        let advice = help(None, text);
        assert!(advice.starts_with("name the host first"), "{advice}");
    }
    let advice = help(None, "hosts=4:slots=2");
    assert!(advice.contains("separate options from levels"), "{advice}");
    assert_eq!(
        diagnostics(None, "rank 0=node1 slot=0\nrank 1=node2 slot=0\n"),
        ["G0410 error - `hosts` is an Open MPI rankfile, not a description of hosts"]
    );
}

#[test]
fn heterogeneous_jobs_of_slurm_are_read_whole() {
    let read = |pairs: &[(&str, &str)]| {
        let own = |(k, v): &(&str, &str)| (k.to_string(), v.to_string());
        let variables = pairs.iter().map(own).collect();
        let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
        let platform = slurm::read(&variables, &mut sources, &mut out);
        (platform, common::show(&sources, &out))
    };
    let first = ("SLURM_JOB_NODELIST_HET_GROUP_0", "a[1-2]");
    let tasks = ("SLURM_TASKS_PER_NODE_HET_GROUP_0", "2(x2)");
    let second = ("SLURM_JOB_NODELIST_HET_GROUP_1", "b[1-4]");
    let more = ("SLURM_TASKS_PER_NODE_HET_GROUP_1", "8(x4)");
    let size = ("SLURM_HET_SIZE", "2");
    // `sbatch` also sets the variables of the first component without a suffix.
    for own in [
        &[][..],
        &[
            ("SLURM_JOB_NODELIST", "a[1-2]"),
            ("SLURM_TASKS_PER_NODE", "2(x2)"),
        ],
    ] {
        let mut all = vec![size, first, tasks, second, more];
        all.extend(own);
        let (platform, found) = read(&all);
        assert_eq!(
            found,
            ["G0447 warning - the job is heterogeneous: it has 2 components"]
        );
        assert_eq!(platform.unwrap().slot_count(), 36);
    }
    let (platform, _) = read(&[first, tasks, second, more]);
    assert_eq!(platform.unwrap().slot_count(), 36, "without the size");
    let shared = [
        size,
        first,
        tasks,
        ("SLURM_JOB_NODELIST_HET_GROUP_1", "a2,b"),
        ("SLURM_TASKS_PER_NODE_HET_GROUP_1", "3,1"),
        ("SLURM_MEM_PER_NODE_HET_GROUP_0", "1"),
        ("SLURM_MEM_PER_NODE_HET_GROUP_1", "2"),
    ];
    let platform = read(&shared).0.unwrap();
    assert_eq!(slots(&platform), [("a1", 2), ("a2", 5), ("b", 1)]);
    assert_eq!(platform.hosts()[1].memory, Some(3 << 20));
    let (platform, found) = read(&[size, first, tasks]);
    assert_eq!(platform, None);
    assert_eq!(
        found,
        ["G0420 error 1:1 the job has 2 components, but variables name only 1"]
    );
    let own = [
        size,
        ("SLURM_JOB_NODELIST", "a[1-2]"),
        ("SLURM_TASKS_PER_NODE", "2(x2)"),
    ];
    let (_, found) = read(&own);
    assert_eq!(
        found,
        ["G0420 error 1:1 the job has 2 components, but variables name only 0"]
    );
}

#[test]
fn memory_of_a_gpu_is_not_memory_of_the_host() {
    let text = r#"<topology version="2.0"><object type="Machine"><info name="HostName" value="node1"/>
        <object type="NUMANode" os_index="0" local_memory="8589934592"/>
        <object type="NUMANode" os_index="1" subtype="GPUMemory" local_memory="103079215104"/>
        <object type="PU" os_index="0"/></object></topology>"#;
    assert_eq!(good(None, text).hosts()[0].memory, Some(8 << 30));
}

#[test]
fn kinds_of_cores_have_speeds_or_a_warning() {
    let text = |first: &str, second: &str| {
        format!(
            "<topology version=\"2.0\"><object type=\"Machine\"><info name=\"HostName\" value=\"node1\"/>
            <object type=\"Core\"><object type=\"PU\" os_index=\"0\"/></object>
            <object type=\"Core\"><object type=\"PU\" os_index=\"1\"/></object></object>
            <cpukind cpuset=\"0x1\">{first}</cpukind><cpukind cpuset=\"0x2\">{second}</cpukind>
            <cpukind cpuset=\"0x4\"/></topology>"
        )
    };
    let capacity = |n: u32| format!("<info name=\"LinuxCapacity\" value=\"{n}\"/>");
    let platform = good(None, &text(&capacity(400), &capacity(800)));
    let speeds: Vec<f64> = platform.hosts()[0]
        .cores()
        .map(|(_, _, c)| c.speed)
        .collect();
    assert_eq!(speeds, [0.5, 1.0]);
    assert_eq!(
        diagnostics(None, &text(&capacity(400), "")),
        ["G0429 warning 4:13 the cores are of 2 kinds; all are assumed equally fast"]
    );
}

#[test]
fn old_xml_can_be_converted() {
    let advice = help(None, "<topology><object type=\"Machine\"/></topology>");
    assert!(
        advice.contains("lstopo -i old.xml --of xml new.xml"),
        "{advice}"
    );
}
