//! Wiring for Pilot: it compiles without a warning and creates the elements of the graph.

#[path = "../../../src/skeletons.rs"]
mod built_in;
#[path = "../src/testing.rs"]
mod testing;

use built_in::BUILT_IN;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::{BundleKind, Flow};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::placed::processes_hash;
use graphmap_wiring::emitters::built_in as emitters;
use graphmap_wiring::skeleton::Skeletons;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::{Graph, chain, farm, grid, tree};

fn emit(mapped: &Mapped) -> Result<String, Diagnostics> {
    let path = Path::new("pilot.c");
    let pilot = emitters(&BUILT_IN)
        .find(|emitter| emitter.accepts(path))
        .unwrap();
    assert_eq!(pilot.name(), "pilot");
    let mut files = Files::new();
    let (options, mut found) = (BTreeMap::new(), Diagnostics::new());
    let mut context = EmitContext::new(path, &options, &mut found);
    pilot.emit(mapped, &mut context, &mut files)?;
    Ok(String::from_utf8(files.get(path).unwrap().content.clone()).unwrap())
}

/// Compiles the wiring with stubs and runs it. Returns the created elements, sorted.
fn created(name: &str, code: &str, kinds: &[String]) -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("pilot")
        .join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let stubs: String = kinds
        .iter()
        .map(|kind| format!("int {kind}_process(int i, void *a) {{ (void)a; return i; }}\n"))
        .collect();
    std::fs::write(folder.join("wiring.c"), code).unwrap();
    std::fs::write(folder.join("stubs.c"), stubs).unwrap();
    run(&folder, &["wiring.c".into(), "stubs.c".into()])
}

/// Compiles and runs files of a folder. Returns the created elements, sorted.
fn run(folder: &Path, sources: &[PathBuf]) -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pilot");
    let output = Command::new("cc")
        .args([
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-o", "program", "-I",
        ])
        .arg(&here)
        .args(sources)
        .arg("-I")
        .arg(here.join("alone"))
        .arg(here.join("tell.c"))
        .current_dir(folder)
        .output()
        .expect("a C compiler");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let output = Command::new(folder.join("program")).output().unwrap();
    assert!(output.status.success());
    let mut lines: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

/// Returns the elements that should be created, sorted.
fn expected(mapped: &Mapped) -> Vec<String> {
    let network = mapped.network();
    let ends = |c| (network.writer(c).index(), network.reader(c).index());
    let channel = |c| format!("channel {} {}", ends(c).0, ends(c).1);
    let mut lines: Vec<String> = network.channels.ids().map(channel).collect();
    for (id, bundle) in network.bundles.iter() {
        let member = |&c: &_| format!(" {}>{}", ends(c).0, ends(c).1);
        let members: String = network.members(id).iter().map(member).collect();
        lines.push(format!("{}{members}", bundle.kind.name()));
    }
    lines.sort();
    lines
}

#[test]
fn wiring_for_pilot_creates_what_the_graph_says() {
    let mut odd = Graph::new("odd");
    for i in 1..4 {
        let worker = format!("int{i}");
        odd.channel("main.index", &format!("{worker}.a*/b"));
        odd.bundle(BundleKind::Scatter);
        odd.channel("main.x", &format!("{worker}.x"))
            .bundle(BundleKind::Broadcast);
        odd.channel(&format!("{worker}.a"), "a_ports.\u{e9}")
            .bundle(BundleKind::Gather);
    }
    let graphs = [
        ("farm", farm(3)),
        ("tree", tree(13, 3)),
        ("odd", odd),
        // None of its ports is a bundle.
        ("chain", chain(4)),
    ];
    for (name, graph) in graphs {
        let mapped = graph.mapped();
        let code = emit(&mapped).unwrap_or_else(|e| panic!("{e:#?}"));
        let functions = code.lines().filter_map(|line| {
            let name = line
                .strip_prefix("int ")?
                .strip_suffix("_process(int index, void *argument);")?;
            Some(name.to_owned())
        });
        let kinds: Vec<String> = functions.collect();
        assert_eq!(created(name, &code, &kinds), expected(&mapped), "{name}");
    }
}

#[test]
fn a_new_project_for_pilot_compiles() {
    let graph = farm(2);
    let mapped = graph.mapped();
    let pilot = emitters(&BUILT_IN)
        .find(|emitter| emitter.name() == "pilot")
        .unwrap();
    let skeletons = Skeletons::built_in(&BUILT_IN);
    let mut notes = Diagnostics::new();
    let files = pilot
        .family
        .project("farm", mapped.network(), &skeletons, &mut notes);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pilot/project");
    std::fs::create_dir_all(&folder).unwrap();
    let mut sources = Vec::new();
    for (path, file) in files.unwrap().iter() {
        std::fs::write(folder.join(path), &file.content).unwrap();
        if path.extension().is_some_and(|e| e == "c") {
            sources.push(path.to_owned());
        }
    }
    assert_eq!(sources.len(), 1 + mapped.network().kinds.len());
    assert_eq!(run(&folder, &sources), expected(&mapped));
}

