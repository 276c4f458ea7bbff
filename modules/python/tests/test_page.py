"""Documentation of the package: the examples in the book and in README, and the stubs."""

import ast
import doctest
import importlib.metadata
import inspect
import os
import pathlib
import re
import tempfile
import unittest

import graphmap

PYTHON = pathlib.Path(__file__).resolve().parents[1]
PAGE = PYTHON.parents[1] / "docs" / "src" / "python.md"
STUBS = PYTHON / "graphmap.pyi"


def blocks(path):
    """Returns the Python blocks of a page, each with the number of its first line."""
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, found.start(1)), found[1]


class Page(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_every_example_of_the_page_does_what_it_says(self):
        names, examples, said = {}, 0, []
        for line, block in blocks(PAGE):
            # Each block continues in the namespace of the block before it.
            test = doctest.DocTestParser().get_doctest(block, names, f"{PAGE.name}:{line}", str(PAGE), line)
            self.assertTrue(test.examples, f"{PAGE.name}:{line} has no example")
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, out=said.append, clear_globs=False)
            names, examples = test.globs, examples + len(test.examples)
        self.assertEqual("".join(said), "")
        self.assertGreater(examples, 10)

    def test_the_example_of_readme_runs(self):
        ((line, block),) = blocks(PYTHON / "README.md")
        exec(compile("\n" * line + block, "README.md", "exec"), {"print": lambda *_: None})
        self.assertTrue(pathlib.Path("mapping.json").exists())


class Stubs(unittest.TestCase):
    """Compares each name in the stubs with the module."""

    def setUp(self):
        self.stubs = ast.parse(STUBS.read_text(encoding="utf-8"))

    def test_names_and_arguments_are_those_of_the_module(self):
        told = {node.name: node for node in self.stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        there = {name for name in vars(graphmap) if not name.startswith("_") and name != "graphmap"}
        self.assertEqual(set(told), there)
        for name, node in told.items():
            found = getattr(graphmap, name)
            self.assertTrue(inspect.getdoc(found), name)
            if isinstance(node, ast.FunctionDef):
                self.same_arguments(node, found)
                continue
            members = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
            if name != "GraphmapError":
                public = {member for member in vars(found) if not member.startswith("_")}
                self.assertEqual({member for member in members if not member.startswith("_")}, public, name)
            for member, stub in members.items():
                self.assertTrue(hasattr(found, member), f"{name}.{member}")
                if not member.startswith("_"):
                    self.assertTrue(inspect.getdoc(vars(found)[member]), f"{name}.{member}")
                    if not stub.decorator_list:
                        self.same_arguments(stub, vars(found)[member])

    def same_arguments(self, stub, found):
        arguments = ast.unparse(stub.args)
        namespace = {}
        exec(f"from __future__ import annotations\ndef stub({arguments}): ...", namespace)
        told = inspect.signature(namespace["stub"]).parameters.values()
        there = inspect.signature(found).parameters.values()
        simple = lambda parameters: [(p.name, p.kind, p.default) for p in parameters]
        positional = [(n, inspect.Parameter.POSITIONAL_ONLY if n == "self" else k, d) for n, k, d in simple(told)]
        self.assertEqual(positional, simple(there), stub.name)

    def test_the_stubs_declare_all(self):
        (told,) = [node.value for node in self.stubs.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"]
        self.assertEqual(ast.literal_eval(told), graphmap.__all__)

    def test_the_version_is_that_of_the_wheel(self):
        self.assertEqual(graphmap.__version__, importlib.metadata.version("graphmap-mpi"))

    def test_the_wheel_has_them(self):
        folder = pathlib.Path(graphmap.__file__).parent
        self.assertEqual((folder / "__init__.pyi").read_text(encoding="utf-8"), STUBS.read_text(encoding="utf-8"))
        self.assertTrue((folder / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
