#!/bin/bash
# Words that this project replaced (scripts/words.sh) do not reappear, and the script finds each
# of them.
#
#   tests/e2e/words.sh
. "$(dirname "$0")/lib.bash"
cd "$here" || exit 1

scripts/words.sh || fail "the words above"

# Spelling, by codespell. Names of formats, formulas, and variables, and the mistakes on purpose of
# the tests for suggestions, are no mistakes.
if command -v codespell >/dev/null; then
  spelled() {
    codespell --skip 'imagenet_names.c,words.sh,*.png,*.jpg,*.svg' \
      --ignore-words-list nin,inflight,nd,dout,inout,statics,siz,paeth,trian,widht,valu,te,frist,fo,crate,conveyer,yur,alph "$@"
  }
  spelled README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs src cuda configs scripts tests/*/*.[ch] tests/e2e tests/emulator tests/bugs ||
    fail "misspelled words"
  echo "the sucessor of a seperate node" >"$dir/mistakes.md"
  [ "$(spelled "$dir/mistakes.md" | wc -l)" = 2 ] || fail "codespell does not find misspelled words"
else
  echo "spelling: skipped, as there is no codespell (apt-get install codespell)"
fi

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
