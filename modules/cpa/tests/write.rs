//! Networks that are written in the notation and read again.

use graphmap_cpa::{format, read, write};
use graphmap_kpn::json;
use graphmap_kpn::network::{Channel, Verified};
use graphmap_kpn::pipeline::check;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings")
}

/// Returns the network of a text, or the messages of its errors.
fn network(text: &str) -> Result<Verified, Vec<String>> {
    let mut sources = SourceMap::new();
    let source = sources.add("t.cpa", text.to_owned()).unwrap();
    let mut include = |path: &str, _, sources: &mut SourceMap| {
        let text = fs::read_to_string(folder().join(path)).unwrap();
        Ok(Some(sources.add(path, text).unwrap()))
    };
    let declared = read(&source, &Given::default(), &mut include, &mut sources);
    let checked = declared.and_then(|(declared, _)| check(declared, &mut Vec::new()));
    let checked = checked.map(|(network, _)| network);
    checked.map_err(|found| found.iter().map(|one| one.message.clone()).collect())
}

/// Returns a network as JSON without positions. Ports that are joined to the environment have no
/// order among the channels.
fn model(network: &Verified) -> Value {
    let mut all: Value = serde_json::from_str(&json::write(network, None)).unwrap();
    let map = all.as_object_mut().unwrap();
    map.remove("sources");
    for list in map.values_mut().filter_map(Value::as_array_mut) {
        for one in list {
            one.as_object_mut().unwrap().remove("span");
        }
    }
    let channels = map.get_mut("channels").unwrap().as_array_mut().unwrap();
    let is_free = |channel: &Value| channel["from"].is_null() || channel["to"].is_null();
    channels.sort_by_key(|channel| {
        (
            is_free(channel),
            is_free(channel).then(|| channel.to_string()),
        )
    });
    all
}

/// Writes a network and reads the text again. Returns the text.
#[track_caller]
fn comes_back(text: &str) -> String {
    let first = network(text).unwrap();
    let written = write(&first).unwrap_or_else(|found| panic!("{text}\n{found:?}"));
    let second = network(&written).unwrap_or_else(|found| panic!("{written}\n{found:?}"));
    assert_eq!(model(&first), model(&second), "{text}\n{written}");
    let mut sources = SourceMap::new();
    let source = sources.add("t.cpa", written.clone()).unwrap();
    assert_eq!(format(&source).unwrap(), written);
    written
}

#[test]
fn all_listings_come_back_as_short_texts() {
    let mut count = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        // The other files are parts, and the list has no composition that is instantiated.
        if path.extension().is_some_and(|e| e == "cpa") && !path.ends_with("linkedlist.cpa") {
            let written = comes_back(&text);
            assert!(written.lines().count() < 60, "{written}");
            count += 1;
        }
    }
    assert_eq!(count, 6);
    for container in ["prime-any", "prime-limit", "prime-one"] {
        let text = fs::read_to_string(folder().join("prime.cpa")).unwrap();
        comes_back(&text.replace("prime.container", &format!("{container}.container")));
    }
}

#[test]
fn links_of_a_chain_become_a_loop() {
    let text = fs::read_to_string(folder().join("figure-4.2.cpa")).unwrap();
    assert_eq!(
        comes_back(&text),
        "\
structure sieve () {
    SieveElement = inports <prev> outports <next> ()
    R = [0..3598]
    || Sieve = (SieveElement[3600])
        / (for i in R { SieveElement.next[i] -> SieveElement.prev[i+1] })
}
containers {
    containerspec sievespec = <SieveElement[100*i]>
    R = [1..8]
    boxes (for i in R { sievespec })
}
"
    );
}

#[test]
fn tags_capacities_and_steps_come_back() {
    let written = comes_back(
        "structure s (n) { P = inports <a> outports <x, y> () R = [0..n-1] \
         || C = ( P[2*n] || Q[n] ) / ( for i in R { P.x[2*i+1] -> Q.b[n-1-i] tag 7 buffersize 4 }, \
         for i in R { P.y[n-1] -> P.a[2*i] }, P.x[0] -> Q.b[0] ) \
         Q = inports <b> outports <> () } initialize s { n = 5 }",
    );
    let lines = [
        "for i in R { P.x[2*i+1] -> Q.b[4-i] tag 7 buffersize 4 },",
        "for i in R { P.y[4] -> P.a[2*i] },",
        "P.x[0] -> Q.b[0] buffersize 1)",
    ];
    assert!(lines.iter().all(|line| written.contains(line)), "{written}");
}

