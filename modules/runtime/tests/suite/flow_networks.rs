//! Flow-controlled channels in networks: blocks, counters and wiring. Random programs are in
//! `random.rs`.

use crate::common::{Log, blocked, places};
use graphmap_runtime as rt;
use rt::{
    Channels, Ends, FlowInput, FlowOutput, Input, Names, Network, Options, Output, Ports, RunError,
};

struct Ends2<A, B>(A, B);

impl Ports for Ends2<FlowOutput<u64>, Input<u8>> {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Ends2(ends.flow_output(), ends.input())
    }
}

impl Ports for Ends2<FlowInput<u64>, Output<u8>> {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Ends2(ends.flow_input(), ends.output())
    }
}

fn pair<W, R, O, P>(writer: W, reader: R) -> Network
where
    W: Fn(Ends2<FlowOutput<u64>, Input<u8>>) -> O + Send + Sync + 'static,
    R: Fn(Ends2<FlowInput<u64>, Output<u8>>) -> P + Send + Sync + 'static,
    O: Future<Output = ()> + 'static,
    P: Future<Output = ()> + 'static,
{
    let mut net = Network::new("pair", "pair.dot");
    let w = net.kind("w", Names::Listed(&["w"]), "0", &["out", "back"], writer);
    let r = net.kind("r", Names::Listed(&["r"]), "1", &["in", "back"], reader);
    net.payload(rt::format_of!(u64));
    net.flow_channels::<u64>(Channels {
        line: "7",
        column: "3",
        ..Channels::new((w, 0), (r, 0), "0", "0")
    });
    net.channels::<u8>(Channels::new((r, 1), (w, 1), "0", "0"));
    net
}

/// A block names the port and the event that the process waits for. A wait for tokens is also a
/// wait for the end.
#[test]
fn blocks_name_the_port() {
    let network = || {
        pair(
            |mut p| async move {
                p.0.open().await;
                p.1.read().await;
            },
            |mut p| async move {
                p.0.read().await;
                drop(p.1);
            },
        )
    };
    places::each(network, |ended| {
        let block = blocked(ended).to_string();
        for told in [
            "w (rank 0) waits to read `back` from r `back`",
            "r (rank 1) waits to read `in` from w `out`: pair.dot:7:3, or waits for the other end \
             to open or close, port `in` from w `out`: pair.dot:7:3",
        ] {
            assert!(block.contains(told), "{told}: {block}");
        }
    });
}

/// Control messages between the ends do not count as traffic, and are not channels of the graph.
#[test]
fn controls_are_not_counted() {
    let log = Log::new();
    let add = log.adder();
    let net = pair(
        move |mut p| {
            let add = add.clone();
            async move {
                for n in 0..10 {
                    p.0.write(n).await.unwrap();
                }
                add(rt::connections().count());
                drop(p);
            }
        },
        |mut p| async move { while p.0.read().await.is_some() {} },
    );
    let options = Options::new().stats(true).profile(true);
    let report = rt::run(net, &options).unwrap();
    assert_eq!(log.take(), [2]);
    assert_eq!(report.kinds[0].tokens_out, 10);
    assert_eq!(report.kinds[1].tokens_in, 10);
    assert_eq!(
        (report.kinds[0].tokens_in, report.kinds[1].tokens_out),
        (0, 0)
    );
    assert!(report.left_early.is_none());
    let profile = report.profile().unwrap();
    assert_eq!(profile.matches("\"messages\"").count(), 2, "{profile}");
    assert!(
        profile.contains("\"messages\":10,\"bytes\":80"),
        "{profile}"
    );
}

/// Only one of the graph and the struct says that a channel is flow-controlled.
#[test]
fn ports_that_differ_from_the_graph_are_reported() {
    struct Plain(Input<u64>);
    impl Ports for Plain {
        fn connect(ends: &mut Ends<'_>) -> Self {
            Plain(ends.input())
        }
    }
    struct Flow(FlowOutput<u64>);
    impl Ports for Flow {
        fn connect(ends: &mut Ends<'_>) -> Self {
            Flow(ends.flow_output())
        }
    }
    let network = |flow: bool| {
        let mut net = Network::new("pair", "pair.dot");
        let writer = |p: Flow| async move { drop(p.0) };
        let w = net.kind("w", Names::Listed(&["w"]), "0", &["out"], writer);
        let reader = |p: Plain| async move { drop(p.0) };
        let r = net.kind("r", Names::Listed(&["r"]), "1", &["in"], reader);
        let channels = Channels::new((w, 0), (r, 0), "0", "0");
        match flow {
            true => net.flow_channels::<u64>(channels),
            false => net.channels::<u64>(channels),
        }
        net
    };
    for (flow, told) in [
        (
            true,
            "port `in` is flow-controlled in the graph, but is not in the struct",
        ),
        (
            false,
            "port `out` is not flow-controlled in the graph, but is in the struct",
        ),
    ] {
        let Err(RunError::Wiring(mistakes)) = rt::run(network(flow), &Options::new()) else {
            panic!("{flow}");
        };
        assert!(
            mistakes.iter().any(|one| one.contains(told)),
            "{mistakes:?}"
        );
    }
}
