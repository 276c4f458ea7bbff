#!/usr/bin/env bash
# Builds the wheel of graphmap for Python and tests it as it would be installed: in an environment of its own,
# with no way to this folder's sources. Needs a Rust toolchain, a C compiler, and python3 (3.10 or later) with
# venv and pip. All that it makes is in target/python, the wheel in target/python/wheels.
#
# usage: modules/python/test.sh            the wheel is built with the profile dev, which is the quickest to build
#        modules/python/test.sh --release  built as it is to be given to others
# Exit code 69: the packages that it needs could not be installed, so nothing was tested.
set -euo pipefail
cd "$(dirname "$0")"
made=$(realpath -m ../../target/python)
export CARGO_TARGET_DIR=$made

# The maturin that builds, and the NetworkX that the tests take graphs from.
maturin=maturin==1.16.0
networkx=networkx==3.4.2

# usage: environment FOLDER PACKAGE: an environment with a package, if it is not there yet.
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

# Isolated: nothing that is found in this folder is imported, and nothing is left in it.
"$made/tests/bin/python" -I -B -m unittest discover -s tests
