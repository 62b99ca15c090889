#!/bin/bash
# trainc sweep: each combination gives the result of trainc train; finished runs are kept, killed
# ones continue; a failing run is reported and stops no other; successive halving gives the better
# half more steps; a signal stops all runs and sets the exit code.
#
#   tests/e2e/sweep.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

cell() { awk -F, -v run="$2" -v n="$3" '$1 == run {print $n}' "$1"/sweep.csv; } # DIR RUN COLUMN

"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 22 --size 16 2>/dev/null || exit 1
train=(--cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --epochs 2)
grid=(--grid TRAIN.BASE_LR=0.01,0.1 "MODEL.DROP_PATH_RATE=0:0.2:0.1" --jobs 2)

# Six runs, each with the result of trainc train.
"$trainc" sweep "${train[@]}" "${grid[@]}" --output a >table 2>log || fail "a grid"
[ "$(wc -l <a/sweep.csv)" = 7 ] && [ "$(grep -c ",done," a/sweep.csv)" = 6 ] || fail "a grid: $(cat a/sweep.csv)"
"$trainc" "${train[@]}" --output alone --threads 1 --lr 0.1 --result alone.json --drop-path 0.1 >log 2>&1 || fail "one run"
[ "$(json_value alone.json best_top1)" != null ] &&
  [ "$(cell a base_lr=0.1_drop_path_rate=0.1 2)" = "$(printf %.8g "$(json_value alone.json best_top1)")" ] ||
  fail "a run of the sweep has another score: $(cell a base_lr=0.1_drop_path_rate=0.1 2), $(json_value alone.json best_top1)"
awk -F, 'NR > 2 && $2 > last {bad = 1} {last = $2} END {exit bad}' a/sweep.csv || fail "the table is not sorted"
head -1 table | grep -q "^best_top1 *steps state *run" && [ "$(wc -l <table)" = 7 ] || fail "the table: $(cat table)"

# A repeated sweep repeats no run; a run whose result is lost continues.
before=$(cksum a/*/*/metrics.jsonl)
rm a/sweep/base_lr=0.01_drop_path_rate=0.json
"$trainc" sweep "${train[@]}" "${grid[@]}" --output a >table 2>log || fail "again"
expect_line "5 of 6 runs are already finished"
grep -q "all 2 epochs are already done" a/sweep/base_lr=0.01_drop_path_rate=0.log || fail "again: not resumed"
[ "$before" = "$(cksum a/*/*/metrics.jsonl)" ] || fail "again: finished runs were trained"
# Results of different arguments are not reused, and a folder keeps its run.
"$trainc" sweep "${train[@]}" --opts SEED 7 "${grid[@]}" --output a >table 2>log && fail "other arguments passed"
grep -q "TRAIN\|SEED" a/sweep.csv && [ "$(grep -c ",failed," a/sweep.csv)" = 6 ] || fail "other arguments"

# A list, a part of a grid, and an invalid value.
cat >list <<'LIST'
# three runs
TRAIN.BASE_LR=0.01 --seed 3

TRAIN.OPTIMIZER.GROUPS="[{match: 'fc.*', lr_scale: 10}]" HOOKS="[{at: end, run: 'true #1'}]"  # quotes as in a shell
TRAIN.BASE_LR=abc
LIST
"$trainc" sweep "${train[@]}" --list list --output b >table 2>log
[ $? = 1 ] || fail "a run that fails: exit code"
[ "$(grep -c ",done," b/sweep.csv)" = 2 ] && grep -q "must be a float, not 'abc'" b/sweep.csv || fail "a list: $(cat b/sweep.csv)"
for again in 1 2; do
  "$trainc" sweep "${train[@]}" "${grid[@]}" --random 2 --output c --max-steps 1 >table 2>log || fail "--random"
  [ "$(wc -l <c/sweep.csv)" = 3 ] || fail "--random 2: $(cat c/sweep.csv)"
  cut -d, -f1 c/sweep.csv | sort >random$again
done
cmp -s random1 random2 || fail "--random chooses others: $(cat random1 random2)"
expect_line "2 of 2 runs are already finished"

"$trainc" sweep "${train[@]}" --max-steps 1 --grid "AUG.SCALE=[0.5,1],[0.8,1.0]" --output lists >table 2>log ||
  fail "lists as values"
[ "$(grep -c ",done," lists/sweep.csv)" = 2 ] || fail "lists as values: $(cat lists/sweep.csv)"

# Successive halving: two of four runs train for half of the steps, one for all.
"$trainc" sweep "${train[@]}" --grid TRAIN.BASE_LR=0.001,0.01,0.1,0.05 --halving 2 --output d >table 2>log ||
  fail "--halving"
