#!/bin/sh
# Measures the runtime beside Go and tokio and prints a Markdown table. Usage: run.sh [ROUNDS]
set -eu
cd "$(dirname "$0")"
cargo build --release --quiet
exec target/release/bench "${1:-5}"
