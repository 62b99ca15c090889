#!/bin/bash
# Documentation: generated pages are up to date, every subcommand and page can be found, relative
# links resolve, and the README is short.
#
#   tests/e2e/docs.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
cd "$here" || exit 1

[ "$(wc -w <README.md)" -le 1200 ] || fail "README.md has $(wc -w <README.md) words, and 1200 are enough"

cmp <("$trainc" help --markdown keys) docs/configuration.md ||
  fail "docs/configuration.md is old: trainc help --markdown keys >docs/configuration.md"
"$trainc" help --markdown flags | grep -vxFf docs/from-pytorch.md | grep . &&
  fail "docs/from-pytorch.md lacks these rows of trainc help --markdown flags"
sed -n '/^| elsewhere | trainc |$/,$p' docs/from-pytorch.md | grep -vxFf <("$trainc" help --markdown flags) &&
  fail "docs/from-pytorch.md has rows that trainc help --markdown flags has not"
diff <("$trainc" help --markdown layers) <(sed -n '/^| op | PyTorch |/,/^$/p' docs/any-network.md | grep .) ||
  fail "the table of ops in docs/any-network.md is not that of trainc help --markdown layers"
"$trainc" help --markdown nonsense 2>/dev/null && fail "an unknown page"

for verb in $("$trainc" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p'); do
  grep -qE "^## (.*, )?$verb(,|\$)" docs/verbs.md || fail "docs/verbs.md has no section of $verb"
done
for page in docs/*.md docs/dev/*.md; do
  [ "$page" = docs/README.md ] || grep -qF "(${page#docs/})" docs/README.md || fail "docs/README.md does not link to $page"
done

# PAGE LINK: the target exists; if it is a heading, its page has that heading.
follows() {
  local file=${2%%#*} heading
  [ -z "$file" ] || [ -e "$(dirname "$1")/$file" ] || fail "$1: no $file"
  [[ $2 == *#* ]] || return
  [ -n "$file" ] && file=$(dirname "$1")/$file || file=$1
  heading=${2##*#}
  grep '^#' "$file" | sed 's/^#* //; s/[^A-Za-z0-9 _-]//g; s/ /-/g' | tr 'A-Z' 'a-z' | grep -qx -- "$heading" ||
    fail "$1: no heading #$heading in $file"
}
for page in README.md data/README.md docs/*.md docs/dev/*.md; do
  while read -r link; do
    follows "$page" "$link"
  done < <(grep -oE '\]\([^)]+\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:')
done

finish
