//! Names, ranks and ends of channels of a network, computed on demand from its sequences.

use super::network::{Class, Network};
use graphmap_executor::exec::report::{
    ChannelInfo, ClassInfo, Directory, EndInfo, EndOf, ModuleInfo, ProcessInfo,
};
use graphmap_executor::place::Place;
use graphmap_executor::sequence::Sequence;

impl Network {
    fn place_of(&self, line: &Sequence, column: &Sequence, n: usize) -> Option<Place> {
        let line = line.get(n)?.into();
        Some(Place {
            file: self.file.clone(),
            line,
            column: column.get(n).unwrap_or(0).into(),
        })
    }

    fn end(&self, (kind, port): (u32, u32), index: u32) -> EndInfo {
        let table = &self.kinds[kind as usize];
        EndInfo {
            rank: self.rank(kind, index),
            process: table.names.get(index as usize),
            port: table.ports[port as usize].clone(),
        }
    }

    fn member_of_class(&self, number: u32) -> Option<(&Class, usize)> {
        let class = self.classes.get(self.class_of(number))?;
        Some((class, (number - class.first) as usize))
    }
}

impl Directory for Network {
    fn processes(&self) -> usize {
        self.processes as usize
    }

    fn channels(&self) -> u32 {
        self.channels
    }

    fn kinds(&self) -> usize {
        self.kinds.len()
    }

    fn kind(&self, kind: u32) -> (String, usize) {
        let table = &self.kinds[kind as usize];
        (table.name.clone(), table.ranks.len())
    }

    fn process(&self, kind: u32, index: u32) -> ProcessInfo {
        let table = &self.kinds[kind as usize];
        ProcessInfo {
            rank: self.rank(kind, index),
            name: table.names.get(index as usize),
            place: self.place_of(&table.line, &table.column, index as usize),
        }
    }

    fn rank(&self, kind: u32, index: u32) -> u32 {
        self.kinds[kind as usize]
            .ranks
            .get(index as usize)
            .unwrap_or(u32::MAX)
    }

    fn of_rank(&self, rank: u32) -> (u32, u32) {
        for (kind, table) in self.kinds.iter().enumerate() {
            if let Some(index) = table.ranks.position(rank) {
                return (kind as u32, index as u32);
            }
        }
        (0, 0)
    }

    fn channel(&self, number: u32) -> ChannelInfo {
        let Some((class, n)) = self.member_of_class(number) else {
            return ChannelInfo {
                from: None,
                to: None,
                place: None,
                control: false,
            };
        };
        ChannelInfo {
            from: class
                .from_index
                .get(n)
                .map(|index| self.end(class.from, index)),
            to: class.to_index.get(n).map(|index| self.end(class.to, index)),
            place: self.place_of(&class.line, &class.column, n),
            control: class.control,
        }
    }

    fn peers(&self, number: u32) -> (Option<u32>, Option<u32>) {
        let Some((class, n)) = self.member_of_class(number) else {
            return (None, None);
        };
        let rank = |(kind, _), index| self.rank(kind, index);
        (
            class.from_index.get(n).map(|index| rank(class.from, index)),
            class.to_index.get(n).map(|index| rank(class.to, index)),
        )
    }

    fn token_size(&self, number: u32) -> usize {
        let class = self.classes.get(self.class_of(number));
        class.map_or(0, |class| class.size)
    }

    fn class_of(&self, number: u32) -> usize {
        self.classes
            .partition_point(|class| class.first <= number)
            .saturating_sub(1)
    }

    fn class(&self, class: usize) -> Option<ClassInfo<'_>> {
        self.classes.get(class).map(|class| ClassInfo {
            from: class.from.0,
            to: class.to.0,
            token: class.token_name,
            size: class.size,
            is_payload: self.formats.has(class.token),
            control: class.control,
        })
    }

    fn find(&self, name: &str) -> Option<(u32, u32)> {
        self.kinds.iter().enumerate().find_map(|(kind, table)| {
            let index = table.names.find(name, table.ranks.len())?;
            Some((kind as u32, index as u32))
        })
    }

    fn ends_of(&self, kind: u32, index: u32) -> Vec<EndOf> {
        let mut ends: Vec<(u32, u32, EndOf)> = Vec::new();
        for class in self.classes.iter().filter(|class| !class.control) {
            for (writes, (of, port), indices, slots) in [
                (true, class.from, &class.from_index, &class.from_slot),
                (false, class.to, &class.to_index, &class.to_slot),
            ] {
                if of != kind {
                    continue;
                }
                for n in indices.positions(index) {
                    let number = class.first + n as u32;
                    let slot = slots.get(n).unwrap_or(number);
                    let end = EndOf {
                        number,
                        writes,
                        member: 0,
                    };
                    ends.push((port, slot, end));
                }
            }
        }
        ends.sort_by_key(|&(port, slot, _)| (port, slot));
        let ports = ends.chunk_by_mut(|a, b| a.0 == b.0);
        ports.for_each(|port| {
            let members = port.iter_mut().zip(0..);
            members.for_each(|(end, member)| end.2.member = member);
        });
        ends.into_iter().map(|(.., end)| end).collect()
    }

    fn modules(&self) -> u32 {
        self.modules_total()
    }

    fn module_of(&self, kind: u32, index: u32) -> Option<u32> {
        self.innermost(kind, index)
    }

    fn module(&self, number: u32) -> Option<ModuleInfo> {
        self.module_info(number)
    }

    fn enclosing(&self, module: u32) -> Option<u32> {
        self.module_around(module)
    }

    fn in_module(&self, number: u32) -> Vec<u32> {
        self.ranks_in(number)
    }

    fn full_name_of(&self, kind: u32, index: u32) -> (u32, u32) {
        let found = self.all_full_names().of_process(kind, index);
        found.unwrap_or((u32::MAX, 0))
    }

    fn full_name(&self, number: u32) -> Option<(String, u32)> {
        self.all_full_names().get(number)
    }

    fn find_full_name(&self, text: &str) -> Option<u32> {
        self.all_full_names().find(text)
    }

    fn with_full_name(&self, number: u32, index: u32) -> Option<(u32, u32)> {
        self.all_full_names().member(number, index)
    }

    fn is_under(&self, number: u32, outer: u32) -> bool {
        self.all_full_names().is_under(number, outer)
    }

    fn under_full_name(&self, number: u32) -> Vec<u32> {
        let processes = self.all_full_names().under(number);
        let ranks = processes.map(|(kind, index)| self.rank(kind, index));
        let mut ranks: Vec<u32> = ranks.collect();
        ranks.sort_unstable();
        ranks
    }

    fn capacity(&self, number: u32) -> u32 {
        let class = self.classes.get(self.class_of(number));
        class.map_or(0, |class| class.capacity)
    }

    fn tag(&self, number: u32) -> Option<i32> {
        let class = self.classes.get(self.class_of(number));
        class.and_then(|class| class.tag)
    }
}
