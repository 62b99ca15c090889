#!/bin/bash
# docs/ci.md: its commands run, and what they write is what docs/result.schema.json says.
#
#   tests/e2e/ci_docs.sh [TRAINC]
set -u
trainc=$(realpath "${1:-./trainc}")
here=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-ci.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fails=0

fail() { echo "FAILED: $*"; fails=$((fails + 1)); }
ln -s "$trainc" trainc && ln -s "$here/configs" configs

# The commands of GitHub's job and of GitLab's are the same, and those of trainc run here.
commands() { sed -n "s|^ *- $1\(./trainc .*\)|\1|p" "$here/docs/ci.md" | sed "s|/tmp/smoke|$dir/out|g"; }
diff <(commands 'run: ') <(commands '') || fail "the two jobs differ"
[ "$(commands '' | wc -l)" = 2 ] || fail "no commands: $(commands '')"
while read -r command; do
  $command >log 2>&1 </dev/null || { cat log; fail "$command"; }
done < <(commands '')
./trainc --cfg configs/smoke/synthetic.yaml --epochs 0.5 --result refused.json >log 2>&1
./trainc --cfg configs/smoke/synthetic.yaml --output out --result failed.json --resume nowhere >log 2>&1

# Names that stand in a result and in the schema, which names more that only some have.
names() { sed -n 's/^  "\([a-z0-9_]*\)": .*/\1/p' "$1" | sort; }
known=$(sed -n '/^  "properties"/,$s/^    "\([a-z0-9_]*\)": {$/\1/p' "$here/docs/result.schema.json" | sort)
required=$(sed -n '/^  "required"/,/^  \]/s/^    "\([a-z0-9_]*\)",*$/\1/p' "$here/docs/result.schema.json" | sort)
for f in result.json eval.json failed.json; do
  [ -s $f ] || { fail "no $f"; continue; }
  [ -z "$(comm -23 <(names $f) <(echo "$known"))" ] || fail "$f: not in the schema: $(comm -23 <(names $f) <(echo "$known") | xargs)"
  [ -z "$(comm -13 <(names $f) <(echo "$required"))" ] || fail "$f: missing: $(comm -13 <(names $f) <(echo "$required") | xargs)"
done
[ "$(names result.json | wc -l)" -gt 25 ] || fail "the result has few names"

[ $fails = 0 ] && echo "ci_docs: passed" || { echo "ci_docs: $fails failed"; exit 1; }
