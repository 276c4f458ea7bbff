#!/usr/bin/env python3
"""Runs programs that others have written, unchanged, and checks their results.

usage: applications.py [--mpich] [--ranks N] [PROGRAM ...]

--mpich    run on MPICH 5.0.2 instead of graphmap, and write applications.txt
--ranks N  run only with N ranks

PROGRAM is netpipe, hpcc, hypre or mpi4py [default: all]. The programs, the compiler and MPICH 5.0.2
are downloaded to target/c-programs, or to the folder in C_PROGRAMS, and compiled there once. MPI_HOST
is the program that runs ranks as coroutines. HPCC needs libblas-dev and gfortran.

A run passes if the checks of the program itself pass and its numbers are those in applications.txt,
which MPICH has computed. mpi4py's tests run with one rank, because Python is no MPI program. Tests
that fail are listed in mpi4py.txt with reasons.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from suite import HERE, WORK, call, fetch, install, read_names, say

NUMBERS = os.path.join(HERE, "applications.txt")
REASONS = os.path.join(HERE, "mpi4py.txt")
POOL = "http://deb.debian.org/debian/pool/main/"

# Relative difference of the numbers that is allowed. Libraries add numbers in different orders.
TOLERANCE = 1e-6

# Seconds.
LIMIT = 600


class Wrong(Exception):
    """Describes a check that failed."""


def run(command, folder, environment):
    """Runs a command, and returns its output and its duration in seconds."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=LIMIT)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise Wrong(f"time limit of {LIMIT} s exceeded")
    return output, process.returncode, time.monotonic() - began


def run_ranks(mpich, ranks, command, folder):
    """Runs a program with a number of ranks, and checks its exit code."""
    if mpich:
        start = ["nice", "mpiexec", "-n", str(ranks)]
    else:
        start = [os.environ["MPI_HOST"], str(ranks)]
    output, code, seconds = run(start + command, folder, {})
    if code:
        raise Wrong(f"exit code {code}: {output[-500:]}")
    return output, seconds


def scratch():
    """Returns an empty folder."""
    folder = os.path.join(WORK, "run")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def number(pattern, output):
    found = re.findall(pattern, output, re.M)
    if not found:
        raise Wrong(f"the output has no {pattern}: {output[-500:]}")
    return float(found[-1])


class NetPipe:
    """NetPIPE: messages of 5 to 100,000 bytes, whose content is checked."""

    def prepare(self):
        self.program = os.path.join(WORK, "NetPIPE-3.7.2", "NPmpi")
        if not os.path.exists(self.program):
            sha256 = "13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8"
            fetch(POOL + "n/netpipe/netpipe_3.7.2.orig.tar.gz", sha256)
            call(["make", "-C", os.path.dirname(self.program), "mpi", "MPICC=mpicc_abi"])

    def cases(self):
        yield "NetPIPE, integrity", 2, self.integrity

    def integrity(self, mpich, ranks):
        command = [self.program, "-i", "-u", "100000"]
        output, seconds = run_ranks(mpich, ranks, command, scratch())
        return {"passed": len(re.findall("Integrity check passed", output))}, seconds


# Makefile of HPCC. HPL_packL.c calls functions that MPI-3.0 removed.
HPCC = """
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir
RM = /bin/rm -f
TOUCH = touch
ARCH = graphmap
TOPdir = ../../..
INCdir = $(TOPdir)/include
BINdir = $(TOPdir)/bin/$(ARCH)
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
LAlib = -l:libblas.a -lgfortran
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) $(LAlib) -lm
HPL_DEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle $(HPL_INCLUDES)
CC = mpicc_abi
CCNOOPT = $(HPL_DEFS)
CCFLAGS = $(HPL_DEFS) -O2 -w
LINKER = mpicc_abi
LINKFLAGS = $(CCFLAGS)
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
"""


