#!/bin/bash
# docs/ci.md: its commands run, and the results they write match docs/result.schema.json.
#
#   tests/e2e/ci_docs.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

ln -s "$trainc" trainc && ln -s "$here/configs" configs

# The GitHub job and the GitLab job have the same commands; this script runs the trainc ones.
commands() { sed -n "s|^ *- $1\(./trainc .*\)|\1|p" "$here/docs/ci.md" | sed "s|/tmp/smoke|$dir/out|g"; }
diff <(commands 'run: ') <(commands '') || fail "the two jobs differ"
[ "$(commands '' | wc -l)" = 2 ] || fail "no commands: $(commands '')"
while read -r command; do
  $command >log 2>&1 </dev/null || fail "$command"
done < <(commands '')
./trainc --cfg configs/smoke/synthetic.yaml --epochs 0.5 --result refused.json >log 2>&1
./trainc --cfg configs/smoke/synthetic.yaml --output out --result failed.json --resume nowhere >log 2>&1

# Every name in a result is in the schema, and every required name is in the result.
names() { jq -r 'keys[]' "$1" | sort; }
known=$(jq -r '.properties | keys[]' "$here/docs/result.schema.json" | sort)
required=$(jq -r '.required[]' "$here/docs/result.schema.json" | sort)
for f in result.json eval.json failed.json; do
  [ -s $f ] || { fail "no $f"; continue; }
  [ -z "$(comm -23 <(names $f) <(echo "$known"))" ] || fail "$f: not in the schema: $(comm -23 <(names $f) <(echo "$known") | xargs)"
  [ -z "$(comm -13 <(names $f) <(echo "$required"))" ] || fail "$f: missing: $(comm -13 <(names $f) <(echo "$required") | xargs)"
done
[ "$(names result.json | wc -l)" -gt 25 ] || fail "the result has few names"

finish
