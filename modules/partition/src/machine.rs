//! The machine: blocks (OS processes) as the leaves of a tree of hosts, sockets and cores.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Error;

/// A block: an OS process and its part of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Relative speed. A block of speed 2 gets twice the load of a block of speed 1.
    pub speed: u32,
    /// Memory in bytes, or `None` for no limit.
    pub memory: Option<u64>,
    /// Largest number of vertices, or `None` for no limit.
    pub slots: Option<u32>,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            speed: 1,
            memory: None,
            slots: None,
        }
    }
}

/// A machine as its user describes it: groups of blocks and of other groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// A leaf of the tree.
    Block(Block),
    /// Members at `distance` from one another.
    Group {
        /// Distance between blocks of different members.
        distance: u32,
        /// Members, in the order of block numbers.
        members: Vec<Tree>,
    },
}

/// A group or block of a [`Machine`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Distance between blocks of different children. For a block, the collocated distance.
    pub(crate) distance: u32,
    pub(crate) parent: u32,
    pub(crate) children: Vec<u32>,
    /// Blocks below this node, ascending.
    pub(crate) blocks: Vec<u32>,
    /// Number of groups above this node, which is 0 for the root.
    pub(crate) depth: u32,
}

/// Blocks that a network is mapped onto, and the distances between them.
///
/// Memory: up to 2,048 blocks, a table of distances takes 8 bytes for each ordered pair of blocks.
/// Larger machines have no table, and distances are found in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    blocks: Vec<Block>,
    /// Nodes of the tree, root first. Each block has one leaf.
    nodes: Vec<Node>,
    leaf: Vec<u32>,
    /// Distances minus the collocated one, row by row; empty if the machine is too large for a
    /// table. Clones share it, because it is by far the largest part.
    table: Arc<Vec<i64>>,
    collocated: u32,
    /// Largest distance between two blocks. Stored, because computing it takes time for each pair.
    diameter: u32,
    /// Blocks in the order in which they were listed. Empty if it is the order of the tree.
    listed: Vec<u32>,
}

const TABLE_UP_TO: usize = 2048;
const ROOT: u32 = 0;

impl Machine {
    /// Builds a machine from its tree. `collocated` is the distance inside a block. Blocks are
    /// numbered in the order of the leaves.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the tree has no block, a block has speed 0, or the distance of a group
    /// is below the distance of one of its members (`collocated` for a block).
    pub fn new(tree: &Tree, collocated: u32) -> Result<Self, Error> {
        let mut machine = Self {
            blocks: Vec::new(),
            nodes: Vec::new(),
            leaf: Vec::new(),
            table: Arc::default(),
            collocated,
            diameter: collocated,
            listed: Vec::new(),
        };
        let mut work = vec![(tree, u32::MAX, 0)];
        while let Some((tree, parent, depth)) = work.pop() {
            let id = machine.nodes.len() as u32;
            if let Some(above) = machine.nodes.get_mut(parent as usize) {
                above.children.push(id);
            }
            let (distance, blocks) = match tree {
                Tree::Block(block) => {
                    let number = machine.blocks.len() as u32;
                    if block.speed == 0 {
                        return Err(Error::input(format!("block {number} has speed 0")));
                    }
                    machine.blocks.push(*block);
                    machine.leaf.push(id);
                    (collocated, vec![number])
                }
                Tree::Group { distance, members } => {
                    // Reversed, because the stack returns the last member first.
                    work.extend(members.iter().rev().map(|m| (m, id, depth + 1)));
                    (*distance, Vec::new())
                }
            };
            machine.nodes.push(Node {
                distance,
                parent,
                children: Vec::new(),
                blocks,
                depth,
            });
        }
        for id in (1..machine.nodes.len()).rev() {
            let (above, below) = machine.nodes.split_at_mut(id);
            let (node, group) = (&below[0], &mut above[below[0].parent as usize]);
            if node.distance > group.distance {
                return Err(Error::input(format!(
                    "a group of distance {} contains a group of the larger distance {}",
                    group.distance, node.distance
                )));
            }
            group.blocks.extend(&node.blocks);
        }
        for node in &mut machine.nodes {
            node.blocks.sort_unstable();
        }
        if machine.blocks.is_empty() {
            return Err(Error::input("the machine has no blocks"));
        }
        machine.fill_table();
        Ok(machine)
    }

