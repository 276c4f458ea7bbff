#!/bin/sh
# Measures messages between ranks of a scheduler beside channels, ours and Go's, and prints a Markdown table.
# Usage: run-mpi.sh [ROUNDS]
set -eu
cd "$(dirname "$0")"
cargo build --release --quiet --bin mpi
exec target/release/mpi "$@"
