#!/usr/bin/env python3
"""Measures the English of this repository: documents, help texts, diagnostics and comments. Code is not measured.

usage: .ci/prose.py [FILE...]              all files that git tracks, by group; or the files alone
       .ci/prose.py --list PATTERN [FILE...]  where a regular expression matches in texts
       .ci/prose.py --long [FILE...]       sentences of more than 30 words
       .ci/prose.py --strings [FILE...]    the strings of Rust sources that count as texts
       .ci/prose.py --self-test

Exit status 1 if a group is above a limit. Groups are: each document with more than 500 words, help texts and
diagnostics together, and the comments of each crate.

The limits leave room above the highest rate of texts by others, measured by this script. Matches in 1,000 words;
prose: The Rust Programming Language and The Cargo Book (as in Rust 1.95), ripgrep 14.1.1 (GUIDE, FAQ), pyo3 0.30.1
(guide); strings: ripgrep; comments: naga 24.0.0, tokio 1.43.0, ripgrep. Sentences: words, and percent above 30 words.

                            Rust book  Cargo  ripgrep   pyo3 | strings |  naga  tokio  ripgrep
words                          160456  140095   13272  43970 |   10863 | 70485 153757    11230
who, whom, whoever               0.16    0.05    0.08   0.16 |    0.00 |  0.01   0.03     0.00
nobody, somebody                 0.01    0.01    0.00   0.00 |    0.00 |  0.06   0.00     0.00
so many, so long                 0.01    0.01    0.00   0.00 |    0.00 |  0.00   0.01     0.09
tell, told                       0.52    0.33    0.38   0.02 |    0.00 |  0.10   0.05     0.09
what, whatever                   2.11    0.59    1.88   0.39 |    0.18 |  0.78   0.20     1.07
that which, the one that         0.04    0.11    0.00   0.00 |    0.00 |  0.06   0.01     0.00
that of, those of                0.04    0.01    0.00   0.00 |    0.00 |  0.07   0.03     0.00
where for if                     0.02    0.04    0.00   0.00 |    0.00 |  0.06   0.12     0.00
stands, lies                     0.04    0.00    0.08   0.00 |    0.00 |  0.04   0.00     0.00
nothing                          0.21    0.06    0.15   0.09 |    0.00 |  0.27   0.27     0.71
else                             0.20    0.06    0.08   0.05 |    0.00 |  0.30   0.11     0.71
semicolon                        1.62    0.21    0.30   0.75 |    0.18 |  1.26   0.40     0.00
all other patterns, each        <0.09   <0.09   <0.09  <0.09 |    0.00 | <0.09  <0.09    <0.10
mean length of sentences         19.6    13.4    15.6   16.6 |    17.1 |  13.5   13.5     12.9
long sentences                   12.2     3.5     6.0    6.7 |    13.5 |   5.2    2.9      1.7
"""

