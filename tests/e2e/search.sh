#!/bin/bash
# Searches of trainc sweep: values drawn at random or proposed from the results so far, the same when
# repeated; seeds as repetitions; a device per parallel run; impossible combinations are refused.
#
#   tests/e2e/search.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out shapes --classes 4 --train 32 --val 12 --size 16 2>/dev/null || exit 1
train=(--cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --epochs 1 --max-steps 2)
cpu=(--device cpu --threads 1)
lr="TRAIN.BASE_LR=log(1e-4,1e-1)"

"$trainc" sweep "${train[@]}" "${cpu[@]}" --grid "$lr" "MODEL.DROP_PATH_RATE=uniform(0,0.3)" TRAIN.ACCUMULATION_STEPS="int(1,2)" \
  TRAIN.OPTIMIZER.NAME=sgd,adamw --random 5 --output random >table 2>log || fail "random values"
expect_line "values are drawn at random"
[ "$(grep -c ,done, random/sweep.csv)" = 5 ] || fail "random values: $(cat random/sweep.csv)"
for run in random/sweep/*.args; do
  grep -E '^[A-Z_.]+=' "$run" | tr '\n' ' '
  echo
done | awk '{
  for (i = 1; i <= NF; i++) { split($i, kv, "="); v[kv[1]] = kv[2] }
  if (!(v["TRAIN.BASE_LR"] >= 1e-4 && v["TRAIN.BASE_LR"] <= 1e-1 && v["MODEL.DROP_PATH_RATE"] >= 0 &&
        v["MODEL.DROP_PATH_RATE"] <= 0.3 && v["TRAIN.ACCUMULATION_STEPS"] ~ /^[12]$/ &&
        v["TRAIN.OPTIMIZER.NAME"] ~ /^(sgd|adamw)$/)) bad = bad "\n" $0
  n++
}
END { if (bad != "" || n != 5) print n " runs" bad }' >bad
[ -s bad ] && fail "random values: $(cat bad)"
"$trainc" sweep "${train[@]}" "${cpu[@]}" --grid "$lr" --random 3 --sample-seed 1 --output other >table 2>log || fail "another seed"
"$trainc" sweep "${train[@]}" "${cpu[@]}" --grid "$lr" --random 3 --output other >table 2>log || fail "the first seed"
[ "$(ls other/sweep/*.json | wc -l)" = 6 ] || fail "--sample-seed does nothing"

# Proposals: ten at random, then around the good ones; a repeated search repeats no run.
tpe=("${cpu[@]}" --grid "$lr" --tpe 14 --metric val_loss --jobs 2 --output tpe)
"$trainc" sweep "${train[@]}" "${tpe[@]}" >table 2>log || fail "--tpe"
expect_line "proposed from the results so far"
[ "$(grep -c ,done, tpe/sweep.csv)" = 14 ] || fail "--tpe: $(cat tpe/sweep.csv)"
before=$(cksum tpe/*/*/metrics.jsonl)
"$trainc" sweep "${train[@]}" "${tpe[@]}" >table 2>log || fail "--tpe again"
[ "$before" = "$(cksum tpe/*/*/metrics.jsonl)" ] || fail "--tpe again: runs were trained once more"
"$trainc" sweep "${train[@]}" "${cpu[@]}" --grid TRAIN.OPTIMIZER.NAME=sgd,adamw --tpe 5 --output few >table 2>log ||
  fail "few combinations"
expect_line "no more than these 2 combinations"

# Seeds, each on a device of its own.
"$trainc" sweep "${train[@]}" --threads 1 --grid TRAIN.BASE_LR=0.01,0.02 --seeds 2 --devices cpu,ref --output seeds >table 2>log ||
  fail "--seeds"
[ "$(grep -c ' 2 of 2 ' table)" = 2 ] || fail "--seeds: $(cat table)"
grep -l "on ref\|device ref\|reference" seeds/sweep/*.log >ref.logs
[ -s ref.logs ] && [ "$(wc -l <ref.logs)" -lt 4 ] || fail "--devices: $(head -3 seeds/sweep/*.log)"

sweep=("$trainc" sweep "${train[@]}" --output none)
refuses "need --random N or --tpe N" "${sweep[@]}" --grid "$lr"
refuses "LOW must be below HIGH and above 0" "${sweep[@]}" --grid "TRAIN.BASE_LR=log(0,1)" --random 2
refuses "LOW must be below HIGH" "${sweep[@]}" --grid "TRAIN.BASE_LR=uniform(1,0)" --random 2
refuses "expected uniform(LOW,HIGH)" "${sweep[@]}" --grid "TRAIN.BASE_LR=uniform(1)" --random 2
refuses "whole numbers" "${sweep[@]}" --grid "TRAIN.ACCUMULATION_STEPS=int(1,2.5)" --random 2
refuses "cannot be combined with --halving" "${sweep[@]}" --grid "$lr" --tpe 4 --halving 1
refuses "every fold and seed" "${sweep[@]}" --seeds 3 --random 2
refuses "names 2 devices" "${sweep[@]}" --grid TRAIN.BASE_LR=1,2 --devices cpu,ref --jobs 3
[ ! -e none ] || fail "a refused sweep leaves a folder"

finish
