#!/bin/bash
# A run that is killed at any point and restarted ends with the same file, bit for bit, as an
# undisturbed run. SIGKILL comes before the first checkpoint, within an epoch, after an epoch, and
# at arbitrary moments; SIGTERM and SIGINT make the run save. Mixup, EMA, and augmentation are on.
# A second round on the reference device uses fp16 with a falling loss scale, gradient
# accumulation, and AdamW.
#
#   tests/e2e/resume.sh [TRAINC]
. "$(dirname "$0")/resume.bash"

train=("${cpu[@]}")
updates=50

completes() { # NAME [resumed]: repeats the command until the run is complete
  "${train[@]}" >log 2>&1 || { fail "$1: does not resume"; return; }
  cmp -s $run/last.safetensors undisturbed/last.safetensors ||
    fail "$1: other weights than undisturbed"
  grep -q "resumed from" log || [ "$2" != resumed ] || fail "$1: did not resume"
  cmp -s <(cut -d, -f1-10 $run/summary.csv) <(cut -d, -f1-10 undisturbed/summary.csv) ||
    fail "$1: another summary.csv"
  [ "$(jq -c 'select(.kind == "train")' $run/metrics.jsonl | wc -l)" = $updates ] ||
    fail "$1: metrics.jsonl has not each update once"
  rm -rf out
  echo "ok: $1"
}

undisturbed() {
  rm -rf undisturbed
  "${train[@]}" >log 2>&1 || { fail "undisturbed"; finish; }
  mv $run undisturbed
  rm -rf out
}

# Training continues while checkpoints are written, so this waits until one exists.
kill_at() { # STEP [any]: "any" does not wait for a checkpoint
  "${train[@]}" >log 2>&1 &
  pid=$!
  reached $run $1 $pid || fail "SIGKILL at $1: over too early"
  until [ "${2:-}" = any ] || [ -e $run/last.safetensors ]; do
    kill -0 $pid 2>/dev/null || { fail "SIGKILL at $1: no checkpoint"; break; }
    sleep 0.03
  done
  kill -9 $pid
  wait $pid 2>/dev/null
}

terminate_at() { # SIGNAL CODE STEP
  "${train[@]}" >log 2>&1 &
  pid=$!
  reached $run $3 $pid || fail "SIG$1 at $3: over too early"
  kill -"$1" $pid
  wait $pid
  rc=$?
  [ $rc = "$2" ] || fail "SIG$1: exit code $rc, not $2"
  grep -q "SIG$1: .*stopping at step" log || fail "SIG$1: no word in the log"
}

# A summary with different columns is rejected before any other file changes.
refused() {
  mkdir -p out/resnet20
  cp -r undisturbed $run
  sed -i '1s/epoch/era/' $run/summary.csv
  echo '{"seq":1000000}' >>$run/metrics.jsonl
  cp $run/metrics.jsonl before
  "${train[@]}" >log 2>&1
  rc=$?
  [ $rc = 1 ] && grep -q "has the columns 'era" log || fail "other columns: exit code $rc"
  cmp -s before $run/metrics.jsonl || fail "other columns: metrics.jsonl was cut"
  rm -rf out
}

undisturbed
refused

# Step 1: nothing is saved yet. Step 10: within the first epoch. 25: its end. 40: in the second.
for step in 1 10 25 40; do
  how=$([ $step = 1 ] && echo any || echo resumed)
  kill_at $step $how
  completes "SIGKILL at update $step" $how
done

# Several kills at moments that do not depend on steps.
for n in 1 2 3 4; do
  "${train[@]}" >log 2>&1 &
  pid=$!
  sleep 0.$((1 + n))7
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
done
completes "SIGKILL four times" any

# One process per folder at a time.
"${train[@]}" >log 2>&1 &
pid=$!
reached $run 3 $pid && kill -STOP $pid || fail "two runs: over too early"
"${train[@]}" --dist-timeout 2 >log2 2>&1
[ $? = 75 ] && [ "$(grep -c "another run is writing to" log2)" = 2 ] || fail "two runs: the second one starts"
"${train[@]}" >log2 2>&1 &
second=$!
for ((i = 0; i < 100; i++)); do grep -q "waiting up to 20 s" log2 && break; sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
wait $second || { cat log2; fail "two runs: the second one does not wait for the end of the first"; }
completes "two runs" any

# A run that is asked to stop, within an epoch or at its end, saves its state.
for how in "TERM 143 10" "INT 130 25"; do
  read -r sig code step <<<"$how"
  terminate_at "$sig" "$code" "$step"
  completes "SIG$sig at update $step" resumed
done

# A damaged latest checkpoint is named and skipped; if no other is left, the run stops.
"${train[@]}" --max-steps 24 >log 2>&1 || fail "MAX_STEPS"
for f in $run/last.safetensors $run/ckpt_step_24.safetensors; do
  printf 'damaged!' | dd of=$f bs=1 seek=100000 conv=notrunc 2>/dev/null
done
"${train[@]}" >log 2>&1 || fail "damaged newest: does not resume"
grep -q "skipping checkpoint: .*ckpt_step_24" log || grep -q "skipping checkpoint: .*last" log ||
  fail "damaged newest: not named"
cmp -s $run/last.safetensors undisturbed/last.safetensors || fail "damaged newest: weights"
for f in $run/*.safetensors; do printf 'damaged!' | dd of="$f" bs=1 seek=100000 conv=notrunc 2>/dev/null; done
"${train[@]}" >log 2>&1 && fail "all damaged: starts over"
expect_line "cannot load any of the .* checkpoints"
rm -rf out
echo "ok: damaged checkpoints"

train=("${ref[@]}")
updates=6 # an epoch has 8 batches: two steps of three batches, and one of two
rm -rf out
undisturbed
expect_line "skipped" undisturbed/log.txt
for step in 3 5; do
  kill_at $step
  completes "fp16, accumulation: SIGKILL at update $step" resumed
done
# The signal most likely comes within a step: its batches are repeated and counted once.
for step in 1 4; do
  terminate_at TERM 143 $step
  completes "fp16, accumulation: SIGTERM after update $step" resumed
done

finish
