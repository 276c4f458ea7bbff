"""Networks that are read, checked, drawn and written, and diagnostics of wrong ones."""

import collections.abc
import copy
import json
import os
import pathlib
import pickle
import tempfile
import unittest

import graphmap

GRAPHS = pathlib.Path(__file__).resolve().parents[3] / "graphs"

FARM = """digraph farm {
    put -> work [type=u64, bundle=share, at=all, traffic=8];
    work -> get [type=u64, at=all, capacity=4, tag=7];
    subgraph cluster_ends { label=ends; put [load=2]; get [mem=1024]; }
    work [replicas=3];
}
"""


class Reading(unittest.TestCase):
    def test_attributes_of_the_user(self):
        text = """digraph g {
            attributes="bytes"; x_run=7;
            node [x_est=4];
            subgraph cluster_pool { x_rack=left; a [x_est=9, label=A] }
            a -> b [bytes=64];
        }"""
        for network in [graphmap.read_text(text), graphmap.read_text(graphmap.read_text(text).to_json(), "json")]:
            self.assertEqual(network.attributes, {"x_run": "7"})
            self.assertEqual([p.attributes for p in network.processes], [{"label": "A", "x_est": "9"}, {"x_est": "4"}])
            self.assertEqual(network.channels[0].attributes, {"bytes": "64"})
            self.assertEqual(network.modules[0].attributes, {"x_rack": "left"})

    def test_a_file_is_read_to_its_network(self):
        network = graphmap.read(GRAPHS / "farm.dot")
        self.assertEqual(network.name, "farm")
        self.assertEqual(len(network), 21)
        self.assertEqual([p.rank for p in network.processes], list(range(21)))
        self.assertIn("manager", [p.name for p in network.processes])
        self.assertEqual(repr(network), f'<graphmap.Network "farm": 21 processes, {len(network.channels)} channels>')
        # A path can be a string.
        self.assertEqual(len(graphmap.read(str(GRAPHS / "farm.dot"))), 21)

    def test_sizes_and_included_files_are_given(self):
        with tempfile.TemporaryDirectory() as folder:
            parts = pathlib.Path(folder, "parts")
            parts.mkdir()
            (parts / "p.dot").write_text('digraph p { sizes="k=2"; in [port=in]; in -> x [bundle=scatter]; x [replicas="k"]; }')
            path = pathlib.Path(folder, "main.dot")
            path.write_text('digraph { sizes="n=3"; P [use="p.dot"]; a -> P; b [replicas="n"]; }')
            network = graphmap.read(path, sizes={"n": 5, "P.k": 4}, include=[parts])
            self.assertEqual(len(network), 1 + 4 + 5)
            with self.assertRaises(graphmap.GraphmapError) as raised:
                graphmap.read(path, sizes={"m": 5}, include=[parts])
            self.assertIn("no size `m`", str(raised.exception))
        self.assertEqual(len(graphmap.read_text('digraph { a [replicas="n"]; }', sizes={"n": 7})), 7)

    def test_processes_have_the_arguments_of_the_graph(self):
        parameters = """params="n: u64, s: String, x: f32, on: bool", args="i+1, 'w', 0.5, true" """
        network = graphmap.read_text(f"digraph g {{ a -> b; a [{parameters}]; }}", name="g.dot")
        arguments = [process.arguments for process in network.processes]
        self.assertEqual(arguments, [{"n": 2, "s": "w", "x": 0.5, "on": True}, {}])

    def test_processes_channels_and_modules_have_what_was_drawn(self):
        network = graphmap.read_text(FARM, name="farm.dot")
        processes = {p.name: p for p in network.processes}
        self.assertEqual(list(processes), ["put", "work1", "work2", "work3", "get"])
        self.assertEqual((processes["put"].load, processes["get"].memory), (2.0, 1024.0))
        self.assertEqual({p.kind for p in network.processes}, {"put", "work", "get"})
        self.assertEqual([m.kind for m in network.modules], ["ends"])
        self.assertEqual((processes["put"].module, processes["work1"].module), (network.modules[0].name, None))
        self.assertIsNone(network.modules[0].parent)
        self.assertEqual(processes["work1"].ports, ("in", "out"))
        self.assertEqual(processes["put"].location, ("farm.dot", 2, 5))
        first, last = network.channels[0], network.channels[-1]
        self.assertEqual((first.writer, first.src, first.reader, first.dst), ("put", "out", "work1", "in"))
        self.assertEqual((first.type, first.bundle, first.traffic, first.capacity, first.tag), ("u64", "share", 8.0, 1, None))
        self.assertEqual((last.bundle, last.capacity, last.initial, last.tag), ("select", 4, 0, 7))
        self.assertEqual(last.location[:2], ("farm.dot", 3))
        self.assertEqual(repr(first), "<graphmap.Channel put.out -> work1.in>")

    def test_warnings_do_not_raise(self):
        network = graphmap.read_text("digraph { a -> b [type=u8]; c; }", name="odd.dot")
        (found,) = [d for d in network.warnings if d.severity == "warning"]
        self.assertEqual((found.code, found.file, found.line, found.column), ("G0317", "odd.dot", 1, 29))
        self.assertIn("odd.dot:1:29", str(found))
        self.assertIn("G0317", repr(found))
        notes = graphmap.read_text(FARM).warnings
        self.assertEqual({d.severity for d in notes}, {"note"})

    def test_an_error_has_everything_that_is_wrong(self):
        text = "digraph {\n a -> b [load=1];\n c -> d [capacity=0];\n}"
        with self.assertRaises(graphmap.GraphmapError) as caught:
            graphmap.read_text(text, name="two.dot")
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertEqual([(d.severity, d.line) for d in error.diagnostics], [("error", 2), ("error", 3)])
        first = error.diagnostics[0]
        self.assertEqual((first.code, first.column), ("G0205", 10))
        self.assertIn("a node", first.place.text)
        self.assertEqual((first.place.end_line, first.place.end_column), (2, 14))
        self.assertIn(" --> two.dot:2:10", str(error))
        self.assertIn("`traffic=`", str(error))
        # Each diagnostic shows only itself.
        self.assertIn("two.dot:3:", str(error.diagnostics[1]))
        self.assertNotIn("two.dot:2:", str(error.diagnostics[1]))
        self.assertEqual(graphmap.GraphmapError("mine").diagnostics, ())

    def test_errors_and_networks_go_to_other_processes(self):
        with self.assertRaises(graphmap.GraphmapError) as caught:
            graphmap.read_text("digraph { a -> b [type=u8, src=x]; a -> c [type=u16, src=x]; }", name="odd.dot")
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(str(error), str(caught.exception))
        for again, found in zip(error.diagnostics, caught.exception.diagnostics, strict=True):
            for name in ["code", "severity", "message", "file", "line", "column", "help", "notes"]:
                self.assertEqual(getattr(again, name), getattr(found, name))
            self.assertEqual((str(again), repr(again)), (str(found), repr(found)))
            self.assertEqual([repr(place) for place in again.also], [repr(place) for place in found.also])
            self.assertEqual(again.place.end_column, found.place.end_column)
        network = graphmap.read_text(FARM)
        copied = pickle.loads(pickle.dumps(network))
        self.assertEqual(copied.name, "farm")
        self.assertEqual([repr(c) for c in copied.channels], [repr(c) for c in network.channels])
        with self.assertRaises(TypeError):
            pickle.dumps(network.map())

    def test_what_is_asked_for_twice_is_the_same(self):
        network = graphmap.read_text(FARM)
        plan = network.map("hosts=2:cores=2", imbalance=0.5)
        for ask in [lambda: network.processes, lambda: network.channels, lambda: network.modules,
                    lambda: network.warnings, lambda: plan.os_processes, lambda: [n.place for n in network.warnings]]:
            first, again = ask(), ask()
            self.assertTrue(first)
            self.assertEqual(list(first), list(again))
            self.assertEqual(set(first), set(again))
            self.assertEqual(len(set(first)), len(first))
        parent = graphmap.read_text(
            "digraph { subgraph cluster_a { subgraph cluster_b { x -> y [type=u8] } } }"
        ).modules[1].parent
        self.assertNotIn(parent, network.modules)
        # Parts of different networks differ, even if all their properties are equal.
        self.assertNotEqual(network.processes, graphmap.read_text(FARM).processes)
        self.assertNotEqual(network.processes[0], network.channels[0])
        error = self.assertRaises(graphmap.GraphmapError)
        with error as caught:
            graphmap.read_text("digraph { a -> b [load=1] }")
        found = caught.exception.diagnostics
        self.assertEqual(pickle.loads(pickle.dumps(found)), found)

    def test_what_nothing_changes_is_its_own_copy(self):
        network = graphmap.read_text(FARM)
        plan = network.map(os_processes=2, imbalance=1)
        for one in [network, plan, plan.emit("a.svg"), network.processes[0], network.channels[0],
                    network.modules[0], plan.os_processes[0]]:
            with self.subTest(one):
                self.assertIs(copy.copy(one), one)
                self.assertIs(copy.deepcopy({"one": one})["one"], one)

    def test_what_cannot_be_read_says_so(self):
        for path, code in [("no such file.dot", "G0001"), ("farm.yaml", "G0004"), ("nul\0.dot", "G0001")]:
            with self.subTest(path), self.assertRaises(graphmap.GraphmapError) as caught:
                graphmap.read(path)
            (found,) = caught.exception.diagnostics
            self.assertEqual((found.code, found.place, found.line), (code, None, None))
        with self.assertRaisesRegex(graphmap.GraphmapError, "did you mean `dot`"):
            graphmap.read_text("", format="dott")
        with self.assertRaises(TypeError):
            graphmap.read(7)
        with self.assertRaises(TypeError):
            graphmap.read_text(7)

    def test_hostile_texts_are_errors_and_nothing_worse(self):
        deep = "digraph {" + "{" * 100_000 + "a" + "}" * 100_000 + "}"
        texts = ["", "\0", "digraph { \"\0\" -> b }", b"\xff\xfe\x00", "digraph {", deep, "{" * 1_000_000,
                 "digraph { a [replicas=4294967295]; a -> b [at=all] }", "digraph { a [load=nan]; a -> b }",
                 "digraph { a -> b [capacity=99999999999999999999] }", "{\"graphmap\": 1e999}"]
        for text in texts:
            for language in ["dot", "json"]:
                with self.subTest(text=text[:40], language=language):
                    try:
                        self.assertGreater(len(graphmap.read_text(text, format=language)), 0)
                    except graphmap.GraphmapError as error:
                        self.assertTrue(error.diagnostics)
        # A lone surrogate is not a valid string.
        with self.assertRaises(UnicodeEncodeError):
            graphmap.read_text("digraph { \"\ud800\" }")


