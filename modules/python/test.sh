#!/usr/bin/env bash
# Builds the wheel graphmap-mpi (the module and the command `graphmap`), installs it into a separate
# environment, and tests it there, without access to the sources in this folder. Needs a Rust
# toolchain, a C compiler, and python3 (3.10 or later) with venv and pip. All output is in
# target/python, and the wheel in target/python/wheels.
#
# usage: modules/python/test.sh            builds the module with the profile dev, in less time
#        modules/python/test.sh --release  builds the wheel of a release
#
# Exit code 69: the packages that it needs could not be installed, so no test ran.
set -euo pipefail
cd "$(dirname "$0")"
made=$(realpath -m ../../target/python)

# The wheel has the executable of a release. A function of the module could not replace it: the
# command starts itself again for child processes (/proc/self/exe), and Python would handle its
# signals.
../../.ci/release
data=$made/data
rm -rf "$data"
mkdir -p "$data/scripts" "$data/data"
cp ../../target/release-files/tree/bin/graphmap "$data/scripts/"
cp -r ../../target/release-files/tree/share "$data/data/"
export CARGO_TARGET_DIR=$made
# The module links packages that the command does not link.
host=$(rustc -vV | sed -n 's/^host: //p')
metadata() { cargo metadata --format-version 1 --locked --filter-platform "$host" --manifest-path "$1/Cargo.toml"; }
python3 ../../.ci/licences.py <(metadata .) <(metadata ../..) --texts >"$data/data/share/doc/graphmap/LICENCES-OF-PACKAGES.txt"

# The maturin for the build, and the NetworkX for the tests.
maturin=maturin==1.16.0
networkx=networkx==3.4.2

# usage: environment FOLDER PACKAGE: creates an environment with a package, if it does not exist.
environment() {
    if ! "$made/$1/bin/python" -m pip show -q "${2%%==*}" 2>/dev/null; then
        rm -rf "${made:?}/$1"
        python3 -m venv "$made/$1" && "$made/$1/bin/python" -m pip install -q --disable-pip-version-check "$2" || exit 69
    fi
}
environment tools "$maturin"
environment tests "$networkx"

rm -rf "$made/wheels"
"$made/tools/bin/maturin" build --locked "$@" --interpreter "$made/tests/bin/python" --out "$made/wheels"
"$made/tests/bin/python" -m pip install -q --disable-pip-version-check --no-index --force-reinstall "$made"/wheels/*.whl

# In isolated mode, Python imports no modules from this folder. With -B, it writes no files into it.
"$made/tests/bin/python" -I -B -m unittest discover -s tests
