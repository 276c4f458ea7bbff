//! The checker, on small pictures with known flaws.

use crate::check::{Counts, check};
use crate::read::read;

fn counts(content: &str) -> Counts {
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 400 200\" font-size=\"12\">{content}</svg>"
    );
    check(&read(&svg).unwrap())
}

/// Returns a box of 40 x 20.
fn node(name: &str, x: f64, y: f64) -> String {
    format!(
        "<g class=\"node\" data-name=\"{name}\"><rect x=\"{x}\" y=\"{y}\" width=\"40\" height=\"20\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{name}</text></g>",
        x + 20.0,
        y + 14.0
    )
}

fn edge(from: &str, to: &str, d: &str) -> String {
    format!("<path class=\"edge\" data-from=\"{from}\" data-to=\"{to}\" d=\"{d}\"/>")
}

/// Returns four boxes in two columns: a and b on the left, c and d on the right.
fn four() -> String {
    node("a", 10.0, 20.0)
        + &node("b", 10.0, 120.0)
        + &node("c", 300.0, 20.0)
        + &node("d", 300.0, 120.0)
}

#[test]
fn a_picture_without_flaws_has_none() {
    let straight = edge("a", "c", "M50 30H300") + &edge("b", "d", "M50 130 L300 130");
    let label = "<text class=\"label\" x=\"60\" y=\"26\" font-size=\"10\">Task</text>";
    let counted = counts(&(four() + &straight + label));
    let expected = Counts {
        boxes: 4,
        edges: 2,
        ratio: 2.0,
        ..Counts::default()
    };
    assert_eq!(counted, expected);
}

#[test]
fn boxes_over_boxes_are_counted_beyond_a_pixel() {
    let pair = |x| counts(&(node("a", 10.0, 20.0) + &node("b", x, 20.0))).over;
    assert_eq!(pair(49.5), 0);
    assert_eq!(pair(48.0), 1);
    let frame = "<g class=\"module\"><rect x=\"5\" y=\"5\" width=\"60\" height=\"60\"/></g>";
    let framed = |x| counts(&(frame.to_owned() + &node("a", x, 20.0))).over;
    assert_eq!(framed(15.0), 0);
    assert_eq!(framed(40.0), 1);
}

#[test]
fn an_edge_through_a_box_counts_once_and_its_ends_do_not() {
    let middle = node("m", 150.0, 20.0);
    assert_eq!(
        counts(&(four() + &middle + &edge("a", "c", "M50 30H300"))).through,
        1
    );
    assert_eq!(
        counts(&(four() + &middle + &edge("a", "c", "M50 30C100 30 100 90 170 90S250 30 300 30")))
            .through,
        0
    );
    // Along the side of the box.
    assert_eq!(
        counts(&(four() + &middle + &edge("a", "d", "M50 39.5H300V120"))).through,
        0
    );
}

#[test]
fn frames_around_an_end_are_no_obstacle() {
    let frame = "<g class=\"module\"><rect x=\"5\" y=\"5\" width=\"100\" height=\"60\"/></g>";
    let framed = |edge: String| counts(&(frame.to_owned() + &four() + &edge)).through;
    assert_eq!(framed(edge("a", "c", "M50 30H300")), 0);
    assert_eq!(framed(edge("b", "d", "M50 130L80 50L300 130")), 1);
}

#[test]
fn crossings_count_once_for_each_place() {
    let lines = |one: &str, two: &str| {
        counts(&(four() + &edge("a", "d", one) + &edge("b", "c", two))).crossings
    };
    assert_eq!(lines("M50 30L300 130", "M50 130L300 30"), 1);
    // Two S-curves that cross exactly in their middle, at a joint of their pieces.
    let s = [
        "M50 30C175 30 175 130 300 130",
        "M50 130C175 130 175 30 300 30",
    ];
    assert_eq!(lines(s[0], s[1]), 1);
    // At a corner of one of them.
    assert_eq!(
        lines("M50 30L175 80L300 130", "M50 130H175V80L175 30H300"),
        1
    );
    // Three times.
    assert_eq!(lines("M50 30L100 100L200 50L300 130", "M50 75H300V30"), 3);
    // A touch is not a crossing.
    assert_eq!(lines("M50 30L175 80L300 30", "M50 130L175 80L300 130"), 0);
}