[ "$(cut -d, -f3 d/sweep.csv | sed 1d | xargs)" = "16 8 4 4" ] || fail "--halving: updates $(cut -d, -f3 d/sweep.csv | xargs)"
[ "$(cut -d, -f4 d/sweep.csv | sed 1d | xargs)" = "done stopped stopped stopped" ] || fail "--halving: states"
"$trainc" sweep "${train[@]}" --grid TRAIN.BASE_LR=0.001,0.01,0.1,0.05 --halving 1 --output d2 >table 2>log
[ "$(cut -d, -f3 d2/sweep.csv | sed 1d | xargs)" = "16 16 8 8" ] || fail "--halving 1: updates $(cut -d, -f3 d2/sweep.csv | xargs)"
# Killed during the runs' first step, which tells their length: no rung is complete.
"$trainc" sweep "${train[@]}" --grid SEED=1,2,3,4 --halving 1 --output "$dir/d3" >table 2>log &
pid=$!
for ((i = 0; i < 200; i++)); do compgen -G "d3/*/seed=2/derived.yaml" >/dev/null && break; sleep 0.02; done
kill -9 $pid
wait $pid 2>/dev/null
pkill -9 -f "output $dir/d3"
compgen -G "d3/sweep/*.json" >/dev/null && fail "--halving: a first update is the result of a rung"
# Results of a different halving are not reused.
"$trainc" sweep "${train[@]}" --grid TRAIN.BASE_LR=0.001,0.01,0.1,0.05 --halving 2 --output d2 >table 2>log
grep -q "are already finished" log && fail "--halving 2 took the results of --halving 1"
best=$(awk -F, 'NR == 2 {print $1}' d/sweep.csv)
"$trainc" "${train[@]}" --output whole --lr "${best#*=}" --result whole.json >log 2>&1
[ "$(json_value whole.json val_loss)" = "$(json_value "d/sweep/$best.json" val_loss)" ] || fail "--halving: the best is not a whole run"

# A signal to the sweep.
"$trainc" sweep "${train[@]}" --epochs 500 --grid SEED=1,2,3 --jobs 2 --output "$dir/e" >table 2>log &
pid=$!
for ((i = 0; i < 100; i++)); do
  grep -q '"step":5,' e/*/seed=1/metrics.jsonl 2>/dev/null && grep -q '"step":5,' e/*/seed=2/metrics.jsonl 2>/dev/null && break
  sleep 0.1
done
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "SIGTERM: exit code"
pgrep -f "output $dir/e" >/dev/null && fail "SIGTERM: runs are left"
[ "$(grep -c "SIGTERM: .*stopping at step" e/sweep/*.log | grep -c ":1$")" = 2 ] || fail "SIGTERM: runs did not save"
[ -e e/sweep/seed=3.log ] && fail "SIGTERM: another run was started"

# SIGKILL of the sweep: its runs stop on their own, and a sweep started at once completes.
for instant in 0.1 0.6; do
  "$trainc" sweep "${train[@]}" --epochs 60 --grid SEED=1,2 --jobs 2 --output "$dir/k" >table 2>log &
  pid=$!
  sleep $instant
  kill -9 $pid
  wait $pid 2>/dev/null
done
"$trainc" sweep "${train[@]}" --epochs 60 --grid SEED=1,2 --jobs 2 --output "$dir/k" >table 2>log || fail "SIGKILL: started again"
[ "$(grep -c ",done," k/sweep.csv)" = 2 ] || fail "SIGKILL: runs are missing"
# Stopped processes hold a folder forever: a run that finds its folder in use is retried.
"$trainc" train "${train[@]}" --epochs 500 --output "$dir/h" --tag seed=1 --seed 1 >log 2>&1 &
pid=$!
for ((i = 0; i < 3000; i++)); do [ -e h/resnet20/seed=1/log.txt ] && break; sleep 0.01; done
kill -STOP $pid || fail "a run is over too early"
"$trainc" sweep "${train[@]}" --epochs 500 --max-steps 2 --dist-timeout 1 --grid SEED=1 --output "$dir/h" >table 2>log2 &
sweep=$!
for ((i = 0; i < 600; i++)); do grep -q "waiting up to" h/sweep/*.log 2>/dev/null && break; sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
wait $sweep || { cat log2 h/sweep/*.log; fail "a folder that another process has for now fails the run"; }

# A shell loop gives the same results.
(cd "$here" && RATES="0.01 0.1" SEEDS=1 scripts/sweep.sh "$dir/loop" "${train[@]}" --data-path "$dir/shapes") >loop.log 2>&1
[ "$(wc -l <loop.log)" = 2 ] && sort -rnc loop.log || { cat loop.log; fail "scripts/sweep.sh"; }

# Invalid commands.
refused() { refuses "$1" "$trainc" sweep "${@:2}"; } # PATTERN ARGUMENT...
refused "needs --output" --grid SEED=1
refused "needs --grid KEY=VALUE,VALUE ..., --folds N, --seeds N, or --list" --output f
refused "KEY=VALUE,VALUE,..., not 'SEED'" --grid SEED --output f
printf 'SEED=1\nSEED="2 #\n' >open
refused "open:2: missing closing quote" --list open --output f
refused "use FROM:TO:STEP" --grid SEED=3:1:1 --output f
refused "--jobs must be a number from 1 to 1024, not 'no'" --grid SEED=1 --jobs no --output f
refused "the run 'seed=1' occurs twice" --grid SEED=1,2,1 --output f
refused "--tag cannot be given: the sweep sets it for each run" --grid SEED=1 --tag x --output f
refused "unrecognized arguments: --job" --grid SEED=1 --job 2 --output f
refused "unknown key TRAIN.NOTHING" --grid SEED=1 --opts TRAIN.NOTHING 2 --output f
refused "more than 10000 runs" --grid SEED=1:20000:1 --output f
[ -e f ] && fail "a refused sweep has a folder"
"$trainc" sweep "${train[@]}" --max-steps 1 --grid SEED=1 --output g >/dev/full 2>log && fail "a table that cannot be written passed"

finish
