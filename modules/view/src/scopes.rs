//! A network as a tree of scopes: the whole and its modules contain items, which are nodes and
//! modules. Each line belongs to the innermost scope that contains both of its ends.

use graphmap_kpn::names::Symbol;

/// Nodes and modules in their scopes. Nodes have the numbers below [`Tree::nodes`], modules the
/// numbers from there on.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Number of nodes.
    pub(crate) nodes: usize,
    /// Kind of each item.
    pub(crate) kinds: Vec<Symbol>,
    /// Scope that contains each item: 0 for the whole, and `m + 1` for module `m`.
    scopes: Vec<u32>,
    /// Index of each item among the items of its scope.
    places: Vec<u32>,
    /// Items of all scopes, and the index of the first item of each scope.
    items: Vec<u32>,
    starts: Vec<u32>,
    /// Number of scopes around each scope.
    depths: Vec<u32>,
    /// An ancestor of each scope, whose distance depends on the depth only. An ancestor at any
    /// depth is a logarithmic number of jumps away (Myers, "An applicative random-access stack").
    jumps: Vec<u32>,
}

/// A channel between two nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Writer and reader.
    pub(crate) nodes: [u32; 2],
    /// Their ports.
    pub(crate) ports: [Symbol; 2],
    /// Items of the innermost scope that contains both nodes, in which the nodes are.
    pub(crate) items: [u32; 2],
}

impl Tree {
    /// Returns the tree. `nodes` and `modules` have the module that contains each of them, and its
    /// kind. The items of a scope are in the order of their first nodes; modules without nodes are
    /// last. A module must follow the module that contains it.
    pub(crate) fn new(
        nodes: impl ExactSizeIterator<Item = (Option<usize>, Symbol)>,
        modules: impl Iterator<Item = (Option<usize>, Symbol)>,
    ) -> Tree {
        let count = nodes.len();
        let scope = |module: Option<usize>| module.map_or(0, |module| module as u32 + 1);
        let all = nodes.chain(modules);
        let (scopes, kinds): (Vec<u32>, Vec<Symbol>) =
            all.map(|(module, kind)| (scope(module), kind)).unzip();
        let mut starts = vec![0; scopes.len() - count + 2];
        for &scope in &scopes {
            starts[scope as usize + 1] += 1;
        }
        for scope in 1..starts.len() {
            starts[scope] += starts[scope - 1];
        }
        let mut tree = Tree {
            nodes: count,
            kinds,
            places: vec![0; scopes.len()],
            items: vec![0; scopes.len()],
            starts,
            depths: vec![0],
            jumps: vec![0],
            scopes,
        };
        tree.order();
        tree.measure();
        tree
    }

    /// Fills `items` and `places`.
    fn order(&mut self) {
        let mut filled = vec![0; self.starts.len() - 1];
        let mut placed = vec![false; self.scopes.len() - self.nodes];
        for first in 0..self.scopes.len() {
            let mut item = first;
            loop {
                if item >= self.nodes {
                    if placed[item - self.nodes] {
                        break;
                    }
                    placed[item - self.nodes] = true;
                }
                let scope = self.scopes[item] as usize;
                self.places[item] = filled[scope];
                self.items[(self.starts[scope] + filled[scope]) as usize] = item as u32;
                filled[scope] += 1;
                if scope == 0 {
                    break;
                }
                item = self.item(scope as u32) as usize;
            }
        }
    }

    /// Fills `depths` and `jumps`.
    fn measure(&mut self) {
        for scope in 1..self.starts.len() - 1 {
            let parent = self.parent(scope as u32) as usize;
            let jump = self.jumps[parent] as usize;
            let next = self.jumps[jump];
            let depth = |scope: usize| self.depths[scope];
            let equal = depth(parent) - depth(jump) == depth(jump) - depth(next as usize);
            self.jumps.push(if equal { next } else { parent as u32 });
            self.depths.push(self.depths[parent] + 1);
        }
    }

    /// Returns the number of scopes.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns true for a node, and false for a module.
    pub(crate) fn is_node(&self, item: u32) -> bool {
        (item as usize) < self.nodes
    }

    /// Returns the scope of a module.
    pub(crate) fn inside(&self, module: u32) -> u32 {
        module - self.nodes as u32 + 1
    }