class Hpcc:
    """HPC Challenge: Linpack, transposition, random access, FFT, matrix products, streams."""

    def prepare(self):
        self.folder = os.path.join(WORK, "hpcc-1.5.0")
        if not os.path.exists(os.path.join(self.folder, "hpcc")):
            sha256 = "0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8"
            fetch(POOL + "h/hpcc/hpcc_1.5.0.orig.tar.gz", sha256)
            with open(os.path.join(self.folder, "hpl", "Make.graphmap"), "w") as file:
                file.write(HPCC)
            say("compiling HPCC")
            call(["make", "-C", self.folder, "arch=graphmap"])

    def cases(self):
        for ranks in (4, 16, 64):
            yield "HPCC", ranks, self.all_tests

    def all_tests(self, mpich, ranks):
        folder, side = scratch(), int(ranks**0.5)
        with open(os.path.join(self.folder, "_hpccinf.txt")) as file:
            rows = file.read().split("\n")
        # Problem size, block size, and the grid of processes.
        for row, value in ((5, 100 * side), (7, 20), (10, side), (11, side)):
            rows[row] = str(value)
        with open(os.path.join(folder, "hpccinf.txt"), "w") as file:
            file.write("\n".join(rows))
        output, seconds = run_ranks(mpich, ranks, [os.path.join(self.folder, "hpcc")], folder)
        with open(os.path.join(folder, "hpccoutf.txt")) as file:
            output = file.read()
        if number(r"^Success=(\d+)", output) != 1:
            raise Wrong("Success is not 1")
        failures = r"\(failed\)|\bFAILED\b|[1-9]\d* tests completed and failed"
        failed = re.findall(rf"{failures}|Node\(s\) with error [1-9]", output)
        if failed:
            raise Wrong(failed[0])
        names = ["HPL_Anorm1", "HPL_BnormI", "HPL_Xnorm1", "HPL_XnormI"]
        return {name: number(rf"^{name}=(\S+)", output) for name in names}, seconds


class Hypre:
    """HYPRE's test drivers: a linear system, solved by a number of methods."""

    # Solvers of the drivers.
    IJ = {1: "AMG-PCG", 3: "AMG-GMRES", 8: "ParaSails-PCG", 43: "Euclid-PCG", 90: "AMG-DD"}
    STRUCT = {0: "SMG", 1: "PFMG", 10: "SMG-CG", 18: "DS-CG", 31: "PFMG-GMRES"}
    GRIDS = {4: "2 2 1", 16: "4 2 2", 64: "4 4 4"}

    def prepare(self):
        source = os.path.join(WORK, "hypre-2.26.0", "src")
        self.folder = os.path.join(source, "test")
        if not os.path.exists(os.path.join(self.folder, "struct")):
            sha256 = "c214084bddc61a06f3758d82947f7f831e76d7e3edeac2c78bb82d597686e05d"
            fetch(POOL + "h/hypre/hypre_2.26.0.orig.tar.gz", sha256)
            say("compiling HYPRE")
            options = ["CC=mpicc_abi", "CFLAGS=-O2", "--disable-fortran", "--without-CXX"]
            call(["./configure"] + options, cwd=source)
            call(["make", "-j", str(os.cpu_count())], cwd=source)
            call(["make", "ij", "struct"], cwd=self.folder)

    def cases(self):
        for ranks, grid in self.GRIDS.items():
            for driver, solvers in (("ij", self.IJ), ("struct", self.STRUCT)):
                for solver, name in solvers.items():
                    size = "20 20 20" if driver == "ij" else "8 8 8"
                    words = f"-n {size} -P {grid} -solver {solver}".split()
                    yield f"HYPRE {driver}, {name}", ranks, self.solve(driver, words)

    def solve(self, driver, words):
        def solve(mpich, ranks):
            command = [os.path.join(self.folder, driver)] + words
            output, seconds = run_ranks(mpich, ranks, command, scratch())
            residual = number(r"Final (?:GMRES )?Relative Residual Norm = (\S+)", output)
            if not residual < 1e-6:
                raise Wrong(f"the residual is {residual}")
            iterations = number(r"Iterations = (\d+)", output)
            return {"iterations": iterations, "residual": residual}, seconds

        return solve


