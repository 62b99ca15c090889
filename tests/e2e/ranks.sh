#!/bin/bash
# Several processes train one model with mpirun. Up to the order of sums, the result equals that
# of one process with the same number of images per step; repeating the run gives the same bits.
# If a rank is killed, asked to stop, or hangs, all ranks end, and a restarted run ends with the
# file of an undisturbed one. Processes with different configurations are rejected.
#
#   tests/e2e/ranks.sh [TRAINC]
. "$(dirname "$0")/ranks.bash"

"$trainc" synth shapes --out more --classes 4 --train 68 --val 4 --size 16 2>/dev/null || exit 1
tiny >tiny.yaml
# In bf16, layers of few rows have other kernels, which round differently: each rank has enough.
train=("$trainc" --cfg tiny.yaml --img-size 32)
run=swin_tiny

# Prints each step's loss and the scores with 5 digits.
told() { # FOLDER
  jq -r 'select(.kind == "train") | "\(.step) \(.loss)"' "$1"/*/*/metrics.jsonl |
    awk '{printf "%d %.5f\n", $1, $2}'
  awk -F, 'NR > 1 {for (i = 1; i <= 9; i++) printf "%.5g ", $i; print ""}' "$1"/*/*/summary.csv
}

# Equal up to the order of sums.
alike() { # FILE FILE
  [ "$(wc -w <"$1")" = "$(wc -w <"$2")" ] && paste -d ' ' <(tr -s ' \n' '\n' <"$1") <(tr -s ' \n' '\n' <"$2") |
    awk '{d = $1 - $2; a = $1 < 0 ? -$1 : $1; if (!(d * d <= (3e-5 * (a + 1)) ^ 2)) {print "other: " $0; bad = 1}} END {exit bad || !NR}'
}

"${train[@]}" --batch-size 8 --output one >log 2>&1 || fail "one process"
for n in 2 4; do
  ranks $n "${train[@]}" --batch-size $((8 / n)) --output "ranks$n" --result r.json >log 2>&1 ||
    fail "$n ranks"
  told one >one.told && told "ranks$n" >some.told && alike one.told some.told || fail "$n ranks: not what one process does"
  [ "$(jq -c 'select(.kind == "train")' "ranks$n"/*/*/metrics.jsonl | wc -l)" = 16 ] || fail "$n ranks: lines of metrics"
  grep -q "$n processes, each with batches of $((8 / n)) images" log || fail "$n ranks: not said"
  [ "$(grep -c "Max accuracy" log)" = 2 ] || fail "$n ranks: the log is not of one rank"
  [ "$(json_value r.json steps)" = 16 ] || fail "$n ranks: the result"
done
told one | grep -q "^16 [0-9]" || fail "nothing was compared"
# Ranks that are not bound to cores share the machine's cores.
cores=$("$trainc" devices | sed -n 's/^cpu *\([0-9]*\) thread.*/\1/p')
share=$((cores > 1 ? cores / 2 : 1))
ranks 2 --bind-to none env -u OMP_NUM_THREADS "$trainc" --cfg tiny.yaml --threads 0 --batch-size 4 --output free --max-steps 1 \
  >log 2>&1 || fail "two ranks that nothing binds"
grep -q " on cpu ($share thread" log || { grep " on cpu " log; fail "two ranks take more than $share threads each"; }
echo "ok: 2 and 4 ranks are one run"

# Two ranks with two batches per step each; repeating the run gives the same bits.
for again in a b; do
  ranks 2 "${train[@]}" --batch-size 2 --accumulation-steps 2 --output same >log 2>&1 ||
    fail "accumulation"
  mv same $again
done
cmp -s a/*/*/last.safetensors b/*/*/last.safetensors || fail "two equal runs of two ranks differ"
told a >some.told && alike one.told some.told || fail "accumulation: not what one process does"
# The ranks' running statistics of batch normalization are merged.
for again in c d; do
  ranks 2 "$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 \
    --batch-size 4 --output same --result $again.json >log 2>&1 || fail "batch norms"
  mv same $again
