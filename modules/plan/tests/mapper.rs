//! Mappers of library users: their input, and the checks of their results.

use graphmap_dot::language::load;
use graphmap_kpn::diagnostic::{Code, Diagnostic, Diagnostics};
use graphmap_kpn::mapper::{Assignment, MapContext, Mapper, Place, Proposal, Rule, Task};
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::{SourceMap, Span};
use graphmap_kpn::{expand::expand, infer::infer, resolve::resolve, verify::verify};
use graphmap_plan::{Plan, Request, codes, plan, read_rules};
use graphmap_platform::{Host, Platform, synthetic};
use proptest::prelude::*;
use std::sync::Mutex;

/// A mapper that returns a fixed result, and keeps the task that it received.
struct Fixed {
    result: Result<Proposal, Diagnostics>,
    task: Mutex<Option<Task>>,
}

impl Mapper for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    fn map(&self, context: &mut MapContext<'_>) -> Result<Proposal, Diagnostics> {
        *self.task.lock().unwrap() = Some(context.task.clone());
        let note = Diagnostic::note(Code(507), "seen");
        context.diagnostics.push(note);
        self.result.clone()
    }
}

fn fixed(assignment: Assignment, bindings: &[(&str, &[u32])]) -> Fixed {
    let place = |&(host, cores): &(&str, &[u32])| Place {
        host: host.to_owned(),
        cores: cores.to_vec(),
    };
    Fixed {
        result: Ok(Proposal {
            assignment,
            bindings: bindings.iter().map(place).collect(),
        }),
        task: Mutex::default(),
    }
}

fn ranks(numbers: &[u32]) -> Assignment {
    Assignment::Ranks(numbers.to_vec())
}

fn names(processes: &[(&str, u32)], modules: &[(&str, u32)]) -> Assignment {
    let owned = |all: &[(&str, u32)]| all.iter().map(|&(n, o)| (n.to_owned(), o)).collect();
    Assignment::Names {
        processes: owned(processes),
        modules: owned(modules),
    }
}

fn network(text: &str) -> Verified {
    let mut found = Diagnostics::new();
    let bytes = text.as_bytes().to_vec();
    let declared = load(&mut SourceMap::new(), "g.dot", bytes, &mut found);
    let declared = declared.unwrap_or_else(|| panic!("{found:#?}"));
    let network = resolve(expand(declared).unwrap_or_else(|d| panic!("{d:#?}")).0);
    infer(network.unwrap_or_else(|d| panic!("{d:#?}")).0)
        .and_then(verify)
        .unwrap_or_else(|d| panic!("{d:#?}"))
        .0
}

fn hosts(text: &str) -> Platform {
    let mut sources = SourceMap::new();
    let source = sources.add("hosts", text).unwrap();
    synthetic::read(&source, &mut Diagnostics::new()).unwrap()
}

fn two_hosts() -> Platform {
    Platform::new(vec![Host::new("x", 2), Host::new("y", 2)]).unwrap()
}

/// Two modules, one inside the other, and a process outside.
const NESTED: &str = "digraph { a -> b -> c; subgraph cluster_m { subgraph cluster_n { b } c } }";

fn mapped(platform: &Platform, mapper: &Fixed) -> Result<Plan, Box<Diagnostic>> {
    let request = Request {
        mapper: Some(mapper),
        ..Request::default()
    };
    let error = |found: Diagnostics| {
        let mut errors = found.iter().filter(|d| d.code != Code(507));
        Box::new(errors.next().unwrap().clone())
    };
    let planned = plan(&network(NESTED), platform, &request);
    planned.map(|(plan, _)| plan).map_err(error)
}

#[track_caller]
fn refused(mapper: &Fixed, code: Code, message: &str) {
    let error = mapped(&two_hosts(), mapper).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (code, message));
}

