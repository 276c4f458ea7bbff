#!/usr/bin/env python3
"""Runs lines of MPICH's test suite, and counts those that pass.

usage: suite.py [--mpich] [--only PART] [--jobs N] [--show] [FOLDER ...]

--mpich      run on MPICH 5.0.2 instead of graphmap, and write reference.txt
--only PART  run only lines that contain PART
--jobs N     lines to run at the same time [default: 1]
--show       print the output of lines that fail

FOLDER is a folder of the suite [default: all that reference.txt has]. The suite, the compiler and
MPICH 5.0.2 are downloaded to target/c-programs, or to the folder in C_PROGRAMS, and compiled there
once. MPI_HOST is the program that runs ranks as coroutines.
"""

import argparse
import concurrent.futures
import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.environ.get("C_PROGRAMS", os.path.join(ROOT, "target", "c-programs"))
REFERENCE = os.path.join(HERE, "reference.txt")
REASONS = os.path.join(HERE, "reasons.txt")

SOURCE = "http://deb.debian.org/debian/pool/main/m/mpich/mpich_4.0.2.orig.tar.xz"
SHA256 = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
FOLDERS = "attr group info topo comm init errhan pt2pt datatype coll".split()

# Seconds, as in the suite's own script.
LIMIT = 180


def say(text):
    print(text, file=sys.stderr, flush=True)


