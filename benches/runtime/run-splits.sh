#!/bin/sh
# Measures what it takes to split a world of ranks into rows, over OS processes that share memory, and prints a Markdown
# table: milliseconds, bytes that schedulers send each other for it, and the most memory of all OS processes.
# Usage: run-splits.sh [RANKS ROWS OS_PROCESSES [WAYS [REVISION]]]
# The bytes are those of a copy of the runtime that counts them; REVISION: a copy of that commit's.
set -eu
cd "$(dirname "$0")"
ranks=${1:-1000000}
rows=${2:-1000}
os_processes=${3:-40}
ways=${4:-rows columns random grid}
revision=${5:-}
copy=target/splits$revision
rm -rf $copy/modules $copy/benches
mkdir -p $copy/modules $copy/benches/runtime
for crate in executor fiber mpi mpi-core mpi-derive rankmap runtime; do
    case $revision in
    '') cp -r ../../modules/$crate $copy/modules ;;
    *) git -C ../.. archive "$revision" modules/$crate | tar -x -C $copy ;;
    esac
done
cp -r Cargo.toml Cargo.lock src $copy/benches/runtime
sed -i '/^\[dev-dependencies\]/,/^$/d; /^\[lints\]/,/^$/d' $copy/modules/*/Cargo.toml
# Counts the bytes of frames between schedulers, and prints them when the run is over.
sed -i 's/let (header, bytes) = frame.to_bytes(buffer);/&\n        SENT.fetch_add(bytes.len(), std::sync::atomic::Ordering::Relaxed);/' \
    $copy/modules/mpi-core/src/others.rs
echo 'pub(super) static SENT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);' \
    >> $copy/modules/mpi-core/src/others.rs
sed -i 's/        self.dismiss_all();/        println!("bytes {}", super::others::SENT.swap(0, std::sync::atomic::Ordering::Relaxed));\n&/' \
    $copy/modules/mpi-core/src/world.rs
cargo build --release --quiet --bin splits --manifest-path $copy/benches/runtime/Cargo.toml --target-dir $copy/target
echo "| $ranks ranks in $rows rows, $os_processes OS processes | ms | bytes | kB |"
echo '|---|---:|---:|---:|'
for way in none $ways; do
    env GRAPHMAP_LINK=shm GRAPHMAP_OS_PROCESSES=$os_processes $copy/target/release/splits $way "$ranks" "$rows" |
        awk -v way=$way '{ sum[$1] += $2 } END { print "| " way " | " sum["ms"] " | " sum["bytes"] " | " sum["kB"] " |" }'
done
