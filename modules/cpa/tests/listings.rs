//! The listings and figures of the thesis on (CM)2PI: processes and channels as its text says.

use graphmap_cpa::read;
use graphmap_kpn::diagnostic::{Diagnostics, Severity};
use graphmap_kpn::network::Verified;
use graphmap_kpn::pipeline::check;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Reads and checks a text. Included files are in `tests/listings`, or `more`.
fn checked(
    text: &str,
    given: &[(&str, i64)],
    more: &HashMap<&str, &str>,
) -> Result<(Verified, Diagnostics), Vec<String>> {
    let errors = |found: &Diagnostics| -> Vec<String> {
        let errors = found.iter().filter(|d| d.severity == Severity::Error);
        errors
            .map(|d| format!("{} {}", d.code, d.message))
            .collect()
    };
    let mut sources = SourceMap::new();
    let source = sources.add("t.cpa", text.to_owned()).unwrap();
    let given: Given = given.iter().copied().collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    let mut include = |path: &str, _, sources: &mut SourceMap| {
        let text = match more.get(path) {
            Some(text) => (*text).to_owned(),
            None => fs::read_to_string(folder.join(path)).unwrap(),
        };
        Ok(Some(sources.add(path, text).unwrap()))
    };
    let (declared, found) =
        read(&source, &given, &mut include, &mut sources).map_err(|found| errors(&found))?;
    assert!(!found.has_errors());
    check(declared, &mut Vec::new()).map_err(|found| errors(&found))
}

fn listing(name: &str, given: &[(&str, i64)]) -> Verified {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    let text = fs::read_to_string(folder.join(name)).unwrap();
    checked(&text, given, &HashMap::new()).unwrap().0
}

/// Returns the number of processes of each kind, in the order of the kinds.
fn kinds(network: &Verified) -> Vec<(String, usize)> {
    let kinds = network.kinds.values();
    kinds
        .map(|kind| (network.name(kind.name).to_owned(), kind.members.len()))
        .collect()
}

/// Returns the channels, as `writer.port -> reader.port`.
fn channels(network: &Verified) -> Vec<String> {
    let mut all: Vec<String> = network
        .channels
        .values()
        .map(|channel| {
            let [from, to] = [channel.from, channel.to].map(|port| {
                let port = &network.ports[port];
                let process = &network.processes[port.process];
                format!("{}.{}", network.name(process.name), network.name(port.name))
            });
            format!("{from} -> {to}")
        })
        .collect();
    all.sort();
    all
}

#[test]
fn hello() {
    let network = listing("hello.cpa", &[]);
    assert_eq!(kinds(&network), [("HelloWorld".to_owned(), 10)]);
    let mut names = network.processes.values().map(|p| network.name(p.name));
    assert_eq!(names.next_back(), Some("HW.HelloWorld10"));
    assert_eq!(listing("hello.cpa", &[("numHello", 4)]).processes.len(), 4);
}

#[test]
fn the_prime_sieve() {
    let network = listing("prime.cpa", &[]);
    assert_eq!(
        (network.processes.len(), network.channels.len()),
        (5000, 5000)
    );
    let small = listing("prime.cpa", &[("numprimes", 5)]);
    assert_eq!(
        channels(&small),
        [
            "PrimeSieve.PrimeSieveChain.PrimeElement1.next -> PrimeSieve.PrimeSieveChain.PrimeElement2.prev",
            "PrimeSieve.PrimeSieveChain.PrimeElement2.next -> PrimeSieve.PrimeSieveChain.PrimeElement3.prev",
            "PrimeSieve.PrimeSieveChain.PrimeElement3.next -> PrimeSieve.PrimeEnd.prev",
            "PrimeSieve.PrimeStart.control -> PrimeSieve.PrimeEnd.kill",
            "PrimeSieve.PrimeStart.next -> PrimeSieve.PrimeSieveChain.PrimeElement1.prev",
        ]
    );
    let figure = listing("figure-3.1.cpa", &[]);
    let elements = ("PrimeElement".to_owned(), 1998);
    assert_eq!(kinds(&figure)[1], elements);
    assert_eq!(figure.channels.len(), 2000);
}