def call(command, **options):
    """Runs a command of the preparation. Prints its output and exits if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        sys.stderr.buffer.write(done.stdout[-4000:])
        sys.exit(f"error: {shlex.join(command)} failed")


def install():
    """Installs MPICH 5.0.2 with its compiler, adds it to PATH, and returns its folder."""
    os.makedirs(WORK, exist_ok=True)
    mpich = os.path.join(WORK, "mpich")
    if not os.path.exists(os.path.join(mpich, "bin", "mpicc_abi")):
        say("installing mpich 5.0.2 of PyPI")
        call([sys.executable, "-m", "venv", mpich])
        call([os.path.join(mpich, "bin", "pip"), "install", "--quiet", "mpich==5.0.2"])
    os.environ["PATH"] = os.path.join(mpich, "bin") + os.pathsep + os.environ["PATH"]
    return mpich


def fetch(source, sha256):
    """Downloads an archive, checks it, and unpacks it in the folder of this script's files."""
    archive = os.path.join(WORK, os.path.basename(source))
    if not os.path.exists(archive):
        say(f"downloading {source}")
        urllib.request.urlretrieve(source, archive + ".part")
        os.rename(archive + ".part", archive)
    with open(archive, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            sys.exit(f"error: {archive} is not the archive of Debian: remove it")
    call(["tar", "-xf", archive, "-C", WORK])


def prepare(folders):
    """Downloads and compiles what is missing."""
    mpich = install()
    suite = os.path.join(WORK, "mpich-4.0.2", "test", "mpi")
    if not os.path.exists(os.path.join(suite, "configure")):
        fetch(SOURCE, SHA256)
    build = os.path.join(WORK, "build")
    if not os.path.exists(os.path.join(build, "util", "Makefile")):
        say("configuring the suite")
        os.makedirs(build, exist_ok=True)
        options = ["--enable-strictmpi", "--disable-fortran", "--disable-cxx"]
        compiler = ["MPICC=mpicc_abi", "CC=mpicc_abi", f"--with-mpi={mpich}"]
        call([os.path.join(suite, "configure")] + compiler + options, cwd=build)
    for folder in ["util", "dtpools/src"] + folders:
        mark = os.path.join(build, folder, ".compiled")
        if os.path.isdir(os.path.join(build, folder)) and not os.path.exists(mark):
            say(f"compiling {folder}")
            command = ["make", "-k", "-j", str(os.cpu_count()), "-C", os.path.join(build, folder)]
            # Some programs need functions that strict MPI does not have.
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            open(mark, "w").close()
    return suite, build


class Line:
    """A line of a list of tests."""

    def __init__(self, folder, text):
        self.folder = folder
        self.text = " ".join(text.split())
        words = self.text.split()
        self.program, self.ranks = words[0], int(words[1]) if len(words) > 1 else 2
        self.arguments, self.environment = [], {}
        self.test, self.limit, self.skip = "TestStandard", LIMIT, False
        for word in words[2:]:
            name, _, value = word.partition("=")
            if name == "arg":
                self.arguments.append(value)
            elif name == "env":
                variable, _, content = value.partition("=")
                self.environment[variable] = content
            elif name == "resultTest":
                self.test = value
            elif name == "timeLimit":
                self.limit = int(value)
            elif name in ("xfail", "strict"):
                self.skip = self.skip or value not in ("", "false")

    def name(self):
        return f"{self.folder}/{self.text}"


def lines(suite, build, folder):
    for place in (build, suite):
        path = os.path.join(place, folder, "testlist")
        if os.path.exists(path):
            with open(path) as file:
                rows = (row.split("#")[0].strip() for row in file)
                return [Line(folder, row) for row in rows if row]
    sys.exit(f"error: {folder} has no list of tests")


def passed(line, code, output):
    """Applies the rule of the suite's own script."""
    if line.test == "TestStatus" or line.test == "TestErrFatal":
        return code != 0
    rows = [row for row in output.splitlines() if row.strip()]
    none = [row for row in rows if re.fullmatch(r"\s*No [Ee]rrors\s*", row)]
    others = [row for row in rows if not re.fullmatch(r"\s*(No [Ee]rrors|Test Passed)\s*", row)]
    wanted = code != 0 if line.test == "TestStatusNoErrors" else code == 0
    return bool(none) and not others and wanted


def run(line, build, mpich):
    folder = os.path.join(build, line.folder)
    program = os.path.join(".", line.program)
    if not os.path.exists(os.path.join(folder, program)):
        return line, False, "the program does not compile", 0
    if mpich:
        start = ["mpiexec", "-n", str(line.ranks)]
    else:
        start = [os.environ["MPI_HOST"], str(line.ranks)]
    began = time.monotonic()
    process = subprocess.Popen(
        start + [program] + line.arguments,
        cwd=folder,
        env={**os.environ, **line.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=line.limit)[0]
        output = output.decode(errors="replace")
        good = passed(line, process.returncode, output)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0].decode(errors="replace") + "\ntime limit exceeded"
        good = line.test == "TestErrFatal"
    return line, good, output, time.monotonic() - began


def read_names(path):
    with open(path) as file:
        return [row.rstrip("\n") for row in file if row.strip() and not row.startswith("#")]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--mpich", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("folders", nargs="*")
    options = parser.parse_args()
    if not options.mpich and "MPI_HOST" not in os.environ:
        sys.exit("error: MPI_HOST is not set")
    folders = options.folders or FOLDERS
    suite, build = prepare(folders)
    wanted = None if options.mpich else set(read_names(REFERENCE))
    all_lines = [line for folder in folders for line in lines(suite, build, folder)]
    all_lines = [line for line in all_lines if not line.skip and options.only in line.name()]
    if wanted is not None:
        all_lines = [line for line in all_lines if line.name() in wanted]
    reasons = {}
    if os.path.exists(REASONS):
        reasons = dict(row.split(": ", 1) for row in read_names(REASONS))
    good, failed = [], []
    counts = {folder: [0, 0] for folder in folders}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        work = pool.map(lambda line: run(line, build, options.mpich), all_lines)
        for line, success, output, seconds in work:
            counts[line.folder][0] += success
            counts[line.folder][1] += 1
            (good if success else failed).append(line.name())
            if not success and options.show:
                say(f"--- {line.name()} ({seconds:.1f} s)\n{output[-1500:]}")
    print("| folder | lines | passed |\n|---|---|---|")
    for folder, (success, count) in counts.items():
        print(f"| {folder} | {count} | {success} |")
    print(f"| all | {len(all_lines)} | {len(good)} |")
    for name in failed:
        print(f"\nfailed: {name}: {reasons.get(name, 'no reason is listed')}", end="")
    print()
    if options.mpich:
        if not options.folders and not options.only:
            with open(REFERENCE, "w") as file:
                file.write("# Lines of MPICH's suite that pass on MPICH 5.0.2. Made by suite.py --mpich.\n")
                file.writelines(name + "\n" for name in good)
        return 0
    return int(any(name not in reasons for name in failed))


if __name__ == "__main__":
    sys.exit(main())
