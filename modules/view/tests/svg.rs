//! Pictures as SVG: well-formed for any text and number, and with the shapes of a `Drawing`.

use graphmap_view::drawing::{Drawing, Form, Frame, Label, Path, Shape, Tip};
use graphmap_view::geometry::{Point, Rect, Size};
use graphmap_view::write::to_svg;
use proptest::prelude::*;
use roxmltree::{Document, Node};

const HOSTILE: &[&str] = &[
    "",
    " ",
    "a\"b'c",
    "\"/><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "' onload='alert(1)",
    "\" onload=\"alert(1)",
    "]]>",
    "<![CDATA[",
    "<!-- -->",
    "<?xml version=\"1.0\"?>",
    "<!DOCTYPE svg [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>",
    "&x; &amp; &#60;script&#62;",
    "javascript:alert(1)",
    "url(http://example.com/x)",
    "red;} * {display:none",
    "</style><script>alert(1)</script>",
    "\0\u{1}\u{7f}\u{80}\u{9f}\u{fffe}\u{ffff}",
    "\u{202e}evil\u{2066}\u{200f}",
    "two\nlines\r\nand\ttabs",
    "\u{2028}\u{2029}\u{feff}\u{e0001}\u{10ffff}",
    "z\u{300}\u{300}\u{300}\u{300}\u{300}\u{300}",
    "kind-0 edge",
    "NULL",
];

fn rect(x: f64, y: f64, width: f64, height: f64) -> Rect {
    Rect::new(Point::new(x, y), Size::new(width, height))
}

fn shape(rect: Rect, name: &str, kind: &str) -> Shape {
    Shape {
        rect,
        label: vec![name.to_owned()],
        title: String::new(),
        name: name.to_owned(),
        kind: kind.to_owned(),
        form: Form::One,
        color: None,
        outline: None,
    }
}

fn path(points: &[(f64, f64)], curved: bool) -> Path {
    Path {
        points: points.iter().map(|&(x, y)| Point::new(x, y)).collect(),
        curved,
        end: Tip::Arrow,
        title: String::new(),
        ends: ["a".to_owned(), "b".to_owned()],
        dashed: false,
        two_way: false,
        width: 1.0,
        color: None,
    }
}

/// Returns a `Drawing` with all kinds of elements and this text in every field.
fn everywhere(text: &str) -> Drawing {
    let own = || text.to_owned();
    let forms = [Form::One, Form::Many, Form::Dots];
    let boxes = forms.into_iter().enumerate().map(|(i, form)| Shape {
        rect: rect(10.0, 30.0 + 40.0 * i as f64, 80.0, 30.0),
        label: vec![own(), own()],
        title: own(),
        name: own(),
        kind: own(),
        form,
        color: Some(own()),
        outline: Some(own()),
    });
    let line = |end| Path {
        end,
        title: own(),
        ends: [own(), own()],
        dashed: true,
        two_way: false,
        color: Some(own()),
        ..path(&[(90.0, 40.0), (120.0, 40.0), (150.0, 80.0)], true)
    };
    Drawing {
        size: Size::new(200.0, 160.0),
        title: own(),
        notes: vec![own(), own()],
        frames: vec![Frame {
            rect: rect(5.0, 5.0, 190.0, 150.0),
            label: own(),
            title: own(),
            name: own(),
            color: Some(own()),
        }],
        boxes: boxes.collect(),
        lines: vec![line(Tip::Arrow), line(Tip::Dot)],
        labels: vec![Label {
            rect: rect(95.0, 60.0, 40.0, 12.0),
            text: own(),
        }],
        legend: vec![own(), "other".to_owned()],
    }
}

/// Returns a text without the characters that XML cannot represent.
fn representable(text: &str) -> String {
    let allowed = |c: char| {
        matches!(c, '\t' | '\n' | '\r') || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'))
    };
    text.chars()
        .map(|c| if allowed(c) { c } else { '\u{fffd}' })
        .collect()
}

fn with_class<'a>(document: &'a Document<'_>, class: &str) -> Vec<Node<'a, 'a>> {
    let classes = |node: &Node<'_, '_>| {
        let classes = node.attribute("class").unwrap_or_default();
        classes.split(' ').any(|c| c == class)
    };
    document.descendants().filter(classes).collect()
}

