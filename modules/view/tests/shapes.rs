//! Ratios of the sides of pictures of many shapes, and positions that do not change if a shape
//! grows.

use graphmap_view::drawing::{Drawing, Form};
use graphmap_view::geometry::{Point, Rect};
use graphmap_view::layout::layout;
use graphmap_view::picture::{Edge, End, Group, Node, Picture, Shape};

/// Largest ratio of the sides.
const LONGEST: f64 = 4.0;
/// Numbers of boxes.
const SIZES: [usize; 6] = [13, 14, 17, 24, 33, 61];
/// Numbers of boxes of shapes with few lines.
const MORE: [usize; 2] = [120, 200];

/// A picture that is built box by box. All boxes have different kinds.
#[derive(Default)]
struct Building(Picture);

impl Building {
    fn group(&mut self, parent: Option<usize>) -> usize {
        let index = self.0.groups.len();
        self.0.groups.push(Group {
            name: format!("g{index}"),
            label: format!("Module{index}"),
            parent,
            position: self.0.groups.len() + self.0.nodes.len(),
            framed: true,
            shape: Shape::Layered,
            title: String::new(),
            color: None,
        });
        index
    }

    fn node(&mut self, group: Option<usize>) -> usize {
        let index = self.0.nodes.len();
        self.0.nodes.push(Node {
            name: format!("n{index}"),
            label: format!("n{index}\nKind{index}"),
            kind: format!("Kind{index}"),
            group,
            position: self.0.groups.len() + self.0.nodes.len(),
            form: Form::One,
            processes: 1,
            title: String::new(),
            color: None,
            outline: None,
        });
        index
    }

    fn nodes(&mut self, count: usize, group: Option<usize>) -> Vec<usize> {
        (0..count).map(|_| self.node(group)).collect()
    }

    /// Adds an edge with a port of its own at the reader, and a port at the writer.
    fn edge(&mut self, from: usize, port: &str, to: usize) {
        self.0.edges.push(Edge {
            from: End {
                node: Some(from),
                port: port.to_owned(),
            },
            to: End {
                node: Some(to),
                port: format!("from{from}"),
            },
            label: if to.is_multiple_of(3) { "int" } else { "" }.to_owned(),
            ty: String::new(),
            channels: 1,
            title: String::new(),
            controlled: false,
            initial: false,
            wraps: false,
            elsewhere: None,
            two_way: false,
            width: 1.2,
            color: None,
        });
    }

    fn chain(&mut self, nodes: &[usize]) {
        for pair in nodes.windows(2) {
            self.edge(pair[0], "out", pair[1]);
        }
    }
}

fn chain(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    b.chain(&nodes);
    b.0
}

fn ring(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    b.chain(&nodes);
    b.edge(count - 1, "out", 0);
    b.0
}

/// A chain in which each second box has a leaf.
fn caterpillar(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    let spine: Vec<usize> = nodes.iter().copied().filter(|n| n % 3 != 2).collect();
    b.chain(&spine);
    for leaf in (2..count).step_by(3) {
        b.edge(leaf - 1, "leaf", leaf);
    }
    b.0
}

/// Each box of a chain leads to a tooth.
fn comb(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    let spine: Vec<usize> = nodes.iter().copied().step_by(2).collect();
    b.chain(&spine);
    for tooth in (1..count).step_by(2) {
        b.edge(tooth - 1, "tooth", tooth);
    }
    b.0
}

fn two_chains(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    let (one, other) = nodes.split_at(count / 2);
    b.chain(one);
    b.chain(other);
    b.0
}

fn joined_chains(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    let (one, other) = nodes[2..].split_at(count / 2 - 1);
    for chain in [one, other] {
        b.edge(0, "out", chain[0]);
        b.chain(chain);
        b.edge(chain[chain.len() - 1], "out", 1);
    }
    b.0
}

/// All boxes of a chain send to a server and get its replies.
fn served(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    let (server, stages) = (nodes[0], &nodes[1..]);
    b.chain(stages);
    for &stage in stages {
        b.edge(stage, "request", server);
        b.edge(server, "reply", stage);
    }
    b.0
}

/// Each fifth box of a chain has a line back to one of the boxes before it, or to one behind it.
fn shortcuts(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    b.chain(&nodes);
    for node in (0..count).step_by(5) {
        let far = (node * 7 + 3) % count;
        if far != node {
            b.edge(node, "far", far);
        }
    }
    b.0
}

fn star(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    for &leaf in &nodes[1..] {
        b.edge(0, "out", leaf);
    }
    b.0
}

fn farm(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    for &worker in &nodes[2..] {
        b.edge(0, "out", worker);
        b.edge(worker, "out", 1);
    }
    b.0
}

fn tree(count: usize) -> Picture {
    let mut b = Building::default();
    b.nodes(count, None);
    for node in 1..count {
        b.edge((node - 1) / 2, "out", node);
    }
    b.0
}