#[test]
fn a_mapping_is_used_unchanged_and_never_proved() {
    let platform = two_hosts();
    let by_name = names(&[("a", 0), ("b", 2), ("c", 2)], &[]);
    for assignment in [ranks(&[0, 2, 2]), by_name] {
        let mapper = fixed(assignment, &[]);
        let plan = mapped(&platform, &mapper).unwrap();
        let mapping = plan.mapped.mapping();
        assert_eq!(mapping.numbers().collect::<Vec<_>>(), [0, 2, 2]);
        assert_eq!(mapping.strategy, "fixed");
        // One message between hosts, and one within an OS process.
        assert_eq!(plan.cost, 62_500.0 + 45.0);
        assert!(plan.proposed && !plan.proved);
    }
    // This mapping is optimal, and the engine would prove it.
    let request = |mapper| Request {
        os_processes: Some(1),
        mapper,
        ..Request::default()
    };
    let one = fixed(ranks(&[0, 0, 0]), &[]);
    let with = plan(&network(NESTED), &platform, &request(Some(&one))).unwrap();
    let without = plan(&network(NESTED), &platform, &request(None)).unwrap();
    assert_eq!(with.0.cost, without.0.cost);
    assert!(without.0.proved && !with.0.proved && with.0.gap == 0.0);
    let codes: Vec<Code> = with.1.iter().map(|d| d.code).collect();
    assert_eq!(codes, [Code(507)]);
}

#[test]
fn the_innermost_entry_determines_the_os_process() {
    let numbers = |processes: &[(&str, u32)], modules: &[(&str, u32)]| {
        let mapper = fixed(names(processes, modules), &[]);
        let plan = mapped(&two_hosts(), &mapper).unwrap();
        plan.mapped.mapping().numbers().collect::<Vec<_>>()
    };
    let outer = ("cluster_m", 1);
    let inner = ("cluster_n", 2);
    assert_eq!(numbers(&[("a", 0)], &[outer]), [0, 1, 1]);
    assert_eq!(numbers(&[("a", 0)], &[outer, inner]), [0, 2, 1]);
    assert_eq!(numbers(&[("a", 0), ("b", 0)], &[outer, inner]), [0, 0, 1]);
    assert_eq!(numbers(&[("a", 0), ("c", 0)], &[inner]), [0, 2, 0]);
}

#[test]
fn each_process_must_be_mapped_once_to_an_os_process_that_exists() {
    let wrong = |assignment, message: &str| {
        let mapper = fixed(assignment, &[]);
        refused(&mapper, codes::NOT_A_MAPPING, message);
    };
    wrong(
        ranks(&[0, 1]),
        "the strategy `fixed` returns a list of OS processes of length 2 instead of 3",
    );
    wrong(
        ranks(&[0, 3, 0]),
        "the strategy `fixed` puts process `b` into OS process 3, which does not exist",
    );
    wrong(
        names(&[("a", 0), ("b", 1)], &[]),
        "the strategy `fixed` gives no OS process to process `c`",
    );
    wrong(
        names(&[("a", 0), ("d", 1)], &[]),
        "the strategy `fixed` maps process `d`, which the network does not have",
    );
    wrong(
        names(&[("a", 0), ("a", 0)], &[("cluster_m", 1)]),
        "the strategy `fixed` maps process `a` twice",
    );
    wrong(
        names(&[("a", 0)], &[("cluster_m", 1), ("m", 1)]),
        "the strategy `fixed` maps module `m`, which the network does not have",
    );
    wrong(
        names(&[("a", 0)], &[("cluster_m", 9)]),
        "the strategy `fixed` puts module `cluster_m` into OS process 9, which does not exist",
    );
}

#[test]
fn a_module_whose_name_is_not_unique_is_an_error() {
    let text = "digraph { a -> b; \
        subgraph cluster_1 { subgraph cluster_in { a } } \
        subgraph cluster_2 { subgraph cluster_in { b } } }";
    let mapper = fixed(names(&[], &[("cluster_in", 0)]), &[]);
    let request = Request {
        mapper: Some(&mapper),
        ..Request::default()
    };
    let found = plan(&network(text), &two_hosts(), &request).unwrap_err();
    let error = found.iter().find(|d| d.code == codes::NOT_A_MAPPING);
    let said = "the strategy `fixed` maps module `cluster_in`, but several have this name";
    assert_eq!(error.unwrap().message, said);
}

#[test]
fn hosts_and_cores_must_exist() {
    let wrong = |bindings: &[(&str, &[u32])], message: &str| {
        let mapper = fixed(ranks(&[0, 1, 2]), bindings);
        refused(&mapper, codes::BAD_BINDING, message);
    };
    wrong(
        &[("x", &[])],
        "the strategy `fixed` returns a list of bindings of length 1 instead of 3",
    );
    wrong(
        &[("x", &[]), ("z", &[]), ("y", &[])],
        "the strategy `fixed` binds OS process 1 to host `z`, which does not exist",
    );
    wrong(
        &[("x", &[]), ("x", &[]), ("x", &[])],
        "the strategy `fixed` binds 3 OS processes to host `x`, which has 2 slots",
    );
    let platform = hosts("hosts=2:cores=2 names=x,y");
    let mapper = fixed(ranks(&[0, 1, 2]), &[("x", &[]), ("x", &[1, 2]), ("y", &[])]);
    let error = mapped(&platform, &mapper).unwrap_err();
    let said =
        "the strategy `fixed` binds OS process 1 to core 2 of host `x`, which does not exist";
    assert_eq!((error.code, &*error.message), (codes::BAD_BINDING, said));
}