import io
import pathlib
import re
import string
import subprocess
import sys
import tokenize
from bisect import bisect_right
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Patterns, and how often each may occur in 1,000 words. A group may always use each once.
PATTERNS = {
    "who, whom, whoever": (r"\b(?:who|whom|whoever)\b", 0.5),
    "nobody, somebody": (r"\b(?:no|some|any|every)body\b", 0.1),
    "so many, so long": (r"\bso (?:many|long|much|few)\b", 0.2),
    "tell, told": (r"\b(?:tells?|told|telling)\b", 0.5),
    "mended, anew": (r"\b(?:mend(?:s|ed|ing)?|anew)\b", 0.05),
    "what, whatever": (r"\b(?:what|whatever)\b", 2.0),
    "that which, the one that": (
        r"\b(?:that|those) (?:which|who|whom)\b|\bthose that\b|\bthe (?:things?|ones?) (?:that|which)\b", 0.2),
    "that of, those of": (r"\b(?:that|those) of\b", 0.5),
    "it is ... that": (r"\bit is (?:the|a|an) \w+(?: \w+)? (?:that|which)\b", 0.2),
    "where for if": (r"(?:^\s*|[.;:] )where\b(?! to\b| is\b| are\b)", 0.4),
    "left out": (r"\b(?:left|leaves?|leaving) out\b", 0.1),
    "stands, lies": (r"\b(?:stands?|stood)\b(?! (?:for|in for|out)\b)|\b(?:lies?|lay|lying)\b", 0.3),
    "is none, for ever, says so": (
        r"(?<!\bthere )\b(?:is|are) none\b|\bfor ever\b|\bsays? so\b|\b(?:is|are) not there\b|\ball the same\b"
        r"|\bhand(?:s|ed)? on\b|\b(?:goes|went|gone) by\b|\bat the most\b|\b(?:is|are) ours\b", 0.1),
    "nothing": (r"\bnothing\b", 1.0),
    "else": (r"\belse\b", 0.5),
    "finding": (
        r"\b(?:a|an|the|this|that|its|no|each|every|as|one|some|such|two|more) findings?\b|\bfindings\b", 0.1),
    "drawing": (
        r"\b(?:a|an|the|this|that|its|no|each|every|of|one|in|from|same|own|bare|only) drawing\b"
        r"|\bdrawings\b|\bundrawn\b", 0.1),
    "standstill": (r"\bstandstills?\b|\bstand(?:s|ing)? still\b", 0.05),
    "turn of a process": (
        r"\b(?:a|the|its|each|every|one|this|that|next|same|own|per) turns?\b|\bturns (?:of|that|are|in which)\b", 0.2),
    "semicolon": (r";(?=\s|$)", 4.0),  # not in tables, nor in messages: these have no full stop, and a semicolon joins two statements
}

MEAN_LIMIT = 20.0
LONG = 30
LONG_LIMIT = 5.0  # percent

ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|ca|Dr|Mr|Mrs|Prof|No|Nos|Fig|Sec|pp?|vol|al|St|Jr|Ltd|Inc)|\b[A-Z])\.$")
END = re.compile(r"[.!?]+[\"'”’)\]*_]*(?=\s|$)")
STARTER = re.compile(r"[\"'“‘(\[*_]*(?:[A-Z0-9]|x\b|-|graphmap\b)")


class Unit:
    """A paragraph, a list item, a table row, a heading, or a string."""

    __slots__ = ("path", "starts", "numbers", "text", "sentences")

    def __init__(self, path, lines, sentences):
        """`lines` are pairs of a line number and a text; `sentences` is "all", "ended" or ""."""
        self.path = path
        self.numbers = [number for number, _ in lines]
        self.starts, at = [], 0
        for _, text in lines:
            self.starts.append(at)
            at += len(text) + 1
        self.text = " ".join(text for _, text in lines)
        self.sentences = sentences

    def line(self, offset):
        return self.numbers[bisect_right(self.starts, offset) - 1]


def blank(match):
    """Returns a replacement of the same length, so that line numbers stay."""
    return "x" + " " * (len(match.group()) - 1)


CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
IMAGE_OR_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])")
TAG = re.compile(r"</?[A-Za-z][^<>]*>|<(?:https?|mailto):[^<>]*>")
URL = re.compile(r"\bhttps?://\S+")
EMPHASIS = re.compile(r"(?<![\w*])\*{1,3}(?=\S)|(?<=[^\s*])\*{1,3}(?![\w*])|(?<!\w)_{1,2}(?=\w)|(?<=[\w.])_{1,2}(?!\w)")


def keep_text(match):
    text = " " + match.group(1)
    return text + " " * (len(match.group()) - len(text))


def inline(text):
    """Blanks code, addresses and markup in a paragraph of Markdown, and keeps its length."""
    if "`" in text:
        text = CODE.sub(blank, text)
    if "[" in text:
        text = IMAGE_OR_LINK.sub(keep_text, text)
    if "<" in text:
        text = TAG.sub(lambda m: " " * len(m.group()), text)
    if "://" in text:
        text = URL.sub(blank, text)
    if "*" in text or "_" in text:
        text = EMPHASIS.sub(lambda m: " " * len(m.group()), text)
    return text


FENCE = re.compile(r"(?:[-*+] +|\d+[.)] +)?(`{3,}|~{3,})")
ITEM = re.compile(r"(?:[-*+]|\d+[.)]) +")