/// A chain of modules with a chain of four boxes in each.
fn modules(count: usize) -> Picture {
    let mut b = Building::default();
    let mut all = Vec::new();
    while all.len() < count {
        let group = b.group(None);
        all.extend(b.nodes(4.min(count - all.len()), Some(group)));
    }
    b.chain(&all);
    b.0
}

/// A module with a long chain between two boxes.
fn long_module(count: usize) -> Picture {
    let mut b = Building::default();
    let first = b.node(None);
    let group = b.group(None);
    let inside = b.nodes(count - 2, Some(group));
    let last = b.node(None);
    b.edge(first, "out", inside[0]);
    b.edge(first, "more", inside[count / 2]);
    b.chain(&inside);
    b.edge(inside[count / 3], "early", last);
    b.edge(inside[count - 3], "out", last);
    b.0
}

/// Two modules with half of a chain in each.
fn two_modules(count: usize) -> Picture {
    let mut b = Building::default();
    let mut all = Vec::new();
    for part in [count / 2, count - count / 2] {
        let group = b.group(None);
        all.extend(b.nodes(part, Some(group)));
    }
    b.chain(&all);
    b.0
}

/// A chain, then a farm, then a chain.
fn mixture(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    let third = count / 3;
    b.chain(&nodes[..third]);
    for &worker in &nodes[third..2 * third] {
        b.edge(third - 1, "work", worker);
        b.edge(worker, "done", nodes[2 * third]);
    }
    b.chain(&nodes[2 * third..]);
    b.0
}

/// Boxes without edges.
fn dust(count: usize) -> Picture {
    let mut b = Building::default();
    b.nodes(count, None);
    b.0
}

/// Chains of different lengths without edges between them.
fn bundles(count: usize) -> Picture {
    let mut b = Building::default();
    let nodes = b.nodes(count, None);
    let mut rest = &nodes[..];
    for length in 1.. {
        if rest.is_empty() {
            break;
        }
        let (chain, others) = rest.split_at(length.min(rest.len()));
        b.chain(chain);
        rest = others;
    }
    b.0
}

/// A grid of three long rows.
fn long_grid(count: usize) -> Picture {
    let mut b = Building::default();
    let columns = count / 3;
    b.0.groups.push(Group {
        name: String::new(),
        label: String::new(),
        parent: None,
        position: 0,
        framed: false,
        shape: Shape::Matrix { columns },
        title: String::new(),
        color: None,
    });
    let nodes = b.nodes(3 * columns, Some(0));
    for row in nodes.chunks(columns) {
        b.chain(row);
    }
    for &node in &nodes[columns..] {
        b.edge(node - columns, "down", node);
    }
    b.0
}

type Make = fn(usize) -> Picture;
const SHAPES: [(&str, Make); 19] = [
    ("chain", chain),
    ("ring", ring),
    ("caterpillar", caterpillar),
    ("comb", comb),
    ("two chains", two_chains),
    ("joined chains", joined_chains),
    ("served", served),
    ("shortcuts", shortcuts),
    ("star", star),
    ("farm", farm),
    ("tree", tree),
    ("modules", modules),
    ("long module", long_module),
    ("two modules", two_modules),
    ("mixture", mixture),
    ("dust", dust),
    ("bundles", bundles),
    ("long grid", long_grid),
    ("two served", |count| served(count / 2 + 7)),
];

fn ratio(drawing: &Drawing) -> f64 {
    drawing.size.width / drawing.size.height
}