done
cmp -s c/*/*/last.safetensors d/*/*/last.safetensors || fail "two equal runs with batch norms differ"
"$trainc" eval --resume c/*/*/last.safetensors --device cpu --data-path shapes --result alone.json >log 2>&1 ||
  fail "eval in one process"
ranks 3 "$trainc" eval --resume c/*/*/last.safetensors --device cpu --data-path shapes --batch-size 4 \
  --result three.json >log 2>&1 || fail "eval in three"
value() { printf "%.4g" "$(json_value "$1" "$2")"; }
for key in val_loss ema_loss val_top1 ema_top1; do
  [ "$(value alone.json $key)" = "$(value three.json $key)" ] &&
    [ "$(value alone.json $key)" = "$(value c.json $key)" ] ||
    fail "$key depends on the ranks: $(value alone.json $key) $(value three.json $key) $(value c.json $key)"
done
expect_line "(22 images"
echo "ok: the same bits again"

# One rank is killed or asked to stop.
two=("${train[@]}" --batch-size 4 --output two --opts TRAIN.SAVE_STEPS=3 TRAIN.EPOCHS=12)
ranks 2 "${two[@]}" >log 2>&1 || fail "undisturbed"
mv two undisturbed
for how in "KILL 0" "KILL 1" "TERM 1" "TERM 0"; do
  read -r sig rank <<<"$how"
  mpirun --oversubscribe -n 2 "${two[@]}" >log 2>&1 &
  pid=$!
  reached 'two/*/*' 20 $pid
  child=$(pgrep -P $pid -f "output two" | sed -n "$((rank + 1))p")
  kill -"$sig" "$child"
  for ((i = 0; i < 100; i++)); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
  kill -0 $pid 2>/dev/null && fail "SIG$sig of rank $rank: the others continue" && kill -9 $pid
  wait $pid
  [ $? != 0 ] || fail "SIG$sig of rank $rank: exit code 0"
  [ "$sig" = KILL ] || grep -q "SIG$sig: .*stopping at step" log || fail "SIG$sig of rank $rank: no word"
  ranks 2 "${two[@]}" >log 2>&1 || fail "SIG$sig of rank $rank: does not resume"
  grep -q "resumed from" log || fail "SIG$sig of rank $rank: did not resume"
  cmp -s two/*/*/last.safetensors undisturbed/*/*/last.safetensors || fail "SIG$sig of rank $rank: other weights"
  rm -rf two
done
# One rank hangs: the others stop waiting after DIST.TIMEOUT.
mpirun --oversubscribe -n 2 "${two[@]}" --dist-timeout 2 >log 2>&1 &
pid=$!
reached 'two/*/*' 20 $pid
kill -STOP "$(pgrep -P $pid -f "output two" | tail -1)"
for ((i = 0; i < 100; i++)); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
kill -0 $pid 2>/dev/null && fail "a rank that hangs: the others wait" && kill -9 $pid
wait $pid && fail "a rank that hangs: exit code 0"
expect_line "waited 2 seconds for the other processes (DIST.TIMEOUT), on host $(hostname) in update [1-9][0-9]*: rank 1 on host $(hostname) hangs, or its machine is gone"
ranks 2 "${two[@]}" >log 2>&1 || fail "a rank that hangs: does not resume"
cmp -s two/*/*/last.safetensors undisturbed/*/*/last.safetensors || fail "a rank that hangs: other weights"
rm -rf two
echo "ok: killed, asked to leave, hanging"

# trainc launch: a rank that is killed, and a signal to the launcher.
launch=("$trainc" launch -n 2 --oversubscribe --restarts 1 -- "${two[@]:1}")
for sig in KILL TERM; do
  "${launch[@]}" >log 2>&1 &
  pid=$!
  reached 'two/*/*' 20 $pid
  if [ $sig = KILL ]; then kill -9 "$(pgrep -P "$(pgrep -P $pid)" -f "output two" | tail -1)"; else kill -TERM $pid; fi
  wait $pid
  rc=$?
  if [ $sig = KILL ]; then
    [ $rc = 0 ] && grep -q "exit code 137; restarting from the newest checkpoint (0 more" log ||
      fail "launch --restarts: exit code $rc"
  else
    [ $rc = 143 ] && grep -q ": .*stopping at step" log || fail "launch and SIGTERM: exit code $rc"
    "${launch[@]}" >log 2>&1 || fail "launch again"
  fi
  cmp -s two/*/*/last.safetensors undisturbed/*/*/last.safetensors || fail "launch and SIG$sig: other weights"
  rm -rf two
