//! Contents of pictures: structure, folding, and what holds for all of them.

use graphmap_dot::language::load;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::network::Network;
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand::expand, resolve::resolve};
use graphmap_view::drawing::Form;
use graphmap_view::layout::layout;
use graphmap_view::picture::{Edge, End, Picture, Shape};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn declared(text: &str) -> Declared {
    let mut found = Diagnostics::new();
    let text = text.as_bytes().to_vec();
    let declared = load(&mut SourceMap::new(), "test.dot", text, &mut found);
    declared.unwrap_or_else(|| panic!("{found:#?}"))
}

fn network(text: &str) -> Network {
    resolve(expand(declared(text)).unwrap().0).unwrap().0
}

/// Returns a line for each group and node.
fn outline(picture: &Picture) -> Vec<String> {
    let within = |group: Option<usize>| group.map_or("-".to_owned(), |group| group.to_string());
    let groups = picture.groups.iter().enumerate().map(|(i, group)| {
        let shape = match group.shape {
            Shape::Layered => String::new(),
            Shape::Matrix { columns } => format!(" /{columns}"),
        };
        let name = match group.framed {
            true => &group.label,
            false => "family",
        };
        let (parent, position) = (within(group.parent), group.position);
        format!("{i}: {parent}.{position} {name}{shape}")
    });
    let nodes = picture.nodes.iter().map(|node| {
        let (group, position) = (within(node.group), node.position);
        format!("{group}.{position} {}", node.label.replace('\n', "|"))
    });
    groups.chain(nodes).collect()
}

/// Returns a line for each edge.
fn edges(picture: &Picture) -> Vec<String> {
    let end = |end: &End| match end.node {
        Some(node) => format!("{}.{}", picture.nodes[node].name, end.port),
        None => "NULL".to_owned(),
    };
    let line = |edge: &Edge| {
        let wraps = if edge.wraps { " wraps" } else { "" };
        let label = &edge.label;
        format!("{} {}: {label}{wraps}", end(&edge.from), end(&edge.to))
    };
    picture.edges.iter().map(line).collect()
}

fn processes(text: &str) -> Picture {
    Picture::of_processes(&network(text))
}