/// Checks that a document has only the elements and attributes of the writer, and that numbers are
/// short.
fn check(svg: &str) -> Document<'_> {
    let document = Document::parse(svg).unwrap_or_else(|e| panic!("{e}\n{svg}"));
    for node in document.descendants() {
        assert!(!node.is_comment() && !node.is_pi(), "{svg}");
        if !node.is_element() {
            continue;
        }
        let name = node.tag_name().name();
        let known = [
            "svg", "title", "style", "defs", "pattern", "g", "rect", "path", "circle", "text",
        ];
        assert!(known.contains(&name), "{name}: {svg}");
        for attribute in node.attributes() {
            let value = attribute.value();
            match attribute.name() {
                "data-name" | "data-kind" | "data-from" | "data-to" => {}
                "class" | "id" | "font-family" | "font-size" | "font-weight" | "text-anchor"
                | "patternUnits" | "lengthAdjust" | "stroke-opacity" | "fill-opacity"
                | "stroke-dasharray" => {
                    let plain = |c: char| c.is_ascii_alphanumeric() || " -.,'".contains(c);
                    assert!(value.chars().all(plain), "{value}");
                }
                "fill" | "stroke" => {
                    let plain = value
                        .strip_prefix("url(#graphmap-")
                        .map(|v| v.trim_end_matches(')'));
                    let plain = plain.or(value.strip_prefix('#')).unwrap_or(value);
                    assert!(plain.chars().all(|c| c.is_ascii_alphanumeric()), "{value}");
                }
                "x" | "y" | "width" | "height" | "rx" | "cx" | "cy" | "r" | "viewBox" | "d"
                | "stroke-width" | "textLength" => {
                    for number in value.split([' ', 'M', 'L', 'C', 'Q']) {
                        let digits = number.strip_prefix('-').unwrap_or(number);
                        let short = digits
                            .split_once('.')
                            .is_none_or(|(_, d)| d.len() == 1 && d != "0");
                        let plain = |c: char| c.is_ascii_digit() || c == '.';
                        assert!(
                            short && digits.chars().all(plain) && number != "-0",
                            "{value}"
                        );
                    }
                }
                "style" => {
                    let digits = value.strip_prefix("--light:#").unwrap();
                    assert!(digits.chars().all(|c| c.is_ascii_hexdigit()), "{value}");
                }
                other => panic!("{other}: {svg}"),
            }
        }
    }
    document
}

/// Checks that the data attributes are the texts, and that all is inside of the picture.
fn check_everywhere(text: &str) {
    let svg = to_svg(&everywhere(text));
    let document = check(&svg);
    let expected = representable(text);
    for (class, count, attributes) in [
        ("module", 1, &["data-name"][..]),
        ("node", 3, &["data-name", "data-kind"]),
        ("edge", 2, &["data-from", "data-to"]),
    ] {
        let nodes = with_class(&document, class);
        assert_eq!(nodes.len(), count);
        for (node, attribute) in nodes
            .iter()
            .flat_map(|n| attributes.iter().map(move |a| (n, a)))
        {
            assert_eq!(node.attribute(*attribute), Some(&expected[..]), "{svg}");
        }
    }
    assert_eq!(svg.matches("<style>").count(), 1);
    assert!(!svg.contains("<script"));
    let root = document.root_element();
    let number = |node: Node<'_, '_>, name| node.attribute(name).map(|v| v.parse::<f64>().unwrap());
    let [width, height] = ["width", "height"].map(|name| number(root, name).unwrap());
    for node in document.descendants().filter(|n| n.has_tag_name("text")) {
        let [x, y] = ["x", "y"].map(|name| number(node, name).unwrap());
        let long = number(node, "textLength").unwrap_or(0.0);
        let centred = node
            .ancestors()
            .find_map(|n| n.attribute("text-anchor"))
            .is_some();
        let end = if centred { x + long / 2.0 } else { x + long };
        assert!(x >= 0.0 && end <= width && y >= 0.0 && y <= height, "{svg}");
        for c in node.text().unwrap_or_default().chars() {
            assert!(
                !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            );
        }
    }
}

#[test]
fn hostile_texts_inject_nothing() {
    for text in HOSTILE {
        check_everywhere(text);
    }
    check_everywhere(&"long name ".repeat(1000));
    check_everywhere(&"\u{1f980}".repeat(10_000));
    check_everywhere(&"W".repeat(10_000));
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -50.0..500.0,
        4 => (-5..50).prop_map(|n| f64::from(n) * 10.0),
        1 => any::<f64>(),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
    ]
}

