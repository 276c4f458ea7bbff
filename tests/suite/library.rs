//! The library as other programs use it. Stages that fail report all errors, a registry contains
//! user-defined parts, and a program is built and run without the command.

use graphmap::kpn::declared::At;
use graphmap::partition::Strategy;
use graphmap::{
    Builder, Diagnostic, Diagnostics, EmitContext, Emitter, Fate, Files, FrontEnd, Mapped, Options,
    Pass, PassContext, Registry, Request, Run,
};
use std::path::Path;

fn farm(workers: u32) -> Builder {
    let mut graph = Builder::new("farm");
    let source = graph.process("source");
    let worker = graph.replicated("worker", workers);
    let sink = graph.process("sink");
    let tasks = graph.channel(source.port("out"), worker.port("in"));
    let share = graphmap::kpn::declared::BundleKind::Share;
    tasks.ty("u64").bundle(share).to_at(At::All);
    let results = graph.channel(worker.port("out"), sink.port("in"));
    results.ty("u64").from_at(At::All);
    graph
}

#[test]
fn a_network_built_in_rust_is_mapped_and_emitted() {
    let network = graphmap::check(farm(6)).unwrap();
    // The first worker that is ready takes a task. This causes two notes, and no warning.
    assert_eq!(network.report.diagnostics().len(), 2, "{}", network.report);
    let platform = graphmap::platform("hosts=2:cores=2").unwrap();
    let request = Request {
        imbalance: 0.5,
        objective: graphmap::partition::Objective::Cost,
        ..Request::default()
    };
    let plan = graphmap::map(&network, &platform, &request).unwrap();
    assert_eq!(
        (plan.hosts.len(), plan.mapped.mapping().bindings.len()),
        (2, 4)
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub/wiring.rs");
    let files = graphmap::emit(&plan.mapped, &path).unwrap();
    assert_eq!(
        graphmap::write(&files).unwrap(),
        [(path.clone(), Fate::Created)]
    );
    assert_eq!(
        graphmap::write(&files).unwrap(),
        [(path.clone(), Fate::Unchanged)]
    );
    // The output of `to_dot` is read to the same network, except for positions in the text.
    let text = graphmap::to_dot(&network);
    let again = Registry::new().read_text("dot", "again.dot", text).unwrap();
    let again = graphmap::check(again).unwrap();
    let wiring = graphmap::emit(&graphmap::collocate(again), "wiring.rs").unwrap();
    let content = |files: &Files, path: &Path| {
        let text = String::from_utf8(files.get(path).unwrap().content.clone()).unwrap();
        let of_places = ["//", "net.place(", "line:", "column:", "let mut net = "];
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !of_places.iter().any(|place| line.starts_with(place)));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        content(&wiring, Path::new("wiring.rs")),
        content(&files, &path)
    );
}

#[test]
fn every_stage_reports_all_errors() {
    let error = graphmap::read("no such file.dot").unwrap_err().to_string();
    assert!(
        error.starts_with("error[G0001]: `no such file.dot` cannot be read"),
        "{error}"
    );
    let error = graphmap::read("farm.yaml").unwrap_err().to_string();
    assert!(
        error.contains("G0004") && error.contains("`dot`, `json`"),
        "{error}"
    );

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("graph.gexf");
    std::fs::write(&file, "<?xml version=\"1.0\"?>\n<gexf/>\n").unwrap();
    let error = graphmap::read(&file).unwrap_err().to_string();
    assert!(
        error.contains("G0004") && error.contains("is GEXF"),
        "{error}"
    );

    let registry = Registry::new();
    let error = registry.read_text("dott", "a", "").unwrap_err().to_string();
    assert!(error.contains("did you mean `dot`?"), "{error}");
    let two = "digraph {\n a -> b [load=1];\n c -> d [capacity=0];\n}";
    let error = registry.read_text("dot", "two.dot", two).unwrap_err();
    let lines: Vec<String> = error
        .report()
        .json_lines()
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(lines.len(), 2, "{error}");
    assert!(
        lines[0].contains(r#""line":2"#) && lines[1].contains(r#""line":3"#),
        "{lines:?}"
    );
    assert_eq!(error.report().diagnostics().len(), 2);
    // `main` and `unwrap` print this format.
    assert!(format!("{error:?}").starts_with("\nerror["), "{error:?}");

    let error = graphmap::platform("hosts=0:cores=2")
        .unwrap_err()
        .to_string();
    assert!(error.contains("platform:1:"), "{error}");

    let network = graphmap::check(farm(2)).unwrap();
    let error = registry
        .transform(network.value.clone(), "wieghts", &Options::new())
        .unwrap_err();
    assert!(
        error.to_string().contains("did you mean `weights`?"),
        "{error}"
    );
    let mapped = graphmap::collocate(network);
    let error = registry.emit(&mapped, "farm.xyz").unwrap_err().to_string();
    assert!(
        error.contains("G0006") && error.contains("`wiring`"),
        "{error}"
    );
    let error = registry.emit_as("svgg", &mapped, "x", &Options::new(), None);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("did you mean `svg`?"), "{error}");
}

