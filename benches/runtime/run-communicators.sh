#!/bin/sh
# Measures the communicators of chapter 6 of Mir Taheri's thesis, over ranks in OS processes, as rank maps and as plain arrays,
# and prints a Markdown table for each world: its size, and how many OS processes.
# Usage: run-communicators.sh [ROUNDS [WORLD OS_PROCESSES]...]
set -eu
cd "$(dirname "$0")"
rounds=${1:-3}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- 200000 1 200000 2 200000 40 1000000 2
cargo build --release --quiet --bin communicators
# The same once more, of a copy of the runtime whose groups are arrays.
copy=target/arrays
mkdir -p $copy/modules $copy/benches/runtime
rm -rf $copy/modules/* $copy/benches/runtime/src
for crate in derive executor fiber mpi mpi-core mpi-derive rankmap runtime; do cp -r ../../modules/$crate $copy/modules; done
cp arrays/group.rs $copy/modules/mpi-core/src/group.rs
cp -r Cargo.toml Cargo.lock src $copy/benches/runtime
sed -i '/^\[dev-dependencies\]/,/^$/d; /^\[lints\]/,/^$/d' $copy/modules/*/Cargo.toml
cargo build --release --quiet --bin communicators --manifest-path $copy/benches/runtime/Cargo.toml --target-dir $copy/target
while [ $# -gt 0 ]; do
    target/release/communicators "$rounds" "$1" "$2" $copy/target/release/communicators
    echo
    shift 2
done
