"""Prints for each kind of global variable the number of ranks that have their own, as a Markdown
table: in a program, and in a private library of a program. A program of another compiler with
thread-local variables is refused. The test `globals_of_all_kinds_are_private` has the same sources.

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
    """Compiles a program with all kinds, and one whose library has them, each linked as `graphmap
    cc` does and as other compilers do. The latter cannot have thread-local variables itself."""
    (folder / "include").mkdir()
    (folder / "include/mpi.h").symlink_to(ABI / "src/mpi.h")
    (folder / "libmpi_abi.so").symlink_to(HOST.parent / "libmpi_abi.so.1")
    start = run("cc", "-print-file-name=Scrt1.o", capture_output=True, text=True).stdout.strip()
    options = ["-Wl,-e,_start", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,-z,now"]
    loadable = ["-shared", start, *options, ABI / "src/interpreter.S"]

    def objects(name, *options):
        files = [folder / f"{name}.c.o", folder / f"{name}.cpp.o"]
        for compiler, file in zip(["cc", "c++"], files):
            source = SOURCES / f"globals{file.with_suffix('').suffix}"
            run(compiler, *PRIVATE, *options, "-c", source, "-o", file)
        return files

    def link(name, options, parts):
        run("cc", *PRIVATE, *options, "-I", folder / "include", SOURCES / "kinds.c", *parts,
            "-L", folder, f"-Wl,-rpath,{folder}", "-lmpi_abi", "-lstdc++", "-o", folder / name)

    all_kinds = objects("all")
    library = folder / "libglobals.so"
    run("c++", "-shared", *all_kinds, "-Wl,-soname,libglobals.so", "-o", library)
    link("program", loadable, all_kinds)
    link("user", loadable, [library])
    link("other-program", [], objects("others", "-DWITHOUT_THREAD_LOCALS"))
    link("other-user", [], [library])


def right(program, ranks):
    """Returns the number of ranks with their own variable, by kind."""
    environment = {**os.environ}
    if program.name.endswith("user"):
        environment["GRAPHMAP_PRIVATE"] = "libglobals.so"
    text = run(HOST, ranks, program, capture_output=True, text=True, env=environment).stdout
    rows = (line.rsplit(": ", 1) for line in text.splitlines())
    return {kind: int(count) for kind, count in rows}


COLUMNS = {
    "program": "`graphmap cc`: program",
    "user": "private library",
    "other-program": "other compiler: program",
    "other-user": "private library",
}


def main():
    counts = [int(word) for word in sys.argv[1:]] or [2, 1000]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        compile_all(folder)
        tables = {name: [right(folder / name, ranks) for ranks in counts] for name in COLUMNS}
    print("Ranks that have their own variable, of " + " and ".join(map(str, counts)) + ":\n")
    print("| kind | " + " | ".join(COLUMNS.values()) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for kind in tables["program"][0]:
        cells = (", ".join(str(found.get(kind, "refused")) for found in table)
                 for table in tables.values())
        print(f"| {kind} | " + " | ".join(cells) + " |")


main()
