"""Mappings: their properties, errors in requests, and searches while other code waits."""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import graphmap

GRAPHS = pathlib.Path(__file__).resolve().parents[3] / "graphs"

# A network for which a search proves no optimum, so that it runs until its time is over.
ENDLESS = """
import graphmap
import networkx
network = graphmap.from_networkx(networkx.random_regular_graph(5, 400, seed=1), both_ways=True)
"""


def farm():
    return graphmap.read(GRAPHS / "farm.dot")


class Plans(unittest.TestCase):
    def test_plan_properties(self):
        network = farm()
        plan = network.map("hosts=2:cores=2", imbalance=0.5)
        self.assertIs(plan.network, network)
        self.assertEqual((len(plan.os_process), len(plan.os_processes)), (21, 4))
        self.assertLess(max(plan.os_process), 4)
        names = [p.name for p in network.processes]
        self.assertEqual(plan.by_name, dict(zip(names, plan.os_process)))
        self.assertEqual([len(o) for o in plan.os_processes], [plan.os_process.count(o) for o in range(4)])
        self.assertEqual(sorted(sum((o.processes for o in plan.os_processes), [])), sorted(names))
        self.assertEqual(plan.hosts, ["host1", "host2"])
        self.assertEqual([o.host for o in plan.os_processes], ["host1", "host1", "host2", "host2"])
        self.assertAlmostEqual(sum(o.load for o in plan.os_processes), sum(p.load for p in network.processes))
        self.assertLessEqual(plan.lower_bound, plan.minimized)
        self.assertEqual(plan.minimized, plan.cost)
        self.assertEqual(plan.proved, plan.gap == 0)
        self.assertAlmostEqual(plan.balance, max(o.share for o in plan.os_processes))
        self.assertLessEqual(plan.cost, min(plan.others.values()))
        self.assertEqual(plan.strategy, "auto")
        remote = sum(plan.by_name[c.writer] != plan.by_name[c.reader] for c in network.channels)
        self.assertEqual(plan.remote_channels, remote)
        self.assertIn("21 processes in 4 OS processes", repr(plan))

    def test_programs_have_os_processes_of_their_own(self):
        network = graphmap.read_text('digraph { a -> b; b [program="./b"]; }')
        self.assertEqual([p.program for p in network.processes], [None, "./b"])
        plan = network.map(os_processes=2)
        self.assertEqual([o.program for o in plan.os_processes], [None, "./b"])
        self.assertEqual(json.loads(plan.mapping_json())["os_processes"][1]["program"], "./b")

    def test_a_plan_is_drawn_and_emitted(self):
        plan = farm().map("hosts=2:cores=2", imbalance=0.5)
        self.assertTrue(plan.to_svg().startswith("<svg"))
        self.assertIn("host2", plan._repr_svg_())
        document = json.loads(plan.mapping_json())
        self.assertEqual(len(document["os_processes"]), 4)
        self.assertEqual(plan.emit("mapping.json")["mapping.json"].decode(), plan.mapping_json())
        self.assertIn(b"host1", plan.emit("hostfile")["hostfile"])

    def test_the_seed_determines_the_result(self):
        network = farm()
        ask = {"hosts": "hosts=2:cores=2", "imbalance": 0.3, "seed": 2**64 - 1}
        self.assertEqual(network.map(**ask).os_process, network.map(**ask).os_process)

    def test_hosts_are_words_a_text_or_a_file(self):
        network = farm()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "hostfile"
            path.write_text("n1:2\nn2:2\n")
            for hosts in [path, str(path), "n1:2\nn2:2\n", "names=n1,n2 slots=2"]:
                with self.subTest(hosts):
                    self.assertEqual(network.map(hosts, imbalance=0.5).hosts, ["n1", "n2"])
            path.write_text("n1:2\nn2:x\n")
            with self.assertRaisesRegex(graphmap.GraphmapError, "hostfile:2:4"):
                network.map(path)
        self.assertEqual(network.map().os_process, [0] * 21)
        plan = network.map(os_processes=3, imbalance=0.5)
        self.assertEqual((max(plan.os_process), plan.hosts), (2, []))

    def test_strategies_objectives_and_modules(self):
        network = graphmap.read_text(
            "digraph { subgraph cluster_a { a1 -> a2 [type=u8, traffic=1] } "
            "subgraph cluster_b { b1 -> b2 [type=u8, traffic=1] } "
            "a2 -> b1 [type=u8, dst=x, src=y, traffic=9]; b2 -> a1 [type=u8, src=y, dst=x, traffic=9] "
            "a1 [kind=p] a2 [kind=q] b1 [kind=r] b2 [kind=s] }"
        )
        for strategy in ["auto", "fast", "stack", "round-robin", "metis"]:
            with self.subTest(strategy):
                self.assertEqual(network.map(os_processes=2, strategy=strategy).strategy, strategy)
        for objective in ["cost", "bottleneck", "largest-load", "remote-channels"]:
            with self.subTest(objective):
                self.assertEqual(len(network.map(os_processes=2, objective=objective).os_process), 4)
        together = lambda plan: plan.by_name["a1"] == plan.by_name["a2"]
        self.assertFalse(together(network.map(os_processes=2)))
        self.assertTrue(together(network.map(os_processes=2, modules="atom")))
        self.assertTrue(together(network.map(os_processes=2, modules=100)))

    def test_a_bound_that_cannot_be_kept_is_a_warning_or_an_error(self):
        network = graphmap.read_text("digraph { a [load=100]; a -> b [type=u8]; }")
        plan = network.map(os_processes=2)
        self.assertTrue(plan.raised is not None or plan.balance <= 1.03)
        heavy = graphmap.read_text("digraph { a -> b -> c [type=u8]; a[kind=x] b[kind=y] c[kind=z] }")
        plan = heavy.map("hosts=2:cores=1 memory=1G", imbalance=0)
        self.assertEqual(len(plan.os_process), 3)
        hold = graphmap.read_text("digraph { a [host=nowhere]; a -> b [type=u8]; }", name="hold.dot")
        with self.assertRaises(graphmap.GraphmapError) as caught:
            hold.map("hosts=2:cores=1")
        self.assertIn("hold.dot:1:", str(caught.exception))

    def test_what_cannot_be_asked_for_is_refused(self):
        network = farm()
        wrong = [
            ({"os_processes": 0}, ValueError), ({"os_processes": -1}, ValueError),
            ({"os_processes": 2**40}, ValueError), ({"os_processes": 1.5}, TypeError),
            ({"time": 0}, ValueError), ({"time": math.nan}, ValueError), ({"time": math.inf}, ValueError),
            ({"time": "long"}, TypeError), ({"time": 10**400}, ValueError), ({"time": 1e9}, ValueError),
            ({"seed": -1}, ValueError), ({"seed": 2**64}, ValueError), ({"seed": 1.5}, TypeError), ({"seed": None}, TypeError),
            ({"imbalance": -1}, ValueError), ({"imbalance": math.nan}, ValueError),
            ({"imbalance": 1e9}, ValueError), ({"imbalance": 10**400}, ValueError),
            ({"objective": "beauty"}, ValueError), ({"threads": 0}, ValueError), ({"threads": 10**6}, ValueError), ({"threads": -(10**5000)}, ValueError),
            ({"modules": "atoms"}, ValueError), ({"modules": -1}, ValueError), ({"modules": math.nan}, ValueError),
            ({"hosts": 7}, TypeError), ({"hosts": "hosts=0:cores=2"}, graphmap.GraphmapError),
            ({"hosts": "hosts=4000000000:cores=4000000000"}, graphmap.GraphmapError),
            ({"hosts": "no such hostfile"}, graphmap.GraphmapError), ({"hosts": ""}, graphmap.GraphmapError),
            ({"hosts": "hosts=2\0"}, graphmap.GraphmapError), ({"hosts": "\ud800"}, UnicodeEncodeError),
            ({"strategy": "fastest"}, graphmap.GraphmapError), ({"strategy": ""}, graphmap.GraphmapError),
        ]
        for ask, error in wrong:
            with self.subTest(str(list(ask))), self.assertRaises(error) as caught:
                network.map(**{"hosts": "hosts=2:cores=2", **ask})
            # The message names the argument, and has no details of Rust.
            if error is ValueError:
                self.assertIn(next(iter(ask)), str(caught.exception))
                self.assertLess(len(str(caught.exception)), 200)
        # There are never more OS processes than processes.
        self.assertLessEqual(len(network.map(os_processes=2**32 - 1, imbalance=1000).os_processes), 21)


