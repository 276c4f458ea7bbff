#!/usr/bin/env python3
"""Compares costs of graphmap with `.ci/budgets`. Fails if a value is more than 5% above its budget.

usage: .ci/budgets.py NAME=VALUE... [--write]

Times are CPU time as multiples of the CPU time that compiling `.ci/reference` takes in the same
run, because machines differ. With `--write` the values become the budgets.
"""

import sys
from pathlib import Path

FILE = Path(__file__).with_name("budgets")
TOLERANCE = 1.05


def main():
    values = dict(word.split("=", 1) for word in sys.argv[1:] if word != "--write")
    lines = FILE.read_text().splitlines()
    budgets = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    unknown = values.keys() - budgets.keys()
    if unknown:
        sys.exit(f"{FILE} has no budget for {', '.join(sorted(unknown))}")
    if "--write" in sys.argv:
        keep = lambda line: line.split("=")[0] not in values
        new = [line if keep(line) else f"{line.split('=')[0]}={values[line.split('=')[0]]}" for line in lines]
        FILE.write_text("\n".join(new) + "\n")
        return
    exceeded = False
    for name, value in values.items():
        share = float(value) / float(budgets[name])
        over = share > TOLERANCE
        exceeded |= over
        print(f"{name}: {value} of {budgets[name]} ({share:.0%}){', which is more than 105%' if over else ''}")
    if exceeded:
        sys.exit("a budget is exceeded: put new weight into a feature that is off by default, or into a tool on PATH")


main()
