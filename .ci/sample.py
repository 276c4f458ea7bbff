#!/usr/bin/env python3
"""Draws texts for a test of readers: help texts, diagnostics and paragraphs of the book, or doc comments of functions.

usage: .ci/sample.py [COMMIT] [--command PATH] [--count N]
       .ci/sample.py [COMMIT] --docs [--count N]

COMMIT seeds the choice [default: HEAD], so a sample cannot be chosen. PATH is the command
[default: target/debug/graphmap]. A reader sees only the sample and writes down the meaning of
each text and the action to take. A second reader compares the answers with the behaviour.

The example of an error page prints its diagnostic. The files of the example are not shown.
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import tempfile

import prose

VERBS = ("check expand fmt emit new setup partition run view passes explain import doctor completions man").split()


def help_texts(command):
    """Returns each option or argument with its help, once, as `graphmap VERB --help` prints it."""
    texts = {}
    for verb in VERBS:
        printed = subprocess.run([command, verb, "--help"], check=True, capture_output=True, text=True).stdout
        for entry in re.split(r"\n(?=  (?: {4})?[-<\[][^\n]*\n {10})", printed)[1:]:
            lines = [line.strip() for line in re.split(r"\n\n?(?=\S)", entry)[0].splitlines()]
            text = "\n    ".join(line for line in lines if line)
            if not lines[0].startswith(("-h,", "-V,")):
                texts.setdefault(text, f"graphmap {verb} {text}")
    return sorted(texts.values())


def diagnostic(page, command):
    """Runs the example of an error page, and returns the diagnostic with the page's code."""
    code = page.stem
    fences = re.findall(r"```(\w+)(?:,(\w+))?\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    for language, how, text in fences:
        with tempfile.TemporaryDirectory() as folder:
            if language in ("dot", "json") and how == "fails":
                pathlib.Path(folder, f"example.{language}").write_text(text, encoding="utf-8")
                script = f"graphmap check example.{language}"
            elif language == "console" and not how:
                script = "\n".join(line[2:] for line in text.splitlines() if line.startswith("$ "))
            else:
                continue
            path = f"{command.parent}:{os.environ['PATH']}"
            done = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=600,
                                  env={**os.environ, "PATH": path}, check=False)
            reports = re.findall(r"^(?:error|warning|note)\[\w+\].*?(?:\n\n|\Z)", done.stderr, re.S | re.M)
            for report in reports:
                if f"[{code}]" in report:
                    return report.rstrip()
    return None


def paragraphs():
    """Returns the book's paragraphs with at least 20 words, each with the title of its chapter."""
    found = []
    for page in sorted((prose.ROOT / "docs/src").glob("*.md")):
        source = page.read_text(encoding="utf-8")
        title = source.split("\n", 1)[0].lstrip("# ")
        for block in re.split(r"\n\n+", re.sub(r"```.*?```", "", source, flags=re.S)):
            if not block.startswith(("#", "|", "<", "{{")) and len(block.split()) >= 20:
                found.append(f"(chapter \"{title}\") {block.strip()}")
    return found


def docs():
    """The doc comments of functions with their signatures, and the type or trait of methods."""
    found = []
    for path in prose.tracked():
        parts = path.relative_to(prose.ROOT).parts
        source = parts[0] == "src" or parts[0] == "modules" and parts[1] != "testing" and parts[2:3] == ("src",)
        if path.suffix != ".rs" or not source or path.is_symlink():
            continue
        around = ""
        comment = []
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            text = line.strip()
            if re.match(r"(pub(\([^)]*\))? )?(unsafe )?(impl|trait)\b", line):
                around = text.rstrip(" {")
            elif line == "}":
                around = ""
            if text.startswith("///"):
                comment.append(text)
            elif re.match(r"(pub(\([^)]*\))? )?(const )?(async )?(unsafe )?(extern \"C\" )?fn ", text):
                signature = []
                for part in lines[number:]:
                    signature.append(part.strip())
                    if part.rstrip().endswith(("{", ";", "}")):
                        break
                if comment:
                    inside = f"{around}\n" if line.startswith(" ") and around else ""
                    shown = "\n".join(comment) + "\n" + " ".join(signature).rstrip(" {")
                    found.append(f"({'/'.join(parts)}:{number + 1}) {inside}\n{shown}")
                comment = []
            elif not text.startswith("#["):
                comment = []
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--command", type=pathlib.Path, default=prose.ROOT / "target/debug/graphmap")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--count", type=int)
    options = parser.parse_args()
    command = options.command.resolve()
    commit = subprocess.run(["git", "rev-parse", options.commit], cwd=prose.ROOT, check=True, capture_output=True,
                            text=True).stdout.strip()
    choice = random.Random(commit)
    if options.docs:
        print(f"Drawn for {commit}.")
        for number, text in enumerate(choice.sample(docs(), options.count or 50), 1):
            print(f"\n## Doc {number}\n\n{text}")
        return
    count = options.count or 30
    pages = sorted((prose.ROOT / "docs/src/errors").glob("G*.md"))
    choice.shuffle(pages)
    shown = []
    for page in pages:
        text = len(shown) < count and diagnostic(page, command)
        shown += [text] if text else []
    print(f"Drawn for {commit}.")
    for name, texts in [
        ("Help", choice.sample(help_texts(command), count)),
        ("Diagnostics", shown),
        ("Book", choice.sample(paragraphs(), count)),
    ]:
        for number, text in enumerate(texts, 1):
            print(f"\n## {name} {number}\n\n{text}")


if __name__ == "__main__":
    main()