def markdown(path, lines, indented_code=True):
    """Yields the units of Markdown. `lines` are pairs of a line number and a text."""
    units, paragraph = [], []
    fence, comment, in_list, after_blank = None, False, False, True

    def flush(sentences="ended"):
        if paragraph:
            unit = Unit(path, paragraph, sentences)
            unit.text = inline(unit.text)
            units.append(unit)
            paragraph.clear()

    for number, line in lines:
        stripped = line.strip()
        while stripped.startswith(">"):
            stripped = stripped[1:].lstrip()
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = None
            continue
        if comment or "<!--" in stripped:
            before, opened, rest = ("", "", stripped) if comment else stripped.partition("<!--")
            _, closed, after = rest.partition("-->")
            comment = not closed
            stripped = (before + after).strip()
            if not stripped:
                continue
        opening = FENCE.match(stripped)
        if opening:
            flush()
            fence = opening.group(1)
            continue
        if not stripped:
            flush()
            after_blank = True
            continue
        indent = len(line) - len(line.lstrip())
        if indented_code and indent >= 4 and after_blank and not paragraph and not in_list:
            continue
        after_blank = False
        if stripped.startswith("#") and stripped.lstrip("#")[:1] in (" ", ""):
            flush()
            in_list = False
            paragraph.append((number, stripped.lstrip("#").strip()))
            flush("")
        elif stripped.startswith("|"):
            flush()
            in_list = False
            if stripped.strip("|-: "):
                paragraph.append((number, stripped.replace("|", " ")))
                flush("")
        elif re.match(r"\[[^\]]+\]: ", stripped) or stripped.startswith("{{#"):
            flush()
        elif ITEM.match(stripped):
            flush()
            in_list = True
            paragraph.append((number, ITEM.sub("", stripped, count=1)))
        else:
            in_list = in_list and (indent > 0 or bool(paragraph))
            paragraph.append((number, stripped))
    flush()
    return units


TOKEN = re.compile(
    r"""//[^\n]*|/\*|\bbr?(?P<bytes>\#*)"|\bc?r(?P<hashes>\#*)"|\bc?"|"|'(?:[^'\\\n]|\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.))'|\#!?\[\s*cfg\(test\)\s*\]|\bconcat!\s*\(|\#\[derive\([^)]*\b(?:Args|Parser|Subcommand|ValueEnum)\b""",
    re.X)
BRACES = re.compile(r"""//[^\n]*|/\*.*?\*/|\br(\#*)".*?"\1|"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.))'|[{};]""", re.S | re.X)
STRING_END = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"', re.S)
COMMENT_EDGE = re.compile(r"/\*|\*/")


def item_end(source, at):
    """Returns the end of the item at `at`: after its block, or after a semicolon before a block."""
    depth = 0
    for token in BRACES.finditer(source, at):
        if token.group() == "{":
            depth += 1
        elif token.group() == "}":
            depth -= 1
            if depth <= 0:
                return token.end()
        elif token.group() == ";" and depth == 0:
            return token.end()
    return len(source)