#[test]
fn edges_do_not_cross_at_a_common_end_or_trunk() {
    let pair = |one: &str, two: &str| {
        counts(&(four() + &edge("a", "c", one) + &edge("a", "d", two))).crossings
    };
    // A trunk with two branches, and with rounded corners.
    assert_eq!(pair("M50 30H200V30H300", "M50 30H200V130H300"), 0);
    assert_eq!(
        pair(
            "M50 30H300",
            "M50 30H195Q200 30 200 35V125Q200 130 205 130H300"
        ),
        0
    );
    assert_eq!(
        pair("M50 30H300", "M50 30H195Q200 30 200 25V10H280V130H300"),
        1
    );
    // From different points of one box, at the box and away from it.
    assert_eq!(pair("M50 28L60 40H300", "M50 32L60 20L300 130"), 1);
    assert_eq!(pair("M50 28L52 32L300 30", "M50 32L52 28L52 29L300 20"), 0);
}

#[test]
fn a_trunk_is_crossed_once() {
    let trunk = edge("a", "c", "M50 30H200V20H300") + &edge("a", "d", "M50 30H210V130H300");
    assert_eq!(
        counts(&(four() + &trunk + &edge("b", "b", "M30 120V80H100V5"))).crossings,
        1
    );
    let others =
        edge("b", "c", "M30 120V80H100V5H300V20") + &edge("b", "d", "M30 120V80H100V15H350V130");
    let twice = counts(&(four() + &trunk + &others));
    assert_eq!(twice.overlaps, 0);
    // The trunks cross once, and the branches of b cross at x = 300.
    assert_eq!(twice.crossings, 2);
}

#[test]
fn edges_over_edges_are_counted_apart() {
    let pair = |one: String, two: String| counts(&(four() + &one + &two)).overlaps;
    let first = edge("a", "c", "M50 30H100V80H200V30H300");
    assert_eq!(
        pair(first.clone(), edge("b", "d", "M50 130H120V80H180V130H300")),
        1
    );
    assert_eq!(
        pair(first.clone(), edge("b", "d", "M50 130H120V83H180V130H300")),
        0
    );
    assert_eq!(pair(first, edge("a", "d", "M50 34H100V80H180V130H300")), 0);
}

#[test]
fn labels_collide_with_anything_once() {
    let line = edge("a", "c", "M50 30H300");
    let with = |x: f64, y: f64| {
        let label =
            format!("<text class=\"label\" x=\"{x}\" y=\"{y}\" font-size=\"10\">Task</text>");
        counts(&(four() + &line + &label)).labels
    };
    assert_eq!(with(100.0, 27.0), 0);
    assert_eq!(with(100.0, 33.0), 1);
    assert_eq!(with(45.0, 50.0), 0);
    assert_eq!(with(45.0, 33.0), 1);
    let pair = "<text class=\"label\" x=\"100\" y=\"80\">Task</text><text class=\"label\" x=\"120\" y=\"80\">Strip</text>";
    assert_eq!(counts(pair).labels, 2);
    let frame = "<g class=\"module\"><rect x=\"90\" y=\"60\" width=\"100\" height=\"60\"/><text x=\"96\" y=\"76\">half</text></g>";
    assert_eq!(counts(frame).labels, 0);
    assert_eq!(
        counts(&(frame.to_owned() + "<text class=\"label\" x=\"80\" y=\"100\">Task</text>")).labels,
        1
    );
    assert_eq!(
        counts(&(frame.to_owned() + &edge("NULL", "NULL", "M50 70H120"))).labels,
        1
    );
}

#[test]
fn wide_texts_loose_ends_and_elements_outside_are_counted() {
    assert_eq!(counts(&node("worker", 10.0, 20.0)).wide, 0);
    assert_eq!(counts(&node("workers", 10.0, 20.0)).wide, 1);
    assert_eq!(counts(&(four() + &edge("a", "c", "M50 30H290"))).loose, 1);
    assert_eq!(counts(&(four() + &edge("a", "NULL", "M50 30H66"))).loose, 0);
    let frame = "<g class=\"module\"><rect x=\"5\" y=\"5\" width=\"100\" height=\"60\"/></g>";
    assert_eq!(
        counts(&(frame.to_owned() + &four() + &edge("a", "c", "M55 30H300"))).loose,
        1
    );
    assert_eq!(
        counts(&(frame.to_owned() + &four() + &edge("x", "c", "M105 30H300"))).loose,
        0
    );
    assert_eq!(counts(&node("a", 370.0, 20.0)).outside, 1);
    assert_eq!(
        counts(&(four() + &edge("a", "c", "M50 30V-9H300V20"))).outside,
        1
    );
}

