//! Each text is a graph or has errors with positions. A simple reader written from the manuals must
//! accept the same texts. Printed graphs must be read back unchanged.

use graphmap_graphfile::{Format, print, read};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_partition::{Channel, Graph};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Reads a text, and asserts the properties that hold for each text.
fn checked(format: Format, text: &str) -> Option<Graph> {
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    sources.add("before", "x").unwrap();
    let source = sources.add("g", text).unwrap();
    let file = read(&source, format, &mut out);
    assert_eq!(file.is_none(), out.has_errors(), "{text:?}");
    for diagnostic in &out {
        assert!(diagnostic.primary.is_some(), "{text:?}: {diagnostic:?}");
        for label in diagnostic.primary.iter().chain(&diagnostic.secondary) {
            let (found, range) = sources.range(label.span).expect("a place");
            assert!(
                found.name() == "g" && found.text().get(range).is_some(),
                "{text:?}"
            );
        }
    }
    file.map(|file| file.graph)
}

/// Loads of vertices, and the weight of each edge by its ends, smaller end first.
type Plain = (Vec<u64>, BTreeMap<(u64, u64), u64>);

/// Adds a listed edge, or returns `None` if it is already there or invalid.
fn insert(ends: &mut BTreeMap<(u64, u64), u64>, from: u64, to: u64, weight: u64) -> Option<()> {
    (from != to && weight > 0 && ends.insert((from, to), weight).is_none()).then_some(())
}

/// Returns the graph of ends if each has its opposite end.
fn symmetric(loads: Vec<u64>, ends: BTreeMap<(u64, u64), u64>, edges: u64) -> Option<Plain> {
    let both = ends.iter().all(|(&(a, b), w)| ends.get(&(b, a)) == Some(w));
    let fits = both && ends.len() as u64 == 2 * edges;
    fits.then(|| {
        (
            loads,
            ends.into_iter().filter(|((a, b), _)| a < b).collect(),
        )
    })
}

fn number(word: &str) -> Option<u64> {
    let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    word.parse().ok().filter(|_| digits)
}

fn flags(word: &str) -> Option<[bool; 3]> {
    let plain = word.len() <= 3 && word.bytes().all(|b| b == b'0' || b == b'1');
    plain.then(|| [2, 1, 0].map(|i| word.bytes().rev().nth(i) == Some(b'1')))
}

/// Reads a graph of METIS as its manual describes it, for small numbers.
fn plain_metis(text: &str) -> Option<Plain> {
    let mut lines = text.lines().filter(|l| !l.trim_start().starts_with('%'));
    let header: Vec<&str> = lines.next()?.split_whitespace().collect();
    if !(2..=4).contains(&header.len()) {
        return None;
    }
    let (n, m) = (number(header[0])?, number(header[1])?);
    let [sizes, weights, edges] = flags(header.get(2).unwrap_or(&"0"))?;
    let many = number(header.get(3).unwrap_or(&"0"))?;
    if n == 0 || many > u64::from(weights) {
        return None;
    }
    let (mut loads, mut ends) = (Vec::new(), BTreeMap::new());
    for v in 1..=n {
        let mut words = lines.next()?.split_whitespace();
        if sizes {
            number(words.next()?)?;
        }
        loads.push(if weights { number(words.next()?)? } else { 1 });
        while let Some(word) = words.next() {
            let to = number(word).filter(|u| (1..=n).contains(u))?;
            let weight = if edges { number(words.next()?)? } else { 1 };
            insert(&mut ends, v - 1, to - 1, weight)?;
        }
    }
    let blank = lines.all(|line| line.trim().is_empty());
    symmetric(loads, ends, m).filter(|_| blank)
}

/// Reads a graph of Scotch as its guide describes it.
fn plain_scotch(text: &str) -> Option<Plain> {
    let mut words = text.split_whitespace();
    let version = number(words.next()?)?;
    let [n, arcs, base] = [(); 3].map(|()| words.next().and_then(number));
    let (n, arcs, base) = (n?, arcs?, base?);
    let [labels, edges, weights] = flags(words.next()?)?;
    if version != 0 || n == 0 || arcs % 2 == 1 {
        return None;
    }
    let (mut loads, mut names, mut ends) = (Vec::new(), Vec::new(), BTreeMap::new());
    for v in 0..n {
        let name = if labels {
            number(words.next()?)?
        } else {
            base + v
        };
        names.push(name);
        loads.push(if weights { number(words.next()?)? } else { 1 });
        for _ in 0..number(words.next()?)? {
            let weight = if edges { number(words.next()?)? } else { 1 };
            insert(&mut ends, name, number(words.next()?)?, weight)?;
        }
    }
    let index: BTreeMap<u64, u64> = names.iter().copied().zip(0..).collect();
    let known: BTreeSet<&u64> = index.keys().collect();
    let there = ends
        .keys()
        .all(|(a, b)| known.contains(a) && known.contains(b));
    if !there || index.len() as u64 != n || words.next().is_some() {
        return None;
    }
    let ends = ends
        .into_iter()
        .map(|((a, b), w)| ((index[&a], index[&b]), w));
    symmetric(loads, ends.collect(), arcs / 2)
}

