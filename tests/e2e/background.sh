#!/bin/bash
# TRAIN.VALIDATE background: a separate process computes the same scores as inline validation, and
# they reach metrics.jsonl, summary.csv, TensorBoard, the result, and the choice of the best
# checkpoint. A killed evaluator loses nothing. A killed run validates its pending checkpoints
# when it is restarted. Also covered: two ranks, an evaluator started by hand, and a cache of
# decoded images on disk.
#
#   tests/e2e/background.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 22 --size 16 2>/dev/null || exit 1
train=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 --epochs 6 --tensorboard)
background=("${train[@]}" --output background --result r.json --opts TRAIN.VALIDATE=background)
run=resnet20/default
scores() { jq -c 'select(.kind == "val")' "$1/$run/metrics.jsonl" | sort; }
table() { cut -d, -f1-9 "$1/$run/summary.csv"; } # the other columns are rates and seconds
# Counts TensorBoard's scalars by tag.
points() { grep -h -a -o 'val/[a-z0-9_]*' "$1/$run"/events.* | sort | uniq -c; }
same() { # FOLDER WHAT
  [ "$(scores inline | wc -l)" = 6 ] || fail "nothing to compare"
  diff <(scores inline) <(scores "$1") || fail "$2: other scores"
  diff <(table inline) <(table "$1") || fail "$2: another summary.csv"
  diff <(points inline) <(points "$1") || fail "$2: other points in TensorBoard"
  diff <(best_values in.json) <(best_values r.json) || fail "$2: another best"
  # skips the header, which contains times
  cmp -s <(tail -c 1000000 "inline/$run/best.safetensors") <(tail -c 1000000 "$1/$run/best.safetensors") ||
    fail "$2: best.safetensors is of another epoch"
  [ -z "$(ls "$1/$run" | grep validate)" ] || fail "$2: files are left"
}

"${train[@]}" --output inline --result in.json >log 2>&1 || fail "inline"
"${background[@]}" >log 2>&1 || fail "background"
same background "undisturbed"
[ "$(grep -c "in the background)" log)" = 6 ] || fail "not said"
[ -z "$(pgrep -f "$dir/background")" ] || fail "an evaluator is left"
echo "ok: the same scores"

# A repeatedly killed evaluator is restarted, and training does not wait for it.
rm -rf background
"${background[@]}" >log 2>&1 &
pid=$!
killed=0
while kill -0 $pid 2>/dev/null; do
  child=$(pgrep -P $pid -f "eval --cfg")
  [ -n "$child" ] && [ $killed -lt 2 ] && sleep 0.1 && kill -9 "$child" 2>/dev/null && killed=$((killed + 1))
  sleep 0.02
done
wait $pid || fail "a killed evaluator ends the run"
[ $killed = 2 ] && [ "$(grep -c "the background evaluator ended (signal 9): restarting it" log)" = 2 ] ||
  fail "killed $killed times, and not said"
same background "a killed evaluator"
echo "ok: a killed evaluator"

# An evaluator that hangs, while it starts or while it works, is killed after DIST.TIMEOUT and
# restarted; a run that is asked to stop does not wait for it. The program file is replaced
# meanwhile.
rm -rf background
cp "$trainc" own
own=("./own" "${background[@]:1}")
"${own[@]}" DIST.TIMEOUT=2 >log 2>&1 &
pid=$!
cp own new && mv new own
for ((i = 0; i < 200; i++)); do child=$(pgrep -P $pid -f "eval --cfg") && break; sleep 0.02; done
kill -STOP $child || fail "no evaluator"
wait $pid || fail "an evaluator that hangs ends the run"
grep -q "the background evaluator sent no message for 2 seconds (DIST.TIMEOUT) and was killed: restarting it" log &&
  grep -q "waiting for the background evaluator: [1-6] checkpoint" log || fail "an evaluator that hangs: not said"
same background "an evaluator that hangs"
rm -rf background
"${background[@]}" >log 2>&1 &
pid=$!
for ((i = 0; i < 200; i++)); do child=$(pgrep -P $pid -f "eval --cfg") && break; sleep 0.02; done
kill -STOP $child
for ((i = 0; i < 100; i++)); do grep -q "waiting for the background evaluator" log && break; sleep 0.1; done
kill -TERM $pid
for ((i = 0; i < 100; i++)); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
kill -0 $pid 2>/dev/null && fail "SIGTERM: the run waits for an evaluator that hangs"
kill -9 $child 2>/dev/null
wait $pid
[ $? = 143 ] || fail "SIGTERM: not validated, and the exit code says it is done"
"${background[@]}" >log 2>&1 || fail "after an evaluator that hangs"
[ "$(jq 'has("best_epoch")' "background/$run/result.json")" = true ] || fail "result.json is that of the run before, which has no scores"
same background "after an evaluator that hangs"
[ -z "$(pgrep -f "$dir/background")" ] || fail "an evaluator that hangs is left"
echo "ok: an evaluator that hangs"

