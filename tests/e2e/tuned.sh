#!/bin/bash
# trainc bench --tune: later runs take the kernels that it chose, and nothing else changes a run's
# bits: neither choices that --deterministic ignores, nor damaged ones, nor choices made or deleted
# between a run and its resumption.
#
#   tests/e2e/tuned.sh [TRAINC]
. "$(dirname "$0")/resume.bash"

train=("${cpu[@]}" TRAIN.SAVE_STEPS=4 CUDNN.CACHE=tuned)
tune=("$trainc" bench --tune --cfg "$here/configs/smoke/shapes.yaml" --device cpu --opts CUDNN.CACHE=tuned)
losses() { jq -c 'select(.kind == "train") | [.step, .loss, .grad_norm]' "out/resnet20/$1/metrics.jsonl"; }
same() { # TAG TAG: fails unless both runs have the same losses
  [ "$(losses "$1" | wc -l)" -ge 8 ] || fail "$1: $(losses "$1" | wc -l) steps"
  [ "$(losses "$1")" = "$(losses "$2")" ] || fail "$1 and $2 have other losses"
}

refuses '.--json. *has no effect with --tune\|--json.*has no effect with --tune' "${tune[@]}" --json x.json
refuses 'the folder CUDNN.CACHE, which is empty' "$trainc" bench --tune --device cpu --opts CUDNN.CACHE=
refuses 'no effect with CUDNN.DETERMINISTIC' "${tune[@]}" CUDNN.DETERMINISTIC=True
refuses 'measures kernels of the CPU' "$trainc" bench --tune --cfg "$here/configs/smoke/shapes.yaml" --device ref
[ -e tuned ] && fail "a refused command wrote a file"
echo "ok: refused"

"${train[@]}" --max-steps 8 --tag rules >log 2>&1 || fail "by rule"
"${tune[@]}" >log 2>&1 || fail "--tune"
expect_line '^conv2d [a-z0-9]* .*  *[0-9]  [a-z]*  *[0-9.]*  [a-z]*  *[0-9.]*  *[0-9.]*'
expect_line '^writing to tuned/cpu-[0-9a-f]*\.json$'
chosen=$(sed -n 's/^\([0-9]*\) of [0-9]* shapes: another kernel.*/\1/p' log)
file=$(echo tuned/cpu-*.json)
[ "$(grep -c 'chosen$' log)" = "${chosen:-none}" ] || fail "--tune: $chosen chosen"
[ "$(jq '.choices | length' "$file")" = "${chosen:-none}" ] || fail "--tune: $(cat "$file")"
"$trainc" cache --index-dir tuned >log 2>&1
expect_line '^cpu  *1 '
echo "ok: --tune ($chosen shapes)"
if [ "${chosen:-0}" = 0 ]; then
  echo "skipped: no kernel is clearly faster than the one chosen by rule"
  finish
fi

"${train[@]}" --max-steps 8 --tag tuned >log 2>&1 || fail "tuned"
expect_line ", tuned for $chosen shape"
[ "$(losses tuned)" != "$(losses rules)" ] || echo "note: the chosen kernels compute the same bits"
"${train[@]}" --max-steps 8 --tag exact --deterministic >log 2>&1 || fail "--deterministic"
grep -q 'tuned for' log && fail "--deterministic takes choices"
same exact rules
echo "ok: choices are taken, and ignored where asked"

# Choices come after the run began, or are gone, or are others.
mv "$file" kept.json
"${train[@]}" --max-steps 4 --tag before >log 2>&1 || fail "before choices"
cp kept.json "$file"
"${train[@]}" --max-steps 8 --tag before >log 2>&1 || fail "before choices, resumed"
expect_line 'resumed from .*step 4'
same before rules
"${train[@]}" --max-steps 4 --tag after >log 2>&1 || fail "with choices"
rm "$file"
"${train[@]}" --max-steps 8 --tag after >log 2>&1 || fail "with choices, resumed"
expect_line ", tuned for $chosen shape"
same after tuned
"${train[@]}" --max-steps 8 --tag again --resume out/resnet20/after/ckpt_step_4.safetensors >log 2>&1 || fail "--resume"
[ "$(losses again)" = "$(losses tuned | tail -4)" ] || fail "--resume: other losses"
echo "ok: a resumed run has the kernels of the run before"

sed 's/"choices"/"choicez"/' kept.json >"$file"
"${train[@]}" --max-steps 8 --tag damaged >log 2>&1 || fail "damaged choices"
expect_line "ignoring $file: the checksum is wrong; kernels are chosen by rule"
same damaged rules
echo "ok: damaged choices"

finish
