//! Hostile use of the library: user-defined parts that give wrong results, and files that are in
//! the way.

use graphmap::kpn::declared::{At, BundleKind, Constraint, Declared, Flow};
use graphmap::kpn::diagnostic::Code;
use graphmap::kpn::source::SourceMap;
use graphmap::partition::{Conflict, Error as Failure, Part, Problem, SearchLimits, Strategy};
use graphmap::plan::{Modules, Previous};
use graphmap::{
    Builder, Diagnostic, Diagnostics, EmitContext, Emitter, End, Error, Fate, Files, FrontEnd,
    Mapped, Options, Pass, PassContext, Registry, Request, Verified,
};
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Code that graphmap does not define.
const OWN: Code = Code(999);

fn chain(length: usize) -> Verified {
    let mut graph = Builder::new("chain");
    let all: Vec<_> = (0..length)
        .map(|i| graph.process(&format!("p{i}x")))
        .collect();
    for pair in all.windows(2) {
        let channel = graph.channel(pair[0].port("out"), pair[1].port("in"));
        channel.ty("u8");
    }
    graphmap::check(graph).unwrap().into_value()
}

fn mapped_by(
    run: impl Fn(&Problem<'_>, &SearchLimits) -> Result<Vec<u32>, Failure> + Send + Sync + 'static,
) -> Result<graphmap::Diagnosed<graphmap::Plan>, Error> {
    let mut request = Request::default();
    request.options.strategy = Strategy::new("mine", "", run);
    let platform = graphmap::platform("hosts=1:cores=2").unwrap();
    graphmap::map(&chain(6), &platform, &request)
}

#[test]
fn a_strategy_that_gives_no_mapping_is_named() {
    type Given = (Vec<u32>, &'static str);
    let given: [Given; 4] = [
        (vec![], "0 vertices, but the network has 6"),
        (vec![0; 100], "100 vertices, but the network has 6"),
        (vec![7; 6], "block 7"),
        (vec![u32::MAX; 6], "block 4294967295"),
    ];
    for (blocks, said) in given {
        let error = mapped_by(move |_, _| Ok(blocks.clone())).unwrap_err();
        let error = error.to_string();
        let named = error.starts_with("error[G0459]: the strategy `mine` failed: ");
        assert!(named && error.contains(said), "{error}");
    }
    let failed = [
        Failure::Solver("a reason".into()),
        Failure::Input("a reason".into()),
    ];
    for failure in failed {
        let error = mapped_by(move |_, _| Err(failure.clone())).unwrap_err();
        let error = error.to_string();
        let told = "error[G0459]: the strategy `mine` failed: a reason";
        assert!(error.starts_with(told), "{error}");
    }
}

#[test]
fn a_strategy_proves_nothing_by_saying_so() {
    let parts = vec![
        Part::Constraint(99),
        Part::Memory(99),
        Part::Slots(99),
        Part::Balance(99),
        Part::Vertex(99),
        Part::Vertex(2),
    ];
    let conflict = Conflict {
        parts,
        minimal: true,
        proved: true,
        reason: "vertex 99 and block 99 and vertex 2 do not agree".into(),
    };
    let error = mapped_by(move |_, _| Err(Failure::Infeasible(conflict.clone()))).unwrap_err();
    let error = error.to_string();
    for said in [
        "error[G0456]: no feasible mapping was found: the strategy `mine` reports: \
         process 99 and OS process 99 and process `p2x` do not agree",
        "it is not proved that none exists",
        "chain (built in memory):4:5",
    ] {
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_strategy_that_breaks_a_rule_is_reported_and_another_mapping_is_used() {
    let network = chain(4);
    let rules = graphmap::rules(&network, "my.rules", "together p0x,p1x").unwrap();
    let mut request = Request {
        rules: &rules,
        ..Request::default()
    };
    request.options.strategy = Strategy::new("mine", "", |_, _| Ok(vec![0, 1, 0, 1]));
    let platform = graphmap::platform("hosts=1:cores=2").unwrap();
    let plan = graphmap::map(&network, &platform, &request).unwrap();
    let report = plan.report.to_string();
    assert!(
        report.contains("the strategy `mine` breaks a rule"),
        "{report}"
    );
    assert!(!report.contains("solver"), "{report}");
    let blocks = &plan.mapped.mapping().os_process;
    assert_eq!(blocks[0], blocks[1]);
}

#[test]
fn numbers_of_a_request_mean_something() {
    let network = chain(3);
    let platform = graphmap::platform("hosts=1:cores=2").unwrap();
    let previous = |migration| Previous {
        os_process: vec![None; 3],
        bindings: Default::default(),
        migration,
    };
    for number in [f64::NAN, f64::INFINITY, -1.0] {
        let previous = previous(number);
        let mut requests = [Request::default(), Request::default(), Request::default()];
        requests[0].imbalance = number;
        requests[1].modules = Modules::Prefer(number);
        requests[2].previous = Some(&previous);
        for (request, what) in requests.iter().zip(["imbalance", "modules", "migration"]) {
            let error = graphmap::map(&network, &platform, request).unwrap_err();
            let error = error.to_string();
            let told = error.contains("error[G0458]") && error.contains(what);
            assert!(told && error.contains(&number.to_string()), "{error}");
        }
    }
}

#[test]
fn any_number_of_threads_is_accepted() {
    let network = chain(40);
    let platform = graphmap::platform("hosts=1:cores=3").unwrap();
    let mut request = Request::default();
    request.options.threads = NonZeroUsize::MAX;
    request.options.time = Some(Duration::from_millis(1));
    assert!(graphmap::map(&network, &platform, &request).is_ok());
}

#[test]
fn any_time_limit_is_accepted() {
    let network = chain(4);
    let platform = graphmap::platform("hosts=1:cores=2").unwrap();
    for name in ["auto", "fast", "stack", "ilp"] {
        for time in [Duration::ZERO, Duration::MAX] {
            let mut request = Request::default();
            request.options.strategy = Strategy::named(name).unwrap();
            request.options.time = Some(time);
            let plan = graphmap::map(&network, &platform, &request).unwrap();
            assert_eq!(plan.hosts.len(), 1, "{name} {time:?}");
        }
    }
}

/// Front end, pass and emitter with this fault.
#[derive(Clone, Copy)]
enum Odd {
    /// Fails without a diagnostic.
    Silent,
    /// Succeeds with an error among its diagnostics.
    Contradicting,
}

impl Odd {
    fn end<T>(self, made: T) -> Result<(T, Diagnostics), Diagnostics> {
        match self {
            Odd::Silent => Err(Diagnostics::new()),
            Odd::Contradicting => Ok((made, Diagnostic::error(OWN, "an error").into())),
        }
    }
}

impl FrontEnd for Odd {
    fn name(&self) -> &str {
        "odd"
    }

    fn about(&self) -> &str {
        ""
    }

    fn accepts(&self, _: &Path) -> bool {
        true
    }

    fn read(
        &self,
        _: &str,
        _: Vec<u8>,
        _: &graphmap::ReadOptions,
        _: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        self.end(Declared::default())
    }
}

impl Pass for Odd {
    fn name(&self) -> &str {
        "odd"
    }

    fn about(&self) -> &str {
        ""
    }

    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
        let ((), found) = self.end(())?;
        context.diagnostics.append(found);
        Ok(())
    }
}

impl Emitter for Odd {
    fn name(&self) -> &str {
        "odd"
    }

    fn about(&self) -> &str {
        ""
    }

    fn accepts(&self, _: &Path) -> bool {
        true
    }

    fn emit(
        &self,
        _: &Mapped,
        context: &mut EmitContext<'_>,
        _: &mut Files,
    ) -> Result<(), Diagnostics> {
        let ((), found) = self.end(())?;
        context.diagnostics.append(found);
        Ok(())
    }
}

#[test]
fn parts_with_errors_or_without_diagnostics_fail() {
    for (odd, told) in [
        (Odd::Contradicting, "error[G0999]: an error"),
        (Odd::Silent, "failed without a diagnostic"),
    ] {
        let registry = Registry::empty().front_end(odd).pass(odd).emitter(odd);
        let mapped = graphmap::collocate(chain(2));
        let ends = [
            registry.read_text("odd", "x", "").map(drop),
            registry
                .transform(chain(2), "odd", &Options::new())
                .map(drop),
            registry.emit(&mapped, "x").map(drop),
        ];
        for end in ends {
            assert_eq!(end.unwrap_err().to_string(), told);
        }
    }
}

#[test]
fn what_reading_found_comes_with_the_network_once() {
    // A process that only edges name, with a name similar to a declared one.
    let text = "digraph {\n  source [load=1]; worker [load=9]; log [load=1];\n  \
        source -> log [src=lines];\n  sorce -> worker [dst=in];\n}";
    let read = || Registry::new().read_text("dot", "near.dot", text).unwrap();
    let of_reading = read().report.diagnostics().len();
    assert_eq!(of_reading, 1, "{}", read().report);
    let network = graphmap::check(read()).unwrap();
    let count = |report: &str| report.matches("[G0221]").count();
    let report = network.report.to_string();
    assert!(
        count(&report) == 1 && report.contains("near.dot:4:3"),
        "{report}"
    );
    // A pass without changes adds no diagnostic.
    let options = Options::new();
    struct Nothing;
    impl Pass for Nothing {
        fn name(&self) -> &str {
            "nothing"
        }
        fn about(&self) -> &str {
            ""
        }
        fn run(&self, _: &mut PassContext<'_>) -> Result<(), Diagnostics> {
            Ok(())
        }
    }
    let registry = Registry::new().pass(Nothing);
    let again = registry.transform(network, "nothing", &options).unwrap();
    assert_eq!(again.report.to_string(), report);
    // A stage that fails also reports earlier diagnostics.
    let broken = text.replace("dst=in", "capacity=1, initial=2");
    let drawing = Registry::new().read_text("dot", "near.dot", broken);
    let error = graphmap::check(drawing.unwrap()).unwrap_err().to_string();
    assert!(count(&error) == 1 && error.contains("[G0316]"), "{error}");
}

#[test]
fn a_graph_sets_the_level_of_its_diagnostics() {
    let check = |said: &str| {
        let text = format!("digraph {{ {said} a -> b [type=u8]; c; }}");
        graphmap::check(Registry::new().read_text("dot", "taken.dot", text)?)
    };
    let plain = check("").unwrap();
    assert!(plain.report.to_string().contains("warning[G0317]"));
    let denied = check("deny=G0317;").unwrap_err().to_string();
    assert!(denied.contains("error[G0317]"), "{denied}");
    assert!(check("allow=G0317;").unwrap().report.is_empty());
    let unknown = check("allow=\"G0317,G9999\";").unwrap().report.to_string();
    assert!(unknown.contains("warning[G0016]"), "{unknown}");
    assert!(check("deny=\"warnings,G9999\";").is_err());
}

#[test]
fn what_is_wrong_with_rules_is_shown_in_them() {
    let network = chain(3);
    let broken = graphmap::rules(&network, "my.rules", "together p0x,p1x\napart").unwrap_err();
    assert!(broken.to_string().contains("my.rules:2:"), "{broken}");
    let rules = graphmap::rules(&network, "my.rules", "together p0x,p1x\npin nobody=0").unwrap();
    let request = Request {
        rules: &rules,
        texts: Some(rules.report.sources()),
        ..Request::default()
    };
    let platform = graphmap::platform("hosts=1:cores=2").unwrap();
    let error = graphmap::map(&network, &platform, &request).unwrap_err();
    assert!(error.to_string().contains("my.rules:2:5"), "{error}");
}

#[test]
fn what_is_built_is_shown_with_all_that_was_said() {
    let mut graph = Builder::new("odd");
    let module = graph.replicated_module("m\n", None, 1);
    let a = graph.replicated_in(module, "a", 1);
    let b = graph.process("b");
    graph.load(b, f64::NAN).memory(b, -1.0).kind(b, "other");
    graph.constrain(b, Constraint::Hold { least: 3, most: 1 });
    graph.constrain_module(module, Constraint::Prefer(-2.0));
    let channel = graph.channel(a.port("out"), b.port("in"));
    let channel = channel.ty("u8").bundle(BundleKind::Select).from_at(At::All);
    channel
        .traffic(f64::INFINITY)
        .tag(-3)
        .capacity(4)
        .initial(2);
    let error = graphmap::check(graph).unwrap_err();
    let text = error.report().sources().sources().next().unwrap().text();
    for line in [
        r#""b" [kind="other", load=NaN, mem=-1, hold="3-1"];"#,
        r#"subgraph "cluster_m\n" { replicas=1; prefer=-2; }"#,
        r#""a" -> "b" [src="out", dst="in", type="u8", capacity=4, initial=2, traffic=inf, bundle=select, tag=-3, at="all"];"#,
    ] {
        assert!(
            text.lines().any(|said| said.trim() == line),
            "{line}\n{text}"
        );
    }
    let error = error.to_string();
    for said in [
        "`load`",
        "`mem`",
        "`hold`",
        "`prefer`",
        "`traffic`",
        "`tag`",
    ] {
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn all_that_a_drawing_says_can_be_built() {
    let mut graph = Builder::new("grid");
    let row = graph.replicated_module("cluster_row", None, 2);
    let cell = graph.replicated_in(row, "cell", 3);
    let next = graph.channel(cell.port("next"), cell.port("last"));
    next.ty("u8").steps([0, 1]).beyond();
    let sink = graph.process("sink");
    let done = graph.channel(cell.port("done"), sink.port("in"));
    done.ty("u8").from_at(At::All).flow(Flow::Credits);
    graph.channel(End::ENVIRONMENT, sink.port("never")).ty("u8");
    graph.constrain(sink, Constraint::OsProcess(0));
    graph.constrain_module(row, Constraint::Whole);
    let drawn = r#"digraph grid {
        subgraph cluster_row { module=cluster_row; replicas=2; whole=true; cell [replicas=3]; }
        cell -> cell [src=next, dst=last, type=u8, step="0,1", beyond=NULL];
        sink [osprocess=0];
        cell -> sink [src=done, dst=in, type=u8, at=all, flow=credits];
        NULL -> sink [dst=never, type=u8];
    }"#;
    let drawn = Registry::new().read_text("dot", "grid.dot", drawn).unwrap();
    let [built, drawn] = [graphmap::check(graph), graphmap::check(drawn)].map(Result::unwrap);
    assert_eq!(graphmap::to_dot(&built), graphmap::to_dot(&drawn));
}

#[test]
fn one_file_is_not_written_twice() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut files = Files::new();
    files.generated(at("in/../x"), "one");
    files.generated(at("x"), "other");
    let error = graphmap::write(&files).unwrap_err().to_string();
    assert!(error.contains("is the same file"), "{error}");
    assert!(std::fs::read_dir(&folder).unwrap().next().is_none());
    // The same content twice for one file is accepted.
    files.generated(at("in/../x"), "other");
    std::fs::create_dir(at("in")).unwrap();
    assert_eq!(graphmap::write(&files).unwrap().len(), 2);
    assert_eq!(std::fs::read(at("x")).unwrap(), b"other");
}

#[test]
fn threads_write_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let folder = folder.path();
            scope.spawn(move || {
                for round in 0..50 {
                    let mut files = Files::new();
                    files.generated(folder.join("same"), format!("{number} {round}"));
                    files.generated(folder.join(format!("{round}/{number}")), "");
                    graphmap::write(&files).unwrap();
                }
            });
        }
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 51);
}