# The run is killed before and after the last results are written.
for lines in 1 3 5; do
  rm -rf background
  "${background[@]}" >log 2>&1 &
  pid=$!
  while ! [ "$(scores background 2>/dev/null | wc -l)" -ge $lines ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
  kill -9 $pid
  wait $pid 2>/dev/null
  "${background[@]}" >log 2>&1 || fail "killed after $lines scores: does not resume"
  same background "killed after $lines scores"
done
# The restarted run has no steps left to train.
rm -rf background
"${background[@]}" >log 2>&1 &
pid=$!
while ! [ -e "background/$run/ckpt_epoch_5.safetensors" ] && kill -0 $pid 2>/dev/null; do sleep 0.005; done
kill -9 $pid
wait $pid 2>/dev/null
"${background[@]}" >log 2>&1 || fail "killed at the end: does not resume"
same background "killed at the end"
# Files with similar names, such as backups and partial copies, are not checkpoints to validate.
last=$(jq 'select(.kind == "val").step' "background/$run/metrics.jsonl" | sort -n | tail -1)
for ending in .safetensors .safetensors~ .safetensors.tmp.part "" "~"; do
  cp "background/$run/ckpt_epoch_5.safetensors" "background/$run/validate_step_$last$ending"
done
"${background[@]}" >log 2>&1 || fail "files that are called alike"
grep -q "1 checkpoint of the previous process is still to be evaluated" log || fail "a backup is evaluated"
[ "$(ls "background/$run" | grep -c "^validate_step_$last")" = 4 ] || { ls "background/$run"; fail "a file of the user is deleted"; }
rm -f "background/$run/validate_step_"*
same background "files that are called alike"
echo "ok: a killed run catches up"

# With two ranks, the first one runs the evaluator. An early stop ends both.
rm -rf background
mpirun --oversubscribe -n 2 "${background[@]}" DATA.BATCH_SIZE=4 TRAIN.EARLY_STOP=20 >log 2>&1 || fail "two ranks"
[ "$(scores background | wc -l)" = 6 ] || fail "two ranks: $(scores background | wc -l) scores"

# Validation by hand, and from decoded images that both processes share.
rm -rf background
"$trainc" train --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 --output background \
  --result r.json --cache mmap --opts TRAIN.VALIDATE=background TRAIN.EPOCHS=6 LOG.TENSORBOARD=True DATA.INDEX_DIR=kept >log 2>&1 || fail "decoded images"
same background "decoded images"
[ "$(ls -d kept/cache-* 2>/dev/null | wc -l)" -ge 1 ] || fail "no cache on disk"
rm -rf background
(
  while ! [ -S "background/$run/validate.sock" ]; do sleep 0.005; done
  exec "$trainc" eval --cfg "background/$run/config.yaml" --device ref --watch "background/$run/validate.sock" --log-level debug >hand 2>&1
) &
"${background[@]}" DEBUG.REDZONES=False >log 2>&1 || fail "by hand"
wait
[ "$(scores background | wc -l)" = 6 ] || { cat hand; fail "by hand: $(scores background | wc -l) scores"; }
echo "ok: two ranks, by hand, decoded images"

refused() { # PATTERN ARGUMENT...
  local says=$1
  shift
  "${train[@]}" --output no "$@" >log 2>&1
  [ $? = 2 ] && [ "$(grep -c "^trainc: error:.*$says" log)" = 1 ] || fail "not refused: $says"
}
refused "the schedule plateau, which needs the score of each epoch" --sched plateau --opts TRAIN.VALIDATE=background
refused "TRAIN.VALIDATE_DEVICE gpu is no device" --opts TRAIN.VALIDATE=background TRAIN.VALIDATE_DEVICE=gpu
"$trainc" eval --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --watch nowhere/validate.sock >log 2>&1
[ $? = 1 ] && grep -q "no training run listens on this socket" log || fail "no socket"
[ ! -e no ] || fail "a refused run has a folder"

finish
