//! Properties of pictures of random mappings: sums, positions, and valid XML.

use super::contents::{Contents, Frame, MOST_ARCS};
use super::draw::size;
use super::grid::Shape;
use super::labels::{labels, overlap};
use super::layout::{Laid, layout};
use super::legend::legend;
use super::matrix::Matrix;
use super::place::Class;
use super::traffic::{Sum, Traffic};
use super::{best, block, draw};
use crate::geometry::{Point, Rect, Size};
use crate::{Flow, Host, OsProcess, Scene, SceneNode};
use graphmap_kpn::hardware::{self, Distances, Hardware};
use graphmap_testing::cases;
use proptest::collection::vec;
use proptest::prelude::*;

const KINDS: [&str; 5] = [
    "worker",
    "a\"<&>'\u{1}\u{ffff}",
    "",
    "sink",
    "a kind with a long name",
];
const HOSTS: [&str; 5] = ["a", "b", "", "]]>\" onload='x'", "not described"];

/// Returns hosts with these numbers of sockets, caches of a socket, and cores of a cache.
fn machine([sockets, caches, cores]: [u32; 3]) -> Hardware {
    let host = |(h, name): (usize, &&str)| hardware::Host {
        name: (*name).to_owned(),
        slots: 1,
        max_slots: None,
        speed: 1.0 + h as f64,
        memory: None,
        group: h as u32 % 2,
        cores: (0..sockets * caches * cores)
            .map(|cpu| hardware::Core {
                socket: cpu / (caches * cores),
                cache: cpu / cores,
                cpus: vec![cpu, cpu + 100],
                speed: 1.0,
            })
            .collect(),
        access: hardware::Access::default(),
    };
    Hardware {
        os_processes: None,
        hosts: HOSTS[..4].iter().enumerate().map(host).collect(),
        order: Vec::new(),
        distances: Distances {
            os_process: 0.0,
            cache: 1.0,
            socket: 2.0,
            host: 3.0,
            group: 4.0,
            platform: 5.0,
        },
    }
}

/// Returns a scene of OS processes with a host and cores, nodes with an OS process and a kind, and
/// flows. Indices are taken modulo the number of elements.
fn scene(
    os_processes: Vec<(usize, Vec<u32>)>,
    nodes: Vec<(usize, usize, usize)>,
    flows: Vec<(usize, usize, u32)>,
) -> Scene {
    let mut scene = Scene {
        hosts: Vec::new(),
        os_processes: Vec::new(),
        nodes: Vec::new(),
        flows: Vec::new(),
    };
    for (o, (host, cores)) in os_processes.into_iter().enumerate() {
        let cores = if HOSTS[host].is_empty() {
            Vec::new()
        } else {
            cores
        };
        scene.os_processes.push(OsProcess {
            cores,
            ..OsProcess::default()
        });
        match scene.hosts.iter_mut().find(|h| h.name == HOSTS[host]) {
            Some(host) => host.os_processes.push(o),
            None => scene.hosts.push(Host {
                name: HOSTS[host].to_owned(),
                os_processes: vec![o],
            }),
        }
    }
    for (n, (o, kind, processes)) in nodes.into_iter().enumerate() {
        let os_process = o % scene.os_processes.len();
        let home = &mut scene.os_processes[os_process];
        home.nodes.push(n);
        home.processes += processes;
        home.load += processes as f64;
        scene.nodes.push(SceneNode {
            label: KINDS[kind].to_owned(),
            kind: KINDS[kind].to_owned(),
            os_process,
            processes,
            load: processes as f64,
        });
    }
    for (from, to, traffic) in flows {
        scene.flows.push(Flow {
            from: from % scene.nodes.len(),
            to: to % scene.nodes.len(),
            channels: 1,
            traffic: f64::from(traffic),
            controlled: false,
        });
    }
    scene
}

fn scenes() -> impl Strategy<Value = Scene> {
    let cores = vec(0..14u32, 0..3);
    let count = prop_oneof![4 => 1..12usize, 2 => 12..50usize, 1 => 50..90usize];
    let os_processes = count.prop_flat_map(move |count| vec((0..5usize, cores.clone()), count));
    let nodes = vec((any::<usize>(), 0..5usize, 1..9usize), 1..90);
    let flows = vec((any::<usize>(), any::<usize>(), 0..100u32), 0..160);
    (os_processes, nodes, flows).prop_map(|(o, n, f)| scene(o, n, f))
}

