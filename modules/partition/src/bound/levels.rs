//! Levels of a machine, as groups of blocks with capacities.

use crate::instance::Instance;

/// One level: a division of the blocks into groups.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// Distance that crossing this level adds.
    pub(crate) step: i64,
    /// Largest load of each group.
    pub(crate) room: Vec<i64>,
    /// Group of each block.
    pub(crate) group_of: Vec<u32>,
}

impl Level {
    /// Returns the largest load that any one group can hold.
    pub(crate) fn most(&self) -> i64 {
        self.room.iter().copied().max().unwrap_or(0)
    }

    /// Returns the load that all groups together can hold, at most the largest `i64`.
    pub(crate) fn holds(&self) -> i64 {
        self.room.iter().fold(0, |s: i64, &r| s.saturating_add(r))
    }

    /// Returns the smallest number of groups that can hold a load, or the number of all groups if
    /// even these cannot hold it.
    pub(crate) fn fewest(&self, load: i64) -> i64 {
        let mut room = self.room.clone();
        room.sort_unstable_by_key(|r| std::cmp::Reverse(*r));
        let (mut held, mut groups) = (0_i64, 0);
        for r in room {
            if held >= load {
                break;
            }
            held = held.saturating_add(r);
            groups += 1;
        }
        groups
    }
}

/// Returns the levels, lowest first. Each group of a level is inside a group of the next level. The
/// list is empty if no distance exceeds the collocated one.
///
/// The distance of two blocks, minus the distance of collocated processes, is the sum of the steps
/// of the levels at which they are in different groups.
pub(crate) fn levels(inst: &Instance) -> Vec<Level> {
    let machine = &inst.shared.machine;
    let nodes = machine.nodes();
    let mut steps: Vec<i64> = nodes.iter().map(|n| i64::from(n.distance)).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut last = i64::from(machine.collocated());
    let mut levels = Vec::new();
    steps.retain(|&s| s > last);
    for distance in steps {
        // The groups are the largest subtrees with only smaller distances inside.
        let near = |id: u32| i64::from(nodes[id as usize].distance) < distance;
        let (mut room, mut group_of) = (Vec::new(), vec![0; inst.k()]);
        for id in 0..nodes.len() as u32 {
            let node = &nodes[id as usize];
            if !near(id) || (id != 0 && near(node.parent)) {
                continue;
            }
            for &b in &node.blocks {
                group_of[b as usize] = room.len() as u32;
            }
            room.push(inst.room(&node.blocks));
        }
        levels.push(Level {
            step: distance - last,
            room,
            group_of,
        });
        last = distance;
    }
    levels
}
