//! Chooses the boxes and frames of a picture. In a large network, a box or a frame stands for
//! several repeated nodes or modules.

use crate::drawing::Form;
use crate::family::{Families, Family, Structure, cell_of_cube, columns};
use crate::picture::Shape;
use crate::scopes::Tree;
use rustc_hash::FxHashMap;

/// Boxes for nodes, and frames around them.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Boxes in the order of their first nodes.
    pub(crate) boxes: Vec<ShownBox>,
    /// Frames, and families without frames. A parent precedes its children.
    pub(crate) frames: Vec<ShownFrame>,
    /// The box of each node.
    pub(crate) box_of: Vec<u32>,
    /// The frame of each module.
    pub(crate) frame_of: Vec<u32>,
}

/// A box.
#[derive(Debug)]
pub(crate) struct ShownBox {
    /// The first node that it stands for.
    pub(crate) first: u32,
    /// Number of nodes that it stands for, in each module that its frame stands for.
    pub(crate) count: usize,
    /// Index of its frame.
    pub(crate) frame: Option<usize>,
    /// Place among the boxes and frames of its frame: the place of the first node among the items
    /// of its scope, or the cell in a hypercube.
    pub(crate) position: usize,
    /// Form of the box.
    pub(crate) form: Form,
}

/// A frame, or a family without a frame.
#[derive(Debug)]
pub(crate) struct ShownFrame {
    /// The first module that it stands for. `None` for a family.
    pub(crate) module: Option<u32>,
    /// Number of modules that it stands for, in each module that the frame around it stands for.
    /// 1 for a family.
    pub(crate) count: usize,
    /// Number of modules that it stands for. A family has the number of the frame around it.
    pub(crate) total: usize,
    /// Index of the frame around it.
    pub(crate) parent: Option<usize>,
    /// Index of its first item among the items of its scope.
    pub(crate) position: usize,
    /// How its contents are placed.
    pub(crate) shape: Shape,
}

/// A shown scope.
struct Level {
    /// The scopes that it stands for. They have equal contents, and the first one is shown.
    scopes: Vec<u32>,
    /// Index of its frame.
    frame: Option<usize>,
    /// Whether it is a row of a grid.
    row: Row,
    /// True if its boxes are dots.
    dots: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    /// It is not a row.
    No,
    /// A row whose cells are shown, or folded without regard to the other rows.
    Whole,
    /// A row that shows samples of its cells.
    Folded,
}

/// Items of a shown scope that are shown as one.
struct Class {
    first: u32,
    count: usize,
    form: Form,
    /// Index of the box, or of the level inside the frame.
    shown: usize,
}

/// Number of samples of a chain, a ring or a block: the first two members, dots, and the last one.
/// In the same way, levels of a tree or a hypercube are shown.
const SAMPLES: u32 = 4;
/// Largest number of nodes of each module of a chain or a ring that is shown by samples.
const LARGEST_SAMPLE: usize = 6;
/// Number of rows and of columns that are shown of a grid: the first one, dots, and the last one.
const SIDE: u32 = 3;

/// Returns the sample that shows a member of a chain, a ring or a block, or a level. True for the
/// dots.
fn sample(rank: u32, count: u32) -> (u32, bool) {
    match rank {
        _ if count <= SAMPLES => (rank, false),
        0 | 1 => (rank, false),
        _ if rank + 1 == count => (SAMPLES - 1, false),
        _ => (2, true),
    }
}

/// Returns the sample that shows a row or column of a grid. True for the dots.
fn side(rank: u32, count: u32) -> (u32, bool) {
    match rank {
        _ if count <= SIDE => (rank, false),
        0 => (0, false),
        _ if rank + 1 == count => (SIDE - 1, false),
        _ => (1, true),
    }
}

struct Fold<'a> {
    tree: &'a Tree,
    families: &'a Families,
    /// True for the families that are folded.
    folded: Vec<bool>,
    /// True for the folded families of modules that are shown by samples.
    sampled: Vec<bool>,
    /// Number of nodes in each scope, and a number for its contents that is the same for scopes
    /// with equal contents. Empty if nothing is folded.
    nodes: Vec<usize>,
    contents: Vec<u32>,
    shown: Shown,
}