#[test]
fn the_cost_is_that_of_the_chosen_hosts_and_cores() {
    let platform = hosts("hosts=2:sockets=2:cores=2 distance=100:10:1 names=x,y");
    let mapper = fixed(
        ranks(&[0, 1, 2]),
        &[("y", &[]), ("x", &[3]), ("x", &[1, 0])],
    );
    let plan = mapped(&platform, &mapper).unwrap();
    // a to b between hosts, b to c between sockets.
    assert_eq!(plan.cost, 100.0 + 10.0);
    let bindings = plan.mapped.mapping().bindings.values();
    let bindings: Vec<_> = bindings
        .map(|b| (b.host.as_deref().unwrap(), &b.cores[..]))
        .collect();
    assert_eq!(
        bindings,
        [("y", &[0][..]), ("x", &[3][..]), ("x", &[1, 0][..])]
    );
    assert_eq!(plan.hosts, ["y", "x"]);
}

#[test]
fn a_broken_rule_is_an_error_at_its_position() {
    let mut sources = SourceMap::new();
    let rules = "pin a = 1\ntogether b, c\nmemory 2 = 10\npin c = y\n";
    let source = sources.add("rules", rules).unwrap();
    let rules = read_rules(&source, &mut Diagnostics::new());
    let text = NESTED.replace("a -> b", "a -> b [traffic=2]; c [mem=11]; b");
    let error = |mapper: &Fixed| {
        let request = Request {
            rules: &rules,
            mapper: Some(mapper),
            ..Request::default()
        };
        let found = plan(&network(&text), &two_hosts(), &request).unwrap_err();
        let error = found.iter().find(|d| d.code == codes::BREAKS_RULE);
        error.unwrap_or_else(|| panic!("{found:#?}")).clone()
    };
    let broken = error(&fixed(ranks(&[0, 0, 2]), &[]));
    let message = "the mapping of the strategy `fixed` breaks 3 rules";
    assert_eq!(broken.message, message);
    let at = [broken.primary.unwrap()];
    let at = at.iter().chain(&broken.secondary);
    let at: Vec<_> = at.map(|label| label.text.as_str()).collect();
    let described = [
        "`a` must be in OS process 1",
        "`b` and `c` must be together",
    ];
    assert_eq!(at, described);
    assert_eq!(
        broken.notes,
        ["the mapping exceeds the memory of OS process 2"]
    );
}

#[test]
fn a_rule_about_a_host_that_the_mapper_leaves_out_is_an_error() {
    let source = SourceMap::new().add("rules", "pin c = y").unwrap();
    let rules = read_rules(&source, &mut Diagnostics::new());
    let hosts: [(&str, &[u32]); 3] = [("x", &[]), ("x", &[]), ("x", &[])];
    let mapper = fixed(ranks(&[0, 1, 2]), &hosts);
    let request = Request {
        rules: &rules,
        mapper: Some(&mapper),
        ..Request::default()
    };
    let platform = Platform::new(vec![Host::new("y", 2), Host::new("x", 3)]).unwrap();
    let found = plan(&network(NESTED), &platform, &request).unwrap_err();
    let error = found.iter().find(|d| d.code == codes::BREAKS_RULE).unwrap();
    assert_eq!(error.message, "host `y` runs none of the 3 OS processes");
    assert_eq!(error.notes, ["the strategy `fixed` chose the hosts"]);
    assert_eq!(error.primary.as_ref().unwrap().span, Span::new(8, 9));
}

#[test]
fn the_balance_limit_counts_only_if_it_is_strict() {
    let mapper = fixed(ranks(&[0, 0, 0]), &[]);
    let plan = mapped(&two_hosts(), &mapper).unwrap();
    assert!(!plan.feasible && plan.raised.is_none());
    let mut request = Request {
        mapper: Some(&mapper),
        ..Request::default()
    };
    request.options.strict_balance = true;
    let found = graphmap_plan::plan(&network(NESTED), &two_hosts(), &request).unwrap_err();
    assert!(found.iter().any(|d| d.code == codes::BREAKS_RULE));
}