/// Returns the text of a graph of the repository.
fn file(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns the groups of the outline.
fn groups(picture: &Picture) -> Vec<String> {
    let outline = outline(picture);
    outline[..picture.groups.len()].to_vec()
}

/// Returns the number of edges that wrap.
fn wraps(picture: &Picture) -> usize {
    picture.edges.iter().filter(|edge| edge.wraps).count()
}

#[test]
fn rows_of_cells_are_a_grid() {
    for (path, wrapping) in [("mesh", 0), ("torus", 16)] {
        let text = file(&format!("skeletons/networks/{path}.dot"));
        let picture = processes(&text);
        let expected = ["0: -.0 family /1", "1: 0.0 row /4", "2: 0.1 row /4"];
        assert_eq!(groups(&picture)[..3], expected, "{path}");
        assert_eq!((picture.groups.len(), wraps(&picture)), (5, wrapping));
        assert_eq!(picture.nodes[5].group, Some(2));
        assert_eq!(picture.nodes[5].position, 1);
    }
    for (path, wrapping) in [("stencil", 0), ("matmul", 8)] {
        let picture = processes(&file(&format!("graphs/{path}.dot")));
        let expected = ["0: -.1 family /1", "1: 0.1 row /4", "2: 0.2 row /4"];
        assert_eq!(groups(&picture)[..3], expected, "{path}");
        assert_eq!(wraps(&picture), wrapping);
    }
    // Rows that are not joined cell by cell.
    let twisted = "digraph g { subgraph cluster_row { module=row; replicas=3; c [replicas=6];
        c -> c [src=e, dst=w, step=1]; c -> c [src=s, dst=n, step=\"1,2\"]; } }";
    let expected = ["0: -.0 row /6", "1: -.1 row /6", "2: -.2 row /6"];
    assert_eq!(groups(&processes(twisted)), expected);
    // Diagonals, and columns that are closed to rings.
    let slanted = "digraph g { subgraph cluster_row { module=row; replicas=3; c [replicas=3];
        c -> c [src=e, dst=w, step=1]; c -> c [src=s, dst=n, step=\"1,0\", wrap=true];
        c -> c [src=se, dst=nw, step=\"1,1\"]; } }";
    let picture = processes(slanted);
    let expected = [
        "0: -.0 family /1",
        "1: 0.0 row /3",
        "2: 0.1 row /3",
        "3: 0.2 row /3",
    ];
    assert_eq!(groups(&picture), expected);
    assert_eq!(wraps(&picture), 3);
}

/// Returns a grid of processes without modules.
fn flat(rows: usize, columns: usize, torus: bool, diagonals: bool) -> String {
    let names: String = (1..=rows * columns).map(|i| format!(" c{i};")).collect();
    let mut text = format!("digraph g {{{names}");
    let mut steps = vec![("e", 0, 1), ("s", 1, 0)];
    if diagonals {
        steps.push(("d", 1, 1));
    }
    for (port, down, right) in steps {
        let mut pairs = Vec::new();
        for y in 0..rows {
            for x in 0..columns {
                let (to_y, to_x) = (y + down, x + right);
                if torus || (to_y < rows && to_x < columns) {
                    let to = to_y % rows * columns + to_x % columns;
                    pairs.push((y * columns + x + 1, to + 1));
                }
            }
        }
        for (a, b) in pairs {
            text += &format!(" c{a} -> c{b} [src={port}, dst=from_{port}];");
        }
    }
    text + "}"
}

#[test]
fn cells_without_modules_are_a_grid() {
    for (rows, columns) in [(2, 2), (2, 5), (3, 3), (4, 6), (6, 4), (5, 2), (3, 8)] {
        for (torus, diagonals) in [(false, false), (false, true), (true, false), (true, true)] {
            if torus && (rows < 3 || columns < 3) {
                continue;
            }
            let picture = processes(&flat(rows, columns, torus, diagonals));
            assert_eq!(
                groups(&picture),
                [format!("0: -.0 family /{columns}")],
                "{rows} {columns} {torus} {diagonals}"
            );
            let wrapping = match (torus, diagonals) {
                (false, _) => 0,
                (true, false) => rows + columns,
                (true, true) => 2 * (rows + columns) - 1,
            };
            assert_eq!(wraps(&picture), wrapping, "{rows} {columns} {diagonals}");
        }
    }
    let holed = flat(4, 4, false, false).replacen("c1 -> c2 ", "c1 -> d ", 1);
    assert_eq!(groups(&processes(&holed)), [""; 0]);
}

#[test]
fn chains_and_rings_are_rows() {
    let chain = |count: usize, more: &str| {
        let text = format!("digraph g {{ s -> c [at=first]; c [replicas={count}]; {more} }}");
        let picture = processes(&text);
        (groups(&picture), wraps(&picture))
    };
    let step = "c -> c [src=next, dst=prev, step=1];";
    let both = "c -> c [src=next, dst=prev, step=1]; c -> c [src=b, dst=n, step=-1];";
    let ring = "c -> c [src=next, dst=prev, step=1, wrap=true];";
    for (count, columns) in [(4, 4), (8, 8), (9, 3), (24, 5), (100, 9)] {
        let family = vec![format!("0: -.1 family /{columns}")];
        assert_eq!(chain(count, step), (family.clone(), 0));
        assert_eq!(chain(count, both), (family.clone(), 0));
        assert_eq!(chain(count, ring), (family, 0));
    }
    let none = (Vec::new(), 0);
    assert_eq!(chain(3, step), none);
    // A gap, and a shortcut.
    assert_eq!(chain(9, "c -> c [for=\"i=2..8\", at=\"i,i+1\"];"), none);
    let shortcut = format!("{step} c -> c [for=\"i=2..2\", at=\"i,i+5\", src=a, dst=b];");
    assert_eq!(chain(9, &shortcut), none);
    // Modules need more space.
    let farm = processes(&file("graphs/farm.dot"));
    assert_eq!(groups(&farm)[..2], ["0: -.1 family /4", "1: 0.1 thefarm"]);
    let farm = file("graphs/farm.dot").replace("replicas=4", "replicas=7");
    assert_eq!(groups(&processes(&farm))[0], "0: -.1 family /3");
}

#[test]
fn equal_workers_are_a_block() {
    let farm = |count: usize, more: &str| {
        let text =
            format!("digraph g {{ s -> w [bundle=share]; w [replicas={count}]; w -> t; {more} }}");
        groups(&processes(&text))
    };
    assert_eq!(farm(12, ""), ["0: -.1 family /4"]);
    assert_eq!(farm(8, ""), [""; 0]);
    assert_eq!(farm(12, "w -> t [src=more, at=first];"), [""; 0]);
    assert_eq!(
        farm(12, "w -> w [for=\"i=1..1\", at=\"i,i+4\", src=a, dst=b];"),
        [""; 0]
    );
    // Modules, and workers in a module whose ports are outside of it.
    let modules = "digraph g { s -> w [bundle=share]; w -> v -> t;
        subgraph cluster_m { module=m; replicas=9; w; v; } }";
    assert_eq!(
        groups(&processes(modules))[..2],
        ["0: -.1 family /3", "1: 0.1 m"]
    );
    let inside = "digraph g { s -> w [bundle=share]; w -> t;
        subgraph cluster_m { module=m; w [replicas=12]; } }";
    assert_eq!(groups(&processes(inside)), ["0: -.1 m /4"]);
    let apart = inside.replace("w [replicas=12];", "w [replicas=12]; x; w -> x [src=log];");
    assert_eq!(groups(&processes(&apart)), ["0: -.1 m", "1: 0.0 family /4"]);
}

#[test]
fn trees_and_butterflies_are_in_layers() {
    for name in ["tree", "request-reply", "map-reduce"] {
        let picture = processes(&file(&format!("skeletons/networks/{name}.dot")));
        assert_eq!(groups(&picture), [""; 0], "{name}");
    }
    let cube = processes(&file("skeletons/networks/hypercube.dot"));
    let expected = [
        "0: -.0 family /2",
        "0.0 cell1",
        "0.1 cell2",
        "0.2 cell3",
        "0.3 cell4",
        "0.6 cell5",
        "0.7 cell6",
        "0.4 cell7",
        "0.5 cell8",
    ];
    assert_eq!(outline(&cube), expected);
    let picture = processes(&file("skeletons/networks/butterfly.dot"));
    let expected = ["0: -.0 family /4", "1: 0.0 rank", "2: 0.1 rank"];
    assert_eq!(groups(&picture)[..3], expected);
    let picture = processes(&file("graphs/fft.dot"));
    let rest = picture.groups.iter().filter(|group| group.framed);
    assert!(rest.clone().count() == 30 && rest.clone().all(|g| g.shape == Shape::Layered));
}

#[test]
fn positions_are_in_the_order_of_the_source() {
    let text = "digraph g { a -> x; b;
        subgraph cluster_m { module=m; x -> y; subgraph cluster_n { module=n; z; } y -> z; }
        subgraph cluster_o { module=o; } y -> c [src=more]; }";
    assert_eq!(
        outline(&processes(text)),
        [
            "0: -.1 m", "1: -.4 o", "2: 0.2 n", "-.0 a", "0.0 x", "-.2 b", "0.1 y", "2.0 z",
            "-.3 c"
        ],
    );
}

#[test]
fn edges_are_between_ports() {
    let text = "digraph g { a -> b [src=x, dst=p, type=T]; a -> b [src=y, dst=q];
        a -> a [src=loop, dst=again, type=S, initial=1]; c -> b [dst=r, traffic=3, flow=credits];
        b -> NULL [src=out]; NULL -> c; d -> b [dst=r, label=\"two\\nlines\", x_e=5]; }";
    let picture = processes(text);
    assert_eq!(
        edges(&picture),
        [
            "a.x b.p: T",
            "a.y b.q: ",
            "a.loop a.again: S",
            "c.out b.r: ",
            "b.out NULL: ",
            "NULL c.in: ",
            "d.out b.r: two lines",
        ],
    );
    let titles: Vec<&str> = picture
        .edges
        .iter()
        .map(|edge| edge.title.as_str())
        .collect();
    assert_eq!(
        titles,
        [
            "x to p: T",
            "y to q",
            "loop to again: S",
            "out to r, flow=credits, traffic 3",
            "out to the environment",
            "the environment to in",
            "out to r, x_e=5",
        ],
    );
    let initial: Vec<bool> = picture.edges.iter().map(|edge| edge.initial).collect();
    assert_eq!(initial, [false, false, true, false, false, false, false]);
    assert_eq!(
        picture.text(),
        "a -> b: ×2\na -> a: S\nb -> NULL\nc -> b\nd -> b\nNULL -> c\n"
    );
}

#[test]
fn widths_are_by_traffic() {
    let widths = |traffic: &[f64]| -> Vec<f64> {
        let edges = traffic.iter().enumerate();
        let edges: String = edges
            .map(|(i, traffic)| format!("a -> b [src=o{i}, dst=i{i}, traffic=\"{traffic}\"];"))
            .collect();
        let picture = processes(&format!("digraph g {{ {edges} }}"));
        picture.edges.iter().map(|edge| edge.width).collect()
    };
    assert_eq!(widths(&[5.0, 5.0]), [1.2, 1.2]);
    assert_eq!(widths(&[0.0, 0.0]), [1.2, 1.2]);
    assert_eq!(widths(&[1.0, f64::MAX]), [1.0, 4.0]);
    assert_eq!(widths(&[0.0, 1.0, 8.0]), [1.0, 1.0, 4.0]);
    let close = widths(&[1.0, 2.0]);
    assert!(
        close[0] == 1.0 && (close[1] - 2.0).abs() < 1e-9,
        "{close:?}"
    );
    let wide = widths(&[1.0, 10.0, 100.0]);
    assert!(wide[0] == 1.0 && (wide[1] - 2.5).abs() < 1e-9 && wide[2] == 4.0);
}

#[test]
fn labels_and_colours_of_the_user_are_shown() {
    let text = "digraph g { rankdir=TB; label=\"Work\\nof \\G\";
        a [label=\"\\N:\\nfirst\", color=red]; b [label=<<b>x</b> &lt; y<br/>z>];
        a -> b [label=goes, color=blue, type=T]; w [replicas=2, label=worker]; b -> w [bundle=share];
        subgraph cluster_m { module=m; label=\"the module\"; color=green; w; } }";
    for picture in [processes(text), Picture::of_graph(&declared(text))] {
        assert_eq!(picture.title, "Work of g");
        assert!(picture.downwards);
        assert_eq!(picture.nodes[0].label, "a:\nfirst");
        assert_eq!(picture.nodes[0].outline.as_deref(), Some("red"));
        assert_eq!(picture.nodes[0].color, None);
        assert_eq!(picture.nodes[1].label, "x < y\nz");
        assert_eq!(picture.edges[0].label, "goes");
        assert_eq!(picture.edges[0].color.as_deref(), Some("blue"));
        assert_eq!(picture.groups[0].label, "the module");
        assert_eq!(picture.groups[0].color.as_deref(), Some("green"));
    }
    // The label of a declaration does not name any of its instances.
    assert_eq!(processes(text).nodes[2].label, "w1");
    assert_eq!(Picture::of_graph(&declared(text)).nodes[2].label, "worker");
    assert!(!processes("digraph g { rankdir=LR; a -> b; }").downwards);
    let kinds = Picture::of_kinds(&network(text));
    assert_eq!(kinds.title, "Work of g");
    assert_eq!(kinds.nodes[2].label, "w ×2");
    assert_eq!(kinds.edges[0].label, "goes");
}

#[test]
fn nodes_are_filled_as_by_graphviz() {
    let text = "digraph g { node [color=black, fillcolor=pink]; a; b [style=filled];
        c [style=\"rounded, filled\", fillcolor=white]; a -> b -> c; }";
    for picture in [processes(text), Picture::of_graph(&declared(text))] {
        let colors = picture
            .nodes
            .iter()
            .map(|node| (node.color.as_deref(), &node.outline));
        let black = Some("black".to_owned());
        let expected = [
            (None, &black),
            (Some("pink"), &black),
            (Some("white"), &black),
        ];
        assert_eq!(colors.collect::<Vec<_>>(), expected);
    }
    let filled = processes("digraph g { node [style=filled, color=red]; a -> b; }");
    assert_eq!(filled.nodes[0].color.as_deref(), Some("red"));
    assert_eq!(filled.nodes[0].outline, None);
}

#[test]
fn pictures_lead_in_the_direction_of_rankdir() {
    for (rankdir, downwards, reversed) in [
        ("LR", false, false),
        ("RL", false, true),
        ("TB", true, false),
        ("BT", true, true),
    ] {
        let text = format!(
            "digraph g {{ rankdir={rankdir}; a -> b; subgraph cluster_m {{ module=m; b; }} }}"
        );
        let picture = processes(&text);
        assert_eq!((picture.downwards, picture.reversed), (downwards, reversed));
        let drawing = layout(&picture);
        let [a, b] = [&drawing.boxes[0].rect, &drawing.boxes[1].rect];
        assert!(match (downwards, reversed) {
            (false, false) => a.right() < b.at.x,
            (false, true) => b.right() < a.at.x,
            (true, false) => a.bottom() < b.at.y,
            (true, true) => b.bottom() < a.at.y,
        });
        // The name of the frame is above the box.
        assert!(b.at.y - drawing.frames[0].rect.at.y > 30.0);
    }
}

#[test]
fn many_channels_between_two_boxes_are_one_edge() {
    let channels = |count: usize| -> String {
        let channel = |i| format!("a -> b [src=o{i}, dst=i{i}, type=T{}];", i / 9);
        (0..count).map(channel).collect()
    };
    let picture = |count| processes(&format!("digraph g {{ {} b -> a; }}", channels(count)));
    assert_eq!(picture(8).edges.len(), 9);
    let nine = picture(9);
    assert_eq!(edges(&nine), ["a.o0 b.i0: T0 ×9", "b.out a.in: "]);
    assert_eq!(nine.edges[0].channels, 9);
    let title = &nine.edges[0].title;
    assert!(
        title.starts_with("9 channels: o0 to i0: T0; o1 to i1: T0;"),
        "{title}"
    );
    assert!(title.ends_with("; and others"), "{title}");
    // Several types are no label.
    assert_eq!(edges(&picture(10))[0], "a.o0 b.i0: ×10");
}

#[test]
fn chains_of_small_modules_are_shown_by_samples() {
    let text = "digraph g { s -> a [at=first]; c -> t [at=last];
        subgraph cluster_m { module=m; replicas=90; a -> b -> c; } c -> a [step=1]; }";
    let picture = Picture::folded(&network(text), 50);
    let frames = ["0: -.1 m", "1: -.2 m", "2: -.3 m ×87", "3: -.90 m"];
    assert_eq!(outline(&picture)[..4], frames);
    assert!(picture.edges.iter().all(|edge| edge.elsewhere.is_none()));
    let forms = picture.nodes.iter().map(|node| node.form == Form::Dots);
    assert_eq!(forms.filter(|is_dots| *is_dots).count(), 3);
    // The channels between modules that dots stand for are not shown.
    let inside = |edge: &&Edge| {
        let ends = [&edge.from, &edge.to].map(|end| end.node.map(|node| picture.nodes[node].group));
        ends[0] == ends[1]
    };
    assert_eq!(picture.edges.iter().filter(inside).count(), 4 * 2);
}

#[test]
fn cells_are_in_the_order_of_their_names() {
    let mut text = "digraph g { node [kind=c];".to_owned();
    for (row, column) in (9..12).flat_map(|row| (9..12).map(move |column| (row, column))) {
        if column < 11 {
            let next = column + 1;
            text += &format!("c{row}_{column} -> c{row}_{next} [src=e, dst=w];");
        }
        if row < 11 {
            let next = row + 1;
            text += &format!("c{row}_{column} -> c{next}_{column} [src=s, dst=n];");
        }
    }
    let picture = processes(&(text + "}"));
    assert_eq!(picture.groups[0].shape, Shape::Matrix { columns: 3 });
    let mut cells: Vec<(usize, &str)> = (picture.nodes.iter())
        .map(|node| (node.position, &*node.name))
        .collect();
    cells.sort_unstable();
    let names: Vec<&str> = cells.into_iter().map(|(_, name)| name).collect();
    let rows = "c9_9 c9_10 c9_11 c10_9 c10_10 c10_11 c11_9 c11_10 c11_11";
    assert_eq!(names.join(" "), rows);
    let ring = "digraph g { p10 -> p1; p2 -> p4 -> p10; p1 -> p2; }";
    let shape = processes(ring).groups[0].shape;
    assert_eq!(shape, Shape::Matrix { columns: 4 });
}

#[test]
fn arcs_of_a_hypercube_in_both_directions_are_one_line() {
    let arcs = (0..16).flat_map(|cell| (0..4).map(move |bit| (cell, cell ^ 1 << bit, bit)));
    let arc = |(from, to, bit)| format!("v{from} -> v{to} [src=o{bit}, dst=i{bit}];");
    let text: String = arcs.map(arc).collect();
    let drawing = layout(&processes(&format!(
        "digraph g {{ node [kind=v]; {text} }}"
    )));
    // Each row and each column of 4 has an arc.
    assert_eq!(drawing.lines.len(), 64 - 8);
    assert_eq!(drawing.lines.iter().filter(|line| line.two_way).count(), 8);
}

#[test]
fn neighbours_in_a_ring_have_a_line_in_each_direction() {
    let ring = |i: usize| {
        let next = (i + 1) % 12;
        format!("a{i} -> a{next} [src=r, dst=l]; a{next} -> a{i} [src=lo, dst=ri];")
    };
    let text: String = (0..12).map(ring).collect();
    let drawing = layout(&processes(&format!("digraph g {{ {text} }}")));
    assert_eq!(drawing.lines.len(), 24);
}

#[test]
fn rows_of_a_grid_with_diagonals_have_no_frames() {
    let grid = |diagonal: &str| {
        let text = format!(
            "digraph g {{ subgraph cluster_r {{ module=row; replicas=3; c [replicas=4]; }}
            edge [beyond=NULL]; c -> c [src=e, dst=w, step=\"0,1\"];
            c -> c [src=s, dst=n, step=\"1,0\"]; {diagonal} }}"
        );
        layout(&processes(&text))
    };
    assert_eq!(grid("").frames.len(), 3);
    let drawing = grid("c -> c [src=se, dst=nw, step=\"1,1\"];");
    assert!(drawing.frames.is_empty());
    let at = |cell: usize| drawing.boxes[cell].rect.at;
    assert!((0..4).all(|cell| at(cell).x == at(cell + 8).x && at(cell).y < at(cell + 4).y));
    let note = "Modules without frames, because diagonals lead through them: row";
    assert_eq!(drawing.notes[0], note);
}

#[test]
fn nodes_of_the_graph_and_kinds() {
    let text = "digraph g { a -> w [type=T, bundle=share]; w [replicas=9, x_n=1]; w -> b;
        w -> NULL [src=log]; w -> w [src=n, dst=p, step=1, type=U, traffic=2];
        p1 [process=p]; a -> p1 [src=more]; a -> p1 [src=more, dst=other]; }";
    let picture = Picture::of_graph(&declared(text));
    assert_eq!(outline(&picture), ["-.0 a", "-.1 w ×9", "-.2 b", "-.3 p1"]);
    assert_eq!(picture.nodes[1].form, Form::Many);
    assert_eq!(picture.nodes[1].title, "kind w, x_n=1");
    assert_eq!(picture.nodes[3].title, "kind p, node of process p");
    let expected = "a -> w ×9: T\na -> p1: ×2\nw ×9 -> b, NULL\nw ×9 -> w ×9: U\n";
    assert_eq!(picture.text(), expected);
    let text = text.split(" p1").next().unwrap().to_owned() + "}";
    let kinds = Picture::of_kinds(&network(&text));
    assert_eq!(outline(&kinds), ["-.0 a", "-.1 w ×9", "-.2 b"]);
    assert_eq!(
        edges(&kinds),
        ["a.out w.in: T ×9", "w.out b.in: ×9", "w.n w.p: U ×8"]
    );
    assert_eq!(kinds.edges[2].title, "8 channels: n to p: U, traffic 16");
    assert_eq!(kinds.nodes[1].title, "9 processes");
}

#[test]
fn large_families_are_shown_by_samples() {
    let folded = |text: &str, most| Picture::folded(&network(text), most);
    let text = "digraph g { s -> w [type=T, bundle=share]; w [replicas=200]; w -> t [type=U]; }";
    let farm = folded(text, 50);
    assert_eq!(
        outline(&farm),
        [
            "-.0 s",
            "-.1 w1",
            "-.2 w2",
            "-.3 ⋯ 197 more",
            "-.200 w200",
            "-.201 t"
        ]
    );
    assert_eq!(farm.nodes[3].form, Form::Dots);
    assert_eq!(farm.nodes[3].title, "kind w, 197 processes, load 197");
    assert_eq!(farm.notes, ["6 boxes stand for 202 processes."]);
    assert_eq!(edges(&farm)[2], "s.out w3.in: T ×197");
    assert_eq!(farm.edges[2].title, "197 channels: out to in: T");
    // Few enough already.
    assert_eq!(folded(text, 202), processes(text));
    assert_eq!(Picture::of_network(&network(text)), farm);

    let ring = folded(
        "digraph g { c [replicas=90]; c -> c [step=1, wrap=true]; }",
        50,
    );
    assert_eq!(
        outline(&ring),
        [
            "0: -.0 family /4",
            "0.0 c1",
            "0.1 c2",
            "0.2 ⋯ 87 more",
            "0.89 c90"
        ]
    );
    let expected = [
        "c1.out c2.in: ",
        "c2.out c3.in: ",
        "c3.out c90.in: ",
        "c90.out c1.in: ",
    ];
    assert_eq!(edges(&ring), expected);
    let dots = "kind c, 87 processes, load 87, 86 channels not shown";
    assert_eq!(ring.nodes[2].title, dots);

    let grid = folded(&flat(9, 7, true, false), 50);
    let cells = [
        "0: -.0 family /3",
        "0.0 c1",
        "0.1 ⋯ 5 more",
        "0.6 c7",
        "0.7 ⋯ 7 more",
        "0.8 ⋯ 35 more",
        "0.13 ⋯ 7 more",
        "0.56 c57",
        "0.57 ⋯ 5 more",
        "0.62 c63",
    ];
    assert_eq!(outline(&grid), cells);
    assert_eq!((grid.edges.len(), wraps(&grid)), (18, 6));
    let narrow = folded(&flat(30, 2, false, false), 50);
    let cells = [
        "0: -.0 family /2",
        "0.0 c1",
        "0.1 c2",
        "0.2 ⋯ 28 more",
        "0.3 ⋯ 28 more",
    ];
    assert_eq!(outline(&narrow)[..5], cells);

    let mesh = file("skeletons/networks/mesh.dot").replace("=4", "=100");
    let rows = [
        "0: -.0 family /1",
        "1: 0.0 row /3",
        "2: 0.1 row ×98 /3",
        "3: 0.99 row /3",
        "1.0 cell1_1",
        "1.1 ⋯ 98 more",
        "1.99 cell1_100",
        "2.0 ⋯",
        "2.1 ⋯ 98 more",
        "2.99 ⋯",
        "3.0 cell100_1",
        "3.1 ⋯ 98 more",
        "3.99 cell100_100",
    ];
    let mesh = folded(
        &mesh.replace("rows=4, columns=4", "rows=100, columns=100"),
        50,
    );
    assert_eq!(outline(&mesh), rows);

    let cube = file("skeletons/networks/hypercube.dot").replace("dimension=3", "dimension=6");
    let cube = folded(&cube, 50);
    let expected = [
        "0: -.0 family /4",
        "0.0 cell1",
        "0.1 cell ×6",
        "0.3 ⋯ 56 more",
        "0.63 cell64",
    ];
    assert_eq!(outline(&cube), expected);
    let expected = [
        "cell1.out cell2.in: ×6",
        "cell2.out cell4.in: ",
        "cell64.out cell4.in: ",
        "cell2.out cell1.in: ×6",
        "cell4.out cell2.in: ",
        "cell4.out cell64.in: ",
    ];
    let (mut found, mut expected) = (edges(&cube), expected.map(str::to_owned));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);

    let tree = file("skeletons/networks/tree.dot").replace("depth=3", "depth=6");
    let expected = [
        "-.0 knot1",
        "-.1 knot ×2",
        "-.3 ⋯ 28 more",
        "-.31 knot ×32",
        "-.63 leaf ×64",
    ];
    assert_eq!(outline(&folded(&tree, 50)), expected);

    let ranks = file("skeletons/networks/butterfly.dot").replace("order=3", "order=6");
    let ranks = folded(&ranks, 50);
    let expected = [
        "0: -.0 rank",
        "1: -.1 rank",
        "2: -.2 rank ×4",
        "3: -.6 rank",
        "0.0 cell ×64",
        "1.0 cell ×64",
        "2.0 ⋯ 64 more",
        "3.0 cell ×64",
    ];
    assert_eq!(outline(&ranks), expected);
}

#[test]
fn outer_repetitions_are_folded_first() {
    let text = "digraph g { s -> a [bundle=share]; subgraph cluster_m { module=m; replicas=20;
        a -> w [bundle=share]; w [replicas=10]; w -> b; subgraph cluster_n { module=n; b; } }
        b -> t; a -> a [src=n, dst=p, step=1]; }";
    let network = network(text);
    let at = |most| outline(&Picture::folded(&network, most));
    let m = ["0: -.1 m ×20", "1: 0.11 n", "-.0 s"];
    assert_eq!(
        at(100)[..3],
        ["0: -.1 m ×20", "1: 0.1 family /4", "2: 0.11 n"]
    );
    assert_eq!(at(100).len(), 3 + 14);
    assert_eq!(at(13)[..3], m);
    assert_eq!(at(13).len(), 2 + 8);
    let picture = Picture::folded(&network, 13);
    assert_eq!(picture.groups[0].title, "20 modules");
    assert_eq!(
        edges(&picture),
        [
            "s.out a1.in: ×20",
            "a1.out w1_1.in: ",
            "a1.out w1_2.in: ",
            "a1.out w1_3.in: ×7",
            "a1.out w1_10.in: ",
            "w1_1.out b1.in: ",
            "w1_2.out b1.in: ",
            "w1_3.out b1.in: ×7",
            "w1_10.out b1.in: ",
            "b1.out t.in: ×20",
            "a1.n a1.p: ",
        ],
    );
    // The channels lead to other modules, which the frame does not show one by one.
    let elsewhere = ["next m", "previous m"].map(str::to_owned);
    assert_eq!(picture.edges[10].elsewhere, Some(elsewhere));
    assert!(
        picture.edges[..10]
            .iter()
            .all(|edge| edge.elsewhere.is_none())
    );
    // Modules of one kind with different contents are different.
    let text = "digraph g { subgraph cluster_a { module=m; a1 -> b1; }
        subgraph cluster_b { module=m; a2 -> b2; } subgraph cluster_c { module=m; a3; } }";
    let picture = Picture::folded(&self::network(text), 1);
    let expected = ["0: -.0 m ×2", "1: -.2 m", "0.0 a1", "0.1 b1", "1.0 a3"];
    assert_eq!(outline(&picture), expected);
}

#[test]
fn nothing_to_show_and_deep_nesting() {
    let empty = Network::default();
    assert_eq!(Picture::of_network(&empty).text(), "");
    assert_eq!(Picture::of_graph(&Declared::default()).text(), "");
    let deep = 3000;
    let nest: String = (0..deep)
        .map(|i| format!("subgraph cluster_{i} {{ module=m{i};"))
        .collect();
    let text = format!("digraph {{ a -> b; {nest} b; {} }}", "}".repeat(deep));
    let network = network(&text);
    for picture in [
        Picture::of_processes(&network),
        Picture::folded(&network, 1),
    ] {
        assert_eq!((picture.groups.len(), picture.nodes.len()), (deep, 2));
    }
}

/// Checks what holds for each picture of a network.
fn check(network: &Network, picture: &Picture) {
    let processes: usize = picture.nodes.iter().map(|node| node.processes).sum();
    assert_eq!(processes, network.processes.len());
    let shown: usize = picture.edges.iter().map(|edge| edge.channels).sum();
    let inner: usize = (picture.nodes.iter())
        .filter(|node| node.form == Form::Dots)
        .filter_map(|node| {
            let words: Vec<&str> = node.title.split_whitespace().collect();
            let at = words.iter().position(|word| word.starts_with("channel"))?;
            words[at - 1].parse::<usize>().ok()
        })
        .sum();
    let closed = network
        .ports
        .values()
        .filter(|port| port.is_closed())
        .count();
    assert_eq!(shown + inner, network.channels.len() + closed);
    let mut places = BTreeSet::new();
    for (i, group) in picture.groups.iter().enumerate() {
        assert!(group.parent < Some(i), "{group:?}");
        assert!(places.insert((group.parent, group.position)), "{group:?}");
        assert!(group.framed || group.shape != Shape::Layered, "{group:?}");
        assert!(!matches!(group.shape, Shape::Matrix { columns: 0 }));
    }
    for node in &picture.nodes {
        assert!(node.group < Some(picture.groups.len()) || node.group.is_none());
        assert!(places.insert((node.group, node.position)), "{node:?}");
        assert!(node.processes > 0);
    }
    let mut ends = BTreeSet::new();
    for edge in &picture.edges {
        assert!(edge.from.node.is_some() || edge.to.node.is_some());
        let key = [&edge.from, &edge.to].map(|end| (end.node, end.port.clone()));
        // Channels to other modules of the same frame are an edge of their own.
        assert!(ends.insert((key, edge.elsewhere.clone())), "{edge:?}");
        for node in [edge.from.node, edge.to.node].into_iter().flatten() {
            assert!(node < picture.nodes.len());
        }
        assert!((1.0..=4.0).contains(&edge.width), "{edge:?}");
    }
}

/// Returns a graph with nested modules, repetitions and random channels.
fn graphs() -> impl Strategy<Value = String> {
    let modules = prop::collection::vec((0_usize..20, 0_usize..2, 1_usize..6), 0..5);
    let nodes = prop::collection::vec((0_usize..20, 0_usize..3, 1_usize..8), 1..8);
    let channels = prop::collection::vec((0_usize..20, 0_usize..20, 0_usize..6), 0..12);
    (modules, nodes, channels).prop_map(|(modules, nodes, channels)| {
        let mut inside = vec![String::new(); modules.len() + 1];
        for (i, (module, kind, replicas)) in nodes.iter().enumerate() {
            let module = module % (modules.len() + 1);
            inside[module] += &format!("n{i} [kind=k{kind}, replicas={replicas}];");
        }
        for (i, (parent, kind, replicas)) in modules.iter().enumerate().rev() {
            let inner = std::mem::take(&mut inside[i + 1]);
            inside[parent % (i + 1)] +=
                &format!("subgraph cluster_{i} {{ module=m{kind}; replicas={replicas}; {inner} }}");
        }
        let mut text = format!("digraph g {{ {}", inside[0]);
        for (i, (from, to, how)) in channels.iter().enumerate() {
            let (from, to) = (from % nodes.len(), to % nodes.len());
            let more = match how {
                0 if from == to => "step=1",
                1 if from == to => "step=1, wrap=true",
                2 => "at=all, bundle=\"switch, gather\", type=T, traffic=4",
                _ => "at=all, bundle=\"switch, gather\"",
            };
            text += &format!("n{from} -> n{to} [src=o{i}, dst=i{i}, {more}];");
        }
        text + "}"
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn each_process_and_channel_is_shown_once(text in graphs(), most in 0_usize..60) {
        let mut found = Diagnostics::new();
        let bytes = text.clone().into_bytes();
        let declared = load(&mut SourceMap::new(), "test.dot", bytes, &mut found);
        let network = declared.and_then(|declared| resolve(expand(declared).ok()?.0).ok());
        prop_assume!(network.is_some());
        let network = network.unwrap().0;
        let all = Picture::of_processes(&network);
        check(&network, &all);
        prop_assert!(all.nodes.iter().all(|node| node.form == Form::One && node.processes == 1));
        let folded = Picture::folded(&network, most);
        check(&network, &folded);
        prop_assert!(folded.nodes.len() <= all.nodes.len());
        if all.nodes.len() <= most {
            prop_assert_eq!(folded, all);
        } else if folded.nodes.len() > most {
            prop_assert_eq!(folded, Picture::folded(&network, 0));
        }
    }
}