class Rust:
    """Comments and strings of a Rust source: lists of (line number, text), without tests."""

    def __init__(self, source):
        self.source = source
        self.newlines = [m.start() for m in re.finditer("\n", source)]
        self.comments, self.strings, self.help = [], [], []
        self.scan()

    def line(self, at):
        return bisect_right(self.newlines, at - 1) + 1

    def scan(self):
        source, at, help_until, concat_until, joined = self.source, 0, 0, 0, None
        while token := TOKEN.search(source, at):
            start, at, text = token.start(), token.end(), token.group()
            if text.startswith("//"):
                line = self.line(start)
                kind = text[2:3] if text[2:3] in ("/", "!") and text[2:4] != "//" else ""
                alone = not source[source.rfind("\n", 0, start) + 1:start].strip()
                target = self.help if kind == "/" and start < help_until else self.comments
                target.append((line, kind, alone, text[2 + len(kind):].removeprefix(" ")))
            elif text == "/*":
                depth = 1
                while depth and (edge := COMMENT_EDGE.search(source, at)):
                    depth += 1 if edge.group() == "/*" else -1
                    at = edge.end()
                body = source[start + 2:at - 2].lstrip("*!")
                for offset, line in enumerate(body.split("\n")):
                    self.comments.append((self.line(start) + offset, "*", True, line.strip().removeprefix("*").strip()))
            elif text.startswith("#[derive"):
                open_brace = source.find("{", at)
                help_until = item_end(source, at) if open_brace >= 0 else at
            elif text.startswith("#"):
                rest = source[at:at + 200].lstrip()
                if text.startswith("#!"):
                    return
                # Further attributes and the item.
                at = item_end(source, at) if rest else at
            elif text.startswith("concat!"):
                concat_until, depth, position = len(source), 1, at
                for piece in re.finditer(r'"(?:[^"\\]|\\.)*"|[()]', source[at:]):
                    depth += {"(": 1, ")": -1}.get(piece.group(), 0)
                    if not depth:
                        concat_until = at + piece.start()
                        break
                joined = None
            elif text.endswith('"'):
                raw = "r" in text
                if raw:
                    hashes = token.group("hashes") or token.group("bytes") or ""
                    end = source.find('"' + hashes, at)
                    end = len(source) if end < 0 else end
                    content, at = source[at:end], end + 1 + len(hashes)
                else:
                    closing = STRING_END.match(source, at)
                    if not closing:
                        return
                    content, at = source[at:closing.end() - 1], closing.end()
                if text.startswith("b"):
                    continue
                lines = string_lines(self.line(start), content, raw)
                if start < concat_until and joined is not None:
                    last, first = joined[-1], lines[0]
                    joined[-1] = (last[0], last[1] + first[1])
                    joined.extend(lines[1:])
                else:
                    self.strings.append(lines)
                    joined = lines if start < concat_until else None


PLACEHOLDER = re.compile(r"\{\{|\}\}|\{[A-Za-z0-9_.]*(?::[^{}]*)?\}")


def string_lines(line, content, raw):
    """Returns the lines of a string, as pairs of a line number in the source and a text."""
    lines, text, at = [], "", 0
    pattern = re.compile(r"\n") if raw else re.compile(r"\n|\\(?:\r?\n\s*|n|t|x[0-9a-fA-F]{2}|u\{[^}]*\}|.)", re.S)
    for match in pattern.finditer(content):
        text += content[at:match.start()]
        at, escape = match.end(), match.group()
        if escape in ("\n", "\\n"):
            lines.append((line, text))
            text = ""
        elif escape[1:2] in ("\n", "\r"):
            pass
        elif escape[1] == "t":
            text += " "
        elif escape[1] in "\"'\\":
            text += escape[1]
        line += escape.count("\n")
    lines.append((line, text + content[at:]))
    return lines


WORD = re.compile(r"[(\"'“]*[A-Za-z][a-z]*(?:['’-][A-Za-z]*)*[)\"'”]*[.,:;!?]*$")
FUNCTION = {"the", "a", "an", "of", "to", "is", "are", "in", "on", "for", "not", "no", "and", "or", "with", "that",
            "it", "by", "from", "at", "as", "has", "have", "be", "was", "were", "cannot", "must", "may", "can", "than",
            "this", "its", "one", "all", "if", "when", "where", "only", "does", "do", "than", "after", "before", "more",
            "between", "without", "each", "into", "there", "other", "per", "but", "out"}


def english(text):
    """Returns whether a string looks like English: three words, a common one, few other tokens."""
    tokens = [t for t in text.split() if t != "x"]
    words = [t for t in tokens if WORD.match(t)]
    return (len(words) >= 3 and len(words) >= 0.6 * len(tokens)
            and any(w.strip("()\"'.,:;!?").lower() in FUNCTION for w in words))


def string_units(path, lines):
    """Yields the units of one string: its paragraphs that are English."""
    paragraph = []
    for number, text in lines + [(0, "")]:
        text = PLACEHOLDER.sub(lambda m: m.group()[0] if m.group() in ("{{", "}}") else "x", text)
        if paragraph and (not text.strip() or text[:1] in " -*|#"):
            unit = Unit(path, paragraph, "all")
            unit.text = inline(unit.text)
            if english(unit.text):
                yield unit
            paragraph = []
        if text.strip():
            paragraph.append((number, text.strip()))


