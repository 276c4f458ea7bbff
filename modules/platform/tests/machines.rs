//! Synthetic platforms, XML of hwloc, and a folder in place of `/sys` and `/proc`.

mod common;
use common::{diagnostics, good, show};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_platform::{
    Class, Distances, Host, HostId, HostsFormat, Platform, hwloc, local, synthetic,
};
use graphmap_testing::{Need, skip};
use std::fs;
use std::path::Path;

/// Returns the numbers of sockets, cache groups and cores of a host.
fn inside(host: &Host) -> (usize, usize, usize) {
    let caches = host.sockets.iter().map(|s| s.caches.len()).sum();
    (host.sockets.len(), caches, host.core_count())
}

#[test]
fn the_example_of_the_issue() {
    let platform = good(None, "hosts=4:sockets=2:cores=8 distance=100:10:1");
    assert_eq!((platform.hosts().len(), platform.slot_count()), (4, 64));
    assert_eq!(inside(&platform.hosts()[3]), (2, 16, 16));
    assert_eq!(
        platform.distances().as_array(),
        [0.0, 1.0, 1.0, 10.0, 100.0, 100.0]
    );
    let places = platform.slots();
    let distance = |a: usize, b: usize| platform.distances().get(places[a].class(&places[b]));
    assert_eq!(
        (distance(0, 7), distance(0, 8), distance(0, 16)),
        (1.0, 10.0, 100.0)
    );
    assert_eq!(platform.hosts()[0].name, "host1");
}

#[test]
fn irregular_platforms() {
    let platform = good(
        None,
        "hosts=4:cores=12(x3),64\n names=n[1-3],big speed=1(x3),2.5\n memory=64G(x3),1T",
    );
    let slots: Vec<_> = platform.hosts().iter().map(|h| h.slots).collect();
    assert_eq!(slots, [12, 12, 12, 64]);
    assert_eq!(platform.hosts()[3].name, "big");
    assert_eq!(
        (platform.hosts()[3].speed, platform.hosts()[3].memory),
        (2.5, Some(1 << 40))
    );
    assert_eq!(*platform.distances(), Distances::MEASURED);

    // Lists per group, per host and per socket.
    let groups = good(
        None,
        "groups=2:hosts=1,2:sockets=2,1:cores=4,8,8 collocated=3",
    );
    assert_eq!(groups.groups(), 2);
    let insides: Vec<_> = groups.hosts().iter().map(inside).collect();
    assert_eq!(insides, [(2, 8, 8), (1, 8, 8), (1, 8, 8)]);
    assert_eq!(groups.distances().get(Class::Collocated), 3.0);
    let host = HostId::from_index;
    assert_eq!(groups.host_class(host(0), host(1)), Class::Apart);
    assert_eq!(groups.host_class(host(1), host(2)), Class::Group);
}

#[test]
fn missing_levels_have_defaults() {
    let caches = good(None, "caches=2:cores=4");
    assert_eq!(
        (caches.hosts().len(), inside(&caches.hosts()[0])),
        (1, (1, 2, 8))
    );
    let flat = good(None, "hosts=3 slots=2,1,4 distance=7");
    assert_eq!(
        (flat.slot_count(), inside(&flat.hosts()[0])),
        (7, (0, 0, 0))
    );
    let named = good(Some(HostsFormat::Synthetic), "names=a,b slots=2");
    assert_eq!((named.hosts().len(), named.slot_count()), (2, 4));
    assert_eq!(named.hosts()[1].name, "b");
}

