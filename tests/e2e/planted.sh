#!/bin/bash
# The lists of bugs that the tests must notice (scripts/planted.sh) still fit the sources:
# a bug that cannot be planted any more would tell nothing.
#
#   tests/e2e/planted.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
fails=0

scripts/planted.sh --check tests/bugs/*.txt || fails=1
printf 'README.md\ts/no such words//\tnothing\n' >"${TMPDIR:-/tmp}/trainc-bugs.$$"
scripts/planted.sh --check "${TMPDIR:-/tmp}/trainc-bugs.$$" >/dev/null && fails=1 && echo "FAILED: a line that changes nothing"
rm -f "${TMPDIR:-/tmp}/trainc-bugs.$$"

[ $fails = 0 ] && echo "planted: passed" || { echo "planted: failed"; exit 1; }