def comment_units(path, comments):
    """Yields the units of comments. Consecutive lines are one text in Markdown."""
    block, last = [], None
    for line, kind, alone, text in comments + [(-1, "", True, "")]:
        if block and (line != last[0] + 1 or kind != last[1] or not (alone and last[2])):
            yield from markdown(path, block, indented_code=False)
            block = []
        block.append((line, text))
        last = (line, kind, alone)


def hash_comments(source):
    """Returns the comments of shell scripts, Makefiles and TOML, which begin with a hash."""
    found = []
    for number, line in enumerate(source.split("\n"), 1):
        if "#" not in line or line.startswith("#!"):
            continue
        for match in re.finditer(r"(?:^|(?<=\s))#+(?=\s|$)\s?(.*)", line):
            before = line[:match.start()]
            if before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
                found.append((number, "#", not before.strip(), match.group(1)))
                break
    return found


def python_comments(source):
    found, previous = [], None
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
                found.append((token.start[0], "#", not token.line[:token.start[1]].strip(), token.string.lstrip("#").removeprefix(" ")))
            elif token.type == tokenize.STRING and token.string.startswith(('"""', "'''")) and (
                    previous is None or previous in (tokenize.INDENT, tokenize.NEWLINE, tokenize.NL)):
                for offset, line in enumerate(token.string[3:-3].split("\n")):
                    found.append((token.start[0] + offset, '"', True, line))
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                previous = token.type
    except (tokenize.TokenError, IndentationError):
        pass
    return found


def template_text(source):
    """Returns the text that a Handlebars template generates, with x for values, line by line."""
    source = re.sub(r"\{\{!--.*?--\}\}", lambda m: "\n" * m.group().count("\n"), source, flags=re.S)
    source = re.sub(r"\{\{[#/^!>~]?\s*[#/^!>][^}]*\}\}|\{\{~?else[^}]*\}\}", "", source)
    return re.sub(r"\{\{\{?[^}]*\}\}\}?", "x", source)


def c_comments(source):
    rust = Rust(source)
    return rust.comments + rust.help


def read(path):
    """Returns the units of a file, by class: "prose", "strings" or "comments"."""
    name, source = path.name, path.read_text(encoding="utf-8", errors="replace")
    if name.endswith(".hbs"):
        source = template_text(source)
        if "readme" in name:
            return {"prose": markdown(path, list(enumerate(source.split("\n"), 1)))}
        if "cargo" in name or "makefile" in name or "gitignore" in name:
            return {"comments": list(comment_units(path, hash_comments(source)))}
        return {"comments": list(comment_units(path, sorted(c_comments(source))))}
    if name.endswith(".md"):
        return {"prose": markdown(path, list(enumerate(source.split("\n"), 1)))}
    if name.endswith(".rs"):
        rust = Rust(source)
        strings = list(comment_units(path, rust.help))
        for unit in strings:
            unit.sentences = unit.sentences and "all"
        for lines in rust.strings:
            strings.extend(string_units(path, lines))
        return {"strings": strings, "comments": list(comment_units(path, rust.comments))}
    if name.endswith((".c", ".h", ".cpp")):
        return {"comments": list(comment_units(path, sorted(c_comments(source))))}
    if name.endswith((".py", ".pyi")) or source.startswith("#!/usr/bin/env python3"):
        return {"comments": list(comment_units(path, python_comments(source)))}
    return {"comments": list(comment_units(path, hash_comments(source)))}


def sentences(unit):
    """Yields offset and text of each sentence."""
    text, start, at = unit.text, 0, 0
    while match := END.search(text, at):
        at = match.end()
        before = text[start:match.start() + 1]
        rest = text[at:].lstrip()
        if rest and (ABBREVIATION.search(before) or not STARTER.match(rest)):
            continue
        yield start, text[start:at], True
        start = at
    if text[start:].strip():
        yield start, text[start:], text.rstrip().endswith(":")


def count_words(text):
    return sum(1 for token in text.split() if token[0].isalnum() or token.strip(string.punctuation))