class Waiting(unittest.TestCase):
    def test_ctrl_c_ends_a_search(self):
        # A caller that started this test in the background may ignore SIGINT, which is inherited.
        code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + ENDLESS
        code += "print('searching', flush=True)\ntry:\n    network.map(os_processes=7, time=300)\n"
        code += "except KeyboardInterrupt:\n    print('ended', flush=True)\n"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
            try:
                self.assertEqual(child.stdout.readline(), "searching\n")
                time.sleep(1)
                self.assertIsNone(child.poll())
                child.send_signal(signal.SIGINT)
                said, _ = child.communicate(timeout=60)
            finally:
                child.kill()
        self.assertEqual((said, child.returncode), ("ended\n", 0))

    def test_ctrl_c_ends_what_waits_for_a_pipe(self):
        waits = {
            "read": "graphmap.read('pipe.dot')",
            "map": "network.map(pathlib.Path('pipe.dot'))",
            "transform": "network.transform('weights', {'weights': 'pipe.dot'})",
            "write": "graphmap.write(network.emit('pipe.dot', 'svg'))",
        }
        code = (
            "import graphmap, os, pathlib, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "network = graphmap.read_text('digraph { a -> b [type=u8] }')\nprint('waiting', flush=True)\n"
            "try:\n    WAIT\nexcept KeyboardInterrupt:\n    print('ended', flush=True)\n"
        )
        for name, wait in waits.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                os.mkfifo(os.path.join(folder, "pipe.dot"))
                command = [sys.executable, "-c", code.replace("WAIT", wait)]
                with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as child:
                    try:
                        self.assertEqual(child.stdout.readline(), "waiting\n")
                        time.sleep(0.5)
                        self.assertIsNone(child.poll())
                        child.send_signal(signal.SIGINT)
                        said, _ = child.communicate(timeout=20)
                    finally:
                        child.kill()
                self.assertEqual((said, child.returncode), ("ended\n", 0))

    def test_a_thread_with_a_small_stack_does_all_that_others_do(self):
        # A separate OS process, because a stack overflow ends it.
        code = (
            "import graphmap, threading\nthreading.stack_size(64 * 1024)\ndef work():\n"
            "    network = graphmap.read_text('digraph { a -> b [type=u8] }')\n"
            "    again = graphmap.read_text(network.to_json(), format='json')\n"
            "    plan = again.map('hosts=2:cores=2')\n"
            "    made = [network.to_dot(), network.to_svg(), plan.to_svg(), network.emit('wiring.rs'), plan.emit('hostfile')]\n"
            "    print(len(made), flush=True)\n"
            "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("5\n", "", 0))

    def test_a_handler_that_raises_nothing_ends_no_search(self):
        before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
        heard = []
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            namespace = {}
            exec(ENDLESS, namespace)
            plan = namespace["network"].map(os_processes=7, time=1)
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual((heard, len(plan.os_process)), ([1], 400))

    def test_other_threads_run_and_search_at_the_same_time(self):
        namespace = {}
        exec(ENDLESS, namespace)
        network, plans = namespace["network"], []
        searches = [
            threading.Thread(target=lambda seed=seed: plans.append(network.map(os_processes=7, time=1.5, seed=seed)))
            for seed in range(3)
        ]
        turns = 0
        for search in searches:
            search.start()
        while any(search.is_alive() for search in searches):
            turns += 1
            time.sleep(0.01)
        self.assertEqual([len(plan.os_process) for plan in plans], [400] * 3)
        # If a search held the interpreter for all of its 1.5 s, there would be no turns.
        self.assertGreater(turns, 10)

    def test_a_process_that_forks_maps_as_well(self):
        if not hasattr(os, "fork"):
            self.skipTest("there is no fork here")
        code = (
            "import graphmap, os\nn = graphmap.read_text('digraph { a -> b [type=u8] }')\nn.map(os_processes=2)\n"
            "child = os.fork()\nassert len(n.map(os_processes=2).os_process) == 2\n"
            "if child == 0:\n    os._exit(0)\nassert os.waitpid(child, 0)[1] == 0\n"
        )
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


if __name__ == "__main__":
    unittest.main()