#[test]
fn a_switch_for_pilot_is_an_array_of_channels() {
    // Two servers, one with three clients and one with one. Their edges are not in the order of
    // their ranks.
    let mut graph = Graph::new("served");
    for (server, client) in [(1, 3), (2, 4), (1, 1), (1, 2)] {
        graph
            .channel(
                &format!("server{server}.replies"),
                &format!("client{client}.in"),
            )
            .bundle(BundleKind::Switch);
        let (client, server) = (
            format!("client{client}.out"),
            format!("server{server}.asked"),
        );
        graph.channel(&client, &server).bundle(BundleKind::Select);
    }
    let mapped = graph.mapped();
    let pilot = emitters(&BUILT_IN)
        .find(|emitter| emitter.name() == "pilot")
        .unwrap();
    let files = pilot.family.project(
        "served",
        mapped.network(),
        &Skeletons::built_in(&BUILT_IN),
        &mut Diagnostics::new(),
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pilot/served");
    std::fs::create_dir_all(&folder).unwrap();
    for (path, file) in files.unwrap().iter() {
        std::fs::write(folder.join(path), &file.content).unwrap();
    }
    let server = r#"
#include "wiring.h"
#include <stdio.h>
int tell_writer(const PI_CHANNEL *channel);
int tell_reader(const PI_CHANNEL *channel);
int server_process(int index, void *argument)
{
    struct server_ports *ports = argument;
    int i;
    printf("switch");
    for (i = 0; ports->replies[i]; i++)
        printf(" %d>%d", tell_writer(ports->replies[i]), tell_reader(ports->replies[i]));
    printf("\n");
    return index;
}
"#;
    std::fs::write(folder.join("server_process.c"), server).unwrap();
    let sources = ["wiring.c", "server_process.c", "client_process.c"];
    let created = run(&folder, &sources.map(PathBuf::from));
    assert_eq!(created, expected(&mapped));
    let switches = created.iter().filter(|line| line.starts_with("switch"));
    assert_eq!(switches.count(), 2, "{created:?}");
}

/// The types of parameters, with least and greatest values, texts that C could interpret, and names
/// that C has. Columns are equal for all processes, arithmetic, or neither.
#[test]
fn functions_for_pilot_get_their_arguments() {
    let mut graph = Graph::new("args");
    let parameters = "a: u8, b: u16, c: u32, d: u64, e: usize, int: i8, g: i16, h: i32, i: i64, \
                      j: isize, k: f32, l: f64, on: bool, text: String, index: i64";
    let (max, min) = (u64::MAX, i64::MIN);
    for (i, values) in [
        format!(
            "255, 65535, 4294967295, {max}, {max}, -128, -32768, -2147483648, {min}, {min}, 0.1, \
             0.1, true, 'it''s \"??/ \\ \n%d\u{e9}', -5"
        ),
        "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1e-7, -1.7976931348623157e308, false, '0', -4".to_owned(),
        "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16777217, 5e-324, true, '\u{202e}7', -3".to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        graph.channel("main.args", &format!("w{i}.args"));
        graph.bundle(BundleKind::Scatter);
        graph.arguments(&format!("w{i}"), parameters, &values);
    }
    graph.arguments("main", "args: String", "'one'");
    let mapped = graph.mapped();
    let pilot = emitters(&BUILT_IN)
        .find(|emitter| emitter.name() == "pilot")
        .unwrap();
    let files = pilot.family.project(
        "args",
        mapped.network(),
        &Skeletons::built_in(&BUILT_IN),
        &mut Diagnostics::new(),
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pilot/args");
    std::fs::create_dir_all(&folder).unwrap();
    for (path, file) in files.unwrap().iter() {
        std::fs::write(folder.join(path), &file.content).unwrap();
    }
    let worker = r#"
#include "wiring.h"
#include <inttypes.h>
#include <stdio.h>
int w_process(int index, void *argument)
{
    const struct w_ports *ports = argument;
    const struct w_args *args = &ports->args;
    const char *at;
    printf("w %d %d %d %" PRIu32 " %" PRIu64 " %zu %d %d %" PRId32 " %" PRId64 " %td %a %a %d %"
           PRId64 " ", ports->index, args->a, args->b, args->c, args->d, args->e, args->int_,
           args->g, args->h, args->i, args->j, args->k, args->l, args->on, args->index);
    for (at = args->text; *at; at++)
        printf("%02x", (unsigned char)*at);
    printf("\n");
    return ports->args_2 ? index : 1;
}
"#;
    let main = r#"
#include "wiring.h"
#include <stdio.h>
int main_2_process(int index, void *argument)
{
    const struct main_2_ports *ports = argument;
    printf("main %s\n", ports->args.args);
    return ports->args_2 ? index : 1;
}
"#;
    std::fs::write(folder.join("w_process.c"), worker).unwrap();
    std::fs::write(folder.join("main_2_process.c"), main).unwrap();
    let sources = ["wiring.c", "w_process.c", "main_2_process.c"];
    let mut lines = run(&folder, &sources.map(PathBuf::from));
    lines.retain(|line| line.starts_with('w') || line.starts_with("main"));
    let hex = |text: &str| -> String { text.bytes().map(|b| format!("{b:02x}")).collect() };
    let first = format!(
        "w 0 255 65535 4294967295 {max} {max} -128 -32768 -2147483648 {min} {min} \
         0x1.99999ap-4 0x1.999999999999ap-4 1 -5 {}",
        hex("it's \"??/ \\ \n%d\u{e9}")
    );
    let expected = [
        "main one".to_owned(),
        first,
        "w 1 0 1 2 3 4 5 6 7 8 9 -0x1.ad7f2ap-24 -0x1.fffffffffffffp+1023 0 -4 30".to_owned(),
        format!(
            "w 2 0 1 2 3 4 5 6 7 8 9 0x1p+24 0x0.0000000000001p-1022 1 -3 {}",
            hex("\u{202e}7")
        ),
    ];
    assert_eq!(lines, expected);
}

/// The program refuses to start with too few processes of MPI, or from launch files of another
/// graph.
#[test]
fn a_wrong_start_is_refused() {
    let mapped = farm(3).mapped();
    let code = emit(&mapped).unwrap();
    let count = mapped.network().processes.len();
    let kinds = mapped.network().kinds.values();
    let names = kinds.map(|kind| mapped.network().name(kind.name).to_owned());
    created("started", &code, &names.collect::<Vec<_>>());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pilot/started/program");
    let placed = processes_hash(mapped.network());
    for (available, placed, wrong) in [
        (count + 1, placed.as_str(), ""),
        (count + 2, placed.as_str(), ""),
        (count, placed.as_str(), "too few MPI processes"),
        (
            count + 1,
            "0123456789abcdef",
            "another graph file than farm.dot",
        ),
    ] {
        let output = Command::new(&program)
            .env("AVAILABLE", available.to_string())
            .env("GRAPHMAP_PLACED", placed)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let code = if wrong.is_empty() { 0 } else { 255 };
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(
            said.contains(wrong) && said.is_empty() == wrong.is_empty(),
            "{said}"
        );
    }
}

#[test]
fn the_code_grows_with_kinds() {
    let (small, large) = (
        emit(&farm(3).mapped()).unwrap(),
        emit(&farm(300).mapped()).unwrap(),
    );
    assert!(
        large.len() < small.len() + 600,
        "{} {}",
        small.len(),
        large.len()
    );
}

#[test]
fn features_that_pilot_lacks_are_errors_with_positions() {
    let mapped = grid(2, 3).mapped();
    let diagnostics = emit(&mapped).unwrap_err();
    assert!(
        diagnostics
            .iter()
            .all(|f| f.code.0 == 612 && f.primary.is_some()),
        "{diagnostics:#?}"
    );
    let mut graph = Graph::new("pair");
    graph.channel("a", "b").flow(Flow::Credits);
    let diagnostics = emit(&graph.mapped()).unwrap_err();
    assert_eq!(diagnostics.iter().count(), 1);
    let first = diagnostics.iter().next().unwrap();
    assert!(
        first
            .message
            .contains("does not support flow-controlled channels, such as `a.out`")
    );
    let mut graph = Graph::new("alone");
    graph.channel("a", "a");
    let diagnostics = emit(&graph.mapped()).unwrap_err();
    let expected = "does not support channels from a process to itself, as of `a`";
    assert!(
        diagnostics
            .iter()
            .next()
            .unwrap()
            .message
            .contains(expected)
    );
    let mut graph = Graph::new("wide");
    graph.channel("a", "b");
    graph.arguments("b", "n: u64, k: i128", "1, 2");
    let diagnostics = emit(&graph.mapped()).unwrap_err();
    assert_eq!(diagnostics.iter().count(), 1);
    let first = diagnostics.iter().next().unwrap();
    assert!(first.code.0 == 612 && first.primary.is_some());
    let expected = "`pilot` does not support `i128`, the type of `k` of `b`";
    assert_eq!(first.message, expected);
    let diagnostics = emit(&testing::pool(2).mapped()).unwrap_err();
    assert!(
        diagnostics.iter().next().unwrap().message.contains("share"),
        "{diagnostics:#?}"
    );
}
