#!/bin/bash
# Words that this project replaced (scripts/words.sh) do not reappear, and the script finds each
# of them.
#
#   tests/e2e/words.sh
. "$(dirname "$0")/lib.bash"
cd "$here" || exit 1

scripts/words.sh || fail "the words above"

mkdir "$dir/src"
while read -r line; do
  printf '/* before\n * %s\n */\n' "$line" >"$dir/src/a.c"
  scripts/words.sh "$dir" >"$dir/said" && fail "not found: $line"
  grep -q '^src/a.c:2: ' "$dir/said" || { cat "$dir/said"; fail "no line number: $line"; }
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
  printf '/* %s */\n' "$line" >"$dir/src/a.c"
  scripts/words.sh "$dir" || fail "the right word there: $line"
done <<'E'
what killed runs left behind
it turned out to be wrong
three in a row, one of a class
Halves the size; in two halves
E

finish