#[test]
fn ports_that_are_bundles_of_one_channel_come_back() {
    for links in [
        "for i in R { P.x -> Q.a[i] }",
        "for i in R { Q.y[i] -> P.b }",
        "for i in R { P.x -> P.b }",
        "for i in R { P.x -> Q.a[i+1] }, Q.y[2] -> P.b",
    ] {
        comes_back(&format!(
            "structure s () {{ P = inports <b> outports <x> () Q = inports <a> outports <y> () \
             R = [0..0] || C = ( P || Q[3] ) / ( {links} ) }}"
        ));
    }
}

#[test]
fn words_of_the_notation_can_be_names() {
    comes_back(
        "structure structure () { for = inports <in, tag> outports <buffersize, boxes> () \
         R = [0..2] ||- tag = ( for[4] ) / ( in -> for.in[0], for i in R { for.boxes[i] -> \
         for.tag[i+1] tag 2 }, for.boxes[3] -> for ) @ ( in, for ) || boxes = ( tag || for[2] ) \
         / ( tag.for -> for.in[1], for.buffersize[0] -> tag.in buffersize 9 ) }",
    );
}

#[test]
fn channels_of_some_modules_of_a_kind_only_come_back() {
    comes_back(
        "structure s () { P = inports <a> outports <x> () \
         ||- I = ( P[2] ) / ( in1 -> a[0], x[1] -> out1 ) @ (in1, out1) \
         || C = ( I[3] ) / ( I.out1[0] -> I.in1[0], I.out1[1] -> I.in1[2] ) }",
    );
}

#[test]
fn the_order_of_channels_at_a_port_comes_back() {
    // Each port of `Q` gets its channels in another order than a link for both would give.
    comes_back(
        "structure s () { P = inports <> outports <x> () Q = inports <a> outports <> () \
         ||- I = ( Q[2] ) / ( in1 -> a[0], in2 -> a[1] ) @ (in1, in2) \
         || C = ( P[2] || I ) / ( x[0] -> in2, x[1] -> in2, x[1] -> in1, x[0] -> in1 ) }",
    );
    // A channel of the outer composition comes before one of the inner composition.
    comes_back(
        "structure s () { P = inports <> outports <x> () Q = inports <a> outports <> () \
         ||- I = ( P || Q[2] ) / ( in1 -> Q.a[0], x -> out1 ) @ (in1, out1) \
         || C = ( I || Q ) / ( I.out1 -> I.in1, I.out1 -> Q.a ) }",
    );
}

#[test]
fn parameters_and_functions_come_back() {
    let written = comes_back(
        "structure s (seed, name) { P = inports <> outports <> (seed, name, least) || C = ( P || Q[2] ) } \
         structure t (seed) { Q = inports <> outports <> (seed) } \
         initialize s { seed = -4 name = \"a, 'b'\" least = -9223372036854775807 - 1 } \
         initialize t { seed = 6 } \
         functionmapping { Q = { \"q.h\", \"run\" } }",
    );
    assert!(written.contains("structure s_2 (seed) {"), "{written}");
}

#[test]
fn compositions_without_processes_come_back() {
    comes_back(
        "structure s () { P = inports <a> outports <x> () ||- I = ( P[0] ) || C = ( P || I || I2[2] ) \
         ||- I2 = ( P[0] ) || D = ( P[3] ) }",
    );
}

#[test]
fn boxes_come_back() {
    for boxes in [
        "containerspec a = < P[*] > boxes ( a )",
        "containerspec a = < P[+], Q[*] > / 7 boxes ( a[3] || C:a || C.I:a[2] || C.I:a[2] )",
        "containerspec a = < P[3], P[*], b, c > containerspec b = < Q[+], P[2] > / 9 \
         containerspec c = < b, Q[1] > / 20 boxes ( a[2] || c || a )",
        "containerspec a = < P[10-2*i], I.P[*], Q[i] > / 3*i R = [1..4] K = [5..5] \
         boxes ( for i in R { a[2] } || for i in K { a } )",
        "containerspec a = < > containerspec a_limit = < P[*] > / 2 boxes ( a || a_limit )",
    ] {
        comes_back(&format!(
            "structure s () {{ P = inports <> outports <> () Q = inports <> outports <> () \
             ||- I = ( P[2] || Q ) || C = ( I || P ) }} containers {{ {boxes} }}"
        ));
    }
}

#[test]
fn boxes_that_change_by_unequal_steps_are_refused() {
    let found = write(
        &network(
            "structure s () { P = inports <> outports <> () || C = ( P[9] ) } containers { \
             containerspec a = < P[i*i] > R = [1..3] boxes ( for i in R { a } ) }",
        )
        .unwrap(),
    );
    let messages: Vec<String> = found
        .unwrap_err()
        .iter()
        .map(|one| format!("{} {}", one.code, one.message))
        .collect();
    let expected = "G0911 the limits of the boxes `a` are not those of one container";
    assert_eq!(messages, [expected]);
}