    /// Builds a regular machine of equal blocks with speed 1 and without limits. The distance
    /// inside a block is 0.
    ///
    /// A level is the number of members of each group and the distance between them. The innermost
    /// level comes first: `[(4, 1), (2, 10), (3, 100)]` is 3 hosts at distance 100, of 2 sockets at
    /// distance 10, of 4 cores at distance 1, together 24 blocks. Without levels, the machine is a
    /// single block.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if there are no blocks or more than a million, or if a level has a smaller
    /// distance than the next inner level.
    ///
    /// # Panics
    ///
    /// Panics or needs too much memory if one level has no members and another has a very large
    /// number of members.
    pub fn regular(levels: &[(usize, u32)]) -> Result<Self, Error> {
        let blocks = levels.iter().try_fold(1_usize, |k, l| k.checked_mul(l.0));
        if blocks.is_none_or(|k| k > 1_000_000) {
            return Err(Error::input("the machine has more than a million blocks"));
        }
        let mut tree = Tree::Block(Block::default());
        for &(arity, distance) in levels {
            tree = Tree::Group {
                distance,
                members: vec![tree; arity],
            };
        }
        Self::new(&tree, 0)
    }

    /// Returns the same machine with its blocks listed in the given order, which may differ from
    /// the order of the tree. Strategies that distribute vertices over one block after the other
    /// use this order.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the list does not contain each block exactly once.
    pub fn listed(mut self, order: Vec<u32>) -> Result<Self, Error> {
        let mut seen = vec![false; self.len()];
        let new = |&b: &u32| {
            let seen = seen.get_mut(b as usize);
            seen.is_some_and(|seen| !std::mem::replace(seen, true))
        };
        if order.len() != self.len() || !order.iter().all(new) {
            return Err(Error::input("the list does not contain each block once"));
        }
        self.listed = order;
        Ok(self)
    }

    /// Returns the blocks in the order in which they were listed.
    pub(crate) fn in_order(&self) -> Vec<u32> {
        match self.listed.is_empty() {
            true => (0..self.len() as u32).collect(),
            false => self.listed.clone(),
        }
    }

    fn fill_table(&mut self) {
        let k = self.blocks.len();
        // The distance of a group is not below the distances of the groups inside it. So the
        // uppermost group with several members has the largest distance.
        let mut top = &self.nodes[ROOT as usize];
        while let [only] = top.children[..] {
            top = &self.nodes[only as usize];
        }
        self.diameter = top.distance;
        if k > TABLE_UP_TO {
            return;
        }
        let mut table = vec![0; k * k];
        for node in &self.nodes {
            let beyond = i64::from(node.distance) - i64::from(self.collocated);
            for (i, &one) in node.children.iter().enumerate() {
                for &other in &node.children[i + 1..] {
                    for &a in &self.nodes[one as usize].blocks {
                        for &b in &self.nodes[other as usize].blocks {
                            table[a as usize * k + b as usize] = beyond;
                            table[b as usize * k + a as usize] = beyond;
                        }
                    }
                }
            }
        }
        self.table = Arc::new(table);
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns false, because a machine has at least one block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the blocks in order of their numbers.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the distance between two blocks; the collocated distance if they are the same block.
    ///
    /// Both numbers must be less than [`len`](Self::len). Otherwise the call panics or returns a
    /// meaningless distance.
    #[must_use]
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        self.collocated + self.beyond(a, b) as u32
    }

    /// Returns the distance between two blocks minus the collocated one, which is 0 for the same
    /// block. If a block does not exist, panics or returns a meaningless number.
    #[inline]
    pub(crate) fn beyond(&self, a: u32, b: u32) -> i64 {
        if !self.table.is_empty() {
            return self.table[a as usize * self.len() + b as usize];
        }
        if a == b {
            return 0;
        }
        let [below, _] = self.members(a, b);
        let group = self.nodes[below as usize].parent;
        i64::from(self.nodes[group as usize].distance) - i64::from(self.collocated)
    }

    /// Returns the table of all [`beyond`](Self::beyond) row by row, which is empty if the machine
    /// is too large for it.
    #[inline]
    pub(crate) fn table(&self) -> &[i64] {
        &self.table
    }

    /// Returns the distance inside a block.
    #[must_use]
    pub fn collocated(&self) -> u32 {
        self.collocated
    }

    /// Returns the largest distance between two blocks. For a single block, this is the distance
    /// inside it.
    #[must_use]
    pub fn diameter(&self) -> u32 {
        self.diameter
    }