fn point() -> impl Strategy<Value = Point> {
    (number(), number()).prop_map(|(x, y)| Point::new(x, y))
}

fn rectangle() -> impl Strategy<Value = Rect> {
    (point(), number(), number()).prop_map(|(at, w, h)| Rect::new(at, Size::new(w, h)))
}

fn line() -> impl Strategy<Value = Path> {
    let points = prop::collection::vec(point(), 0..8);
    (points, any::<[bool; 3]>(), number(), any::<String>()).prop_map(
        |(points, flags, width, text)| Path {
            points,
            curved: flags[0],
            end: if flags[1] { Tip::Dot } else { Tip::Arrow },
            ends: [
                if flags[2] {
                    "NULL".to_owned()
                } else {
                    text.clone()
                },
                text,
            ],
            width,
            ..path(&[], false)
        },
    )
}

proptest! {
    #[test]
    fn any_text_injects_nothing(text in any::<String>(), which in 0..HOSTILE.len()) {
        check_everywhere(&text);
        check_everywhere(&format!("{text}{}{text}", HOSTILE[which]));
    }

    #[test]
    fn any_numbers_are_a_document(
        size in (number(), number()),
        rects in prop::collection::vec(rectangle(), 3),
        lines in prop::collection::vec(line(), 0..6),
    ) {
        let mut drawing = everywhere("name");
        drawing.size = Size::new(size.0, size.1);
        drawing.frames[0].rect = rects[0];
        drawing.labels[0].rect = rects[1];
        for shape in &mut drawing.boxes {
            shape.rect = rects[2];
        }
        drawing.lines = lines;
        let svg = to_svg(&drawing);
        let document = check(&svg);
        prop_assert_eq!(with_class(&document, "edge").len(), drawing.lines.len());
        prop_assert_eq!(to_svg(&drawing), svg);
    }
}

/// Returns the numbers of a path.
fn numbers(d: &str) -> Vec<f64> {
    let words = d
        .split([' ', 'M', 'L', 'C', 'Q'])
        .filter(|word| !word.is_empty());
    words.map(|word| word.parse().unwrap()).collect()
}

proptest! {
    #[test]
    fn lines_stay_between_their_points_and_arrows_end_at_the_last(
        steps in prop::collection::vec((0..3, -60..60), 1..8),
        curved in any::<bool>(),
        width in 1.0..4.0,
    ) {
        let mut points = vec![(500.0, 500.0)];
        for (axis, step) in steps {
            let (x, y) = points[points.len() - 1];
            let step = f64::from(step);
            points.push((
                x + if axis == 0 { 0.0 } else { step },
                y + if axis == 1 { 0.0 } else { step / 2.0 },
            ));
        }
        let (line, tip) = drawn(Path { width, ..path(&points, curved) });
        let xs = points.iter().map(|p| p.0 + 16.0);
        let ys = points.iter().map(|p| p.1 + 16.0);
        let most = |it: &mut dyn Iterator<Item = f64>| it.fold(f64::MIN, f64::max) + 0.06;
        let least = |it: &mut dyn Iterator<Item = f64>| it.fold(f64::MAX, f64::min) - 0.06;
        let (left, right) = (least(&mut xs.clone()), most(&mut xs.clone()));
        let (top, bottom) = (least(&mut ys.clone()), most(&mut ys.clone()));
        for at in numbers(&line).chunks(2) {
            prop_assert!(left <= at[0] && at[0] <= right, "{line}");
            prop_assert!(top <= at[1] && at[1] <= bottom, "{line}");
        }
        if !tip.is_empty() {
            let (x, y) = points[points.len() - 1];
            let end = numbers(&tip);
            prop_assert!((end[0] - x - 16.0).abs() < 0.06 && (end[1] - y - 16.0).abs() < 0.06);
            // The line ends inside of the arrow.
            let line = numbers(&line);
            let last = &line[line.len() - 2..];
            let gap = (last[0] - end[0]).hypot(last[1] - end[1]);
            prop_assert!(gap <= 1.25 * width + 0.2, "{gap}");
        }
    }
}

