#!/bin/sh
# Measures the runtime beside Go and tokio, or beside another state of itself, and prints a Markdown table.
# Usage: run.sh [--against DIR] [--quick] [ROUNDS]
#   --against DIR  in pairs with the runtime of another clone of the repository: what has become slower?
#   --quick        a tenth of the work and less than a minute; rows that need more are left out
#   ROUNDS         how often each is measured: 5, or 3 with --quick, or 15 pairs
set -eu
against=
if [ "${1:-}" = --against ]; then
    against=$(cd "${2:?a folder}/benches/runtime" && pwd)
    shift 2
fi
cd "$(dirname "$0")"
cargo build --release --quiet
if [ -n "$against" ]; then
    (cd "$against" && cargo build --release --quiet)
    set -- --against "$against/target/release/bench" "$@"
fi
exec target/release/bench "$@"