#[test]
fn errors_in_synthetic_platforms() {
    let one = |text: &str| diagnostics(Some(HostsFormat::Synthetic), text).join("\n");
    assert_eq!(
        one("hosts=0"),
        "G0413 error 1:7 the number of hosts is zero"
    );
    assert_eq!(
        one("hosts=x"),
        "G0414 error 1:7 `x` is not a valid number of hosts"
    );
    assert_eq!(
        one("hosts=2:hosts=2"),
        "G0421 error 1:9 `hosts=` is given twice"
    );
    assert_eq!(
        one("cores=2:hosts=2"),
        "G0421 error 1:9 level `hosts` must come before `cores`"
    );
    assert_eq!(one("hosts=2:8"), "G0421 error 1:9 `8` is not a level");
    assert_eq!(
        one("hosts=2 cores=8"),
        "G0421 error 1:9 levels are given twice"
    );
    assert_eq!(
        one("hots=2"),
        "G0417 error 1:1 `hots` is neither a level nor an option"
    );
    assert_eq!(
        one("hosts=4:cores=1,2,3"),
        "G0421 error 1:9 `cores=` has 3 counts, which does not match the levels outside it"
    );
    assert_eq!(
        one("hosts=4 speed=1,2"),
        "G0421 error 1:15 `speed=` has 2 values for 4 hosts"
    );
    assert_eq!(one("hosts=4 speed=0"), "G0413 error 1:15 the speed is zero");
    assert_eq!(
        one("hosts=4 speed=inf"),
        "G0414 error 1:15 `inf` is not a valid speed"
    );
    assert_eq!(
        one("hosts=4 memory=9999999999T"),
        "G0415 error 1:16 `9999999999T` is too large for the number of bytes"
    );
    assert_eq!(
        one("hosts=4 names=a,b"),
        "G0421 error 1:1 `names=` names 2 hosts, but the levels give 4"
    );
    assert_eq!(
        one("hosts=4 names=a[1-2"),
        "G0418 error 1:16 a `[` is not closed"
    );
    assert_eq!(
        one("hosts=4 distance=1:2"),
        "G0422 error 1:18 2 distances are given for 1 levels"
    );
    assert_eq!(
        one("hosts=4:cores=2 distance=1:10"),
        "G0422 error 1:26 `other host` has distance 1, but `same host`, which is closer, has distance 10"
    );
    assert_eq!(
        one("hosts=2 distance=-1"),
        "G0414 error 1:18 `-1` is not a valid distance"
    );
    assert_eq!(
        one("hosts=2000000"),
        "G0415 error 1:1 2000000 hosts are too many"
    );
    assert_eq!(
        one("hosts=1000000:cores=1000"),
        "G0415 error 1:15 1000000000 cores are too many"
    );
    assert_eq!(
        one("hosts=2:cores=4(x2"),
        "G0418 error 1:16 a `(x` is not closed"
    );
    assert_eq!(
        one("hosts=2 fast"),
        "G0417 error 1:9 `fast` is neither a level nor an option"
    );
    assert_eq!(one("# nothing"), "G0410 error 1:1 `hosts` names no host");
}

#[test]
fn synthetic_form_round_trips() {
    let text = "groups=2:hosts=1,2:sockets=2,1(x2):caches=2:cores=4 names=a,b[1-2] slots=8,4(x2) \
                speed=1,2(x2) memory=1024 distance=100:50:10:2:1 collocated=0.5 graphmap=1\n";
    let platform = good(None, text);
    assert_eq!(synthetic::print(&platform), text);
}

const XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0xff" allowed_cpuset="0x0000007f">
    <info name="HostName" value="big"/>
    <object type="Package" os_index="0">
      <object type="NUMANode" os_index="0" local_memory="1000"/>
      <object type="L3Cache" os_index="0">
        <object type="L2Cache"><object type="Core"><object type="PU" os_index="0"/><object type="PU" os_index="4"/></object></object>
        <object type="L2Cache"><object type="Core"><object type="PU" os_index="1"/><object type="PU" os_index="5"/></object></object>
      </object>
    </object>
    <object type="Package" os_index="1">
      <object type="NUMANode" os_index="1" local_memory="500"/>
      <object type="Core"><object type="PU" os_index="2"/><object type="PU" os_index="6"/></object>
      <object type="Core"><object type="PU" os_index="3"/><object type="PU" os_index="7"/></object>
    </object>
  </object>
</topology>"#;

#[test]
fn a_topology_of_hwloc() {
    let platform = good(None, XML);
    let host = &platform.hosts()[0];
    assert_eq!(
        (host.name.as_str(), host.slots, host.memory),
        ("big", 4, Some(1500))
    );
    assert_eq!(inside(host), (2, 3, 4));
    let cpus: Vec<_> = host
        .cores()
        .map(|(socket, cache, c)| (socket, cache, c.cpus.clone()))
        .collect();
    let expected = [
        (0, 0, vec![0, 4]),
        (0, 0, vec![1, 5]),
        (1, 1, vec![2, 6]),
        (1, 2, vec![3]),
    ];
    assert_eq!(cpus, expected);
}

