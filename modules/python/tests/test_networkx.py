"""Networks from graphs of NetworkX, and back."""

import math
import unittest
import warnings

import networkx as nx

import graphmap


def channels(network):
    return sorted((c.writer, c.src, c.reader, c.dst) for c in network.channels)


class FromNetworkX(unittest.TestCase):
    def test_nodes_and_edges_become_processes_and_channels(self):
        graph = nx.DiGraph(name="sums")
        graph.add_node("numbers", load=2, memory=1e6, module="ends/first")
        graph.add_node("sum", kind="adder", load=None, module="ends")
        graph.add_edge("numbers", "sum", traffic=8, capacity=16, initial=1, type="u64", src="all", dst="some", tag=3)
        network = graphmap.from_networkx(graph)
        self.assertEqual(network.name, "sums")
        numbers, total = network.processes
        self.assertEqual((numbers.name, numbers.kind, numbers.load, numbers.memory), ("numbers", "numbers", 2.0, 1e6))
        self.assertEqual((total.name, total.kind, total.load, total.memory), ("sum", "adder", 1.0, 0.0))
        self.assertEqual((numbers.module, total.module), ("first", "ends"))
        self.assertEqual(network.modules[1].parent.name, "ends")
        (channel,) = network.channels
        told = (channel.src, channel.dst, channel.type, channel.capacity, channel.initial, channel.tag, channel.traffic)
        self.assertEqual(told, ("all", "some", "u64", 16, 1, 3, 8.0))

    def test_edges_that_name_no_port_have_one_each(self):
        graph = nx.DiGraph([("put", f"work{i}") for i in range(1, 4)] + [(f"work{i}", "get") for i in range(1, 4)])
        network = graphmap.from_networkx(graph)
        self.assertEqual(channels(network)[0], ("put", "out1", "work1", "in"))
        self.assertEqual([p.kind for p in network.processes], ["put", "work", "work", "work", "get"])
        self.assertEqual({p.ports for p in network.processes if p.kind == "work"}, {("in", "out")})
        self.assertEqual(network.warnings, ())

    def test_members_of_a_bundle_share_a_port(self):
        graph = nx.DiGraph([("put", f"work{i}", {"bundle": "share"}) for i in range(1, 4)])
        graph.add_edges_from((f"work{i}", "get", {"bundle": "gather"}) for i in range(1, 4))
        network = graphmap.from_networkx(graph)
        self.assertEqual({c.src for c in network.channels if c.writer == "put"}, {"out"})
        self.assertEqual({c.dst for c in network.channels if c.reader == "get"}, {"in"})
        self.assertEqual({c.bundle for c in network.channels}, {"share", "gather"})
        # An edge of that node outside the bundle has a separate port.
        graph.add_edge("put", "get")
        self.assertIn(("put", "out1", "get", "in1"), channels(graphmap.from_networkx(graph)))

    def test_kinds_follow_ports_where_names_do_not_tell_them(self):
        network = graphmap.from_networkx(nx.DiGraph([(0, 1), (1, 2), (0, 2)]))
        self.assertEqual([p.name for p in network.processes], ["0", "1", "2"])
        self.assertEqual([p.kind for p in network.processes], ["process_in0_out2", "process_in1_out1", "process_in2_out0"])
        network = graphmap.from_networkx(nx.cycle_graph(4, create_using=nx.DiGraph))
        self.assertEqual({p.kind for p in network.processes}, {"process"})
        network = graphmap.from_networkx(nx.DiGraph([("w1", "w2"), ("w2", "w3")]))
        self.assertEqual([p.kind for p in network.processes], ["w_in0_out1", "w_in1_out1", "w_in1_out0"])

    def test_processes_that_differ_are_of_different_kinds(self):
        kinds = lambda graph: [p.kind for p in graphmap.from_networkx(graph).processes]
        types = [("u8", "u16"), ("u8", "u8"), ("u8", None)]
        found = [kinds(nx.DiGraph([(0, 1, {"type": a}), (2, 3, {"type": b})])) for a, b in types]
        put, get = "process_in0_out1", "process_in1_out0"
        self.assertEqual(found[0], [put, get, f"{put}_2", f"{get}_2"])
        found = [kinds(nx.DiGraph([("put1", "get1", {"type": a}), ("put2", "get2", {"type": b})])) for a, b in types]
        self.assertEqual(found[1:], [["put", "get", "put", "get"]] * 2)
        self.assertEqual(found[0], ["put_in0_out1", "get_in1_out0", "put_in0_out1_2", "get_in1_out0_2"])
        # The same number of ports, but other names.
        self.assertEqual(kinds(nx.DiGraph([(0, 1, {"src": "x"}), (2, 3, {"src": "y"})])), [put, get, f"{put}_2", get])
        # Different bundles.
        bundles = [(f"put{i}", get, {"bundle": kind}) for i, kind in [(1, "share"), (2, "broadcast")] for get in "ab"]
        self.assertEqual(kinds(nx.DiGraph(bundles))[::3], ["put_in0_out1", "put_in0_out1_2"])
        # An explicit kind is kept, even if its name is one that would be generated.
        graph = nx.DiGraph([("put1", "sink"), ("put2", "sink")])
        graph.nodes["sink"]["kind"] = "put"
        self.assertEqual(kinds(graph), ["put_in0_out1", "put", "put_in0_out1"])
        graph.nodes["sink"]["kind"] = "put_in0_out1"
        graph.add_node("put3")
        self.assertEqual(kinds(graph), ["put_in0_out1_2", "put_in0_out1", "put_in0_out1_2", "put_in0_out0"])
        many = nx.DiGraph([(2 * i, 2 * i + 1, {"src": f"p{i}"}) for i in range(20_000)])
        self.assertEqual(len(set(kinds(many))), 20_001)

    def test_ports_that_are_named_here_have_names_of_their_own(self):
        graph = nx.DiGraph([("a", "b", {"src": "out1"}), ("a", "c"), ("a", "d")])
        self.assertEqual([c.src for c in graphmap.from_networkx(graph).channels], ["out1", "out2", "out3"])
        graph = nx.DiGraph([("a", "b", {"dst": "out"}), ("b", "c", {"dst": "in"}), ("d", "c")])
        self.assertEqual(channels(graphmap.from_networkx(graph)),
                         [("a", "out", "b", "out"), ("b", "out1", "c", "in"), ("d", "out", "c", "in1")])
        graph = nx.DiGraph([("a", "b", {"dst": "out"}), *(("b", c, {"bundle": "share"}) for c in "cd"), ("b", "e")])
        self.assertEqual([c.src for c in graphmap.from_networkx(graph).channels], ["out", "out1", "out1", "out2"])

    def test_modules_are_known_by_their_names(self):
        graph = nx.DiGraph([("a", "b"), ("b", "c")])
        for node, module in [("a", "x/y"), ("b", "x//y/"), ("c", "/x")]:
            graph.nodes[node]["module"] = module
        network = graphmap.from_networkx(graph)
        self.assertEqual([m.name for m in network.modules], ["x", "y"])
        self.assertEqual([p.module for p in network.processes], ["y", "y", "x"])
        self.assertEqual(network.modules[1].parent, network.modules[0])

    def test_ctrl_c_in_a_value_is_no_value(self):
        class Stopped:
            def __float__(self):
                raise KeyboardInterrupt

            __index__ = __float__

        for name in ["traffic", "capacity"]:
            with self.assertRaises(KeyboardInterrupt):
                graphmap.from_networkx(nx.DiGraph([("a", "b", {name: Stopped()})]))

    def test_many_edges_between_two_are_many_channels(self):
        graph = nx.MultiDiGraph([("a", "b", {"traffic": 1}), ("a", "b", {"traffic": 2}), ("a", "a", {"initial": 1})])
        network = graphmap.from_networkx(graph)
        self.assertEqual(sorted(c.traffic for c in network.channels if c.reader == "b"), [1.0, 2.0])
        self.assertEqual(len(network.channels), 3)

    def test_any_directed_graph_is_a_network_and_is_mapped(self):
        graphs = [nx.gn_graph(40, seed=3), nx.gnp_random_graph(30, 0.2, seed=4, directed=True),
                  nx.scale_free_graph(30, seed=5), nx.grid_2d_graph(4, 4, create_using=nx.DiGraph),
                  nx.balanced_tree(2, 4, create_using=nx.DiGraph), nx.DiGraph([((1, 2), frozenset([3]))])]
        for graph in graphs:
            with self.subTest(graph):
                network = graphmap.from_networkx(graph)
                self.assertEqual((len(network), len(network.channels)), (len(graph), graph.number_of_edges()))
                plan = network.map(os_processes=2, imbalance=0.5, strategy="fast")
                self.assertEqual(set(plan.by_name), {str(node) for node in graph})
                # The DOT text of the network gives the same channels.
                self.assertEqual(channels(graphmap.read_text(network.to_dot())), channels(network))
                self.assertTrue(network.to_svg())
                self.assertTrue(network.emit("wiring.rs"))

    def test_attributes_of_other_names_are_taken(self):
        graph = nx.DiGraph([("a", "b", {"weight": 5})])
        graph.nodes["a"].update(cost=3, bytes=7)
        network = graphmap.from_networkx(graph, name="mine", load="cost", memory="bytes", traffic="weight")
        self.assertEqual(network.name, "mine")
        self.assertEqual((network.processes[0].load, network.processes[0].memory), (3.0, 7.0))
        self.assertEqual(network.channels[0].traffic, 5.0)

    def test_undirected_graphs_are_refused_or_go_both_ways(self):
        graph = nx.path_graph(["a", "b", "c"])
        graph.edges["a", "b"].update(traffic=3, src="x", dst="y")
        with self.assertRaisesRegex(ValueError, "undirected.*both_ways"):
            graphmap.from_networkx(graph)
        network = graphmap.from_networkx(graph, both_ways=True)
        self.assertEqual(len(network.channels), 4)
        told = {(c.writer, c.reader): (c.src, c.dst, c.traffic) for c in network.channels}
        # Each direction has separate ports, because a port cannot be both read and written.
        self.assertEqual(told["a", "b"], ("out", "in1", 3.0))
        self.assertEqual(told["b", "a"], ("out1", "in", 3.0))
        with self.assertRaisesRegex(ValueError, "both_ways is for undirected"):
            graphmap.from_networkx(nx.DiGraph(graph), both_ways=True)

    def test_all_errors_are_reported_at_once(self):
        graph = nx.DiGraph([("a", "b", {"capacity": 0, "traffic": "much", "bundle": "bunch", "tag": 1.5})])
        graph.add_node("a", load=math.nan, memory=-1)
        graph.add_node("b", load=10**400, kind="", module=7)
        graph.add_edge(1, "1", capacity=2**32, initial=-1, type=int)
        with self.assertRaises(graphmap.GraphmapError) as caught:
            graphmap.from_networkx(graph)
        text = str(caught.exception)
        for part in ["node `a`: `load` is nan", "node `a`: `memory` is -1", "node `b`: `load` is 1000", "`kind` is ''",
                     "`module` is 7", "edge `a` to `b`: `capacity` is 0", "`traffic` is 'much'", "`bundle` is 'bunch'",
                     "one of select, gather", "`tag` is 1.5", "`capacity` is 4294967296", "`initial` is -1",
                     "`type` is <class 'int'>", "two nodes have the name `1`"]:
            self.assertIn(part, text)
        self.assertEqual(len(caught.exception.diagnostics), 13)
        self.assertLess(max(len(d.message) for d in caught.exception.diagnostics), 200)
        graph = nx.DiGraph([("x" * 10_000, "y" * 10_000, {"tag": ""})])
        graph.add_node("x" * 10_000, load="")
        with self.assertRaises(graphmap.GraphmapError) as caught:
            graphmap.from_networkx(graph)
        self.assertLess(max(len(d.message) for d in caught.exception.diagnostics), 250)

    def test_what_the_check_finds_is_shown_as_the_line_that_would_declare_it(self):
        graph = nx.DiGraph([("a", "b", {"src": "out", "type": "u8"}), ("a", "c", {"src": "out"})])
        with self.assertRaises(graphmap.GraphmapError) as caught:
            graphmap.from_networkx(graph, name="odd")
        self.assertIn("G0305", str(caught.exception))
        self.assertIn('"a" -> "b" [src="out"', str(caught.exception))
        with self.assertRaisesRegex(graphmap.GraphmapError, "G0301"):
            graphmap.from_networkx(nx.DiGraph())

    def test_misspelt_attributes_are_a_warning_and_others_none(self):
        graph = nx.DiGraph([("a", "b", {"capcity": 3, "color": "red", 7: 8})])
        graph.add_node("a", pos=(1, 2), laod=3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            graphmap.from_networkx(graph)
        self.assertEqual(
            sorted(str(w.message) for w in caught),
            ["attribute `capcity` of edges has no effect; did you mean `capacity`?",
             "attribute `laod` of nodes has no effect; did you mean `load`?"],
        )

    def test_other_attributes_are_kept(self):
        graph = nx.DiGraph([("a", "b", {"weight": 2.5, "color": "red", 7: 8, "path": [1]})], run=3)
        graph.add_node("a", est=4, x_rack="left", label="A", pos=(1, 2))
        network = graphmap.from_networkx(graph)
        self.assertEqual(network.attributes, {"x_run": "3"})
        self.assertEqual(network.processes[0].attributes, {"label": "A", "x_est": "4", "x_rack": "left"})
        self.assertEqual(network.processes[1].attributes, {})
        self.assertEqual(network.channels[0].attributes, {"color": "red", "x_weight": "2.5"})
        self.assertEqual(graphmap.from_networkx(network.to_networkx()).to_dot(), network.to_dot())

    def test_names_that_nobody_would_choose(self):
        names = ["", "\0", "a\nb", 'quo"te', "back\\slash", "\u202e", "a.b:c", "NULL", "x" * 100_000, "digraph", " "]
        for name in names:
            with self.subTest(name[:20]):
                graph = nx.DiGraph([("first", name)])
                try:
                    network = graphmap.from_networkx(graph, name=name)
                except graphmap.GraphmapError as error:
                    self.assertTrue(error.diagnostics)
                    continue
                self.assertEqual(network.processes[1].name, name)
                self.assertEqual(list(network.map(os_processes=2).by_name), ["first", name])
                for make in [network.to_svg, network.to_json, network.to_dot]:
                    self.assertTrue(make())
        with self.assertRaisesRegex(ValueError, "not Unicode"):
            graphmap.from_networkx(nx.DiGraph([("a", "\ud800")]))

    def test_what_is_no_graph_is_refused(self):
        for odd in [None, 7, "a graph", {}, nx, [("a", "b")]]:
            with self.subTest(odd), self.assertRaisesRegex(TypeError, "expected a NetworkX graph"):
                graphmap.from_networkx(odd)

        class Odd(nx.DiGraph):
            class_of_errors = ZeroDivisionError

            def is_directed(self):
                return 1 // 0

        with self.assertRaises(ZeroDivisionError):
            graphmap.from_networkx(Odd())

        class Nameless:
            def __str__(self):
                raise RuntimeError("no name")

        with self.assertRaisesRegex(RuntimeError, "no name"):
            graphmap.from_networkx(nx.DiGraph([(Nameless(), 1)]))

        class Unshown:
            def __repr__(self):
                raise RuntimeError("not shown")

        graph = nx.DiGraph([("a", "b", {"traffic": Unshown()})])
        with self.assertRaisesRegex(graphmap.GraphmapError, "a value of Unshown"):
            graphmap.from_networkx(graph)

    def test_a_hundred_thousand_processes(self):
        graph = nx.DiGraph()
        graph.add_edges_from(("put", f"work{i}", {"bundle": "share", "traffic": i}) for i in range(100_000))
        graph.add_edges_from((f"work{i}", "get", {"bundle": "select"}) for i in range(100_000))
        network = graphmap.from_networkx(graph)
        self.assertEqual((len(network), len(network.channels)), (100_002, 200_000))
        self.assertEqual({p.kind for p in network.processes}, {"put", "work", "get"})
        plan = network.map("hosts=4:cores=4", strategy="stack", imbalance=1)
        self.assertEqual((len(plan.os_process), len(plan.by_name)), (100_002, 100_002))


class ToNetworkX(unittest.TestCase):
    def test_a_graph_is_read_back_to_the_same_network(self):
        text = """digraph farm {
            subgraph cluster_all { subgraph cluster_in { put [load=2] } work [replicas=3, mem=5] }
            put -> work [type=u64, bundle=share, at=all, traffic=8];
            work -> get [type=u64, at=all, capacity=4, tag=7];
        }"""
        network = graphmap.read_text(text)
        graph = network.to_networkx()
        self.assertIsInstance(graph, nx.MultiDiGraph)
        self.assertEqual(graph.nodes["put"], {"load": 2.0, "memory": 0.0, "kind": "put", "module": "cluster_all/cluster_in"})
        again = graphmap.from_networkx(graph)
        told = lambda n: (
            n.name, [(p.name, p.kind, p.load, p.memory, p.module) for p in n.processes],
            [(c.writer, c.src, c.reader, c.dst, c.type, c.capacity, c.tag, c.traffic, c.bundle) for c in n.channels],
        )
        self.assertEqual(told(again), told(network))


if __name__ == "__main__":
    unittest.main()
