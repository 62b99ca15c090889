#!/bin/bash
# The words that this project has replaced (scripts/words.sh) do not come back; and each of
# them would be found.
#
#   tests/e2e/words.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
fails=0
fail() { echo "FAILED: $*"; fails=$((fails + 1)); }

scripts/words.sh || fail "the words above"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
while read -r line; do
  printf '/* before\n * %s\n */\n' "$line" >"$folder/src/a.c"
  scripts/words.sh "$folder" >"$folder/said" && fail "not found: $line"
  grep -q '^src/a.c:2: ' "$folder/said" || { cat "$folder/said"; fail "not told where: $line"; }
done <<'E'
Pictures are HWC
the node behind it
the averaged weights are evaluated
the left matrix has a row per pixel
the matrix product of both
a turned block
results pass the cache
what is read is prefetched three lines ahead
half floats
stored as halves
the spot of the pixel
a number a class
3 bits a channel
E
while read -r line; do
  printf '/* %s */\n' "$line" >"$folder/src/a.c"
  scripts/words.sh "$folder" || fail "the right word there: $line"
done <<'E'
what killed runs left behind
it turned out to be wrong
three in a row, one of a class
Halves the size; in two halves
E

if [ $fails = 0 ]; then echo "words: passed"; else echo "words: $fails failed"; exit 1; fi