fn machines() -> impl Strategy<Value = Option<Hardware>> {
    proptest::option::of([1..3u32, 1..3u32, 1..4u32].prop_map(machine))
}

fn sum<'a>(sums: impl IntoIterator<Item = &'a Sum>) -> Sum {
    let mut all = Sum::default();
    sums.into_iter().for_each(|&sum| all.add(sum));
    all
}

fn blocks(frame: &Frame) -> Vec<usize> {
    let inner = frame.frames.iter().flat_map(blocks);
    frame.blocks.iter().copied().chain(inner).collect()
}

/// Returns the rectangle of points of a segment.
fn segment(points: &[Point]) -> Rect {
    let at = Point::new(points[0].x.min(points[1].x), points[0].y.min(points[1].y));
    let size = Size::new(
        (points[0].x - points[1].x).abs(),
        (points[0].y - points[1].y).abs(),
    );
    Rect::new(at, size)
}

/// Returns a rectangle without its border.
fn inside(rect: &Rect) -> Rect {
    let Rect { at, size } = *rect;
    Rect::new(
        at + Point::new(0.01, 0.01),
        Size::new(size.width - 0.02, size.height - 0.02),
    )
}

fn contains(outer: &Rect, inner: &Rect) -> bool {
    outer.at.x <= inner.at.x
        && outer.at.y <= inner.at.y
        && inner.right() <= outer.right() + 0.01
        && inner.bottom() <= outer.bottom() + 0.01
}

