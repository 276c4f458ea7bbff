#!/usr/bin/env python3
"""Prints costs of programs in C as a Markdown table, beside floors and MPICH.

usage: figures.py

MPI_HOST is the program that runs ranks as coroutines. MPICH is measured if MPICH_MPIEXEC is its
mpiexec, or if suite.py has installed it. The same executable runs on both. ROUNDS is the number of
runs of each kind, whose repetitions alternate [default: 5]. The cell of a figure is the smallest
median of a run, with the quartiles of that run.
"""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.environ.get("C_PROGRAMS", os.path.join(ROOT, "target", "c-programs"))
HOST = os.environ["MPI_HOST"]
MPIEXEC = os.environ.get("MPICH_MPIEXEC", os.path.join(WORK, "mpich", "bin", "mpiexec"))
ROUNDS = int(os.environ.get("ROUNDS", 5))
MANY, FEW = 4000, 1000


def compile():
    os.makedirs(WORK, exist_ok=True)
    program = os.path.join(WORK, "figures")
    include = os.path.join(ROOT, "modules", "abi", "src")
    command = ["cc", "-O2", "-I", include, os.path.join(HERE, "figures.c"), "-o", program]
    subprocess.run(command + ["-L", os.path.dirname(HOST), "-lmpi_abi"], check=True)
    return program


def measure(command, environment={}):
    """Returns the median and the quartiles of each figure of a run."""
    environment = {**os.environ, **environment}
    text = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
    lines = (line.split() for line in text.decode().splitlines())
    return {name: tuple(map(float, numbers)) for name, *numbers in lines}


def best(runs):
    """Returns, for each figure, the numbers of the run with the smallest median."""
    return {name: min(run[name] for run in runs) for name in runs[0]}


def start(program, ranks):
    """Returns the seconds and the peak memory in KiB of a run that only begins and ends."""
    begin = time.monotonic()
    child = os.posix_spawn(HOST, [HOST, str(ranks), program, "start"], os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"error: {ranks} ranks ended with status {status}")
    return time.monotonic() - begin, usage.ru_maxrss


def text(numbers):
    if numbers is None:
        return ""
    median, low, high = numbers
    unit = next(unit for unit in [(1, "ns"), (1e3, "µs"), (1e6, "ms")] if median < 1e3 * unit[0])
    return " ".join([f"{median / unit[0]:.3g} {unit[1]}", f"({low / unit[0]:.3g}–{high / unit[0]:.3g})"])


def row(*cells):
    print("| " + " | ".join(cells) + " |")


def main():
    program = compile()
    has_mpich = os.path.exists(MPIEXEC)
    library = os.path.join(os.path.dirname(os.path.dirname(MPIEXEC)), "lib")
    two, crowd, mpich, started = [], [], [], {MANY: [], FEW: []}
    for _ in range(ROUNDS):
        two.append(measure([HOST, "2", program]))
        crowd.append(measure([HOST, str(FEW + 2), program]))
        if has_mpich:
            command = [MPIEXEC, "-n", "2", "-bind-to", "core", program]
            mpich.append(measure(command, {"LD_LIBRARY_PATH": library}))
        for ranks, all in started.items():
            all.append(start(program, ranks))
    two, crowd = best(two), best(crowd)
    mpich = best(mpich) if has_mpich else {}
    print(f"Load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs.\n")
    row("figure", "graphmap", "floor", "ratio", "wanted", "MPICH")
    row(*["---"] * 6)

    def line(title, name, floor, wanted, run=two, is_floor=True):
        ratio = run[name][0] / floor[0]
        of = text(floor) if is_floor else ""
        row(title, text(run[name]), of, f"{ratio:.2f}", wanted, text(mpich.get(name)))

    line("8 bytes one way, in switches of ranks", "short", two["switch"], "6")
    line("… beside 1,000 ranks that wait", "short", two["short"], "1.1", crowd)
    sum = two["copy"][0] + two["short"][0]
    floor = (1.3 * two["copy"][0] + two["short"][0]) / sum
    line("8 KiB one way, in a copy and 8 bytes", "long", (sum, sum, sum), f"{floor:.2f}")
    for title, name in [
        ("pack of 32,768 blocks of 1 to 7 doubles", "pack"),
        ("unpack of them", "unpack"),
        ("`MPI_Reduce_local`, sum of 1,048,576 doubles", "add"),
        ("`MPI_Allreduce` of them, two ranks", "allreduce"),
    ]:
        floor = mpich.get(name)
        if floor:
            line(f"{title}, in times of MPICH", name, floor, "1.3", is_floor=False)
        else:
            row(title, text(two[name]), "", "", "", "")
    seconds = min(seconds for seconds, _ in started[MANY])
    peak = {ranks: min(kilobytes for _, kilobytes in all) for ranks, all in started.items()}
    row(f"begin and end of {MANY:,} ranks", f"{seconds:.2f} s", "", "", "3 s", "")
    each = (peak[MANY] - peak[FEW]) / (MANY - FEW)
    row("memory of each further rank", f"{each:.1f} KiB", "", "", "64 KiB", "")


main()
