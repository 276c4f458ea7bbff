//! Changes valid networks at random, in every field. Each change must be reported, or be harmless.
//!
//! A change is harmless if the network survives writing as JSON and reading, apart from the order
//! of elements without a defined order.

use crate::arena::Id;
use crate::breaks::{ALL, CROSSED, Dice, break_it, read};
use crate::infer::infer;
use crate::json::{self, Positions};
use crate::network::Network;
use crate::source::SourceMap;
use crate::verify::verify;
use crate::{expand, resolve};
use serde_json::Value;

/// Returns the content of a network without positions, with a canonical order of unordered
/// elements.
fn meaning(network: &Network) -> Value {
    let mut value: Value = serde_json::from_str(&json::write(network, None)).unwrap();
    value.as_object_mut().unwrap().remove("sources");
    for list in ["modules", "processes", "channels", "constraints"] {
        for element in value[list].as_array_mut().unwrap() {
            element.as_object_mut().unwrap().remove("span");
        }
    }
    // If a channel is in two bundles, the JSON writer chooses the one that the channel names.
    let bundles: Vec<_> = (network.bundles.iter())
        .map(|(id, b)| {
            let channels: Vec<_> = network.members(id).iter().map(|c| c.index()).collect();
            format!(
                "{} {} {channels:?}",
                network.port_name(b.port),
                b.kind.name()
            )
        })
        .collect();
    let mut channels = Vec::new();
    let mut closed = Vec::new();
    for channel in value["channels"].as_array_mut().unwrap() {
        let is_closed = channel["from"].is_null() || channel["to"].is_null();
        if !is_closed {
            channel.as_object_mut().unwrap().remove("bundle");
        }
        channel.as_object_mut().unwrap().remove("bundle_name");
        if is_closed {
            &mut closed
        } else {
            &mut channels
        }
        .push(channel.take());
    }
    let sorted = |mut list: Vec<String>| {
        list.sort();
        Value::from(list)
    };
    // A closed port has the type of the port of its kind.
    for port in &mut closed {
        port.as_object_mut().unwrap().remove("type");
    }
    value["closed"] = sorted(closed.iter().map(Value::to_string).collect());
    value["bundles"] = sorted(bundles);
    value["channels"] = Value::from(channels);
    let mut said = Vec::new();
    for constraint in value["constraints"].as_array().unwrap() {
        let names = constraint["processes"].as_array().cloned();
        for name in names.unwrap_or(vec![Value::Null]) {
            let mut one = constraint.clone();
            one["processes"] = name;
            said.push(one.to_string());
        }
    }
    value["constraints"] = sorted(said);
    for kind in value["kinds"].as_array_mut().unwrap() {
        let ports = kind["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string);
        kind["ports"] = sorted(ports.collect());
    }
    let kinds = value["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string);
    value["kinds"] = sorted(kinds.collect());
    value
}

/// Returns true if the network is reported, and panics if it is neither reported nor harmless.
fn is_reported(network: Network, what: &str) -> bool {
    let sources = network.sources.clone();
    match infer(network).and_then(verify) {
        Err(found) => {
            assert!(found.has_errors(), "{what}");
            for diagnostic in &found {
                for label in diagnostic.primary.iter().chain(&diagnostic.secondary) {
                    sources.location(label.span);
                    sources.text(label.span);
                }
            }
            true
        }
        Ok((verified, _)) => {
            let text = json::write(&verified, None);
            let again = read(&text).unwrap_or_else(|found| panic!("{what}: {found:#?}\n{text}"));
            assert_eq!(meaning(&verified), meaning(&again), "{what}");
            false
        }
    }
}

#[test]
fn changes_are_reported_or_harmless() {
    let sound = [ALL, CROSSED].map(|text| read(text).unwrap().into_network());
    let mut tried = std::collections::BTreeMap::new();
    for seed in 1..6000u64 {
        let mut dice = Dice::new(seed);
        let mut network = dice.one_of(&sound);
        let what = break_it(&mut network, &mut dice);
        let reported = is_reported(network, &format!("seed {seed}: {what:?}"));
        *tried
            .entry(what)
            .or_insert([0, 0])
            .get_mut(usize::from(reported))
            .unwrap() += 1;
    }
    // Every field was tried, and for each field that matters some changes were reported.
    let fields = tried.len();
    assert_eq!(fields, 60, "{tried:#?}");
    let never_told: Vec<_> = tried
        .iter()
        .filter(|(_, n)| n[1] == 0)
        .map(|(f, _)| *f)
        .collect();
    let harmless = [
        ("bundle", "span"),
        ("channel", "span"),
        ("closed", "span"),
        ("constraint", "rows"),
        ("constraint", "span"),
        ("kind", "ports"),
        ("kind", "span"),
        ("module", "span"),
        ("network", "name"),
        ("network", "skeleton"),
        ("network", "sources"),
        ("network", "types"),
        ("process", "span"),
    ];
    assert_eq!(never_told, harmless, "{tried:#?}");
}

/// Changes one element of a JSON value.
fn change(value: &mut Value, dice: &mut Dice) {
    let scalar = |dice: &mut Dice| {
        dice.one_of(&[
            Value::Null,
            Value::from(-1),
            Value::from(0),
            Value::from(7),
            Value::from(1e300),
            Value::from(u64::MAX),
            Value::from(""),
            Value::from("w1"),
            Value::from("NULL"),
            Value::from("gather"),
            Value::from(true),
            Value::from(vec!["w1", "in"]),
            Value::from(vec![0, 5, 2]),
        ])
    };
    match value {
        Value::Array(list) if !list.is_empty() && dice.below(6) > 0 => {
            if dice.below(5) == 0 {
                return dice.rows(list);
            }
            let i = dice.below(list.len());
            change(&mut list[i], dice);
        }
        Value::Object(map) if !map.is_empty() && dice.below(6) > 0 => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let key = dice.one_of(&keys);
            match dice.below(8) {
                0 => drop(map.remove(&key)),
                1 => {
                    let keys = [
                        "type", "bundle", "module", "name", "hold", "span", "whole", "odd",
                    ];
                    let value = scalar(dice);
                    map.insert(dice.one_of(&keys).to_owned(), value);
                }
                _ => change(&mut map[&key], dice),
            }
        }
        value => *value = scalar(dice),
    }
}

#[test]
fn plugin_replies_are_reported_or_harmless() {
    let mut taken = 0;
    for seed in 1..2000u64 {
        let mut dice = Dice::new(seed);
        let mut value: Value = serde_json::from_str(dice.one_of(&[ALL, CROSSED])).unwrap();
        change(&mut value, &mut dice);
        let text = value.to_string();
        let mut sources = SourceMap::new();
        sources.add("drawing", "digraph \u{e9} { a -> b }").unwrap();
        let source = sources.add("reply", text.as_str()).unwrap();
        let read = json::read(source.text(), &source, &sources, Positions::Given)
            .and_then(expand::expand)
            .and_then(|(declared, _)| resolve::resolve(declared));
        match read {
            Ok((network, _)) => {
                taken += usize::from(!is_reported(network, &format!("seed {seed}: {text}")));
            }
            Err(found) => assert!(found.has_errors(), "{text}"),
        }
    }
    assert!(
        (200..1800).contains(&taken),
        "{taken} of 2000 were harmless"
    );
}
