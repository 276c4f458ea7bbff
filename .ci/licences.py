"""Checks the licences of linked packages, or lists them.

usage: licences.py METADATA... [--table | --texts]

Reads the output of `cargo metadata` of one or more workspaces. Fails if the licence of a linked
package is not allowed, or if the package needs a newer Rust than the workspace declares. Packages
that only tests link (dev-dependencies) may be under the GPL, because graphmap does not distribute
them.

--table prints docs/THIRD-PARTY.md. --texts prints the licences in full, which each binary must
include. Both cover the packages that published members link. If a workspace publishes nothing, they
cover the packages that any member links.
"""

import json
import pathlib
import re
import sys

ALLOWED = {
    "MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "0BSD",
    "Unicode-3.0", "BSL-1.0", "CC0-1.0", "MIT-0", "Apache-2.0 WITH LLVM-exception",
}

TABLE = """# Third-party packages

The packages that the published crates link on Linux, with their default features and the feature
`petgraph`, and the licences of these packages. These commands generate this file:

```sh
cargo metadata --format-version 1 --locked --filter-platform x86_64-unknown-linux-gnu >target-metadata.json
python3 .ci/licences.py target-metadata.json --table >docs/THIRD-PARTY.md
```

The gate compares this file with their output. Each binary includes the licences in full:
`.ci/release` adds them to the tar (`--texts` instead of `--table`).

| package | licence |
|---|---|"""


# Features that no package may enable, not even for tests.
BANNED_FEATURES = {"petgraph": {"dot_parser", "all"}}

# Licences of other software that a package contains.
INSIDE = {"metis-sys": "; METIS and GKlib inside it: Apache-2.0"}


def allowed(expression):
    """Returns True if allowed licences satisfy an SPDX expression."""
    expression = expression.replace("/", " OR ")
    words = re.findall(r"\(|\)|[^\s()]+(?: WITH \S+)?", expression)
    python = []
    for word in words:
        if word in ("(", ")"):
            python.append(word)
        elif word in ("AND", "OR"):
            python.append(word.lower())
        else:
            python.append(str(word in ALLOWED))
    return eval(" ".join(python))  # Contains only parentheses, `and`, `or`, `True` and `False`.


def linked_packages(metadata, published_only):
    """Returns the packages that members of the workspace link or build with, sorted by name, and
    the ids of the members."""
    packages = {p["id"]: p for p in metadata["packages"]}
    nodes = {n["id"]: n for n in metadata["resolve"]["nodes"]}
    ours = set(metadata["workspace_members"])
    published = [i for i in ours if packages[i]["publish"] is None]
    todo = published if published_only and published else list(ours)
    linked = set(todo)
    while todo:
        for dep in nodes[todo.pop()]["deps"]:
            normal = any(kind["kind"] in (None, "build") for kind in dep["dep_kinds"])
            if normal and dep["pkg"] not in linked:
                linked.add(dep["pkg"])
                todo.append(dep["pkg"])
    by_name = sorted((packages[i]["name"], packages[i]["version"], i) for i in linked)
    return [packages[i] for _, _, i in by_name], ours


def needed_rust(package):
    """Returns the Rust version that a package declares, as numbers."""
    return [int(part) for part in (package["rust_version"] or "0").split(".")]


def table(others):
    print(TABLE)
    for package in others:
        licence = (package["license"] or "none given").replace("/", " OR ")
        print(f"| {package['name']} | {' '.join(licence.split())}{INSIDE.get(package['name'], '')} |")


def texts(others):
    print("Packages that are linked into graphmap, and their licences.")
    for package in others:
        folder = pathlib.Path(package["manifest_path"]).parent
        print(f"\n{'=' * 78}\n{package['name']} {package['version']}: {package['license']}")
        named = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|UNLICENSE)", re.IGNORECASE)
        files = sorted(p for p in folder.rglob("*") if p.is_file() and named.match(p.name))
        for path in files:
            print(f"\n--- {path.relative_to(folder)}\n")
            print(path.read_text(errors="replace"))
        if not files:
            print("\n(the package has no file with the text)")


def main():
    handed_out = "--table" in sys.argv or "--texts" in sys.argv
    workspaces = [json.load(open(path)) for path in sys.argv[1:] if not path.startswith("--")]
    if handed_out:
        linked = [p for w in workspaces for p in linked_packages(w, True)[0]]
        # Packages without a source belong to this repository.
        others = {(p["name"], p["version"]): p for p in linked if p["source"]}
        others = [package for _, package in sorted(others.items())]
        return table(others) if "--table" in sys.argv else texts(others)
    for metadata in workspaces:
        check(metadata)


def check(metadata):
    packages, ours = linked_packages(metadata, False)
    others = [p for p in packages if p["id"] not in ours]
    wrong = []
    for package in packages:
        licence = package["license"] or "none given"
        if not package["license"] or not allowed(licence):
            wrong.append(f"{package['name']} {package['version']}: {licence}")
    for node in metadata["resolve"]["nodes"]:
        for feature in BANNED_FEATURES.get(re.sub(r".*[#/]([^@#/]+)@.*", r"\1", node["id"]), set()) & set(node["features"]):
            wrong.append(f"{node['id']}: the feature {feature} pulls in a package under the GPL")
    newest = max(needed_rust(p) for p in packages if p["id"] in ours)
    for package in others:
        if needed_rust(package) > newest + [0] * 3:
            wrong.append(f"{package['name']} {package['version']}: needs Rust {package['rust_version']}")
    print(f"{len(packages)} packages linked, {len(wrong)} with a licence or a Rust version that is not allowed")
    if wrong:
        sys.exit("\n".join(wrong))


main()
