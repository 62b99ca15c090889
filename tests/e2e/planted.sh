#!/bin/bash
# The lists of bugs for scripts/planted.sh still fit the sources: a bug that cannot be planted
# tests nothing.
#
#   tests/e2e/planted.sh
. "$(dirname "$0")/lib.bash"
cd "$here" || exit 1

scripts/planted.sh --check tests/bugs/*.txt || fails=1
printf 'README.md\ts/no such words//\tnothing\n' >"$dir/bugs"
scripts/planted.sh --check "$dir/bugs" >/dev/null && fails=1 && echo "FAILED: a line that changes nothing"

# scripts/torture.sh runs for hours, so only its syntax is checked here.
bash -n scripts/torture.sh && ${CC:-gcc} -fsyntax-only -Wall scripts/torture/disturb.c || fails=1
if command -v python3 >/dev/null; then
  for f in scripts/torture/*.py; do python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$f" || fails=1; done
fi

finish