    /// Returns the blocks of each child of the root. The children are hosts if there is more than
    /// one host. A child without blocks gives an empty slice. A machine of a single block has
    /// itself as the only group.
    pub fn hosts(&self) -> impl Iterator<Item = &[u32]> {
        let hosts = match &self.nodes[ROOT as usize].children[..] {
            [] => &[ROOT],
            children => children,
        };
        hosts.iter().map(|&c| &self.nodes[c as usize].blocks[..])
    }

    /// Returns the same machine with fewer limits. For each block, `kept` contains whether its
    /// limit on memory (first) and its limit on slots (second) remain.
    pub(crate) fn limited(&self, kept: &[(bool, bool)]) -> Self {
        let mut machine = self.clone();
        for (block, (memory, slots)) in machine.blocks.iter_mut().zip(kept) {
            block.memory = block.memory.filter(|_| *memory);
            block.slots = block.slots.filter(|_| *slots);
        }
        machine
    }

    /// Returns the blocks below some nodes, one node after the other, and those of each node in
    /// ascending order.
    pub(crate) fn blocks_of(&self, nodes: &[u32]) -> Vec<u32> {
        let blocks = |&node: &u32| &self.nodes[node as usize].blocks;
        nodes.iter().flat_map(blocks).copied().collect()
    }

    /// Replaces a single group by its members, and repeats this while a single group is left.
    /// Returns several siblings unchanged, and also a single block or a group without members.
    pub(crate) fn members_of(&self, mut nodes: Vec<u32>) -> Vec<u32> {
        while let [only] = nodes[..]
            && !self.nodes[only as usize].children.is_empty()
        {
            nodes.clone_from(&self.nodes[only as usize].children);
        }
        nodes
    }

    /// Returns the tree of some siblings, in the order of `nodes`.
    ///
    /// # Panics
    ///
    /// Panics if `nodes` is empty, or if a group at or below one of the nodes has no members.
    pub(crate) fn part(&self, nodes: &[u32]) -> Tree {
        let tree = |&node: &u32| {
            let below = &self.nodes[node as usize];
            match below.children[..] {
                [] => Tree::Block(self.blocks[below.blocks[0] as usize]),
                _ => self.part(&below.children),
            }
        };
        match nodes {
            [one] => tree(one),
            _ => Tree::Group {
                distance: self.nodes[self.nodes[nodes[0] as usize].parent as usize].distance,
                members: nodes.iter().map(tree).collect(),
            },
        }
    }

