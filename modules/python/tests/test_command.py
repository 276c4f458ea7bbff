"""The command `graphmap` in the wheel, and its manual pages."""

import importlib.metadata
import pathlib
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest

import graphmap

COMMAND = pathlib.Path(sysconfig.get_path("scripts")) / "graphmap"
FARM = pathlib.Path(__file__).resolve().parents[3] / "graphs" / "farm.dot"


def run(*args, **options):
    return subprocess.run([COMMAND, *args], capture_output=True, text=True, **options)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_command_and_module_have_one_version(self):
        self.assertEqual(run("--version").stdout, f"graphmap {graphmap.__version__}\n")

    def test_command_writes_what_the_module_writes(self):
        done = run(FARM, "-n", "2", "--emit", "wiring.rs", "-o", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, done.stderr))
        plan = graphmap.read(FARM).map(os_processes=2)
        wiring = (self.folder / "wiring.rs").read_bytes()
        self.assertEqual(wiring.splitlines()[1:], plan.emit("wiring.rs")["wiring.rs"].splitlines()[1:])

    def test_exit_code_is_that_of_the_command(self):
        wrong = self.folder / "wrong.dot"
        wrong.write_text("digraph { a -> b [load=4]; }")
        done = run("check", wrong)
        self.assertEqual(done.returncode, 1)
        self.assertIn("error[G0205]", done.stderr)
        self.assertEqual(run("check", self.folder / "absent.dot").returncode, 2)

    def test_signal_ends_the_command(self):
        for number in signal.SIGINT, signal.SIGTERM:
            # The command waits for standard input.
            # The parent of this test may ignore the signal, and a child inherits that.
            waiting = subprocess.Popen([COMMAND, "check", "-"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
            self.addCleanup(waiting.kill)
            time.sleep(0.3)
            self.assertIsNone(waiting.poll())
            waiting.send_signal(number)
            self.assertIn(waiting.wait(30), (-number, 128 + number))
            waiting.stdin.close()

    def test_pages_completions_skeletons_and_licences_are_installed(self):
        share = pathlib.Path(sys.prefix) / "share"
        page = (share / "man" / "man1" / "graphmap.1").read_text(encoding="utf-8")
        for verb in re.findall(r"^graphmap\\-(\w+)\(1\)", page, re.MULTILINE):
            self.assertTrue((share / "man" / "man1" / f"graphmap-{verb}.1").stat().st_size, verb)
        self.assertIn("_graphmap", (share / "bash-completion" / "completions" / "graphmap").read_text(encoding="utf-8"))
        self.assertTrue((share / "graphmap" / "skeletons" / "rust" / "farm.hbs").exists())
        licences = (share / "doc" / "graphmap" / "LICENCES-OF-PACKAGES.txt").read_text(encoding="utf-8")
        # The first is linked only into the command, the second only into the module.
        for package in "clap_builder", "pyo3":
            self.assertRegex(licences, rf"(?m)^{package} \d")

    def test_command_needs_no_later_glibc_than_the_wheel_says(self):
        wheel = importlib.metadata.distribution("graphmap-mpi").read_text("WHEEL")
        promised = re.search(r"^Tag: .*-manylinux_(\d+)_(\d+)_", wheel, re.MULTILINE)
        self.assertTrue(promised, wheel)
        needed = re.findall(rb"\0GLIBC_(\d+)\.(\d+)", COMMAND.read_bytes())
        self.assertTrue(needed)
        latest = max((int(major), int(minor)) for major, minor in needed)
        self.assertLessEqual(latest, tuple(map(int, promised.groups())))


if __name__ == "__main__":
    unittest.main()