#[test]
fn an_end_beside_the_name_of_its_box_is_not_loose() {
    let stub = |label: &str, x: f64| {
        let label =
            format!("<text class=\"label\" x=\"{x}\" y=\"27\" font-size=\"10\">{label}</text>");
        counts(&(four() + &edge("a", "c", "M50 30H66") + &label)).loose
    };
    assert_eq!(stub("c", 68.0), 0);
    assert_eq!(stub("T: to c of next m", 68.0), 0);
    assert_eq!(stub("T: to d of next m", 68.0), 1);
    // Another name, or too far away.
    assert_eq!(stub("d", 68.0), 1);
    assert_eq!(stub("a", 68.0), 1);
    assert_eq!(stub("c", 80.0), 1);
    // Both texts may be shortened.
    let long = node("x", 200.0, 60.0).replace(">x<", ">cell of\u{2026}<");
    for (label, loose) in [
        ("cell of row 1", 0),
        ("cel\u{2026}", 0),
        ("cell", 1),
        ("row\u{2026}", 1),
    ] {
        let label = format!("<text class=\"label\" x=\"68\" y=\"27\">{label}</text>");
        let stub = edge("a", "x", "M50 30H66");
        assert_eq!(
            counts(&(four() + &long + &stub + &label)).loose,
            loose,
            "{label}"
        );
    }
}

#[test]
fn frames_over_frames_are_counted_and_nested_ones_are_not() {
    let frame = |x: f64, width: f64| {
        format!("<g class=\"module\"><rect x=\"{x}\" y=\"5\" width=\"{width}\" height=\"60\"/></g>")
    };
    let pair = |x, width| counts(&(frame(5.0, 100.0) + &frame(x, width))).over;
    assert_eq!(pair(20.0, 40.0), 0);
    assert_eq!(pair(120.0, 40.0), 0);
    assert_eq!(pair(90.0, 40.0), 1);
}

#[test]
fn labels_over_other_texts_are_counted() {
    let title = "<text x=\"100\" y=\"80\">title</text>";
    let over = |y: f64| {
        let label = format!("<text class=\"label\" x=\"110\" y=\"{y}\">Task</text>");
        counts(&(title.to_owned() + &label)).labels
    };
    assert_eq!(over(84.0), 1);
    assert_eq!(over(100.0), 0);
}

#[test]
fn edges_end_near_dots() {
    let dots = node("c", 300.0, 20.0).replace("\"node\"", "\"node dots\"");
    let line = |end: f64| {
        let line = edge("a", "c", &format!("M50 30H{end}"));
        counts(&(node("a", 10.0, 20.0) + &dots + &line)).loose
    };
    assert_eq!(line(270.0), 0);
    assert_eq!(line(250.0), 1);
}

#[test]
fn pictures_of_graphviz_are_read() {
    let svg = r#"<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg width="200pt" height="100pt" viewBox="0.00 0.00 200.00 100.00" xmlns="http://www.w3.org/2000/svg">
<g id="graph0" class="graph" transform="scale(1 1) rotate(0) translate(4 96)">
<title>pair</title>
<polygon fill="white" points="-4,4 -4,-96 196,-96 196,4 -4,4"/>
<g id="clust1" class="cluster"><title>cluster_x</title>
<polygon points="8,-8 8,-88 60,-88 60,-8 8,-8"/></g>
<g id="node1" class="node"><title>a</title><polygon points="50,-60 20,-60 20,-40 50,-40 50,-60"/><text text-anchor="middle" x="35" y="-46" font-size="14.00">a</text></g>
<g id="node2" class="node"><title>b</title><ellipse cx="100" cy="-50" rx="10" ry="10"/></g>
<g id="node3" class="node"><title>c</title><polygon points="190,-60 160,-60 160,-40 190,-40 190,-60"/></g>
<g id="edge1" class="edge"><title>a&#45;&gt;c</title><path d="M50,-50C80,-50 120,-50 150,-50"/><polygon points="150,-53 160,-50 150,-47"/><text x="60" y="-48" font-size="14.00">over its line</text></g>
<g id="edge2" class="edge"><title>c&#45;&gt;a</title><path d="M160,-44C120,-10 90,-10 60,-40"/></g>
</g>
</svg>"#;
    let counted = check(&read(svg).unwrap());
    let expected = Counts {
        boxes: 3,
        edges: 2,
        through: 1,
        // The label is over b.
        labels: 1,
        ratio: 2.0,
        ..Counts::default()
    };
    assert_eq!(counted, expected);
}