done
"$trainc" launch -n 2 --oversubscribe -- train --cfg nowhere.yaml >log 2>&1
[ $? = 2 ] && [ "$(grep -c "restarting" log)" = 0 ] || fail "launch of a mistake: exit code"
# Without --, the command starts at the first word that is not a flag of launch.
"$trainc" launch -n 2 --oversubscribe train --cfg tiny.yaml --batch-size 4 --max-steps 1 --output bare >log 2>&1 ||
  fail "launch without --"
expect_line "2 processes, each with batches of 4 images"
for wrong in "" "-n" "-n 0 train" "-n two train" "-n 2" "-n 2 --restarts x train" "train -n 2"; do
  "$trainc" launch $wrong >log 2>&1
  [ $? = 2 ] && [ "$(grep -c "^trainc: error: " log)" = 1 ] || fail "launch $wrong: not refused"
done
PATH=/nowhere "$trainc" launch -n 2 -- train --cfg tiny.yaml >log 2>&1
[ $? = 1 ] && grep -q "Debian package openmpi-bin" log || fail "launch without mpirun"
echo "ok: launch"

# One process resumes a checkpoint of two ranks with the same number of images per step.
"${train[@]}" --batch-size 8 --output alone --resume a/*/*/ckpt_epoch_0.safetensors >log 2>&1 ||
  fail "resume in one process"
told alone | tail -1 >some.told && tail -1 one.told >last.told && alike last.told some.told || fail "resume in one process: another end"
echo "ok: another number of ranks"

# Inconsistent processes.
mpirun --oversubscribe -n 1 "${train[@]}" --batch-size 4 --output no : -n 1 "${train[@]}" --batch-size 4 \
  --output no --lr 0.2 >log 2>&1 && fail "two configurations passed"
expect_line "rank 1 has another configuration than rank 0"
WORLD_SIZE=2 RANK=0 "${train[@]}" --output no >log 2>&1
[ $? = 2 ] && grep -q "WORLD_SIZE is 2 (torchrun), but processes on CPUs need mpirun -n 2" log ||
  fail "torchrun"
ranks 2 "${train[@]}" --data-path more --batch-size 4 --no-drop-last --output no >log 2>&1 && fail "DROP_LAST False passed"
expect_line "the last batch of 4 images cannot be shared by 2 processes"
ranks 2 "${train[@]}" --batch-size 40 --output no >log 2>&1 && fail "too few images passed"
expect_line "64 images, fewer than DATA.BATCH_SIZE 40 in each process"
"$trainc" pack --dataset folder --data-path shapes --to zip --out zip >log 2>&1 || fail "pack"
ranks 2 "${train[@]}" --zip --data-path zip --cache none --batch-size 4 --output no --aug-repeats 2 >log 2>&1 &&
  fail "--cache-mode part passed with repeats"
expect_line "DATA.CACHE_MODE part: each process shuffles its own part of the images, which cannot be combined with AUG.REPEATS"
[ -e no/$run ] && fail "a refused run has a folder"
# Each rank reads and caches only its own 32 of the 64 images, also in the second epoch.
ranks 2 "${train[@]}" --zip --data-path zip --cache none --batch-size 4 --output part >log 2>&1 ||
  fail "--cache-mode part"
expect_line "each of the 2 processes always trains on its own part of the images"
expect_line "DATA.CACHE encoded: 32 of 64 images"
ranks 2 "${train[@]}" --zip --data-path zip --cache none --batch-size 4 --output full --cache-mode full --epochs 1 >log 2>&1 ||
  fail "--cache-mode full"
echo "ok: what does not fit"

finish