fn plain(graph: &Graph) -> Plain {
    let vertices = || 0..graph.vertices() as u32;
    let loads = vertices().map(|v| graph.load(v)).collect();
    let edges = vertices().flat_map(|v| {
        let later = graph.neighbours(v).filter(move |&(u, _)| v < u);
        later.map(move |(u, w)| ((u64::from(v), u64::from(u)), w))
    });
    (loads, edges.collect())
}

fn agrees(format: Format, text: &str) -> Result<bool, TestCaseError> {
    let read = checked(format, text).map(|graph| plain(&graph));
    let expected = match format {
        Format::Metis => plain_metis(text),
        Format::Scotch => plain_scotch(text),
    };
    prop_assert_eq!(&read, &expected, "{:?}", text);
    Ok(read.is_some())
}

fn graphs() -> impl Strategy<Value = Graph> {
    (1u32..9, 1u64..4).prop_flat_map(|(n, most)| {
        let channel = (0..n, 0..n, 1..=most);
        let loads = prop::collection::vec(0..=most, n as usize);
        (loads, prop::collection::vec(channel, 0..12)).prop_map(|(loads, channels)| {
            let channels = channels.iter();
            let channels = channels.map(|&(from, to, traffic)| Channel { from, to, traffic });
            Graph::new(loads, &channels.collect::<Vec<_>>()).unwrap()
        })
    })
}

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::ALL.to_vec())
}

/// Makes one small change: a word or a line is removed, repeated, or replaced.
fn changed(text: &str, at: usize, how: usize) -> String {
    let mut pieces: Vec<String> = text
        .split_inclusive([' ', '\n'])
        .map(str::to_owned)
        .collect();
    let at = at % pieces.len();
    let end = pieces[at].pop().unwrap_or(' ');
    let word = std::mem::take(&mut pieces[at]);
    let more = word.parse::<u64>().map_or(7, |n| n + 1);
    pieces[at] = match how {
        0 => String::new(),
        1 => end.to_string(),
        2 => format!("{word} {word}{end}"),
        3 => format!("{more}{end}"),
        4 => format!("{word}\n"),
        5 => format!("{word}x{end}"),
        6 => format!("% {word}{end}"),
        7 => format!("0{end}"),
        _ => format!("{word}{end}"),
    };
    pieces.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn printed_graphs_read_back(graph in graphs(), format in formats()) {
        let again = checked(format, &print(&graph, format)).expect("what was printed");
        prop_assert_eq!(plain(&again), plain(&graph));
        prop_assert!(agrees(format, &print(&graph, format))?);
    }

    /// Graphs with one or two errors, most of which are nearly valid.
    #[test]
    fn plain_reader_agrees(
        graph in graphs(),
        format in formats(),
        changes in prop::collection::vec((any::<usize>(), 0usize..9), 1..3),
    ) {
        let mut text = print(&graph, format);
        for (at, how) in changes {
            text = changed(&text, at, how) + "\n";
        }
        agrees(format, &text)?;
    }

    /// Small numbers in any order.
    #[test]
    fn plain_reader_agrees_on_any_numbers(
        words in prop::collection::vec(prop::sample::select(vec![
            "0", "1", "2", "3", "4", "01", "11", "100", "\n", "\n", "%", "-1",
        ]), 0..24),
        format in formats(),
    ) {
        agrees(format, &words.join(" "))?;
    }

    #[test]
    fn any_text_has_an_answer(text in "[0-9 \n\t%x\u{e9}\u{feff}-]{0,60}|\\PC{0,60}", format in formats()) {
        checked(format, &text);
    }
}

/// A star whose edges are all listed at the hub alone, and in reverse order. Time must be linear in
/// the text, and all errors must be reported.
#[test]
fn large_file_full_of_errors_takes_linear_time() {
    let n = 50_000;
    let hub: Vec<String> = (2..=n).rev().map(|v| v.to_string()).collect();
    let text = format!("{n} {}\n{}\n{}", n - 1, hub.join(" "), "\n".repeat(n - 1));
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    let source = sources.add("g", text).unwrap();
    assert!(read(&source, Format::Metis, &mut out).is_none());
    assert_eq!(out.len(), n, "an edge each, and their number");
    let star = format!("{n} {}\n{}\n{}", n - 1, hub.join(" "), "1\n".repeat(n - 1));
    assert_eq!(
        checked(Format::Metis, &star).map(|g| g.edges()),
        Some(n - 1)
    );
}
