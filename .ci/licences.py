"""Fails when a package that the product links has a licence that its own would not allow.

Reads the output of `cargo metadata`. Packages that only tests link (dev-dependencies) may be
under the GPL: they are not part of what anybody gets.
"""

import json
import re
import sys

ALLOWED = {
    "MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "0BSD",
    "Unicode-3.0", "BSL-1.0", "CC0-1.0", "MIT-0", "Apache-2.0 WITH LLVM-exception",
}


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


def main():
    metadata = json.load(open(sys.argv[1]))
    packages = {p["id"]: p for p in metadata["packages"]}
    nodes = {n["id"]: n for n in metadata["resolve"]["nodes"]}
    todo = list(metadata["workspace_members"])
    linked = set(todo)
    while todo:
        for dep in nodes[todo.pop()]["deps"]:
            normal = any(kind["kind"] in (None, "build") for kind in dep["dep_kinds"])
            if normal and dep["pkg"] not in linked:
                linked.add(dep["pkg"])
                todo.append(dep["pkg"])
    wrong = []
    for package in (packages[i] for i in sorted(linked)):
        licence = package["license"] or "none given"
        if not package["license"] or not allowed(licence):
            wrong.append(f"{package['name']} {package['version']}: {licence}")
    print(f"{len(linked)} packages linked, {len(wrong)} with a licence that is not allowed")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