#[test]
fn warnings_are_returned_with_the_network() {
    let text = "digraph { a -> b [type=u8]; c; }";
    let drawing = Registry::new().read_text("dot", "odd.dot", text).unwrap();
    let network = graphmap::check(drawing).unwrap();
    let report = network.report.to_string();
    assert!(report.contains("odd.dot:1:29"), "{report}");
}

#[test]
fn a_network_is_drawn_with_its_processes_or_with_samples_if_there_are_many() {
    let few = graphmap::to_svg(&graphmap::check(farm(3)).unwrap());
    assert!(few.starts_with("<svg") && few.contains("worker3"), "{few}");
    let many = graphmap::to_svg(&graphmap::check(farm(1000)).unwrap());
    assert!(
        many.contains(">worker2<") && !many.contains(">worker3<") && many.contains("997 more"),
        "{many}"
    );
}

#[test]
fn hosts_are_read_from_a_file_and_its_mistakes_shown_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostfile");
    std::fs::write(&path, "n1:2\nn2:2\n").unwrap();
    assert_eq!(graphmap::read_platform(&path).unwrap().slot_count(), 4);
    std::fs::write(&path, "n1:2\nn2:x\n").unwrap();
    let error = graphmap::read_platform(&path).unwrap_err().to_string();
    assert!(error.contains("hostfile:2:4"), "{error}");
    let error = graphmap::read_platform(folder.path().join("none")).unwrap_err();
    assert!(error.to_string().contains("G0001"), "{error}");
}

/// Front end that reads the name of a process from each line.
struct Lines;

impl FrontEnd for Lines {
    fn name(&self) -> &str {
        "lines"
    }

    fn about(&self) -> &str {
        "a process a line"
    }

    fn accepts(&self, path: &Path) -> bool {
        path.extension().is_some_and(|e| e == "lines")
    }

    fn read(
        &self,
        name: &str,
        bytes: Vec<u8>,
        _: &graphmap::ReadOptions,
        sources: &mut graphmap::kpn::source::SourceMap,
    ) -> Result<(graphmap::kpn::declared::Declared, Diagnostics), Diagnostics> {
        let text = String::from_utf8(bytes).unwrap_or_default();
        if text.is_empty() {
            let code = graphmap::codes::NOT_TEXT;
            return Err(Diagnostic::error(code, format!("`{name}` has no lines")).into());
        }
        let mut graph = Builder::new(name);
        text.lines().for_each(|line| {
            graph.process(line);
        });
        let _ = sources.add(name, text);
        Ok((graph.into(), Diagnostics::new()))
    }
}

struct Heavier;

impl Pass for Heavier {
    fn name(&self) -> &str {
        "heavier"
    }

    fn about(&self) -> &str {
        "doubles the load of every process"
    }

    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
        let processes = context.network.processes.values_mut();
        processes.for_each(|process| process.load *= 2.0);
        Ok(())
    }
}

struct Loads;

impl Emitter for Loads {
    fn name(&self) -> &str {
        "loads"
    }

    fn about(&self) -> &str {
        "the load of each process, a line each"
    }

    fn accepts(&self, path: &Path) -> bool {
        path.extension().is_some_and(|e| e == "loads")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let network = mapped.network();
        let lines = network.processes.ids().map(|id| {
            let load = network.processes[id].load;
            format!("{} {load}\n", network.process_name(id))
        });
        files.generated(context.path, lines.collect::<String>());
        Ok(())
    }
}