#[test]
fn a_name_may_be_as_long_as_names_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x".repeat(255));
    let mut files = Files::new();
    files.generated(&path, "long");
    assert_eq!(graphmap::write(&files).unwrap(), [(path, Fate::Created)]);
}

#[test]
fn a_link_to_what_is_not_there_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink("new/file", at("link")).unwrap();
    let mut files = Files::new();
    files.generated(at("link"), "there");
    graphmap::write(&files).unwrap();
    assert!(std::fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert_eq!(std::fs::read(at("new/file")).unwrap(), b"there");
    // The link and its target are recognised as the same file.
    files.generated(at("new/file"), "another");
    assert!(graphmap::write(&files).is_err());
}

#[test]
fn what_was_replaced_is_put_back_where_the_next_cannot_be_placed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a"), "before").unwrap();
    std::fs::set_permissions(at("a"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let mut files = Files::new();
    files.executable(at("a"), "after");
    files.generated(at("b"), "new");
    // A path that no file can be renamed to.
    files.generated(at("c/.."), "nowhere");
    assert!(graphmap::write(&files).is_err());
    assert_eq!(std::fs::read(at("a")).unwrap(), b"before");
    let mode = std::fs::metadata(at("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let left = std::fs::read_dir(folder.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["a"]);
}

#[test]
fn what_the_library_gives_may_go_to_other_threads() {
    fn is<T: Send + Sync + 'static>() {}
    is::<(Registry, Builder, Error, graphmap::Report)>();
    is::<(Verified, Mapped, graphmap::Plan, Files)>();
    is::<(Request<'static>, graphmap::Run, graphmap::Platform)>();
    is::<graphmap::Diagnosed<Declared>>();
}
