//! Tables of a text in place of the tables of the compiled network.

use std::path::Path;

use crate::common::{BOTH, Both, Log};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, RunError, run};

/// Returns a chain of one link, which has no channel from link to link. Each link adds 1 to the
/// numbers, and logs its name, its index and its innermost module.
fn chain(log: &Log<String>) -> Network {
    let mut net = Network::new("chain", "chain.dot");
    let first = |mut p: Both<u64>| async move {
        for n in 0..3 {
            p.outs[0].write(n).await.unwrap();
        }
    };
    let first = net.kind("first", Names::Listed(&["first"]), "0", BOTH, first);
    let links = log.clone();
    let link = move |mut p: Both<u64>| {
        let log = links.clone();
        async move {
            let module = rt::modules().last().map(|module| module.name.to_string());
            let me = rt::me();
            log.add(format!("{} {} {module:?}", me.name, me.index));
            while let Some(n) = p.ins[0].read().await {
                p.outs[0].write(n + 1).await.unwrap();
            }
        }
    };
    let link = net.kind("link", Names::Listed(&["link"]), "1", BOTH, link);
    let lasts = log.clone();
    let last = move |mut p: Both<u64>| {
        let log = lasts.clone();
        async move {
            let mut all = Vec::new();
            for input in &mut p.ins {
                while let Some(n) = input.read().await {
                    all.push(n);
                }
            }
            log.add(format!("{all:?}"));
        }
    };
    let last = net.kind("last", Names::Listed(&["last"]), "2", BOTH, last);
    net.tokens("u64", rt::format_of!(u64), rt::default_of!(u64));
    net.channels::<u64>(Channels::new((first, 1), (link, 0), "0", "0"));
    net.channels::<u64>(Channels::new((link, 1), (last, 0), "0", "0"));
    net
}

/// Runs the chain with other tables, on one scheduler and on two. Returns what it logs, sorted.
fn result(tables: &str) -> Vec<String> {
    let of = |schedulers| {
        let log = Log::new();
        let mut net = chain(&log);
        net.read_tables(tables).unwrap();
        run(net, &Options::new().schedulers(schedulers)).unwrap();
        log.sorted()
    };
    let all = of(1);
    assert_eq!(of(2), all);
    all
}

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "Miri keeps files away")]
fn tables_of_today_are_read() {
    let all = result(&file("chain-1.tables"));
    let expected = [
        "[0, 3, 4, 5]",
        "left1 0 Some(\"row1\")",
        "right1 1 Some(\"row1\")",
        "right2 2 None",
    ];
    assert_eq!(all, expected);
}

/// Tables in which `first` is joined to `last` only.
const WITHOUT_LINKS: &str = "graphmap-tables 1; network chain other.dot; kind last 1; names \
    listed last; kind first 0; names listed first; channels first out last in u64 3 0 plain 0 0 \
    \"\" \"\" \"\" \"\";";

#[test]
fn tags_are_read() {
    let log = Log::new();
    let tags = log.clone();
    let mut net = Network::new("chain", "chain.dot");
    let process = move |_: Both<u64>| {
        let log = tags.clone();
        async move {
            let own = rt::me().name;
            rt::connections().for_each(|c| log.add(format!("{own} {:?}", c.tag)));
        }
    };
    net.kind(
        "first",
        Names::Listed(&["first"]),
        "0",
        BOTH,
        process.clone(),
    );
    net.kind("last", Names::Listed(&["last"]), "1", BOTH, process);
    net.tokens("u64", rt::format_of!(u64), rt::default_of!(u64));
    let tables = format!(
        "{WITHOUT_LINKS} tag 2147483647; \
         channels first out last in u64 3 0 plain 0 0 \"\" \"\" \"\" \"\";"
    );
    net.read_tables(&tables).unwrap();
    run(net, &Options::new()).unwrap();
    let expected = [
        "first None",
        "first Some(2147483647)",
        "last None",
        "last Some(2147483647)",
    ];
    assert_eq!(log.sorted(), expected);
    let mut net = chain(&Log::new());
    let error = net.read_tables(&format!("{WITHOUT_LINKS} tag 2147483648;"));
    let said = error.unwrap_err().to_string();
    assert!(said.contains("`2147483648` is not a number"), "{said}");
}

#[test]
fn a_kind_may_have_no_process() {
    assert_eq!(result(WITHOUT_LINKS), ["[0, 1, 2]"]);
}

#[test]
fn the_network_has_the_size_of_the_tables() {
    let mut net = chain(&Log::new());
    net.read_tables(WITHOUT_LINKS).unwrap();
    assert_eq!((net.processes(), net.channels_total()), (2, 1));
    // They can be replaced again.
    net.read_tables(WITHOUT_LINKS).unwrap();
    assert_eq!((net.processes(), net.channels_total()), (2, 1));
}

