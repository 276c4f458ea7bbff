#!/bin/sh
# Measures messages between ranks and prints two Markdown tables: on one scheduler beside channels, ours and Go's; in two
# OS processes beside channels there, and MPI.
# Usage: run-mpi.sh [ROUNDS]
set -eu
cd "$(dirname "$0")"
cargo build --release --quiet --bin mpi --bin ranks
target/release/mpi "$@"
exec target/release/ranks "$@"