    /// Returns the groups at a depth that have several members. The root has the depth 0.
    pub(crate) fn groups_at(&self, depth: u32) -> Vec<&Node> {
        let here = |n: &&Node| n.depth == depth && n.children.len() > 1;
        self.nodes.iter().filter(here).collect()
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn total_speed(&self) -> u64 {
        self.blocks.iter().map(|b| u64::from(b.speed)).sum()
    }

    /// Returns two ranges that contain all blocks whose distance to `a` can differ from the
    /// distance to `b`. The second one may be empty. Panics if `a` or `b` does not exist.
    ///
    /// The ranges cover the two members, of the smallest group with both blocks, that contain `a`
    /// and `b`. All other blocks are at the same distance from both.
    pub(crate) fn spans(&self, a: u32, b: u32) -> [Range<usize>; 2] {
        let [one, two] = self.members(a.min(b), a.max(b)).map(|node| {
            let blocks = &self.nodes[node as usize].blocks;
            blocks[0] as usize..blocks[blocks.len() - 1] as usize + 1
        });
        // Adjacent members form one range, which is faster to traverse.
        match one.end >= two.start {
            true => [one.start..two.end, 0..0],
            false => [one, two],
        }
    }

    /// Returns two members of the smallest group that contains both blocks: the member that
    /// contains `a`, and the member that contains `b`. Returns the leaf twice if the blocks are
    /// equal. Panics if a block does not exist.
    fn members(&self, a: u32, b: u32) -> [u32; 2] {
        let (mut x, mut y) = (self.leaf[a as usize], self.leaf[b as usize]);
        let mut below = [x, y];
        while x != y {
            let (p, q) = (&self.nodes[x as usize], &self.nodes[y as usize]);
            if p.depth >= q.depth {
                (below[0], x) = (x, p.parent);
            } else {
                (below[1], y) = (y, q.parent);
            }
        }
        below
    }

    /// Returns the index of the leaf of a block among the nodes. Panics if the block does not
    /// exist.
    pub(crate) fn leaf(&self, block: u32) -> u32 {
        self.leaf[block as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_machine_has_the_distances_of_its_levels() {
        let machine = Machine::regular(&[(4, 1), (2, 10), (3, 100)]).unwrap();
        assert_eq!(machine.len(), 24);
        let seen: Vec<u32> = [0, 1, 4, 8]
            .iter()
            .map(|&b| machine.distance(0, b))
            .collect();
        assert_eq!(seen, [0, 1, 10, 100]);
        assert_eq!(
            machine.hosts().map(<[u32]>::len).collect::<Vec<_>>(),
            [8, 8, 8]
        );
    }

    #[test]
    fn irregular_machines_number_their_blocks_in_order() {
        let host = |cores| Tree::Group {
            distance: 1,
            members: vec![Tree::Block(Block::default()); cores],
        };
        let tree = Tree::Group {
            distance: 50,
            members: vec![host(12), host(12), host(12), host(64)],
        };
        let machine = Machine::new(&tree, 0).unwrap();
        assert_eq!(machine.len(), 100);
        assert_eq!(
            (machine.distance(11, 12), machine.distance(36, 99)),
            (50, 1)
        );
    }

    /// With a table and without. A group of one member has no influence on the diameter.
    #[test]
    fn the_diameter_is_the_distance_of_two_blocks() {
        for (cores, diameter) in [(1, 0), (3, 9), (3000, 9)] {
            let host = Tree::Group {
                distance: 9,
                members: vec![Tree::Block(Block::default()); cores],
            };
            let tree = Tree::Group {
                distance: 90,
                members: vec![host],
            };
            assert_eq!(Machine::new(&tree, 0).unwrap().diameter(), diameter);
        }
    }

    #[test]
    fn distances_are_equal_without_a_table() {
        let mut machine = Machine::regular(&[(3, 2), (2, 5), (2, 9)]).unwrap();
        let copy = machine.clone();
        machine.table = Arc::default();
        for a in 0..12 {
            for b in 0..12 {
                assert_eq!(machine.distance(a, b), copy.distance(a, b));
            }
        }
    }

    #[test]
    fn blocks_outside_the_spans_are_equally_far_from_both() {
        let host = |cores| Tree::Group {
            distance: 1,
            members: vec![Tree::Block(Block::default()); cores],
        };
        let tree = Tree::Group {
            distance: 50,
            members: vec![host(2), Tree::Block(Block::default()), host(3), host(1)],
        };
        let machines = [
            Machine::new(&tree, 0).unwrap(),
            Machine::regular(&[(3, 2), (2, 5), (3, 9)]).unwrap(),
            Machine::regular(&[(7, 1)]).unwrap(),
        ];
        for machine in &machines {
            let k = machine.len() as u32;
            let pairs = (0..k).flat_map(|a| (0..k).map(move |b| (a, b)));
            for (a, b) in pairs.filter(|(a, b)| a != b) {
                let spans = machine.spans(a, b);
                assert!(spans.iter().any(|s| s.contains(&(a as usize))));
                assert!(spans.iter().any(|s| s.contains(&(b as usize))));
                for c in (0..k).filter(|&c| spans.iter().all(|s| !s.contains(&(c as usize)))) {
                    assert_eq!(machine.distance(a, c), machine.distance(b, c));
                }
            }
        }
        // In a group of many equal blocks, the ranges contain only the two blocks.
        assert_eq!(machines[2].spans(5, 1), [1..2, 5..6]);
    }

    #[test]
    fn a_list_of_blocks_has_each_of_them_once() {
        let machine = || Machine::regular(&[(2, 1), (2, 10)]).unwrap();
        let listed = machine().listed(vec![0, 2, 1, 3]).unwrap();
        assert_eq!(listed.in_order(), [0, 2, 1, 3]);
        assert_eq!(machine().in_order(), [0, 1, 2, 3]);
        for wrong in [vec![0, 1, 2], vec![0, 1, 2, 2], vec![0, 1, 2, 4]] {
            assert!(machine().listed(wrong).is_err());
        }
    }

    #[test]
    fn impossible_machines_are_refused() {
        assert!(Machine::regular(&[(0, 1)]).is_err());
        assert!(Machine::regular(&[(2, 10), (2, 1)]).is_err());
        assert!(Machine::regular(&[(usize::MAX, 1), (2, 1)]).is_err());
    }
}
