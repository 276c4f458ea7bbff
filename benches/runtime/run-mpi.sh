#!/bin/sh
# Measures messages between ranks and prints two Markdown tables: on one scheduler beside channels, ours and Go's; in two
# OS processes beside channels there, and MPI. With `soak` it counts a thousand million messages between 64 ranks; with
# `endpoints` it prints what a message costs between endpoints of two ranks, beside ranks.
# Usage: run-mpi.sh [ROUNDS]
#        run-mpi.sh soak [MESSAGES [RANKS]]
#        run-mpi.sh endpoints
set -eu
cd "$(dirname "$0")"
if [ "${1:-}" = soak ]; then
    shift
    cargo build --release --quiet --bin soak
    exec target/release/soak "$@"
fi
if [ "${1:-}" = endpoints ]; then
    cargo build --release --quiet --bin endpoints
    exec target/release/endpoints
fi
cargo build --release --quiet --bin mpi --bin ranks
target/release/mpi "$@"
exec target/release/ranks "$@"
