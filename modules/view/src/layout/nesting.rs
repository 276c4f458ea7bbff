//! The groups of a picture as scopes, one inside the other.

use crate::picture::{Picture, Shape};

/// An item of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Index of a node.
    Node(usize),
    /// Index of a group, which is the index of its scope.
    Group(usize),
}

/// Scopes of a picture. The last one is the whole picture.
#[derive(Debug)]
pub(super) struct Nesting {
    /// Items of each scope, in order.
    pub(super) items: Vec<Vec<Item>>,
    /// Index of each node among the items of its scope.
    node_item: Vec<usize>,
    /// Index of each group among the items of its scope.
    group_item: Vec<usize>,
    /// Scope around each group.
    parents: Vec<usize>,
    /// Scope of each node.
    homes: Vec<usize>,
    depths: Vec<usize>,
}

/// Way of an edge through the scopes.
pub(super) struct Way {
    /// Innermost scope with both ends, and the items there with the writer and the reader.
    pub(super) top: (usize, [usize; 2]),
    /// Scopes inside of it around the writer, outermost first, each with the item in it.
    pub(super) writer: Vec<(usize, usize)>,
    /// The same for the reader.
    pub(super) reader: Vec<(usize, usize)>,
}

impl Nesting {
    pub(super) fn of(picture: &Picture) -> Nesting {
        let root = picture.groups.len();
        let parents: Vec<usize> = picture
            .groups
            .iter()
            .map(|group| group.parent.unwrap_or(root))
            .collect();
        let homes: Vec<usize> = picture
            .nodes
            .iter()
            .map(|node| node.group.unwrap_or(root))
            .collect();
        let mut depths = vec![0; root + 1];
        let mut placed: Vec<Vec<(usize, Item)>> = vec![Vec::new(); root + 1];
        for (index, group) in picture.groups.iter().enumerate() {
            let parent = parents[index];
            depths[index] = if parent == root {
                1
            } else {
                depths[parent] + 1
            };
            placed[parent].push((group.position, Item::Group(index)));
        }
        for (index, node) in picture.nodes.iter().enumerate() {
            placed[homes[index]].push((node.position, Item::Node(index)));
        }
        let mut nesting = Nesting {
            items: Vec::with_capacity(root + 1),
            node_item: vec![0; picture.nodes.len()],
            group_item: vec![0; root],
            parents,
            homes,
            depths,
        };
        for mut placed in placed {
            placed.sort_by_key(|(position, _)| *position);
            for (index, (_, item)) in placed.iter().enumerate() {
                match *item {
                    Item::Node(node) => nesting.node_item[node] = index,
                    Item::Group(group) => nesting.group_item[group] = index,
                }
            }
            let items = placed.into_iter().map(|(_, item)| item);
            nesting.items.push(items.collect());
        }
        nesting
    }

    /// Returns the scope of the whole picture.
    pub(super) fn root(&self) -> usize {
        self.parents.len()
    }

    /// Returns the scope and the item of a node.
    pub(super) fn node(&self, node: usize) -> (usize, usize) {
        (self.homes[node], self.node_item[node])
    }

    /// Returns how the items of a scope are placed.
    pub(super) fn shape(&self, picture: &Picture, scope: usize) -> Shape {
        let group = picture.groups.get(scope);
        group.map_or(Shape::Layered, |group| group.shape)
    }

    /// Returns the way of an edge between two nodes through the scopes.
    pub(super) fn way(&self, writer: usize, reader: usize) -> Way {
        let mut ends = [self.node(writer), self.node(reader)];
        let mut inside = [Vec::new(), Vec::new()];
        while ends[0].0 != ends[1].0 {
            let depth = |end: usize| self.depths[ends[end].0];
            let deeper = usize::from(depth(1) > depth(0));
            let (scope, item) = ends[deeper];
            inside[deeper].push((scope, item));
            ends[deeper] = (self.parents[scope], self.group_item[scope]);
        }
        let [mut writer, mut reader] = inside;
        writer.reverse();
        reader.reverse();
        Way {
            top: (ends[0].0, ends.map(|(_, item)| item)),
            writer,
            reader,
        }
    }
}
