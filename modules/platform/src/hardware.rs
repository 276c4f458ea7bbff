//! Conversion of a platform into the plain data that passes and emitters receive.

use crate::model::{Host, Platform};
use graphmap_kpn::arena::Id;
use graphmap_kpn::hardware::{self, Core, Distances, Hardware, Slots};

impl Platform {
    /// Returns the platform as plain data. `os_processes` is the requested number of OS processes,
    /// if any, and becomes a part of the result unchanged.
    pub fn hardware(&self, os_processes: Option<u32>) -> Hardware {
        let run = |run: &crate::Run| Slots {
            host: run.host.index() as u32,
            slots: run.count,
        };
        let [os_process, cache, socket, host, group, platform] = self.distances().as_array();
        Hardware {
            os_processes,
            hosts: self.hosts().iter().map(convert_host).collect(),
            order: self.order().iter().map(run).collect(),
            distances: Distances {
                os_process,
                cache,
                socket,
                host,
                group,
                platform,
            },
        }
    }
}

fn convert_host(host: &Host) -> hardware::Host {
    // The pattern has no `..`, so that a new field must be passed on or ignored explicitly.
    let Host {
        name,
        // Positions in texts are for diagnostics only.
        span: _,
        access,
        group,
        slots,
        max_slots,
        speed,
        memory,
        // The field `cores` below contains them.
        sockets: _,
    } = host;
    let cores = host.cores().map(|(socket, cache, core)| Core {
        socket,
        cache,
        cpus: core.cpus.clone(),
        speed: core.speed,
    });
    hardware::Host {
        name: name.clone(),
        slots: *slots,
        max_slots: *max_slots,
        speed: *speed,
        memory: *memory,
        group: *group,
        cores: cores.collect(),
        access: access.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::synthetic;
    use graphmap_kpn::diagnostic::Diagnostics;
    use graphmap_kpn::hardware::Slots;
    use graphmap_kpn::source::SourceMap;

    #[test]
    fn hardware_contains_all_inputs_of_a_mapping() {
        let text = "groups=2:hosts=1:sockets=2:caches=1:cores=2 distance=9:7:3:2:1 names=a,b slots=3 speed=1,2 memory=64G";
        let mut sources = SourceMap::new();
        let source = sources.add("words", text).unwrap();
        let mut found = Diagnostics::new();
        let platform = synthetic::read(&source, &mut found).unwrap();
        let hardware = platform.hardware(Some(4));
        assert_eq!(hardware.os_processes, Some(4));
        let hosts = hardware.hosts.iter();
        let hosts: Vec<_> = hosts
            .map(|h| (h.name.as_str(), h.slots, h.speed, h.memory, h.group))
            .collect();
        let memory = Some(64 << 30);
        assert_eq!(hosts, [("a", 3, 1.0, memory, 0), ("b", 3, 2.0, memory, 1)]);
        let cores = hardware.hosts[1].cores.iter();
        let cores: Vec<_> = cores
            .map(|c| (c.socket, c.cache, c.cpus.as_slice()))
            .collect();
        assert_eq!(
            cores,
            [(0, 0, &[0][..]), (0, 0, &[1]), (1, 1, &[2]), (1, 1, &[3])]
        );
        let slots = |host| Slots { host, slots: 3 };
        assert_eq!(hardware.order, [slots(0), slots(1)]);
        let d = hardware.distances;
        let hardware = [d.os_process, d.cache, d.socket, d.host, d.group, d.platform];
        assert_eq!(hardware, platform.distances().as_array());
    }
}
