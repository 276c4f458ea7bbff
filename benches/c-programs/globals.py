"""Prints for each kind of global variable the number of ranks that have their own, as a Markdown
table: in a program, and in a private library of a program. The test
`globals_of_all_kinds_are_private` has the same sources.

usage: globals.py [RANKS ...]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ABI = Path(__file__).resolve().parents[2] / "modules/abi"
SOURCES = ABI / "tests/programs"
HOST = Path(os.environ["MPI_HOST"])
PRIVATE = ["-O1", "-fPIC", "-ftls-model=global-dynamic"]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def compile_all(folder):
    """Compiles a program with all kinds, and one whose library has them. Links as `graphmap cc`
    does."""
    (folder / "include").mkdir()
    (folder / "include/mpi.h").symlink_to(ABI / "src/mpi.h")
    (folder / "libmpi_abi.so").symlink_to(HOST.parent / "libmpi_abi.so.1")
    objects = []
    for compiler, name in [("cc", "globals.c"), ("c++", "globals.cpp")]:
        objects.append(folder / f"{name}.o")
        run(compiler, *PRIVATE, "-c", SOURCES / name, "-o", objects[-1])
    library = folder / "libglobals.so"
    run("c++", "-shared", *objects, "-Wl,-soname,libglobals.so", "-o", library)
    start = run("cc", "-print-file-name=Scrt1.o", capture_output=True, text=True).stdout.strip()
    options = ["-Wl,-e,_start", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,-z,now"]
    for name, parts in [("program", [*objects, "-lstdc++"]), ("user", [library])]:
        run("cc", *PRIVATE, "-shared", start, *options, ABI / "src/interpreter.S",
            "-I", folder / "include", SOURCES / "kinds.c", *parts, "-L", folder,
            f"-Wl,-rpath,{folder}", "-lmpi_abi", "-o", folder / name)


def right(program, ranks):
    """Returns the number of ranks with their own variable, by kind."""
    environment = {**os.environ, "GRAPHMAP_PRIVATE": "libglobals.so"}
    if program.name == "program":
        del environment["GRAPHMAP_PRIVATE"]
    text = run(HOST, ranks, program, capture_output=True, text=True, env=environment).stdout
    rows = (line.rsplit(": ", 1) for line in text.splitlines())
    return {kind: int(count) for kind, count in rows}


def main():
    counts = [int(word) for word in sys.argv[1:]] or [2, 1000]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        compile_all(folder)
        columns = [(name, ranks) for name in ["program", "user"] for ranks in counts]
        tables = [right(folder / name, ranks) for name, ranks in columns]
    names = {"program": "program", "user": "private library"}
    heads = [f"{names[name]}, {ranks} ranks" for name, ranks in columns]
    print("| kind | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for kind in tables[0]:
        print(f"| {kind} | " + " | ".join(str(table.get(kind, 0)) for table in tables) + " |")


main()