#[test]
fn a_mapper_receives_the_rules_in_ranks_and_numbers() {
    let text = "digraph { a -> b -> c -> d; a [separate=s]; b [separate=s]; \
        subgraph cluster_m { prefer=4; c; d } }";
    let mut sources = SourceMap::new();
    let rules = "pin a, b = y\npin c = 0\nhold * = 1-2\nmemory 1 = 64\nmemory y = 99\n\
        together c, d\n";
    let source = sources.add("rules", rules).unwrap();
    let rules = read_rules(&source, &mut Diagnostics::new());
    let mapper = fixed(ranks(&[0, 0, 0, 0]), &[]);
    let mut request = Request {
        rules: &rules,
        mapper: Some(&mapper),
        ..Request::default()
    };
    request.options.seed = 7;
    plan(&network(text), &two_hosts(), &request).unwrap_err();
    let task = mapper.task.lock().unwrap().clone().unwrap();
    let each = || (0..4).map(|o| vec![o]).collect();
    let expected = [
        Rule::Prefer {
            processes: vec![2, 3],
            traffic: 4.0,
        },
        Rule::Apart {
            processes: vec![0, 1],
            places: each(),
        },
        Rule::Pin {
            processes: vec![0, 1],
            os_processes: vec![2, 3],
        },
        Rule::Pin {
            processes: vec![2],
            os_processes: vec![0],
        },
        Rule::Hold {
            processes: vec![0, 1, 2, 3],
            places: each(),
            least: 1,
            most: Some(2),
        },
        Rule::Together {
            processes: vec![2, 3],
        },
        Rule::Memory {
            os_processes: vec![2, 3],
            bytes: 99,
        },
        Rule::Memory {
            os_processes: vec![1],
            bytes: 64,
        },
    ];
    assert_eq!(task.rules.len(), expected.len(), "{:#?}", task.rules);
    for rule in &expected {
        assert!(task.rules.contains(rule), "{rule:?}: {:#?}", task.rules);
    }
    assert_eq!((task.os_processes, task.seed, task.time), (4, 7, None));
    assert_eq!((task.objective, task.previous), ("cost", None));
    assert_eq!(task.limits, [1.0; 4]);
    let hosts: Vec<_> = task.bindings.iter().map(|b| b.host.as_str()).collect();
    assert_eq!(hosts, ["x", "x", "y", "y"]);
}

#[test]
fn an_error_of_a_mapper_is_an_error_of_the_plan() {
    let mapper = Fixed {
        result: Err(Diagnostic::error(Code(507), "too small").into()),
        task: Mutex::default(),
    };
    let request = Request {
        mapper: Some(&mapper),
        ..Request::default()
    };
    let found = plan(&network(NESTED), &two_hosts(), &request).unwrap_err();
    let messages: Vec<_> = found.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["seen", "too small"]);
}

proptest! {
    /// Checks that any answer is either used unchanged or refused.
    #[test]
    fn any_answer_is_used_or_refused(
        numbers in proptest::collection::vec(0..5_u32, 0..5),
        hosts in proptest::collection::vec("[xyz]", 0..5),
        cores in proptest::collection::vec(0..3_u32, 0..3),
        by_name in any::<bool>(),
    ) {
        let all = ["a", "b", "c", "d", "cluster_m", "cluster_n"];
        let assignment = match by_name {
            true => {
                let entries: Vec<_> = all.into_iter().zip(numbers.iter().copied()).collect();
                names(&entries, &entries)
            }
            false => ranks(&numbers),
        };
        let places: Vec<(&str, &[u32])> = hosts.iter().map(|h| (h.as_str(), &cores[..])).collect();
        let mapper = fixed(assignment, &places);
        match mapped(&hosts_of_cores(), &mapper) {
            Ok(plan) => {
                let is: Vec<u32> = plan.mapped.mapping().numbers().collect();
                prop_assert!(by_name || is == numbers);
                prop_assert!(!plan.proved);
                prop_assert!(hosts.is_empty() || hosts.len() == plan.loads.len());
            }
            Err(error) => {
                let known = [codes::NOT_A_MAPPING, codes::BAD_BINDING];
                prop_assert!(known.contains(&error.code), "{error:#?}");
            }
        }
    }
}

fn hosts_of_cores() -> Platform {
    hosts("hosts=2:cores=2 names=x,y")
}