/// Returns a text with a few kinds, compositions inside of compositions, and links between them.
fn random_text(numbers: &[u32]) -> String {
    let mut numbers = numbers.iter().copied().cycle();
    let mut below = |most: u32| numbers.next().unwrap() % most.max(1);
    let mut out = String::from(
        "structure s () { P = inports <a, b> outports <x> () Q = inports <a> outports <x, y> ()\n",
    );
    // Name, input ports and output ports of each part that a composition may have.
    type Ports = Vec<String>;
    let texts = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Ports>()
    };
    let mut known = vec![
        ("P".to_owned(), texts(&["a", "b"]), texts(&["x"])),
        ("Q".to_owned(), texts(&["a"]), texts(&["x", "y"])),
    ];
    let compositions = 1 + below(4);
    for number in 0..compositions {
        let mut parts: Vec<(usize, u32)> = Vec::new();
        for part in 0..known.len() {
            if below(3) > 0 {
                // Flow control depends on links of compositions without instances, which a network
                // does not have.
                let least = u32::from(part > 1);
                parts.push((part, least + below(4 - least)));
            }
        }
        if parts.is_empty() {
            parts.push((0, 2));
        }
        let end = |is_output: bool, below: &mut dyn FnMut(u32) -> u32| -> Option<String> {
            let (part, count) = parts[below(parts.len() as u32) as usize];
            let (name, inputs, outputs) = &known[part];
            let ports = if is_output { outputs } else { inputs };
            if count == 0 || ports.is_empty() {
                return None;
            }
            let port = &ports[below(ports.len() as u32) as usize];
            Some(format!("{name}.{port}[{}]", below(count)))
        };
        let mut links = Vec::new();
        for _ in 0..below(7) {
            if let (Some(from), Some(to)) = (end(true, &mut below), end(false, &mut below)) {
                let properties = ["", "", " tag 3", " buffersize 5"][below(4) as usize];
                links.push(format!("{from} -> {to}{properties}"));
            }
        }
        let (mut inputs, mut outputs) = (Ports::new(), Ports::new());
        let is_top = number + 1 == compositions || below(4) == 0;
        for port in 0..below(4) {
            let (input, output) = (format!("i{port}"), format!("o{port}"));
            for _ in 0..=below(2) {
                if let Some(to) = end(false, &mut below) {
                    links.push(format!("{input} -> {to}"));
                    inputs.push(input.clone());
                }
                if let Some(from) = end(true, &mut below) {
                    links.push(format!("{from} -> {output}"));
                    outputs.push(output.clone());
                }
            }
        }
        inputs.dedup();
        outputs.dedup();
        let names: Vec<String> = parts
            .iter()
            .map(|(part, count)| format!("{}[{count}]", known[*part].0))
            .collect();
        let sign = if is_top { "||" } else { "||-" };
        let _ = write!(out, "{sign} C{number} = ( {} )", names.join(" || "));
        if !links.is_empty() {
            let _ = write!(out, " / ( {} )", links.join(", "));
        }
        let exposed: Vec<&str> = inputs.iter().chain(&outputs).map(|name| &**name).collect();
        if !exposed.is_empty() {
            let _ = write!(out, " @ ( {} )", exposed.join(", "));
        }
        out.push('\n');
        known.push((format!("C{number}"), inputs, outputs));
    }
    out + "}"
}

proptest! {
    #[test]
    fn random_networks_come_back(numbers in prop::collection::vec(0..1000u32, 20..120)) {
        let text = random_text(&numbers);
        let Ok(first) = network(&text) else {
            return Ok(());
        };
        // Links of different compositions can join the same ports twice.
        let ends = |channel: &Channel| (channel.from, channel.to, first.terms[channel.terms].tag);
        let different: HashSet<_> = first.channels.values().map(ends).collect();
        if different.len() != first.channels.len() {
            return Ok(());
        }
        match write(&first) {
            Ok(written) => {
                let second = network(&written).unwrap();
                prop_assert_eq!(channels(&first), channels(&second), "{}\n{}", text, written);
                prop_assert_eq!(rest(&first), rest(&second), "{}\n{}", text, written);
            }
            Err(found) => prop_assert!(false, "{}\n{:?}", text, found),
        }
    }
}

/// Returns the channels of a network in any order.
fn channels(network: &Verified) -> Vec<String> {
    let channels = model(network)["channels"].take();
    let mut all: Vec<String> = channels
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    all.sort();
    all
}

/// Returns everything but the channels.
fn rest(network: &Verified) -> Value {
    let mut model = model(network);
    model["channels"].take();
    model
}