/// XML of hwloc 3, in which the host name is beside the machine. The machine is irregular. A cgroup
/// allows one NUMA node and three cores, and hardware thread 9 is offline.
const XML_3: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x000001ff" complete_cpuset="0x000003ff" allowed_cpuset="0x0000000e" nodeset="0x00000003" allowed_nodeset="0x00000002">
    <info name="DMIProductName" value="none of these"/>
    <object type="Package" os_index="0">
      <object type="NUMANode" os_index="0" local_memory="1000"><page_type size="4096" count="1"/></object>
      <object type="L3Cache">
        <object type="L2Cache"><object type="L1Cache"><object type="L1iCache"><object type="Core"><object type="PU" os_index="0"/><object type="PU" os_index="4"/></object></object></object></object>
        <object type="L2Cache"><object type="L1Cache"><object type="L1iCache"><object type="Core"><object type="PU" os_index="1"/><object type="PU" os_index="5"/></object></object></object></object>
      </object>
    </object>
    <object type="Package" os_index="1">
      <object type="MemCache" cache_size="64"><object type="NUMANode" os_index="1" local_memory="500"/></object>
      <object type="Die">
        <object type="Core"><object type="PU" os_index="2"/></object>
        <object type="Core"><object type="PU" os_index="3"/></object>
        <object type="Core"><object type="PU" os_index="6"/></object>
      </object>
    </object>
    <object type="Bridge" bridge_type="0-1"><object type="PCIDev"/></object>
  </object>
  <support name="discovery.pu"/>
  <info name="HostName" value="cell7"/>
</topology>"#;

#[test]
fn a_topology_of_hwloc_3_inside_a_cgroup() {
    let platform = good(None, XML_3);
    let host = &platform.hosts()[0];
    assert_eq!(
        (host.name.as_str(), host.slots, host.memory),
        ("cell7", 3, Some(500))
    );
    let cpus: Vec<_> = host
        .cores()
        .map(|(socket, cache, c)| (socket, cache, c.cpus.clone()))
        .collect();
    assert_eq!(cpus, [(0, 0, vec![1]), (1, 1, vec![2]), (1, 2, vec![3])]);
}

#[test]
fn invalid_xml_or_topology_is_an_error() {
    let one = |text: &str| diagnostics(Some(HostsFormat::Hwloc), text).join("\n");
    assert_eq!(
        one("<topology version=\"2.0\">\n<a></b>"),
        "G0423 error 2:4 this is not well-formed XML"
    );
    assert_eq!(one("a:2"), "G0423 error 1:1 this is not well-formed XML");
    assert_eq!(
        one("<svg/>"),
        "G0424 error 1:1 the outermost tag is `svg`, not hwloc's `topology`"
    );
    assert_eq!(
        one("<topology/>"),
        "G0424 error 1:1 this is the format of hwloc version 1; only versions 2 and 3 are read"
    );
    assert_eq!(
        one("<topology version=\"2.0\"/>"),
        "G0424 error 1:1 the topology contains no machine"
    );
    let machine = |inside: &str| {
        one(&format!(
            "<topology version=\"2.0\">\n<object type=\"Machine\">{inside}<info name=\"HostName\" value=\"node1\"/></object></topology>"
        ))
    };
    assert_eq!(
        machine(""),
        "G0424 error 1:1 the topology allows no hardware thread"
    );
    assert_eq!(
        machine("<object type=\"PU\" os_index=\"x\"/>")
            .lines()
            .next(),
        Some("G0414 error 2:52 `x` is not a valid os_index")
    );
    let bomb = "<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\
                <!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><topology>&c;&c;&c;</topology>";
    assert_eq!(
        one(bomb),
        "G0424 error 1:14 the topology declares entities, which hwloc never does"
    );
    let crowd: String = (0..200_000).map(|i| format!("a{i}=\"1\" ")).collect();
    assert_eq!(
        one(&format!("\n<topology {crowd}/>")),
        "G0424 error 2:2 a tag has more than 1000 attributes"
    );
}