class Figures:
    """Counts of words, sentences and patterns in some units."""

    def __init__(self):
        self.words = self.sentences = self.sentence_words = 0
        self.counts = defaultdict(int)
        self.by_file = defaultdict(lambda: defaultdict(int))

    def add(self, units):
        for unit in units:
            self.words += count_words(unit.text)
            lower = unit.text.lower()
            for name, (pattern, words) in COMPILED.items():
                # Most texts contain none of the words, and a search for these is fast.
                hits = len(pattern.findall(lower)) if any(word in lower for word in words) else 0
                if hits and (unit.sentences == "ended" or name != "semicolon"):
                    self.counts[name] += hits
                    self.by_file[name][unit.path] += hits
            if not unit.sentences:
                continue
            for _, text, ended in sentences(unit):
                length = count_words(text)
                if ended or unit.sentences == "all" or length > LONG:
                    self.sentences += 1
                    self.sentence_words += length
                    self.by_file["mean"][unit.path] += length
                    if length > LONG:
                        self.counts["long"] += 1
                        self.by_file["long"][unit.path] += 1

    def rates(self):
        """Yields name, rate and limit of each figure."""
        for name, (_, limit) in PATTERNS.items():
            yield name, 1000 * self.counts[name] / max(self.words, 1), limit
        yield "mean", self.sentence_words / max(self.sentences, 1), MEAN_LIMIT
        yield "long", 100 * self.counts["long"] / max(self.sentences, 1), LONG_LIMIT

    def summary(self):
        mean, long = (rate for name, rate, _ in self.rates() if name in ("mean", "long"))
        return f"{self.words} words, {self.sentences} sentences of {mean:.1f} words, {long:.0f}% of them long"

    def above(self, by_file=True):
        """Returns a line for each figure above its limit, with the files that contribute most."""
        lines = []
        for name, rate, limit in self.rates():
            if name == "mean":
                over = rate > limit
            elif name == "long":
                over = self.counts[name] > max(1, limit * self.sentences / 100)
            else:
                over = self.counts[name] > max(1, limit * self.words / 1000)
            if over:
                unit = {"mean": "words in a sentence", "long": f"% of sentences above {LONG} words"}.get(name, "in 1,000 words")
                title = "" if name in ("mean", "long") else f"\"{name}\" "
                lines.append(f"{title}{rate:.2f} {unit} (limit {limit:g}){self.worst(name) if by_file else ''}")
        return lines

    def worst(self, name):
        files = sorted(self.by_file[name].items(), key=lambda pair: -pair[1])[:3]
        if len(self.by_file[name]) < 2 or name == "mean":
            return ""
        return ": " + ", ".join(f"{path.relative_to(ROOT)} {count}" for path, count in files)


# Substrings of each pattern's words. A text that matches contains at least one of them.
HINTS = {
    "who, whom, whoever": ["who"], "nobody, somebody": ["body"], "so many, so long": ["so "], "tell, told": ["tell", "told"],
    "mended, anew": ["mend", "anew"], "what, whatever": ["what"], "that of, those of": ["that of", "those of"],
    "it is ... that": ["it is"], "where for if": ["where"], "left out": [" out"], "nothing": ["nothing"], "else": ["else"],
    "stands, lies": ["stand", "stood", "lie", "lay", "lying"], "finding": ["finding"], "drawing": ["draw"],
    "standstill": ["still"], "turn of a process": ["turn"], "semicolon": [";"],
}
COMPILED = {name: (re.compile(pattern), HINTS.get(name, [""])) for name, (pattern, _) in PATTERNS.items()}

CONTAINED = 500  # A document with more words is a separate group.


def tracked():
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in out.split("\0") if name]


def kind_of(path):
    """Returns "text" if a file is measured, and None otherwise."""
    name, parts = path.name, path.relative_to(ROOT).parts
    if parts[:2] == ("tests", "fuzz") and "seeds" in parts or "formats" in parts[:2] or name == "THIRD-PARTY.md":
        return None
    if path == pathlib.Path(__file__).resolve():  # its patterns and its table quote the words
        return None
    if name.endswith((".md", ".rs", ".hbs", ".sh", ".py", ".pyi", ".toml", ".c", ".h")) or name == "Makefile":
        return "text"
    if path.suffix or not path.is_file():
        return None
    with path.open("rb") as file:
        return "text" if file.read(2) == b"#!" else None