fn heads(laid: &Laid<'_>) -> Vec<Rect> {
    let heads = laid.frames.iter().zip(&laid.labels);
    heads
        .map(|((rect, frame), &x)| {
            let size = Size::new(block::WIDTH, block::head(frame));
            Rect::new(Point::new(x, rect.at.y), size)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60) as u32))]

    #[test]
    fn sums_of_the_picture_are_exact(scene in scenes(), machine in machines()) {
        let traffic = Traffic::of(&scene);
        let contents = Contents::of(&scene, machine.as_ref(), &traffic);
        let total = Sum {
            channels: scene.flows.len(),
            traffic: scene.flows.iter().map(|f| f.traffic).sum(),
        };
        let between = sum(traffic.between.values());
        let mut all = between;
        all.add(contents.within);
        prop_assert_eq!(all, total);
        prop_assert_eq!(sum(contents.classes.values()), between);
        let mut shown = sum(contents.arcs.iter().map(|a| &a.sum));
        shown.add(sum(contents.blocks.iter().flat_map(|b| b.among.values())));
        prop_assert_eq!(shown, between);
        let arcs = sum(contents.arcs.iter().map(|a| &a.sum));
        prop_assert_eq!(sum(contents.blocks.iter().map(|b| &b.read)), arcs);
        prop_assert_eq!(sum(contents.blocks.iter().map(|b| &b.written)), arcs);
        let load: f64 = scene.os_processes.iter().map(|o| o.load).sum();
        prop_assert_eq!(contents.blocks.iter().map(|b| b.load).sum::<f64>(), load);
        let matrix = Matrix::of(&scene, &traffic);
        let cells = sum(matrix.cells.values());
        prop_assert_eq!(cells, if matrix.within { total } else { between });
        let mut numbers: Vec<usize> = contents.blocks.iter().flat_map(|b| b.os_processes.clone()).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, Vec::from_iter(0..scene.os_processes.len()));
        let mut framed: Vec<usize> = contents.frames.iter().flat_map(blocks).collect();
        framed.sort_unstable();
        prop_assert_eq!(framed, Vec::from_iter(0..contents.blocks.len()));
    }

    #[test]
    fn nothing_overlaps(
        scene in scenes(),
        machine in machines(),
        groups in 1..5usize,
        columns in 1..4usize,
    ) {
        let traffic = Traffic::of(&scene);
        let contents = Contents::of(&scene, machine.as_ref(), &traffic);
        let laid = layout(&contents, Shape { groups, columns }, MOST_ARCS);
        let whole = Rect::new(Point::default(), laid.size);
        for (i, a) in laid.blocks.iter().enumerate() {
            prop_assert!(contains(&whole, a));
            prop_assert!(!laid.blocks[..i].iter().any(|b| overlap(a, b)));
        }
        let heads = heads(&laid);
        for (i, head) in heads.iter().enumerate() {
            prop_assert!(!laid.blocks.iter().any(|b| overlap(head, &inside(b))));
            prop_assert!(!heads[..i].iter().any(|other| overlap(&inside(head), other)));
        }
        for ((rect, frame), head) in laid.frames.iter().zip(&heads) {
            prop_assert!(contains(&whole, rect) && contains(rect, head));
            prop_assert!(blocks(frame).iter().all(|&b| contains(rect, &laid.blocks[b])));
        }
        prop_assert_eq!(laid.arcs.len(), contents.arcs.len().min(MOST_ARCS));
        for (i, (arc, points)) in contents.arcs.iter().zip(&laid.arcs).enumerate() {
            let (first, last) = (points[0], points[points.len() - 1]);
            for (point, block) in [(first, arc.from), (last, arc.to)] {
                let rect = &laid.blocks[block];
                prop_assert!(point.x == rect.at.x || point.x == rect.right());
                prop_assert!(rect.at.y < point.y && point.y < rect.bottom());
            }
            for step in points.windows(2) {
                let line = segment(step);
                prop_assert!(line.size.width == 0.0 || line.size.height == 0.0);
                prop_assert!(contains(&whole, &line));
                prop_assert!(!laid.blocks.iter().any(|b| overlap(&inside(b), &line)));
                prop_assert!(!heads.iter().any(|h| overlap(&inside(h), &line)));
                // No arc is drawn along another one.
                for other in laid.arcs[..i].iter().flat_map(|points| points.windows(2)) {
                    let other = segment(other);
                    let (down, across) = (line.size.height > 0.0, line.size.width > 0.0);
                    let parallel = (down && other.size.height > 0.0)
                        || (across && other.size.width > 0.0);
                    prop_assert!(!parallel || !overlap(&line, &other), "{line:?} {other:?}");
                }
            }
        }
        let texts = vec!["1.23k".to_owned(); laid.arcs.len()];
        let placed: Vec<Rect> = labels(&laid, &heads, &texts).into_iter().flatten().collect();
        for (i, label) in placed.iter().enumerate() {
            prop_assert!(contains(&whole, label));
            let taken = [&laid.blocks[..], &heads, &placed[..i]].concat();
            prop_assert!(!taken.iter().any(|t| overlap(t, label)));
        }
    }

    #[test]
    fn arcs_cross_only_their_own_frames_and_numbers_cross_nothing(
        scene in scenes(),
        machine in machines(),
    ) {
        let traffic = Traffic::of(&scene);
        let contents = Contents::of(&scene, machine.as_ref(), &traffic);
        let matrix = Matrix::of(&scene, &traffic);
        let legend = legend(&scene, &contents, 0);
        let laid = best(&contents, |laid| size(laid, Some(&matrix), &legend, ""));
        prop_assert_eq!(laid.foreign, 0);
        for (arc, points) in contents.arcs.iter().zip(&laid.arcs) {
            for (rect, frame) in &laid.frames {
                let inside = blocks(frame);
                let own = inside.contains(&arc.from) || inside.contains(&arc.to);
                let crossed = points.windows(2).any(|step| overlap(rect, &segment(step)));
                prop_assert!(own || !crossed, "{rect:?} {points:?}");
            }
        }
        let heads = heads(&laid);
        let texts: Vec<String> = (0..laid.arcs.len()).map(|i| "1.2".repeat(1 + i % 3)).collect();
        for (arc, number) in labels(&laid, &heads, &texts).into_iter().enumerate() {
            let Some(number) = number else { continue };
            prop_assert!(laid.arcs[arc].windows(2).any(|step| overlap(&number, &segment(step))));
            for (other, points) in laid.arcs.iter().enumerate() {
                let mut steps = points.windows(2);
                prop_assert!(other == arc || !steps.any(|s| overlap(&number, &segment(s))));
            }
            for (frame, _) in &laid.frames {
                prop_assert!(contains(frame, &number) || !overlap(frame, &number));
            }
        }
    }

    #[test]
    fn the_document_is_xml_without_foreign_elements(scene in scenes(), machine in machines()) {
        let text = draw("</title><script>alert(1)</script>", &scene, machine.as_ref());
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        for element in document.descendants().filter(|n| n.is_element()) {
            let name = element.tag_name().name();
            let known = ["svg", "title", "style", "g", "rect", "path", "polygon", "text"];
            prop_assert!(known.contains(&name), "{name}");
            let mut attributes = element.attributes();
            prop_assert!(!attributes.any(|a| a.name().starts_with("on") || a.name() == "href"));
        }
        let side = |name| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
        let ratio = side("width") / side("height");
        prop_assert!((0.25..=4.0).contains(&ratio), "{ratio}");
    }
}

