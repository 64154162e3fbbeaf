#!/bin/bash
# Every list of cells, with the programs of build/$VARIANT: what `make check-vm` runs through tests/run.sh.
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 2
exec "$here/check.sh" "${BUILD:-build}/${VARIANT:-release}" "${BUILD:-build}/logs/vm"
