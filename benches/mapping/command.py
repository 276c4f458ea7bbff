"""The cost of the whole command on a million processes with three million channels.

Runs `graphmap partition` for a torus in which each process writes to its east, south and
south-east, onto 64 OS processes on 4 hosts. The graph is written edge by edge, in three ways.
Prints Markdown: the size of the text, the peak memory of the OS process (VmHWM of the kernel), and
its CPU time. The memory does not depend on other programs.
usage: benches/mapping/run command [SIDE]   (1000 processes a side; GRAPHMAP, a built graphmap)
"""
import os, subprocess, sys, tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from bench import graphmap

SIDE = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
HOSTS = "hosts=4:sockets=2:cores=8"
WAYS = [("e", "w"), ("s", "n"), ("se", "nw")]
# First statement of the graph, and an edge.
DRAWN = {
    "bundles by a default": ("edge [bundle=share];", lambda a, b, out, into: f"v{a} -> v{b};"),
    "ports with colons": ("", lambda a, b, out, into: f"v{a}:to_{out} -> v{b}:from_{into};"),
    "ports as attributes": ("", lambda a, b, out, into: f"v{a} -> v{b} [src={out}, dst={into}];"),
}


def edges(form):
    for y in range(SIDE):
        for x in range(SIDE):
            east, south = (x + 1) % SIDE, (y + 1) % SIDE
            ends = (y * SIDE + east, south * SIDE + x, south * SIDE + east)
            for end, (out, into) in zip(ends, WAYS):
                yield form(y * SIDE + x, end, out, into)


def run(file, strategy):
    with open(os.devnull, "w") as nowhere:
        command = [graphmap(), "partition", file, "--hosts", HOSTS, "--strategy", strategy]
        child = subprocess.Popen([str(c) for c in command], stdout=nowhere)
        _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{command} ended with {status}")
    return used.ru_maxrss * 1024 / 1e6, used.ru_utime + used.ru_stime


def main():
    print("| drawn with | processes | channels | text, MB | peak, MB | CPU s | peak of `stack`, MB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, (head, form) in DRAWN.items():
        with tempfile.NamedTemporaryFile("w", suffix=".dot") as file:
            file.write("digraph torus {\n" + head + "\n")
            file.writelines(line + "\n" for line in edges(form))
            file.write("}\n")
            file.flush()
            size = os.path.getsize(file.name) / 1e6
            peak, seconds = run(file.name, "auto")
            stack, _ = run(file.name, "stack")
        n = SIDE * SIDE
        print(f"| {name} | {n:,} | {3 * n:,} | {size:.0f} | {peak:.0f} | {seconds:.1f} | {stack:.0f} |")


main()