#[test]
fn a_registry_has_parts_of_ones_own() {
    let registry = Registry::new()
        .front_end(Lines)
        .pass(Heavier)
        .emitter(Loads);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.lines");
    std::fs::write(&path, "a\nb\n").unwrap();
    let network = graphmap::check(registry.read(&path).unwrap()).unwrap();
    let network = registry
        .transform(network, "heavier", &Options::new())
        .unwrap();
    let files = registry
        .emit(&graphmap::collocate(network), "out.loads")
        .unwrap();
    assert_eq!(files.get("out.loads").unwrap().content, b"a 2\nb 2\n");
    std::fs::write(&path, "").unwrap();
    assert!(
        registry
            .read(&path)
            .unwrap_err()
            .to_string()
            .contains("has no lines")
    );
}

#[test]
fn a_strategy_of_ones_own_maps_and_is_judged() {
    let reversed = Strategy::new("reversed", "the last process first", |problem, _| {
        let (n, k) = (problem.graph.vertices(), problem.machine.len());
        Ok((0..n).map(|v| ((n - 1 - v) * k / n) as u32).collect())
    });
    let registry = Registry::new().strategy(reversed);
    let network = graphmap::check(farm(6)).unwrap();
    let platform = graphmap::platform("hosts=1:cores=2").unwrap();
    let mut request = Request {
        imbalance: 0.5,
        ..Request::default()
    };
    request.options.strategy = registry.strategy_named("reversed").unwrap();
    let plan = graphmap::map(&network, &platform, &request).unwrap();
    let numbers = plan.mapped.mapping().numbers();
    assert!(numbers.eq([1, 1, 1, 1, 0, 0, 0, 0]));
    assert_eq!(plan.mapped.mapping().strategy, "reversed");
    let wrong = registry.strategy_named("revresed").unwrap_err();
    let told = wrong.to_string();
    assert!(told.contains("did you mean `reversed`?"), "{told}");
    assert!(registry.strategy_named("auto").is_ok());
}

#[test]
fn a_program_is_built_and_run_under_a_mapping() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library-run");
    let _ = std::fs::remove_dir_all(folder.join("pair"));
    std::fs::create_dir_all(&folder).unwrap();
    let drawing = folder.join("pair.dot");
    std::fs::write(&drawing, "digraph pair { a -> b [type=u64]; }").unwrap();
    let network = graphmap::check(graphmap::read(&drawing).unwrap()).unwrap();

    let error = graphmap::run(
        &drawing,
        &graphmap::collocate(network.clone()),
        &Run::default(),
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("G0701") && error.contains("pair/Cargo.toml"),
        "{error}"
    );

    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("modules/runtime");
    let made = crate::common::graphmap()
        .args(["new", "pair", "--from", "pair.dot", "--runtime"])
        .arg(runtime)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let processes = folder.join("pair/src/processes");
    let write = |name: &str, text: &str| std::fs::write(processes.join(name), text).unwrap();
    write(
        "a.rs",
        "use crate::wiring::A;\n\npub async fn a(mut ports: A) {\n    let _ = ports.out.write(7).await;\n}\n",
    );
    write(
        "b.rs",
        "use crate::wiring::B;\n\npub async fn b(mut ports: B) {\n    \
         let here = graphmap_runtime::me().os_process;\n    \
         let said = format!(\"{:?} {here}\", ports.in_.read().await);\n    \
         let file = std::env::var_os(\"SAID\").unwrap();\n    \
         std::fs::write(file, said).unwrap();\n}\n",
    );
    let platform = graphmap::platform("hosts=1:cores=2").unwrap();
    let plan = graphmap::map(&network, &platform, &Request::default()).unwrap();
    let said = folder.join("said");
    let mut how = Run::default();
    how.release = false;
    how.environment = vec![
        ("SAID".into(), said.clone().into()),
        ("GRAPHMAP_LINK".into(), "shm".into()),
    ];
    let ended = graphmap::run(&drawing, &plan.mapped, &how).unwrap();
    assert!(
        ended.success() && ended.report.is_empty(),
        "{}",
        ended.report
    );
    let here = plan.mapped.mapping().os_process[1];
    assert_eq!(
        std::fs::read_to_string(&said).unwrap(),
        format!("Some(7) {here}")
    );

    // An error of compilation is shown in the user's file.
    write(
        "b.rs",
        "use crate::wiring::B;\n\npub async fn b(ports: B) {\n    ports.oops();\n}\n",
    );
    let error = graphmap::run(&drawing, &plan.mapped, &how)
        .unwrap_err()
        .to_string();
    assert!(error.contains("src/processes/b.rs:4:11"), "{error}");
}