/// Returns the path of a line, and the path of its arrow, of a picture without other elements.
fn drawn(line: Path) -> (String, String) {
    let svg = to_svg(&Drawing {
        lines: vec![line],
        ..Drawing::default()
    });
    let document = check(&svg);
    let d = |class| match &with_class(&document, class)[..] {
        [] => String::new(),
        nodes => nodes[0].attribute("d").unwrap_or_default().to_owned(),
    };
    (d("edge"), d("tip"))
}

// The margin of the picture is 16.

#[test]
fn a_bend_has_a_round_corner_and_the_arrow_ends_at_the_box() {
    let bent = path(
        &[(0.0, 0.0), (40.0, 0.0), (40.0, 50.0), (100.0, 50.0)],
        false,
    );
    let (line, tip) = drawn(bent);
    assert_eq!(
        line,
        "M16 16 L50 16 Q56 16 56 22 L56 60 Q56 66 62 66 L114.8 66"
    );
    assert_eq!(tip, "M116 66 L109 68.8 L109 63.2");
    // The corner is smaller where a straight piece is short. Points on a straight way, and repeated
    // points, do not matter.
    let short = [
        (0.0, 0.0),
        (20.0, 0.0),
        (20.0, 0.0),
        (40.0, 0.0),
        (40.0, 4.0),
        (100.0, 4.0),
    ];
    let (line, _) = drawn(path(&short, false));
    assert_eq!(
        line,
        "M16 16 L54 16 Q56 16 56 18 L56 18 Q56 20 58 20 L114.8 20"
    );
}

#[test]
fn curves_begin_and_end_in_the_main_direction() {
    let right = [(0.0, 0.0), (10.0, 0.0), (50.0, 60.0), (80.0, 60.0)];
    let (line, _) = drawn(path(&right, true));
    assert_eq!(line, "M16 16 L26 16 C46 16 46 76 66 76 L94.8 76");
    let down = right.map(|(x, y)| (y, x));
    let (line, _) = drawn(path(&down, true));
    assert_eq!(line, "M16 16 L16 26 C16 46 76 46 76 66 L76 94.8");
    // Without straight pieces, the side of the box decides.
    for (start, expected) in [
        ((40.0, 10.0), "M56 26 C82.5 26 82.5 96 109 96 L114.8 96"),
        ((20.0, 20.0), "M36 36 C36 62.5 116 62.5 116 89 L116 94.8"),
    ] {
        let mut drawing = Drawing {
            lines: vec![path(&[start, (100.0, 80.0)], true)],
            ..Drawing::default()
        };
        drawing
            .boxes
            .push(shape(rect(0.0, 0.0, 40.0, 20.0), "a", ""));
        let svg = to_svg(&drawing);
        assert!(svg.contains(expected), "{svg}");
    }
    // A nearly straight curve has an arrow of the usual length.
    // A straight end that is shorter than the arrow is a part of the curve.
    let (_, tip) = drawn(path(&[(0.0, 0.0), (99.0, 10.0), (100.0, 10.0)], true));
    assert_eq!(tip, "M116 26 L109 28.8 L109 23.2");
    let (_, tip) = drawn(path(&[(0.0, 0.0), (100.0, 1.0)], true));
    assert_eq!(tip, "M116 17 L109 19.8 L109 14.2");
}

#[test]
fn the_environment_is_a_ring_inside_of_the_stub() {
    let mut from = path(&[(0.0, 0.0), (16.0, 0.0)], false);
    from.ends[0] = "NULL".to_owned();
    let mut to = path(&[(0.0, 0.0), (16.0, 0.0)], false);
    to.ends[1] = "NULL".to_owned();
    to.end = Tip::Dot;
    let svg = to_svg(&Drawing {
        lines: vec![from, to],
        ..Drawing::default()
    });
    let document = check(&svg);
    let rings: Vec<_> = with_class(&document, "environment")
        .iter()
        .map(|ring| ring.attribute("cx").unwrap())
        .collect();
    assert_eq!(rings, ["19", "29"]);
    assert_eq!(with_class(&document, "tip").len(), 1);
}

