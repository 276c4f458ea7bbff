//! Checks that any text, in each format of the host description, gives either hosts or errors with
//! valid positions. Hosts must survive printing and reading.
#![no_main]

use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_platform::{HostsFormat, hwloc, mpich, openmpi, read, slurm, synthetic};

libfuzzer_sys::fuzz_target!(|text: &str| {
    for format in HostsFormat::ALL.map(Some).into_iter().chain([None]) {
        let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
        sources
            .add("before", "another text")
            .expect("less than 4 GiB");
        let source = sources.add("hosts", text).expect("less than 4 GiB");
        let platform = read(&source, format, &mut out);
        assert_eq!(platform.is_none(), out.has_errors());
        for label in out
            .iter()
            .flat_map(|d| d.primary.iter().chain(&d.secondary))
        {
            let (found, range) = sources.range(label.span).expect("a place in the text");
            assert!(found.name() == "hosts" && found.text().get(range).is_some());
        }
        // Larger descriptions take too long here.
        let Some(platform) = platform.filter(|p| p.slot_count() < 1000) else {
            continue;
        };
        for (print, format) in [
            (mpich::print as fn(&_) -> String, HostsFormat::Mpich),
            (openmpi::print, HostsFormat::OpenMpi),
            (synthetic::print, HostsFormat::Synthetic),
        ] {
            let again = sources
                .add("again", print(&platform))
                .expect("less than 4 GiB");
            let again = read(&again, Some(format), &mut out).expect("what was printed");
            assert_eq!(again.slot_count(), platform.slot_count());
        }
        let xml = hwloc::print(&platform.hosts()[0]);
        let again = sources.add("again", xml).expect("less than 4 GiB");
        let cores = platform.hosts()[0].core_count();
        let again = read(&again, Some(HostsFormat::Hwloc), &mut out);
        assert_eq!(again.map_or(0, |p| p.hosts()[0].core_count()), cores);
    }
    let names = [
        "SLURM_JOB_NODELIST",
        "SLURM_TASKS_PER_NODE",
        "SLURM_MEM_PER_NODE",
    ];
    let values = text.split('\n').chain(std::iter::repeat(""));
    let variables = names.iter().zip(values);
    let variables = variables
        .map(|(k, v)| (k.to_string(), v.to_string()))
        .collect();
    slurm::read(&variables, &mut SourceMap::new(), &mut Diagnostics::new());
});
