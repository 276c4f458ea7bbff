#!/bin/sh
# Measures the runtime beside Go and tokio and prints a Markdown table.
# Usage: run.sh [--quick] [ROUNDS]
#   --quick   a tenth of the work and less than a minute; rows that need more are left out
#   ROUNDS    how often each is measured: 5, or 3 with --quick
set -eu
cd "$(dirname "$0")"
cargo build --release --quiet
exec target/release/bench "$@"