def crate_of(parts):
    """Returns the group of comments to which a file belongs."""
    if parts[0] == "modules":
        inner = parts[2] if len(parts) > 2 else ""
        return "tests" if inner in ("tests", "testing") or parts[1] == "testing" else f"modules/{parts[1]}"
    return {"tests": "tests", "benches": "benches", "src": "the command", "skeletons": "skeletons"}.get(parts[0], "scripts")


def group_of(path, kind, units):
    parts = path.relative_to(ROOT).parts
    if kind == "prose":
        if parts[-1] == "SUMMARY.md":
            return "titles of the book"
        if parts[:3] == ("docs", "src", "errors"):
            return "error pages"
        if parts[0] == "skeletons":
            return "READMEs of new projects"
        if sum(count_words(u.text) for u in units) > CONTAINED:
            return "/".join(parts)
        return "short chapters" if parts[:2] == ("docs", "src") else "short documents"
    if kind == "strings":
        production = parts[0] == "src" or parts[0] == "modules" and parts[2] == "src" and parts[1] != "testing"
        return "help and diagnostics" if production else None
    crate = crate_of(parts)
    if crate.startswith("modules/") and not (parts[2] == "src" or path.suffix == ".toml"):
        crate += " (scripts, examples)"
    return f"comments of {crate}"


def check():
    """Measures all groups, and prints a line for each figure above its limit."""
    groups = defaultdict(Figures)
    for path in tracked():
        if kind_of(path):
            for kind, units in read(path).items():
                group = group_of(path, kind, units)
                if group:
                    groups[group].add(units)
    failed = 0
    for name, figures in sorted(groups.items()):
        above = figures.above()
        failed += bool(above)
        for line in above:
            print(f"{name}: {line}")
    words = sum(f.words for f in groups.values())
    print(f"{words} words in {len(groups)} groups, {failed} above a limit")
    return failed