class Mpi4py:
    """mpi4py's tests. Python is the only rank."""

    VERSION = "4.1.2"

    def prepare(self):
        self.python = os.path.join(WORK, "python")
        self.source = os.path.join(WORK, f"mpi4py-{self.VERSION}")
        if os.path.exists(os.path.join(self.python, "compiled")):
            return
        say("compiling mpi4py")
        call([sys.executable, "-m", "venv", self.python])
        pip = [os.path.join(self.python, "bin", "pip")]
        options = ["--no-deps", "--no-binary", "mpi4py", "--dest", WORK]
        call(pip + ["download", f"mpi4py=={self.VERSION}"] + options)
        archive = self.source + ".tar.gz"
        call(["tar", "-xf", archive, "-C", WORK])
        environment = {**os.environ, "MPICC": "mpicc_abi"}
        call(pip + ["install", archive, "numpy"], env=environment)
        open(os.path.join(self.python, "compiled"), "w").close()

    def cases(self):
        yield "mpi4py", 1, self.tests

    def tests(self, mpich, ranks):
        command = [os.path.join(self.python, "bin", "python"), "-B", "test/main.py"]
        left_out, reasons = [], {}
        for row in read_names(REASONS):
            name, reason = row.split(": ", 1)
            if name.startswith("not run "):
                left_out.append(name.removeprefix("not run "))
            else:
                reasons[name] = reason
        command += [word for name in left_out for word in ("-x", name)]
        environment = {}
        if not mpich:
            folder = scratch()
            library = os.path.join(os.path.dirname(os.environ["MPI_HOST"]), "libmpi_abi.so")
            os.symlink(os.path.abspath(library), os.path.join(folder, "libmpi_abi.so.1"))
            environment["LD_LIBRARY_PATH"] = folder
        output, _, seconds = run(command, self.source, environment)
        count = int(number(r"^Ran (\d+) tests", output))
        failed = re.findall(r"^(?:ERROR|FAIL): \S+ \((\S+)\)", output, re.M)
        skipped = re.findall(r"skipped=(\d+)", output)
        skipped = int(skipped[-1]) if skipped else 0
        unknown = [name for name in failed if not any(part in name for part in reasons)]
        say(f"mpi4py: {count} tests, {len(set(failed))} failed, {skipped} skipped")
        if unknown and not mpich:
            raise Wrong(f"no reason is listed: {', '.join(unknown)}")
        return {}, seconds


PROGRAMS = {"netpipe": NetPipe, "hpcc": Hpcc, "hypre": Hypre, "mpi4py": Mpi4py}


def compare(numbers, expected):
    for name, value in expected.items():
        if abs(numbers[name] - value) > TOLERANCE * abs(value):
            raise Wrong(f"{name} is {numbers[name]}, not {value}")


def read_numbers():
    numbers = {}
    for row in read_names(NUMBERS) if os.path.exists(NUMBERS) else ():
        case, values = row.split(": ")
        numbers[case] = dict(word.split("=") for word in values.split())
        numbers[case] = {name: float(value) for name, value in numbers[case].items()}
    return numbers


def write_numbers(all_numbers):
    with open(NUMBERS, "w") as file:
        file.write("# Numbers that MPICH 5.0.2 computes. Made by applications.py --mpich.\n")
        for key, numbers in all_numbers.items():
            words = " ".join(f"{name}={value!r}" for name, value in numbers.items())
            file.write(f"{key}: {words}\n" if words else "")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--mpich", action="store_true")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("programs", nargs="*", choices=[[], *PROGRAMS], metavar="PROGRAM")
    options = parser.parse_args()
    if not options.mpich and "MPI_HOST" not in os.environ:
        sys.exit("error: MPI_HOST is not set")
    install()
    all_numbers, failures = read_numbers(), 0
    print("| program | ranks | result | seconds |\n|---|---|---|---|")
    for name in options.programs or PROGRAMS:
        program = PROGRAMS[name]()
        program.prepare()
        for case, ranks, check in program.cases():
            # 64 OS processes of MPICH need hours on few cores.
            if ranks != (options.ranks or ranks) or options.mpich and ranks > 16:
                continue
            key, seconds = f"{case}, {ranks} ranks", 0
            try:
                numbers, seconds = check(options.mpich, ranks)
                if options.mpich:
                    all_numbers[key] = numbers
                    write_numbers(all_numbers)
                else:
                    compare(numbers, all_numbers.get(key, {}))
                result = "passed"
            except Wrong as wrong:
                failures += 1
                result = f"failed: {' '.join(str(wrong).split())}"
            print(f"| {case} | {ranks} | {result} | {seconds:.1f} |", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