#[test]
fn users_colours_are_honoured_if_understood() {
    let mut drawing = everywhere("x");
    for (colour, expected) in [
        ("navy", Some("#000080")),
        ("#F80", Some("#ff8800")),
        ("0.5 1 1", Some("#00ffff")),
        ("\"><script>", None),
        ("red:blue", None),
    ] {
        for shape in &mut drawing.boxes {
            shape.color = Some(colour.to_owned());
            shape.outline = Some(colour.to_owned());
        }
        for line in &mut drawing.lines {
            line.color = Some(colour.to_owned());
        }
        drawing.frames[0].color = Some(colour.to_owned());
        let svg = to_svg(&drawing);
        let document = check(&svg);
        let first = |class| with_class(&document, class)[0];
        let child = |node: Node<'_, '_>, name| {
            let rect = node.children().find(|n| n.has_tag_name("rect")).unwrap();
            rect.attribute(name).map(str::to_owned)
        };
        let expected = expected.map(str::to_owned);
        assert_eq!(child(first("module"), "stroke"), expected);
        let edge = first("edge").attribute("stroke").unwrap();
        // Flow-controlled lines are blue by default.
        assert_eq!(edge, expected.as_deref().unwrap_or("#0072b2"));
        // Navy is not visible on a dark background, where the style sheet replaces it.
        let is_dark = colour == "navy";
        for class in ["module", "edge", "node"] {
            let classes = first(class).attribute("class").unwrap();
            assert_eq!(classes.ends_with(" dark"), is_dark, "{classes}");
        }
        let fill = child(first("node"), "fill").unwrap();
        match expected {
            Some(expected) => {
                assert_eq!(fill, expected);
                assert_eq!(child(first("node"), "stroke"), Some(expected));
            }
            None => assert!(svg.contains("class=\"node one kind-")),
        }
    }
}

#[test]
fn the_legend_shows_each_kind_as_its_boxes_are() {
    for count in [0, 1, 2, 8, 9, 24, 25] {
        let kinds: Vec<String> = (0..count).map(|i| format!("Kind{i}")).collect();
        let boxes = kinds
            .iter()
            .map(|kind| shape(rect(0.0, 0.0, 60.0, 28.0), "p", kind));
        let svg = to_svg(&Drawing {
            size: Size::new(300.0, 50.0),
            boxes: boxes.collect(),
            legend: kinds.clone(),
            ..Drawing::default()
        });
        let document = check(&svg);
        let fills = |class| -> Vec<Vec<String>> {
            let of = |node: &Node<'_, '_>| {
                let rects = node.children().filter(|n| n.has_tag_name("rect"));
                rects
                    .map(|n| n.attribute("fill").unwrap().to_owned())
                    .collect()
            };
            with_class(&document, class).iter().map(of).collect()
        };
        let (nodes, mut samples) = (fills("node"), fills("kind"));
        if !(2..=24).contains(&count) {
            assert!(samples.is_empty());
            continue;
        }
        assert_eq!(nodes, samples);
        samples.sort();
        samples.dedup();
        assert_eq!(samples.len(), count);
        assert_eq!(svg.contains("<pattern"), count > 8);
    }
}

#[test]
fn a_text_that_is_too_wide_is_shortened_and_whole_in_the_title() {
    let mut drawing = everywhere("supervisor of all the workers");
    for shape in &mut drawing.boxes {
        shape.title.clear();
    }
    let svg = to_svg(&drawing);
    let document = check(&svg);
    for class in ["node", "label"] {
        for node in with_class(&document, class) {
            let title = node.children().find(|n| n.has_tag_name("title")).unwrap();
            let whole = title.text().unwrap();
            assert!(
                whole.starts_with("supervisor of all the workers"),
                "{whole}"
            );
            let mut texts = node.descendants().filter(|n| n.is_text());
            assert!(
                texts.any(|n| n.text().unwrap().ends_with('\u{2026}')),
                "{svg}"
            );
        }
    }
}

#[test]
fn the_picture_has_room_for_its_title() {
    let svg = to_svg(&Drawing {
        title: "A network with a title that is wider than it".to_owned(),
        ..Drawing::default()
    });
    let document = check(&svg);
    let width: f64 = document
        .root_element()
        .attribute("width")
        .unwrap()
        .parse()
        .unwrap();
    let title = with_class(&document, "title")[0]
        .first_element_child()
        .unwrap();
    let long: f64 = title.attribute("textLength").unwrap().parse().unwrap();
    assert!(long > 300.0 && width >= long + 32.0, "{svg}");
}