#[test]
fn os_processes_are_in_the_frames_of_their_cores() {
    // Two sockets of two caches of two cores.
    let on = |cores: &[u32]| (0, cores.to_vec());
    let scene = scene(
        vec![
            on(&[0]),
            on(&[1]),
            on(&[2]),
            on(&[7]),
            on(&[4, 6]),
            on(&[]),
            on(&[99]),
            (1, vec![]),
        ],
        vec![(0, 0, 1)],
        Vec::new(),
    );
    let machine = machine([2, 2, 2]);
    let contents = Contents::of(&scene, Some(&machine), &Traffic::of(&scene));
    let [a, b] = &contents.frames[..] else {
        panic!("two hosts");
    };
    assert_eq!(
        (a.blocks.as_slice(), b.blocks.as_slice()),
        (&[5, 6][..], &[7][..])
    );
    let labels = |frame: &Frame| -> Vec<(String, Vec<usize>)> {
        let inner = frame.frames.iter();
        inner.map(|f| (f.label.clone(), f.blocks.clone())).collect()
    };
    let named = |label: &str, blocks: &[usize]| (label.to_owned(), blocks.to_vec());
    assert_eq!(labels(a), [named("socket 0", &[]), named("socket 1", &[4])]);
    let [first, second] = &a.frames[..] else {
        panic!("two sockets");
    };
    let caches = [
        named("shared cache 0", &[0, 1]),
        named("shared cache 1", &[2]),
    ];
    assert_eq!(labels(first), caches);
    assert_eq!(
        labels(second),
        [named("shared cache 2", &[]), named("shared cache 3", &[3])]
    );
    let places = super::place::Places::of(&scene, Some(&machine));
    let classes: Vec<Class> = [1, 2, 3, 5, 7].map(|o| places.class(0, o)).to_vec();
    let expected = [
        Class::Cache,
        Class::Socket,
        Class::Host,
        Class::Host,
        Class::Apart,
    ];
    assert_eq!(classes, expected);
    // Without a description, nothing is known but the host.
    let contents = Contents::of(&scene, None, &Traffic::of(&scene));
    assert!(
        contents
            .frames
            .iter()
            .all(|f| f.frames.is_empty() && f.cores.is_empty())
    );
}

#[test]
fn alike_os_processes_share_a_box() {
    // 60 OS processes on hosts `a` and `b` in turn, of which one has another kind.
    let os_processes = (0..60).map(|o| (o % 2, Vec::new())).collect();
    let nodes = (0..60).map(|o| (o, usize::from(o == 31), 2)).collect();
    let flows = (0..60).map(|o| (o, (o + 1) % 60, 3)).collect();
    let scene = scene(os_processes, nodes, flows);
    let contents = Contents::of(&scene, None, &Traffic::of(&scene));
    let sizes: Vec<usize> = contents
        .blocks
        .iter()
        .map(|b| b.os_processes.len())
        .collect();
    assert_eq!(sizes, [30, 29, 1]);
    assert_eq!(contents.blocks[0].kinds[0].1, "worker \u{d7}2");
    let arcs: f64 = contents.arcs.iter().map(|a| a.sum.traffic).sum();
    assert_eq!(arcs, 180.0);
    let matrix = Matrix::of(&scene, &Traffic::of(&scene));
    assert_eq!(
        (matrix.rows.len(), matrix.cells[&(0, 30)].traffic),
        (60, 3.0)
    );
}