class Writing(unittest.TestCase):
    def test_dot_and_json_are_read_back(self):
        network = graphmap.read_text(FARM)
        told = lambda n: [(c.writer, c.src, c.reader, c.dst, c.type, c.traffic, c.bundle) for c in n.channels]
        self.assertEqual(told(graphmap.read_text(network.to_dot())), told(network))
        self.assertEqual(told(graphmap.read_text(network.to_json(), format="json")), told(network))

    def test_a_network_is_drawn(self):
        network = graphmap.read_text(FARM)
        self.assertTrue(network.to_svg().startswith("<svg"))
        self.assertIn("work3", network.to_svg())
        self.assertEqual(network._repr_svg_(), network.to_svg())

    def test_files_are_a_mapping_and_are_written(self):
        network = graphmap.read_text(FARM)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sub" / "wiring.rs"
            files = network.emit(path)
            self.assertEqual((len(files), list(files), path in files, "x" in files), (1, [str(path)], True, False))
            self.assertIn(b"work", files[path])
            self.assertEqual(dict(files), dict(files.items()))
            self.assertEqual(files.values(), [files[str(path)]])
            with self.assertRaises(KeyError):
                files["x"]
            self.assertFalse(path.exists())
            self.assertEqual(graphmap.write(files), {str(path): "created"})
            self.assertEqual(files.write(), {str(path): "unchanged"})
            self.assertEqual(path.read_bytes(), files[path])
            with self.assertRaisesRegex(graphmap.GraphmapError, "G0005"):
                graphmap.write(network.emit(folder, emitter="svg"))
        self.assertIsInstance(files, collections.abc.Mapping)
        self.assertEqual((files.get(path), files.get("x"), files.get("x", 7)), (files[path], None, 7))
        self.assertEqual(files, network.emit(path))
        self.assertEqual(files, {str(path): files[path]})
        self.assertNotEqual(files, {str(path): b""})
        self.assertNotEqual(files, 7)
        svg = network.emit("a.svg", options={"detail": "kinds"})["a.svg"]
        self.assertNotIn(b"work3", svg)
        for wrong in [("farm.xyz",), ("x", "svgg")]:
            with self.subTest(wrong), self.assertRaisesRegex(graphmap.GraphmapError, "G0006"):
                network.emit(*wrong)
        with self.assertRaisesRegex(graphmap.GraphmapError, "G0006"):
            network.emit("farm.xyz", options={})
        with self.assertRaisesRegex(graphmap.GraphmapError, "detail"):
            network.emit("a.svg", options={"detail": "everything"})

    def test_paths_that_are_no_unicode_are_kept(self):
        network = graphmap.read_text(FARM)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a\udcff.json")
            files = network.emit(path)
            self.assertEqual(list(files), [path])
            self.assertEqual([files[path] for path in files], files.values())
            self.assertEqual(graphmap.write(files), {path: "created"})
            self.assertEqual(os.listdir(os.fsencode(folder)), [b"a\xff.json"])
            self.assertEqual(len(graphmap.read(path)), len(network))
            for name in ["svg", "mapped.dot", "hostfile", "mapping.json"]:
                self.assertEqual(len(network.map("names=a slots=1").emit(f"{folder}/\udcff.{name}")), 1)

    def test_a_pass_changes_a_network(self):
        network = graphmap.read_text(FARM)
        with tempfile.TemporaryDirectory() as folder:
            profile = pathlib.Path(folder) / "profile.json"
            profile.write_text(json.dumps({"processes": [{"name": "put", "load": 7}], "channels": []}))
            measured = network.transform("weights", {"weights": str(profile)})
        self.assertEqual([p.load for p in measured.processes if p.name == "put"], [7.0])
        with self.assertRaisesRegex(graphmap.GraphmapError, "the option `weights`"):
            network.transform("weights")
        with self.assertRaisesRegex(graphmap.GraphmapError, "did you mean `weights`"):
            network.transform("wieghts")
        with self.assertRaises(graphmap.GraphmapError):
            network.transform("weights", {"weights": "no such file"})


if __name__ == "__main__":
    unittest.main()
