//! Compares the parser with Graphviz, for all graphs of Graphviz's own source package.
//!
//! Needs Graphviz and, for the first run, Debian's source packages. Prints a message if they are
//! missing.

use graphmap_dot::codes::{UNCLOSED_COMMENT, UNCLOSED_HTML, UNCLOSED_STRING};
use graphmap_dot::decode::decode;
use graphmap_testing::{cases, print_line};
use plain::{Plain, corpus, generate, graphviz};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::path::{Path, PathBuf};

mod plain;

/// Files on which the two differ for a reason. Each must differ, so that the list stays correct.
const DIFFERENT: &[(&str, &str)] = &[];

/// Minimum size of files that are compared without attributes and subgraphs. Graphviz takes half a
/// minute to write these for a file of 16 MB.
const LARGE: u64 = 1 << 20;

fn differs(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).expect("a file of the corpus");
    let (mut ours, accepted) = match decode(bytes) {
        Ok((text, _)) => {
            let (graphs, diagnostics) = plain::read(&text);
            (graphs, !diagnostics.has_errors())
        }
        Err(_) => (Vec::new(), false),
    };
    let theirs_accepted = graphviz::accepts(path);
    if accepted != theirs_accepted {
        let verb = |yes| if yes { "accept" } else { "reject" };
        return Some(format!(
            "we {}, Graphviz {}s",
            verb(accepted),
            verb(theirs_accepted)
        ));
    }
    if !accepted {
        return None;
    }
    if std::fs::metadata(path).is_ok_and(|m| m.len() > LARGE) {
        let same = graphviz::outline(path) == plain::outline(&ours);
        return (!same).then(|| "nodes or edges differ".to_owned());
    }
    ours.iter_mut().for_each(graphviz::comparable);
    let theirs = match graphviz::read(path) {
        Ok(graphs) => graphs,
        Err(why) => return Some(why),
    };
    if ours.len() != theirs.len() {
        return Some(format!(
            "we read {} graphs, Graphviz {}",
            ours.len(),
            theirs.len()
        ));
    }
    ours.iter().zip(&theirs).find_map(|(a, b)| difference(a, b))
}

fn difference(ours: &Plain, theirs: &Plain) -> Option<String> {
    fn first<T: PartialEq + std::fmt::Debug>(what: &str, a: &[T], b: &[T]) -> Option<String> {
        if a.len() != b.len() {
            return Some(format!("{} {what}, Graphviz has {}", a.len(), b.len()));
        }
        let (x, y) = a.iter().zip(b).find(|(x, y)| x != y)?;
        Some(format!("{what}: {x:?}, Graphviz has {y:?}"))
    }
    if (ours.directed, ours.strict) != (theirs.directed, theirs.strict) {
        return Some("another type of graph".to_owned());
    }
    first("nodes", &ours.nodes, &theirs.nodes)
        .or_else(|| first("edges", &ours.edges, &theirs.edges))
        .or_else(|| first("subgraphs", &ours.subgraphs, &theirs.subgraphs))
}

#[test]
fn every_graph_of_graphviz_reads_as_graphviz_reads_it() {
    let Some(version) = graphviz::version() else {
        return;
    };
    let Some(files) = corpus::files() else {
        return;
    };
    assert!(
        files.len() > 500,
        "only {} graphs in the package",
        files.len()
    );
    let halves: Vec<&[PathBuf]> = files.chunks(files.len().div_ceil(2)).collect();
    let mut failures: Vec<(PathBuf, String)> = std::thread::scope(|scope| {
        let check = |half: &[PathBuf]| -> Vec<(PathBuf, String)> {
            let all = half.iter();
            all.filter_map(|p| Some((p.clone(), differs(p)?))).collect()
        };
        let threads: Vec<_> = halves
            .iter()
            .map(|half| scope.spawn(move || check(half)))
            .collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().expect("no panic"))
            .collect()
    });
    for (suffix, why) in DIFFERENT {
        let before = failures.len();
        failures.retain(|(path, _)| !path.ends_with(suffix));
        assert!(
            failures.len() < before,
            "{suffix} no longer differs ({why})"
        );
    }
    let failures: Vec<String> = failures
        .iter()
        .map(|(path, why)| format!("{}: {why:.400}", path.display()))
        .collect();
    print_line(&format!("{} graphs compared with {version}", files.len()));
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Returns `count` values of a strategy, always the same.
fn samples<T: std::fmt::Debug>(count: usize, strategy: impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let value = |_| strategy.new_tree(&mut runner).expect("a value").current();
    (0..count).map(value).collect()
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder for generated graphs");
    folder
}

#[test]
fn generated_graphs_read_as_graphviz_reads_them() {
    if graphviz::version().is_none() {
        return;
    }
    let texts = samples(600, generate::graph());
    // Graphviz runs once for many graphs. The generator makes no `@`, because it ends a file there.
    let path = folder("generated").join("all.gv");
    std::fs::write(&path, texts.concat()).expect("a writable target folder");
    let theirs = graphviz::read(&path).expect("Graphviz reads all of them");
    let mut ours = Vec::new();
    for text in &texts {
        let (graphs, diagnostics) = plain::read(text);
        assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:#?}");
        ours.extend(graphs);
    }
    assert_eq!(ours.len(), theirs.len());
    for ((text, ours), theirs) in texts.iter().zip(&mut ours).zip(&theirs) {
        graphviz::comparable(ours);
        if let Some(difference) = difference(ours, theirs) {
            panic!("{difference}\n{text}");
        }
    }
}

#[test]
fn mutated_graphs_are_refused_as_graphviz_refuses_them() {
    if graphviz::version().is_none() {
        return;
    }
    let folder = folder("mutated");
    let (mut refused, mut failures) = (0, Vec::new());
    let path = folder.join("one.gv");
    let count = cases(150) as usize;
    for text in samples(count, generate::mutated(generate::graph())) {
        std::fs::write(&path, &text).expect("a writable target folder");
        let diagnostics = plain::read(&text).1;
        let ours = !diagnostics.has_errors();
        // Graphviz silently skips an unclosed token before or after a graph.
        let open = [UNCLOSED_STRING, UNCLOSED_HTML, UNCLOSED_COMMENT];
        if diagnostics.has_errors() && diagnostics.iter().all(|f| open.contains(&f.code)) {
            continue;
        }
        if ours != graphviz::accepts(&path) {
            failures.push(format!("we: {ours}\n{text}"));
        }
        refused += usize::from(!ours);
    }
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n----\n")
    );
    // The texts are the same in each run.
    assert!(
        (count / 6..count).contains(&refused),
        "{refused} of {count} refused"
    );
}
