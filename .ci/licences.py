"""Looks at the licences of what the product links: all packages but those that only tests link.

usage: licences.py METADATA... [--table | --texts]

Reads the output of `cargo metadata`, of one workspace or several. Fails where a package has a licence that the product's own would not allow, or
needs a newer Rust than the product says that it does. Packages that only tests link (dev-dependencies) may be
under the GPL: they are not part of what anybody gets.
--table prints docs/THIRD-PARTY.md, --texts the licences in full, as they have to go with a binary: of all that
published members link, or all members of a workspace that publishes none.
"""

import json
import pathlib
import re
import sys

ALLOWED = {
    "MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "0BSD",
    "Unicode-3.0", "BSL-1.0", "CC0-1.0", "MIT-0", "Apache-2.0 WITH LLVM-exception",
}

TABLE = """# Packages of others

What the crates that are published link on Linux with their default features and `petgraph`, and under which licence. The gate holds this list
true; it is made by

```sh
cargo metadata --format-version 1 --locked --filter-platform x86_64-unknown-linux-gnu >target-metadata.json
python3 .ci/licences.py target-metadata.json --table >docs/THIRD-PARTY.md
```

The licences in full go with a binary: `.ci/release` adds them to it (`--texts` instead of `--table`).

| package | licence |
|---|---|"""


# Features that nothing may enable, in tests neither.
BANNED_FEATURES = {"petgraph": {"dot_parser", "all"}}

# What a package has inside it under another licence.
INSIDE = {"metis-sys": "; METIS and GKlib inside it: Apache-2.0"}


def allowed(expression):
    """Whether an SPDX expression can be met with allowed licences."""
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
    return eval(" ".join(python))  # only parentheses, and, or, True, False


def linked_packages(metadata, published_only):
    """What members of the workspace link or run while they are built, by name; and which are members."""
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
    """The Rust that a package says it needs, as numbers."""
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
            print("\n(its package has no file with the text)")


def main():
    handed_out = "--table" in sys.argv or "--texts" in sys.argv
    workspaces = [json.load(open(path)) for path in sys.argv[1:] if not path.startswith("--")]
    if handed_out:
        linked = [p for w in workspaces for p in linked_packages(w, True)[0]]
        # Packages without a source are in this repository.
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
    print(f"{len(packages)} packages linked, {len(wrong)} with a licence or a Rust that is not allowed")
    if wrong:
        sys.exit("\n".join(wrong))


main()
