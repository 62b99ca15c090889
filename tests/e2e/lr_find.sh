#!/bin/bash
# trainc train --lr-find: a curve, a suggestion, and nothing written; what it refuses.
#
#   tests/e2e/lr_find.sh [TRAINC]
set -u
trainc=$(realpath "${1:-./trainc}")
here=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-lr.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fails=0

fail() { echo "FAILED: $*"; fails=$((fails + 1)); }
state() { find out -type f -printf '%p %s %T@\n' 2>/dev/null | sort; }

"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 16 --size 32 2>log || exit 1
run=("$trainc" train --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --output out --device cpu)
"${run[@]}" --lr-find >log 2>&1 || { cat log; fail "lr-find"; }
[ -e out ] && fail "a folder is made"
grep -qE '^suggestion: --lr [0-9.e-]+ ' log || { cat log; fail "no suggestion"; }
[ "$(grep -c '|' log)" -ge 15 ] || fail "no curve"
awk '/\|/ { if ($1 <= last) exit 1; last = $1; n++ } END { exit n == 0 }' log || fail "the rates do not rise"
# Beside a run that is there, which stays as it is.
"${run[@]}" --epochs 2 >log 2>&1 || { cat log; fail "train"; }
state >before
"${run[@]}" --epochs 2 --lr-find --lr-find-steps 30 >log 2>&1 || { cat log; fail "lr-find beside a run"; }
state | cmp -s - before || fail "the run's folder changes"
# Gradient accumulation: a step is an update.
"${run[@]}" --lr-find --lr-find-steps 20 --accumulation-steps 2 >log 2>&1 || fail "accumulation"
[ "$(grep -c '|' log)" -le 20 ] || fail "more lines than steps"
refuses() { # what must be said, then the arguments
  local say=$1
  shift
  "${run[@]}" "$@" >log 2>&1
  [ $? = 2 ] && grep -q -- "$say" log || { cat log; fail "$*"; }
}
refuses 'from 20 to' --lr-find --lr-find-steps 3
refuses 'not from --resume' --lr-find --resume out/resnet20/default/last.safetensors

[ $fails = 0 ] && echo "lr_find: passed" || { echo "lr_find: $fails failed"; exit 1; }