    /// Returns the module of a scope that is not the whole.
    pub(crate) fn item(&self, scope: u32) -> u32 {
        scope - 1 + self.nodes as u32
    }

    /// Returns the items of a scope, in the order of their first nodes.
    pub(crate) fn items(&self, scope: u32) -> &[u32] {
        let at = scope as usize;
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Returns the index of an item among the items of its scope.
    pub(crate) fn place(&self, item: u32) -> u32 {
        self.places[item as usize]
    }

    /// Returns the scope that contains an item.
    pub(crate) fn scope(&self, item: u32) -> u32 {
        self.scopes[item as usize]
    }

    /// Returns the scope around a scope that is not the whole.
    fn parent(&self, scope: u32) -> u32 {
        self.scope(self.item(scope))
    }

    /// Returns the scope with this depth that is or contains the scope.
    fn around(&self, mut scope: u32, depth: u32) -> u32 {
        while self.depths[scope as usize] > depth {
            let jump = self.jumps[scope as usize];
            scope = match self.depths[jump as usize] < depth {
                true => self.parent(scope),
                false => jump,
            };
        }
        scope
    }

    /// Returns the item of a scope that is or contains a node, which must be inside the scope.
    pub(crate) fn item_of(&self, node: u32, scope: u32) -> u32 {
        match self.scope(node) {
            inner if inner == scope => node,
            inner => self.item(self.around(inner, self.depths[scope as usize] + 1)),
        }
    }

    /// Returns the innermost scope that contains both nodes. Takes logarithmic time in the depth.
    fn common(&self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.scope(a), self.scope(b));
        let depth = self.depths[a as usize].min(self.depths[b as usize]);
        let (mut a, mut b) = (self.around(a, depth), self.around(b, depth));
        while a != b {
            let jumps = (self.jumps[a as usize], self.jumps[b as usize]);
            (a, b) = match jumps.0 == jumps.1 {
                true => (self.parent(a), self.parent(b)),
                false => jumps,
            };
        }
        a
    }

    /// Returns the line between two ports.
    pub(crate) fn line(&self, nodes: [u32; 2], ports: [Symbol; 2]) -> Line {
        let [a, b] = nodes;
        let items = match self.scope(a) == self.scope(b) {
            true => nodes,
            false => {
                let scope = self.common(a, b);
                [self.item_of(a, scope), self.item_of(b, scope)]
            }
        };
        Line {
            nodes,
            ports,
            items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use graphmap_kpn::names::Names;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_belong_to_the_innermost_common_scope(
            parents in prop::collection::vec(0_usize..100, 0..40),
            nodes in prop::collection::vec(0_usize..100, 2..30),
        ) {
            let kind = Names::new().intern("kind");
            let within = |at: usize, before: usize| (at % (before + 1)).checked_sub(1);
            let modules: Vec<_> = parents
                .iter()
                .enumerate()
                .map(|(i, &parent)| (within(parent, i), kind))
                .collect();
            let nodes: Vec<_> =
                nodes.iter().map(|&module| (within(module, modules.len()), kind)).collect();
            let tree = Tree::new(nodes.iter().copied(), modules.iter().copied());
            let path = |node: u32| {
                let mut path = vec![node];
                while let scope @ 1.. = tree.scope(*path.last().unwrap()) {
                    path.push(tree.item(scope));
                }
                path
            };
            for a in 0..nodes.len() as u32 {
                for b in (0..nodes.len() as u32).filter(|b| *b != a) {
                    let [x, y] = tree.line([a, b], [kind; 2]).items;
                    prop_assert!(path(a).contains(&x) && path(b).contains(&y));
                    prop_assert!(x != y && tree.scope(x) == tree.scope(y));
                }
            }
            let mut all: Vec<u32> =
                (0..tree.len() as u32).flat_map(|scope| tree.items(scope).to_vec()).collect();
            for (scope, place, item) in (0..tree.len() as u32).flat_map(|scope| {
                tree.items(scope).iter().enumerate().map(move |(i, &item)| (scope, i as u32, item))
            }) {
                prop_assert_eq!((tree.scope(item), tree.place(item)), (scope, place));
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..(nodes.len() + modules.len()) as u32).collect::<Vec<_>>());
        }
    }
}