/// Chooses the boxes and frames of a picture. If there are more than `most` nodes, repeated items
/// are shown by samples, outermost repetitions first, until at most `most` boxes are left or
/// nothing can be folded. Takes nearly linear time.
pub(crate) fn shown(tree: &Tree, families: &Families, most: usize) -> Shown {
    let mut fold = Fold {
        tree,
        families,
        folded: vec![false; families.list.len()],
        sampled: vec![false; families.list.len()],
        nodes: Vec::new(),
        contents: Vec::new(),
        shown: Shown {
            box_of: vec![0; tree.nodes],
            frame_of: vec![0; tree.kinds.len() - tree.nodes],
            ..Shown::default()
        },
    };
    let mut boxes = tree.nodes;
    if boxes > most {
        fold.compare();
    }
    let mut levels = vec![Level {
        scopes: vec![0],
        frame: None,
        row: Row::No,
        dots: false,
    }];
    while !levels.is_empty() {
        if boxes > most {
            fold.choose(&levels, most, &mut boxes);
        }
        let mut inner = Vec::new();
        for level in levels {
            fold.show(level, &mut inner);
        }
        levels = inner;
    }
    fold.sorted()
}

impl Fold<'_> {
    /// Fills `nodes` and `contents`.
    fn compare(&mut self) {
        let tree = self.tree;
        self.nodes = vec![0; tree.len()];
        self.contents = vec![0; tree.len()];
        let mut known: FxHashMap<Vec<(u32, u32)>, u32> = FxHashMap::default();
        // A module follows the module that contains it.
        for scope in (0..tree.len() as u32).rev() {
            let items = tree.items(scope);
            self.nodes[scope as usize] = items.iter().map(|&item| self.boxes(item)).sum();
            if scope == 0 {
                continue;
            }
            let kind = |item: u32| graphmap_kpn::arena::Id::index(tree.kinds[item as usize]) as u32;
            let inside = |item: u32| match tree.is_node(item) {
                true => 0,
                false => self.contents[tree.inside(item) as usize] + 1,
            };
            let list = items.iter().map(|&item| (kind(item), inside(item)));
            let next = known.len() as u32;
            self.contents[scope as usize] = *known.entry(list.collect()).or_insert(next);
        }
    }

    /// Returns the number of nodes in an item.
    fn boxes(&self, item: u32) -> usize {
        match self.tree.is_node(item) {
            true => 1,
            false => self.nodes[self.tree.inside(item) as usize],
        }
    }

    /// Returns true if the family consists of rows whose cells are nodes.
    fn are_rows(&self, family: usize) -> bool {
        // The cells of a row are one family.
        let is_node = |module: u32| {
            self.tree
                .is_node(self.tree.items(self.tree.inside(module))[0])
        };
        let structure = self.families.list[family].structure;
        matches!(structure, Structure::Rows { .. }) && is_node(self.families.members(family)[0])
    }

    /// Returns true if the family consists of equal modules, each joined to the next, that are
    /// shown by samples: small ones, and those with nodes of one kind, such as the ranks of a
    /// butterfly.
    fn are_sampled(&self, family: usize) -> bool {
        let inside = |module: u32| self.tree.inside(module);
        let members = self.families.members(family);
        let is_line = matches!(
            self.families.list[family].structure,
            Structure::Chain | Structure::Ring
        );
        if !is_line || self.tree.is_node(members[0]) {
            return false;
        }
        let first = inside(members[0]);
        let contents = |module: u32| self.contents[inside(module) as usize];
        let is_small = self.boxes(members[0]) <= LARGEST_SAMPLE;
        let has_one_kind = self.families.of_scope(first).len() == 1
            && self.tree.is_node(self.tree.items(first)[0]);
        (is_small || has_one_kind)
            && members
                .iter()
                .all(|&module| contents(module) == contents(members[0]))
    }

    /// Returns the number of boxes that disappear when a family is folded.
    fn saved(&self, family: usize) -> usize {
        let members = self.families.members(family);
        let all: usize = members.iter().map(|&item| self.boxes(item)).sum();
        let count = members.len();
        let structure = self.families.list[family].structure;
        let cells = |columns: u32| {
            let rows = count.min(SIDE as usize);
            rows * columns.min(SIDE) as usize
        };
        let left = match structure {
            Structure::Rows { columns } if self.are_rows(family) => cells(columns),
            _ if self.are_sampled(family) => count.min(SAMPLES as usize) * self.boxes(members[0]),
            _ if !self.tree.is_node(members[0]) => {
                let mut known = FxHashMap::default();
                for &item in members {
                    let contents = self.contents[self.tree.inside(item) as usize];
                    known.entry(contents).or_insert(self.boxes(item));
                }
                known.values().sum()
            }
            Structure::Grid { columns } => {
                let rows = count as u32 / columns;
                (rows.min(SIDE) * columns.min(SIDE)) as usize
            }
            Structure::Chain | Structure::Ring | Structure::Block => count.min(SAMPLES as usize),
            Structure::Cube { dimension } => (dimension + 1).min(SAMPLES) as usize,
            Structure::Tree { levels } => levels.min(SAMPLES) as usize,
            Structure::Other | Structure::Rows { .. } => 1,
        };
        all.saturating_sub(left)
    }

    /// Folds families of the levels, those first that save most boxes, until at most `most` boxes
    /// are left.
    fn choose(&mut self, levels: &[Level], most: usize, boxes: &mut usize) {
        let all = levels.iter().filter(|level| level.row != Row::Folded);
        let all = all.flat_map(|level| self.families.of_scope(level.scopes[0]));
        let mut choices: Vec<(usize, usize)> =
            all.map(|family| (self.saved(family), family)).collect();
        choices.retain(|&(saved, _)| saved > 0);
        choices.sort_by_key(|&(saved, family)| (std::cmp::Reverse(saved), family));
        for (saved, family) in choices {
            if *boxes <= most {
                return;
            }
            self.folded[family] = true;
            self.sampled[family] = self.are_sampled(family);
            *boxes -= saved;
        }
    }

    /// Returns a number for the class of a member of a folded family, and the form of a box.
    /// Modules with the form of dots contain dots.
    fn class(&self, family: usize, item: u32) -> (u32, Form) {
        let rank = self.families.ranks[item as usize];
        let Family {
            count, structure, ..
        } = self.families.list[family];
        let dots = |(class, dots)| (class, if dots { Form::Dots } else { Form::One });
        let level = |levels| match sample(self.families.levels[item as usize], levels) {
            (class, true) => (class, Form::Dots),
            (class, false) => (class, Form::Many),
        };
        match structure {
            _ if self.are_rows(family) => dots(side(rank, count)),
            _ if self.sampled[family] => dots(sample(rank, count)),
            _ if !self.tree.is_node(item) => {
                (self.contents[self.tree.inside(item) as usize], Form::One)
            }
            Structure::Grid { columns } => {
                let row = side(rank / columns, count / columns);
                let column = side(rank % columns, columns);
                dots((row.0 * SIDE + column.0, row.1 || column.1))
            }
            Structure::Chain | Structure::Ring | Structure::Block => dots(sample(rank, count)),
            Structure::Cube { dimension } => level(dimension + 1),
            Structure::Tree { levels } => level(levels),
            Structure::Other | Structure::Rows { .. } => (0, Form::Many),
        }
    }

    /// Returns the classes of the items of a scope, and the class of each item.
    fn classes(&self, level: &Level) -> (Vec<Class>, Vec<u32>) {
        let mut classes: Vec<Class> = Vec::new();
        let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let items = self.tree.items(level.scopes[0]);
        let mut of = Vec::with_capacity(items.len());
        for &item in items {
            let family = self.families.of[item as usize];
            let made = classes.len() as u32;
            let folded = match level.row {
                Row::Folded => {
                    let rank = self.families.ranks[item as usize];
                    let (class, dots) = side(rank, items.len() as u32);
                    Some((class, if dots { Form::Dots } else { Form::One }))
                }
                _ if self.folded[family as usize] => Some(self.class(family as usize, item)),
                _ => None,
            };
            let (class, form) = match folded {
                Some((class, form)) => (*known.entry((family, class)).or_insert(made), form),
                None => (made, Form::One),
            };
            if class == made {
                classes.push(Class {
                    first: item,
                    count: 0,
                    form,
                    shown: 0,
                });
            }
            let known = &mut classes[class as usize];
            known.count += 1;
            let rank = |item: u32| self.families.ranks[item as usize];
            if rank(item) < rank(known.first) {
                known.first = item;
            }
            of.push(class);
        }
        for class in &mut classes {
            class.form = match class.form {
                _ if level.dots => Form::Dots,
                Form::Many if class.count == 1 => Form::One,
                form => form,
            };
        }
        (classes, of)
    }

    /// Returns the number of columns of a family as it is shown, or `None` if it is placed in
    /// layers.
    fn columns(&self, family: usize) -> Option<usize> {
        let shown = &self.families.list[family];
        let nodes = self.tree.is_node(self.families.members(family)[0]);
        match shown.structure {
            _ if !self.folded[family] || self.are_rows(family) => columns(shown, nodes),
            _ if !nodes => None,
            Structure::Chain | Structure::Ring => Some(SAMPLES as usize),
            Structure::Grid { columns } => Some(columns.min(SIDE) as usize),
            Structure::Cube { .. } => Some(SAMPLES as usize),
            Structure::Block
            | Structure::Other
            | Structure::Rows { .. }
            | Structure::Tree { .. } => None,
        }
    }

    /// Adds the boxes and frames of a scope, and appends the scopes in it to `inner`.
    fn show(&mut self, level: Level, inner: &mut Vec<Level>) {
        let tree = self.tree;
        let (mut classes, of) = self.classes(&level);
        let families = self.families.of_scope(level.scopes[0]);
        let around = level.frame;
        let total = level.scopes.len();
        // Frame of the members of each family.
        let mut frames = vec![around; families.len()];
        for (family, frame) in families.clone().zip(&mut frames) {
            let columns = match level.row {
                Row::No => self.columns(family),
                Row::Whole | Row::Folded => Some(classes.len()),
            };
            let Some(columns) = columns else {
                continue;
            };
            let shape = Shape::Matrix { columns };
            match around {
                Some(around) if families.len() == 1 => self.shown.frames[around].shape = shape,
                _ => {
                    *frame = Some(self.shown.frames.len());
                    self.shown.frames.push(ShownFrame {
                        module: None,
                        count: 1,
                        total,
                        parent: around,
                        position: self.families.places[self.families.members(family)[0] as usize]
                            as usize,
                        shape,
                    });
                }
            }
        }
        let first_level = inner.len();
        for class in &mut classes {
            let family = self.families.of[class.first as usize] as usize;
            let frame = frames[family - families.start];
            let position = match self.families.list[family].structure {
                Structure::Cube { dimension }
                    if !self.folded[family] && tree.is_node(class.first) =>
                {
                    let cell = cell_of_cube(dimension, self.families.ranks[class.first as usize]);
                    cell as usize
                }
                _ => self.families.places[class.first as usize] as usize,
            };
            if tree.is_node(class.first) {
                class.shown = self.shown.boxes.len();
                self.shown.boxes.push(ShownBox {
                    first: class.first,
                    count: class.count,
                    frame,
                    position,
                    form: class.form,
                });
                continue;
            }
            class.shown = inner.len();
            inner.push(Level {
                scopes: Vec::with_capacity(class.count * total),
                frame: Some(self.shown.frames.len()),
                row: self.row(family),
                dots: class.form == Form::Dots,
            });
            self.shown.frames.push(ShownFrame {
                module: Some(class.first),
                count: class.count,
                total: class.count * total,
                parent: frame,
                position,
                shape: Shape::Layered,
            });
        }
        for &scope in &level.scopes {
            for (&item, &class) in tree.items(scope).iter().zip(&of) {
                let shown = classes[class as usize].shown;
                match tree.is_node(item) {
                    true => self.shown.box_of[item as usize] = shown as u32,
                    false => {
                        let level = &mut inner[shown];
                        level.scopes.push(tree.inside(item));
                        let frame = level.frame.unwrap_or_default();
                        self.shown.frame_of[item as usize - tree.nodes] = frame as u32;
                    }
                }
            }
        }
        debug_assert!(
            inner[first_level..]
                .iter()
                .all(|level| !level.scopes.is_empty())
        );
    }

    /// Returns whether the members of a family are rows.
    fn row(&self, family: usize) -> Row {
        match self.families.list[family].structure {
            Structure::Rows { .. } if self.folded[family] && self.are_rows(family) => Row::Folded,
            Structure::Rows { .. } => Row::Whole,
            _ => Row::No,
        }
    }

    /// Returns the boxes, in the order of their first nodes, and the frames.
    fn sorted(self) -> Shown {
        let mut shown = self.shown;
        let mut order: Vec<usize> = (0..shown.boxes.len()).collect();
        order.sort_by_key(|&i| shown.boxes[i].first);
        let mut new = vec![0; order.len()];
        for (at, &old) in order.iter().enumerate() {
            new[old] = at as u32;
        }
        for node in &mut shown.box_of {
            *node = new[*node as usize];
        }
        shown.boxes.sort_by_key(|shown| shown.first);
        shown
    }
}