#[test]
fn pictures_of_mappings_are_read() {
    let svg = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 100" font-size="11">
<g class="frames" transform="translate(10 10)">
<g class="frame host"><rect class="outline" x="0" y="0" width="280" height="80"/><text class="name" x="4" y="12">host1</text></g>
<g class="os-process" data-os-process="0"><title>OS process 0</title><rect class="outline" x="10" y="20" width="60" height="40"/><text x="14" y="34">rank 0</text><rect class="load" x="14" y="50" width="20" height="4"/></g>
<g class="os-process" data-os-process="1"><title>OS process 1</title><rect class="outline" x="200" y="20" width="60" height="40"/></g>
<g class="arc arc-host" data-from="0" data-to="1"><path d="M70 40H190"/><polygon points="200,40 190,37 190,43"/></g>
<g class="number arc-host"><rect class="plate" x="100" y="34" width="12" height="12"/><text class="number" x="106" y="44" font-size="9" text-anchor="middle">5</text></g>
</g>
</svg>"##;
    let counted = check(&read(svg).unwrap());
    let expected = Counts {
        boxes: 2,
        edges: 1,
        ratio: 3.0,
        ..Counts::default()
    };
    assert_eq!(counted, expected);
}

#[test]
fn tips_belong_to_their_edges() {
    let line = edge("a", "c", "M50 30H293");
    assert_eq!(counts(&(four() + &line)).loose, 1);
    let tip = "<path class=\"tip\" d=\"M300 30L293 27V33Z\"/>";
    assert_eq!(counts(&(four() + &line + tip)).loose, 0);
    // A line that ends inside of its tip.
    let inside = edge("a", "c", "M50 30H298.5");
    let tip = "<path class=\"tip\" d=\"M303 30L293 27V33Z\"/>";
    assert_eq!(counts(&(four() + &inside + tip)).loose, 0);
}

#[test]
fn pictures_without_classes_are_read() {
    let svg = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 100" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="16" y="24" font-size="16">pair</text>
<rect x="20" y="40" width="60" height="50" rx="8"/>
<text x="30" y="52" font-weight="bold">half</text>
<path d="M70 70 C135 70 135 80 200 80" marker-end="url(#tip)"><title>out to in</title></path>
<rect x="30" y="60" width="40" height="28" rx="5"/><text x="50" y="78" text-anchor="middle">worker</text>
<rect x="200" y="66" width="40" height="28" rx="5"/><text x="220" y="84" text-anchor="middle">a long text</text>
<text x="135" y="71" font-size="10" text-anchor="middle">Task</text>
</svg>"##;
    let counted = check(&read(svg).unwrap());
    let expected = Counts {
        boxes: 2,
        edges: 1,
        wide: 1,
        ratio: 3.0,
        ..Counts::default()
    };
    assert_eq!(counted, expected);
}

#[test]
fn crossings_of_many_edges_agree_with_all_pairs() {
    let mut random = bench_common::Random(7);
    let mut number = || random.below(1000) as f64 / 10.0;
    let lines: Vec<[f64; 4]> = (0..60)
        .map(|_| [number(), number(), number() + 250.0, number()])
        .collect();
    let mut expected = 0;
    for (i, [x1, y1, x2, y2]) in lines.iter().enumerate() {
        for [u1, v1, u2, v2] in &lines[..i] {
            let side = |x: f64, y: f64| (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) > 0.0;
            let other = |x: f64, y: f64| (u2 - u1) * (y - v1) - (v2 - v1) * (x - u1) > 0.0;
            expected +=
                usize::from(side(*u1, *v1) != side(*u2, *v2) && other(*x1, *y1) != other(*x2, *y2));
        }
    }
    let content: String = lines
        .iter()
        .map(|[x1, y1, x2, y2]| edge("NULL", "NULL", &format!("M{x1} {y1}L{x2} {y2}")))
        .collect();
    assert_eq!(counts(&content).crossings, expected);
}