#[test]
fn tables_of_another_program_are_refused() {
    let text = |from: &str, to: &str| {
        assert!(WITHOUT_LINKS.contains(from), "{from}");
        let mut net = chain(&Log::new());
        let error = net.read_tables(&WITHOUT_LINKS.replace(from, to));
        match error.unwrap_err() {
            RunError::Options(message) => message,
            other => panic!("{other}"),
        }
    };
    for (from, to, expected) in [
        ("tables 1;", "tables 2;", "version 2 is not known, only 1"),
        (
            "graphmap-tables",
            "digraph",
            "expected `graphmap-tables 1;`",
        ),
        (
            "network chain",
            "network ring",
            "for the network `ring`, but this program is `chain`",
        ),
        ("kind last", "kind end", "this program has no kind `end`"),
        (
            "first out",
            "first more",
            "the kind `first` of this program has no port `more`",
        ),
        (
            "u64",
            "types::Task",
            "no channel of this program carries `types::Task`",
        ),
        ("kind first", "kind last", "the kind `last` occurs twice"),
        ("names listed first;", "", "expected `names`"),
        (
            "names listed first;",
            "names of first;",
            "expected `listed`",
        ),
        ("names listed first;", "names mixed 2 a 0;", "fewer texts"),
        ("names listed first;", "names pattern a;", "no numbers"),
        ("kind first 0", "kind first x", "invalid sequence `x`"),
        (
            "plain",
            "credits",
            "`credits` is neither `plain` nor `flow`",
        ),
        ("u64 3", "u64 -3", "`-3` is not a number, or too large"),
        (
            "kind first 0",
            "kind first",
            "`kind` with 1 words does not exist in version 1",
        ),
        ("kind first 0", "inside 0", "`names` must follow"),
        ("kind first 0", "tag 0; kind first 0", "`tag` must follow"),
    ] {
        let said = text(from, to);
        assert!(said.contains(expected), "{to}: {said}");
        assert!(
            said.starts_with("the tables of the network, line 1: "),
            "{said}"
        );
    }
}

#[test]
fn numbers_that_do_not_fit_are_errors_of_the_description() {
    for (from, to, expected) in [
        ("kind last 1", "kind last 0", "rank 0 is used twice"),
        ("kind last 1", "kind last 2", "rank 2 is too high"),
        ("kind last 1", "kind last 1+1*2", "1 names for 2 ranks"),
        ("plain 0 0", "plain 1 0", "has no member 1"),
        ("u64 3 0", "u64 0 0", "invalid capacity"),
        ("u64 3 0", "u64 3 4", "4 initial tokens"),
        (
            "names listed last;",
            "names listed last; inside 1;",
            "module 1 does not exist",
        ),
    ] {
        assert!(WITHOUT_LINKS.contains(from), "{from}");
        let mut net = chain(&Log::new());
        net.read_tables(&WITHOUT_LINKS.replace(from, to)).unwrap();
        let error = run(net, &Options::new()).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
}

/// Ports of a process with an argument.
struct Seeded(i32);

impl rt::Ports for Seeded {
    fn connect(ends: &mut rt::Ends<'_>) -> Self {
        Seeded(ends.argument("seed"))
    }
}

fn seeded(log: &Log<(usize, i32)>) -> Network {
    let mut net = Network::new("seeded", "seeded.dot");
    let log = log.clone();
    let function = move |p: Seeded| {
        let log = log.clone();
        async move { log.add((rt::me().index, p.0)) }
    };
    let kind = net.kind("a", Names::Listed(&["a", "b"]), "0 1", &[], function);
    net.arguments(kind, "seed", rt::Values::Listed(&["-3", "4"]));
    net
}

#[test]
fn arguments_are_those_of_the_tables() {
    let log = Log::new();
    run(seeded(&log), &Options::new()).unwrap();
    assert_eq!(log.sorted(), [(0, -3), (1, 4)]);
    let of = |argument: &str| {
        let text = format!(
            "graphmap-tables 1; network seeded g.dot; kind a 0+1*3; names pattern a 1+1*3; {argument}"
        );
        let mut net = seeded(&log);
        net.read_tables(&text).map_err(|error| error.to_string())?;
        run(net, &Options::new()).map_err(|error| error.to_string())?;
        Ok::<_, String>(log.sorted())
    };
    assert_eq!(
        of("argument seed same 7;").unwrap(),
        [(0, 7), (1, 7), (2, 7)]
    );
    assert_eq!(
        of("argument seed runs -1+-2*3;").unwrap(),
        [(0, -1), (1, -3), (2, -5)]
    );
    assert_eq!(
        of("argument seed listed 1 2 3;").unwrap(),
        [(0, 1), (1, 2), (2, 3)]
    );
    for (argument, expected) in [
        ("", "the graph has no argument `seed`"),
        (
            "argument seed same x;",
            "argument `seed` is \"x\" in the graph, but a i32",
        ),
        ("argument seed same 3000000000;", "in the graph, but a i32"),
        (
            "argument seed runs 1;",
            "argument `seed` of kind a: 1 values for 3 members",
        ),
        ("argument seed runs x;", "not runs of whole numbers"),
        ("argument seed 1;", "expected `same`, `runs` or `listed`"),
        (
            "argument more same 1;",
            "the kind `a` of this program has no parameter `more`",
        ),
    ] {
        let error = of(argument).unwrap_err();
        assert!(error.contains(expected), "{argument}: {error}");
    }
}

#[test]
fn initial_tokens_need_a_default() {
    struct Opaque;
    let mut net = chain(&Log::new());
    net.tokens("Opaque", rt::format_of!(Opaque), rt::default_of!(Opaque));
    let tables = WITHOUT_LINKS.replace("u64 3 0", "Opaque 3 1");
    let error = net.read_tables(&tables).unwrap_err().to_string();
    assert!(error.contains("Opaque has no default"), "{error}");
}