#[test]
fn no_side_of_a_large_picture_is_too_long() {
    let mut wrong = Vec::new();
    for (name, make) in SHAPES {
        let few = !["served", "two served", "shortcuts"].contains(&name);
        let more = MORE.into_iter().filter(|_| few);
        for count in SIZES.into_iter().chain(more) {
            for downwards in [false, true] {
                let mut picture = make(count);
                picture.downwards = downwards;
                let drawing = layout(&picture);
                let ratio = ratio(&drawing);
                if !(1.0 / LONGEST..=LONGEST).contains(&ratio) {
                    wrong.push(format!("{name} {count} {downwards}: {ratio:.2}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns what moves if a picture grows: a box that moves by more than its own size and the least
/// distance between boxes, or two boxes of a row or a column that change their order.
fn unstable(small: &Drawing, large: &Drawing) -> Option<String> {
    let apart = 11.0;
    let same: Vec<(Rect, Rect)> = small
        .boxes
        .iter()
        .filter_map(|a| Some((a.rect, large.boxes.iter().find(|b| b.name == a.name)?.rect)))
        .collect();
    let in_row = |a: &Rect, b: &Rect| a.at.y < b.bottom() && b.at.y < a.bottom();
    let in_column = |a: &Rect, b: &Rect| a.at.x < b.right() && b.at.x < a.right();
    for (i, (a, moved)) in same.iter().enumerate() {
        let (dx, dy) = (moved.at.x - a.at.x, moved.at.y - a.at.y);
        if dx.abs() > a.size.width + apart || dy.abs() > a.size.height + apart {
            return Some(format!("box {i} moves by {dx:.0}, {dy:.0}"));
        }
        for (j, (b, other)) in same.iter().enumerate() {
            let crosswise = in_row(a, b) && in_row(moved, other);
            let lengthwise = in_column(a, b) && in_column(moved, other);
            if crosswise && a.at.x < b.at.x && moved.at.x > other.at.x
                || lengthwise && a.at.y < b.at.y && moved.at.y > other.at.y
            {
                return Some(format!("boxes {i} and {j} change their order"));
            }
        }
    }
    None
}

/// Returns the number of boxes in the first row.
fn in_first_row(drawing: &Drawing) -> usize {
    let first = drawing.boxes[0].rect;
    let boxes = drawing.boxes.iter();
    boxes.filter(|b| b.rect.at.y < first.bottom()).count()
}

/// A picture that gets one more box at its end, a leaf, or a worker, moves no other box by more
/// than its own size and the least distance between boxes, and no two boxes of a row or a column
/// change their order.
#[test]
fn one_more_leaf_or_worker_moves_little() {
    for (name, make) in [("star", star as Make), ("farm", farm), ("tree", tree)] {
        for count in 13..48 {
            let moved = unstable(&layout(&make(count)), &layout(&make(count + 1)));
            assert_eq!(moved, None, "{name} {count}");
        }
    }
}

/// The rows of a chain without labels have one of few widths. While the width stays, one more box
/// moves no other box by more than its own size, and no two boxes of a row or a column change their
/// order. The width changes at most four times from 13 to 60 boxes. Then the boxes flow to other
/// rows, in the same order.
#[test]
fn one_more_box_of_a_chain_moves_little() {
    let plain = |count: usize| {
        let mut picture = chain(count);
        for edge in &mut picture.edges {
            edge.label.clear();
        }
        layout(&picture)
    };
    let mut changes = 0;
    for count in 13..60 {
        let (small, large) = (plain(count), plain(count + 1));
        if in_first_row(&small) != in_first_row(&large) {
            changes += 1;
            continue;
        }
        assert_eq!(unstable(&small, &large), None, "{count}");
    }
    assert!(changes <= 4, "{changes}");
}

/// Returns the number of crossings of upright and level pieces of lines, and of pieces in boxes.
fn crossings(drawing: &Drawing) -> usize {
    let pieces: Vec<[Point; 2]> = (drawing.lines.iter())
        .flat_map(|line| line.points.windows(2).map(|pair| [pair[0], pair[1]]))
        .collect();
    let within = |at: f64, [a, b]: [f64; 2]| at > a.min(b) + 0.5 && at < a.max(b) - 0.5;
    let mut count = 0;
    for &[a, b] in &pieces {
        assert!(a.x == b.x || a.y == b.y, "{a:?} {b:?}");
        let upright = pieces.iter().filter(|[c, d]| c.x == d.x && a.y == b.y);
        let cross = |[c, d]: &&[Point; 2]| within(c.x, [a.x, b.x]) && within(a.y, [c.y, d.y]);
        count += upright.filter(cross).count();
        let middle = Point::new((a.x + b.x) / 2.0, (a.y + b.y) / 2.0);
        let covers = |rect: Rect| {
            within(middle.x, [rect.at.x, rect.right()])
                && within(middle.y, [rect.at.y, rect.bottom()])
        };
        count += drawing.boxes.iter().filter(|b| covers(b.rect)).count();
    }
    count
}

/// All boxes have different kinds, and are not in the order of the ring. In the second ring, tokens
/// flow from each second box to both of its neighbours.
#[test]
fn rings_of_any_size_have_no_crossings() {
    for count in 9..70 {
        for alternates in [false, true] {
            let mut b = Building::default();
            let nodes = b.nodes(count, None);
            let factor = [2, 3, 5, 7].into_iter().find(|f| !count.is_multiple_of(*f));
            let node = |at: usize| nodes[at * factor.unwrap() % count];
            for at in 0..count {
                let ends = [node(at), node(at + 1)];
                let turned = alternates && at % 2 == 1;
                let [from, to] = if turned { [ends[1], ends[0]] } else { ends };
                b.edge(from, "out", to);
            }
            let drawing = layout(&b.0);
            assert_eq!(crossings(&drawing), 0, "{count} {alternates}");
            assert!(drawing.lines.iter().all(|line| !line.curved));
        }
    }
}

/// Two ways from one box to another are drawn in layers, although they are a closed way.
#[test]
fn two_ways_to_one_end_are_not_a_ring() {
    let drawing = layout(&joined_chains(12));
    assert!(drawing.boxes[2].rect.at.x > drawing.boxes[0].rect.right());
    assert!(drawing.lines.iter().any(|line| line.curved));
}