def self_test():
    """Measures texts whose counts are known."""
    def prose(text, name="a.md"):
        return markdown(pathlib.Path(name), list(enumerate(text.split("\n"), 1)))

    def lengths(units):
        return [count_words(text) for unit in units if unit.sentences for _, text, _ in sentences(unit)]

    def words(units):
        return sum(count_words(unit.text) for unit in units)

    def strings(source):
        return [" ".join(u.text.split()) for lines in Rust(source).strings for u in string_units(None, lines)]

    def comments(source):
        return [" ".join(u.text.split()) for u in comment_units(None, Rust(source).comments)]

    def equal(found, expected):
        if found != expected:
            sys.exit(f"self-test: {found!r}, expected {expected!r} (line {sys._getframe(1).f_lineno})")

    # Markdown.
    equal(lengths(prose("One two three. Four five.\nSix seven eight.\n")), [3, 2, 3])
    equal(words(prose("# A heading\n\nText.\n\n```sh\nwho told whom\n```\n\nMore text.\n")), 5)
    equal(words(prose("- item\n\n  ```dot\n  what\n  ```\n- other\n")), 2)
    equal(words(prose("Text:\n\n    indented code\n\nEnd.\n")), 2)
    equal(prose("Use `what is told` here.")[0].text.split(), ["Use", "x", "here."])
    equal(prose("Across `lines\nof code` here.")[0].text.split(), ["Across", "x", "here."])
    equal(prose("See [the text](where/it.md#is) and **this**.")[0].text.split(), "See the text and this .".split())
    equal(lengths(prose("| a table | of words. More. |\n|---|---|\n| has | no sentences |\n")), [])
    equal(words(prose("| a table | of words |\n|---|---|\n| one | `x y z` |\n")), 6)
    equal(words(prose("<!-- who -->\nText <b>is</b> here.\n<!-- a\nb -->\n")), 3)
    equal(lengths(prose("Some, e.g. This one, i.e. `x` and J. Dinan, vs. No. 5, go on. Version 1.5 is next!")), [14, 4])
    equal(lengths(prose("Is it? (It is.) \"Yes.\" `code` begins a sentence.")), [2, 2, 1, 4])
    equal(lengths(prose("It says \"stop.\" and goes on. Then it ends.")), [6, 3])
    # Strings.
    equal(strings('f("the file {path} is not here")'), ["the file x is not here"])
    equal(strings('f("two lines of \\\n         one text")'), ["two lines of one text"])
    equal(strings('f("the first line\nand the second")'), ["the first line and the second"])
    equal(strings('f("the first part\\n\\nand a second part")'), ["the first part", "and a second part"])
    equal(strings('f(r#"a "raw" string of words"#, "x")'), ['a "raw" string of words'])
    equal(strings('concat!("one text ", "of two (2) ", "parts")'), ["one text of two (2) parts"])
    equal(strings('"an {{escaped}} brace of a text `with code`"'), ["an {escaped} brace of a text x"])
    equal(strings("('\"', \"a quote is before this\", 'x', b'\\'', &'a str)"), ["a quote is before this"])
    equal(strings('"digraph { a -> b }" "a::b" b"the bytes of it" "short one"'), [])
    equal(strings('#[cfg(test)]\nmod tests { fn f() { "this is of a test }" } }\n"this is in the code"'), ["this is in the code"])
    # Comments.
    equal(comments('let a = "// not a comment of this"; // but this\nlet b = 1;'), ["but this"])
    equal(comments("/// One text\n/// of two lines.\n///\n/// ```\n/// code\n/// ```\nfn f() {}\n// Other."), ["One text of two lines.", "Other."])
    equal(comments("/* A /* nested */ block\n * of two lines */"), ["A / nested / block of two lines"])
    help_of = Rust("#[derive(Debug, Args)]\nstruct A {\n    /// The help\n    a: u8,\n}\n/// No help\nstruct B;")
    equal([c[3] for c in help_of.help], ["The help"])
    equal([c[3] for c in hash_comments("a # one\n# two\necho '# three' \"a # b\" $#")], ["one", "two"])
    equal([c[3] for c in python_comments('"""A doc."""\nx = "# no"  # yes\n')], ["A doc.", "yes"])
    equal(template_text("{{#each a}}\n// {{b}} is {{{c}}}\n{{/each}}{{!-- no --}}"), "\n// x is x\n")
    # Patterns.
    figures = Figures()
    figures.add(prose("Whoever told it so many things; what lies there is left out. Nobody else is there."))
    hits = [name for name, count in figures.counts.items() if count]
    equal(hits, ["who, whom, whoever", "nobody, somebody", "so many, so long", "tell, told", "what, whatever", "left out",
                 "stands, lies", "else", "semicolon"])
    print("self-test: ok")
    return 0


def main(arguments):
    listed, mode, files = None, "", []
    arguments = list(arguments)
    while arguments:
        argument = arguments.pop(0)
        if argument == "--self-test":
            return self_test()
        if argument == "--list" and arguments:
            mode, listed = argument, re.compile(arguments.pop(0), re.I)
        elif argument in ("--strings", "--long"):
            mode = argument
        elif argument.startswith("--"):
            sys.exit(__doc__.split("\n\n")[1])
        else:
            files.append(pathlib.Path(argument))
    if not files and not mode:
        return 1 if check() else 0
    failed = 0
    for path in files or [p for p in tracked() if kind_of(p)]:
        for kind, units in read(path).items():
            if not mode:
                figures = Figures()
                figures.add(units)
                above = figures.above(by_file=False)
                failed += bool(above) and kind != "comments"
                if figures.words:
                    print(f"{path}, {kind}: {figures.summary()}: {'; '.join(above) or 'within limits'}")
            elif mode != "--strings" or kind == "strings":
                show(mode, listed, path, units)
    return 1 if failed else 0


def show(mode, listed, path, units):
    """Prints units of a file, or matches in them, with their lines."""
    for unit in units:
        if mode == "--strings":
            print(f"{path}:{unit.line(0)}: {' '.join(unit.text.split())}")
        elif mode == "--list":
            for match in listed.finditer(unit.text):
                around = unit.text[max(0, match.start() - 60):match.end() + 60]
                print(f"{path}:{unit.line(match.start())}: {' '.join(around.split())}")
        elif unit.sentences:
            for start, text, _ in sentences(unit):
                if count_words(text) > LONG:
                    print(f"{path}:{unit.line(start)}: {count_words(text)} words: {' '.join(text.split())}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
