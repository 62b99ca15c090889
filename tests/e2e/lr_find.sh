#!/bin/bash
# trainc train --lr-find: prints a curve and a suggestion, writes nothing, and rejects conflicting
# options.
#
#   tests/e2e/lr_find.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

state() { find out -type f -printf '%p %s %T@\n' 2>/dev/null | sort; }

"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 16 --size 32 2>log || exit 1
run=("$trainc" train --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --output out --device cpu)
"${run[@]}" --lr-find >log 2>&1 || fail "lr-find"
[ -e out ] && fail "a folder is made"
grep -qE '^suggestion: --lr [0-9.e-]+ ' log || fail "no suggestion"
[ "$(grep -c '|' log)" -ge 15 ] || fail "no curve"
awk '/\|/ { if ($1 <= last) exit 1; last = $1; n++ } END { exit n == 0 }' log || fail "the rates do not rise"
# An existing run in the same folder stays unchanged.
"${run[@]}" --epochs 2 >log 2>&1 || fail "train"
state >before
"${run[@]}" --epochs 2 --lr-find --lr-find-steps 30 >log 2>&1 || fail "lr-find in the folder of a run"
state | cmp -s - before || fail "the run's folder changes"
# With gradient accumulation, a step of the curve is an optimizer update.
"${run[@]}" --lr-find --lr-find-steps 20 --accumulation-steps 2 >log 2>&1 || fail "accumulation"
[ "$(grep -c '|' log)" -le 20 ] || fail "more lines than steps"
refused() { refuses "$1" "${run[@]}" "${@:2}"; } # PATTERN OPTION...
refused 'from 20 to' --lr-find --lr-find-steps 3
refused 'cannot be combined with --resume' --lr-find --resume out/resnet20/default/last.safetensors

finish