#[test]
fn farms() {
    let network = listing("farm.cpa", &[]);
    let all = channels(&network);
    let of = |farm: &str| -> Vec<&str> {
        let prefix = format!("{farm}.");
        all.iter()
            .filter(|c| c.starts_with(&prefix))
            .map(|c| &**c)
            .collect()
    };
    assert_eq!(
        of("FarmAppA"),
        [
            "FarmAppA.FarmP.Source.sendjobs -> FarmAppA.FarmP.Sink.getresults",
            "FarmAppA.FarmP.Source.sendjobs -> FarmAppA.FarmP.Workers.Worker1.jobs",
            "FarmAppA.FarmP.Source.sendjobs -> FarmAppA.FarmP.Workers.Worker2.jobs",
            "FarmAppA.FarmP.Source.sendjobs -> FarmAppA.FarmP.Workers.Worker3.jobs",
            "FarmAppA.FarmP.Workers.Worker1.result -> FarmAppA.FarmP.Sink.getresults",
            "FarmAppA.FarmP.Workers.Worker2.result -> FarmAppA.FarmP.Sink.getresults",
            "FarmAppA.FarmP.Workers.Worker3.result -> FarmAppA.FarmP.Sink.getresults",
        ]
    );
    assert_eq!(of("FarmAppB").len(), 15);
    assert!(
        of("FarmAppB").contains(&"FarmAppB.FarmP.Sink1.output -> FarmAppB.FarmP.Source2.input")
    );
    assert_eq!(of("FarmAppC").len(), 2 * 7 + 4);
    let nested = "FarmAppC.FarmP2.Source.sendjobs -> FarmAppC.FarmP2.FarmP.Source2.input";
    assert!(of("FarmAppC").contains(&nested));
}

#[test]
fn two_instances_of_a_structure() {
    let network = listing("linkedlistx2.cpa", &[]);
    let lists = [("Manager".to_owned(), 2), ("ListNode".to_owned(), 32)];
    assert_eq!(kinds(&network), lists);
    assert_eq!(network.channels.len(), 34);
    let network = listing("figure-4.2.cpa", &[]);
    assert_eq!(
        (network.processes.len(), network.channels.len()),
        (3600, 3599)
    );
}

#[test]
fn the_layout_of_a_formatted_text_stays() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mut text = fs::read_to_string(&path).unwrap();
        let mut words: Vec<String> = Vec::new();
        for round in 0..2 {
            let mut sources = SourceMap::new();
            let source = sources.add("t.cpa", text.clone()).unwrap();
            let formatted = graphmap_cpa::format(&source).unwrap();
            let now = formatted.split_whitespace().collect::<String>();
            words.push(now);
            assert!(round == 0 || formatted == text, "{path:?} {formatted}");
            text = formatted;
        }
        assert_eq!(words[0], words[1], "{path:?}");
    }
}

#[test]
fn a_structure_grows_with_its_boxes() {
    let grown = |n: &str, container: &str, given: &[(&str, i64)]| {
        let text = format!(
            "structure s (n) {{
                M = inports <> outports <> ()
                W = inports <in> outports <out> ()
                R = [0..n-2]
                ||- Team = ( M || W[n] ) / ( for i in R {{ out[i] -> in[i+1] }} )
                || One = ( Team ) || Two = ( Team[2] )
            }}
            initialize s {{ n = {n} }}
            containers {{ {container} }}"
        );
        let checked = checked(&text, given, &HashMap::new());
        checked.map(|(network, _)| kinds(&network)[1].1)
    };
    let boxes = "containerspec c = < M[*], W[12] > boxes ( c[2] )";
    assert_eq!(grown("*", boxes, &[]), Ok(24));
    // Each of three instances has as many.
    let boxes = "containerspec c = < M[+], W[*] > / 8 boxes ( c[2] )";
    assert_eq!(grown("+", boxes, &[]), Ok(12));
    assert_eq!(grown("+", boxes, &[("n", 3)]), Ok(9));
    let boxes = "containerspec c = < M[*], One.W[5] > boxes ( c[2] )";
    assert_eq!(grown("*", boxes, &[]), Ok(30));
    let none = Err(vec!["G0909 nothing limits `n`".to_owned()]);
    assert_eq!(
        grown("*", "containerspec c = < W[*] > boxes ( c )", &[]),
        none
    );
}

#[test]
fn large_numbers_end() {
    let text = |boxes: &str| {
        format!(
            "structure s () {{ P = inports <> outports <> () || C = ( P ) }}
            initialize s {{ }}
            containers {{
                R = [1..9000000000000000000]
                containerspec none = < >
                containerspec one = < P[*] >
                boxes ( one || {boxes} )
            }}"
        )
    };
    for boxes in [
        "for i in R { none[0] }",
        "for i in R { none }",
        "one[9000000]",
    ] {
        let errors = checked(&text(boxes), &[], &HashMap::new()).unwrap_err();
        assert_eq!(
            errors,
            ["G0464 the boxes are more than 1048576 OS processes"],
            "{boxes}"
        );
    }
    // A process with more ports than 16 bits can number.
    let ports: Vec<String> = (0..70_000).map(|i| format!("p{i}")).collect();
    let text = format!(
        "structure s () {{
            A = inports <> outports <{}> ()
            B = inports <in> outports <> ()
            || C = ( A || B ) / ( A.p69999 -> B.in )
        }}
        initialize s {{ }}",
        ports.join(", ")
    );
    let network = checked(&text, &[], &HashMap::new()).unwrap().0;
    assert_eq!(channels(&network), ["C.A.p69999 -> C.B.in"]);
}