#[test]
fn deeply_nested_xml_overflows_no_stack() {
    let deep = 100_000;
    let open = "<object type=\"Group\">".repeat(deep);
    let close = "</object>".repeat(deep);
    let text = format!(
        "<topology version=\"2.0\"><object type=\"Machine\"><info name=\"HostName\" value=\"node1\"/>{open}<object type=\"PU\" os_index=\"0\"/>{close}</object></topology>"
    );
    let (platform, found) = common::try_read(None, &text);
    assert_eq!(platform.map(|p| p.slot_count()), Some(1), "{found:?}");
}

/// Creates a folder that looks like `/` of a machine. Each cpu has its package, siblings and last
/// cache.
fn fake(root: &Path, online: &str, cpus: &[(u32, &str, &str, &str)]) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let _ = fs::remove_dir_all(root);
    write("sys/devices/system/cpu/online", online);
    write("proc/sys/kernel/hostname", "fake\n");
    write("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
    for (cpu, package, siblings, cache) in cpus {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        write(&format!("{dir}/topology/physical_package_id"), package);
        write(&format!("{dir}/topology/thread_siblings_list"), siblings);
        write(&format!("{dir}/cache/index0/level"), "1\n");
        write(&format!("{dir}/cache/index0/shared_cpu_list"), siblings);
        write(&format!("{dir}/cache/index1/level"), "3\n");
        write(&format!("{dir}/cache/index1/shared_cpu_list"), cache);
    }
}

fn read_local(root: &Path) -> (Option<Platform>, Vec<String>) {
    let mut out = Diagnostics::new();
    let platform = local::read(root, &mut out);
    (platform, show(&Default::default(), &out))
}

#[test]
fn a_machine_under_sys() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let cpus: Vec<(u32, &str, &str, &str)> = vec![
        (0, "0", "0,4", "0-1,4-5"),
        (1, "0", "1,5", "0-1,4-5"),
        (2, "1", "2,6", "2,6"),
        (3, "1", "3,7", "3,7"),
        (4, "0", "0,4", "0-1,4-5"),
        (5, "0", "1,5", "0-1,4-5"),
        (6, "1", "2,6", "2,6"),
        (7, "1", "3,7", "3,7"),
    ];
    fake(root, "0-7\n", &cpus);
    let (platform, found) = read_local(root);
    assert_eq!(found, Vec::<String>::new());
    let platform = platform.unwrap();
    let host = &platform.hosts()[0];
    assert_eq!(
        (host.name.as_str(), host.slots, host.memory),
        ("fake", 4, Some(2 << 20))
    );
    assert_eq!(inside(host), (2, 3, 4));
    assert_eq!(host.sockets[0].caches[0].cores[1].cpus, [1, 5]);

    // Only hardware threads that this OS process may use are counted.
    fs::create_dir_all(root.join("proc/self")).unwrap();
    fs::write(
        root.join("proc/self/status"),
        "Name:\tx\nCpus_allowed_list:\t0-1,3\n",
    )
    .unwrap();
    assert_eq!(inside(&read_local(root).0.unwrap().hosts()[0]), (2, 2, 3));
    fs::write(root.join("proc/self/status"), "Cpus_allowed_list:\t64\n").unwrap();
    assert_eq!(
        read_local(root).1,
        ["G0425 error - graphmap may not use any hardware thread of this machine"]
    );

    fs::write(root.join("sys/devices/system/cpu/online"), "7-3").unwrap();
    assert!(read_local(root).1[0].ends_with("is not a list of numbers"));
    fs::remove_dir_all(root).unwrap();
    assert!(read_local(root).1[0].starts_with("G0425 error - `"));
}

#[test]
fn this_machine() {
    if !Path::new("/sys/devices/system/cpu/online").exists() {
        skip(Need::Sysfs, "this system has no /sys/devices/system/cpu");
        return;
    }
    let (platform, found) = read_local(Path::new("/"));
    let platform = platform.unwrap_or_else(|| panic!("{found:?}"));
    assert!(platform.slot_count() >= 1);
    let again = good(None, &hwloc::print(&platform.hosts()[0]));
    assert_eq!(again, platform.without_spans());
}
