//! Which blocks a move between two blocks makes a difference to.

use std::ops::Range;

use super::Machine;

impl Machine {
    /// Blocks whose distance to `a` can differ from that to `b`: two runs of them, of which the second may
    /// have none. To whoever lies outside of the members of a group that hold one or the other, a tree makes
    /// no difference between the two.
    pub(crate) fn spans(&self, a: u32, b: u32) -> [Range<usize>; 2] {
        let [one, two] = self.members(a, b).map(|node| {
            let blocks = &self.nodes[node as usize].blocks;
            blocks[0] as usize..blocks[blocks.len() - 1] as usize + 1
        });
        let (one, two) = if one.start <= two.start {
            (one, two)
        } else {
            (two, one)
        };
        // Neighbours are one run, to be gone through at once.
        match one.end >= two.start {
            true => [one.start..one.end.max(two.end), 0..0],
            false => [one, two],
        }
    }

    /// The members of the smallest group with both blocks that they are in.
    pub(super) fn members(&self, a: u32, b: u32) -> [u32; 2] {
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

    /// The leaf of a block among the nodes.
    pub(crate) fn leaf(&self, block: u32) -> u32 {
        self.leaf[block as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Block, Tree};

    #[test]
    fn outside_of_the_spans_of_two_blocks_neither_is_farther() {
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
        // Of many equal blocks only the two themselves.
        assert_eq!(machines[2].spans(5, 1), [1..2, 5..6]);
    }
}