/// Returns OS processes with one process each, `each` of them on each host, and flows between their
/// processes.
fn regular(hosts: usize, each: usize, flows: &[(usize, usize)]) -> Scene {
    let os_processes = vec![(0, Vec::new()); hosts * each];
    let nodes = (0..hosts * each).map(|o| (o, 0, 1)).collect();
    let flows = flows.iter().map(|&(from, to)| (from, to, 1)).collect();
    let mut scene = scene(os_processes, nodes, flows);
    let host = |h: usize| Host {
        name: format!("h{h}"),
        os_processes: (h * each..(h + 1) * each).collect(),
    };
    scene.hosts = (0..hosts).map(host).collect();
    scene
}

#[test]
fn boxes_of_equal_os_processes_do_not_hide_the_traffic() {
    for (hosts, each) in [(1, 50), (1, 300), (8, 8), (24, 40), (25, 2), (1000, 1)] {
        let count = hosts * each;
        let ring: Vec<_> = (0..count).map(|o| (o, (o + 1) % count)).collect();
        let scene = regular(hosts, each, &ring);
        let contents = Contents::of(&scene, None, &Traffic::of(&scene));
        let (boxes, frames) = (contents.blocks.len(), contents.frames.len());
        assert!((8..=24).contains(&boxes), "{boxes} boxes");
        assert!(hosts > 24 || frames == hosts, "{frames} frames");
        // The boxes are a ring too.
        assert_eq!(contents.arcs.len(), boxes, "{hosts} hosts");
    }
}

#[test]
fn hosts_that_are_alike_share_a_frame_if_arcs_show_the_traffic() {
    let farm: Vec<_> = (1..100).map(|o| (0, o)).collect();
    let mut scene = regular(100, 1, &farm);
    scene.nodes[0].kind = "source".to_owned();
    let contents = Contents::of(&scene, None, &Traffic::of(&scene));
    assert_eq!((contents.frames.len(), contents.arcs.len()), (2, 1));
    assert_eq!(
        contents.rule,
        Some("by hosts that are alike, kinds and load")
    );
}

#[test]
fn boxes_of_unlike_os_processes_have_ranges() {
    let mut scene = regular(2, 40, &[(0, 40)]);
    for (o, os_process) in scene.os_processes.iter_mut().enumerate() {
        os_process.load = o as f64;
    }
    let contents = Contents::of(&scene, None, &Traffic::of(&scene));
    let [first, second] = &contents.blocks[..] else {
        panic!("a box for each host");
    };
    assert_eq!(contents.rule, Some("by host and kinds"));
    assert!(first.load_text.starts_with("loads 0\u{2013}39 "));
    assert!(second.load_text.starts_with("loads 40\u{2013}79 "));
}

#[test]
fn the_summary_is_not_shortened() {
    let mut scene = regular(1, 1, &[]);
    scene.hosts[0].name = HOSTS[0].to_owned();
    let text = draw("", &scene, Some(&machine([1, 1, 1])));
    assert!(
        text.contains("traffic between OS processes 0 of 0</text>"),
        "{text}"
    );
}

#[test]
fn huge_numbers_are_short_and_finite() {
    for huge in [f64::MAX, 1e300, 1e15] {
        let os_processes = (0..6).map(|o| (o % 2, Vec::new())).collect();
        let nodes = (0..6).map(|o| (o, 0, 1)).collect();
        let flows = (0..24).map(|i| (i % 6, (i * 5 + i / 6) % 6, i as u32));
        let mut scene = scene(os_processes, nodes, flows.collect());
        scene
            .flows
            .iter_mut()
            .for_each(|flow| flow.traffic = huge / (1.0 + flow.traffic));
        scene.os_processes.iter_mut().for_each(|o| o.load = huge);
        let text = draw("", &scene, None);
        assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
        let mut digits = text.split(|c: char| !c.is_ascii_digit());
        assert!(digits.all(|digits| digits.len() <= 17), "{text}");
    }
}

#[test]
fn a_scene_without_contents_has_a_picture() {
    for os_processes in [0, 1] {
        let os_processes = vec![(0, Vec::new()); os_processes];
        let text = draw("", &scene(os_processes, Vec::new(), Vec::new()), None);
        assert!(roxmltree::Document::parse(&text).is_ok(), "{text}");
    }
}
