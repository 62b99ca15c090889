#!/bin/bash
# TRAIN.VALIDATE beside: a separate process computes the same scores as inline validation, and
# they reach metrics.jsonl, summary.csv, TensorBoard, the result, and the choice of the best
# checkpoint. A killed evaluator loses nothing. A killed run validates its pending checkpoints
# when it is restarted. Also covered: two ranks, an evaluator started by hand, and a cache of
# decoded images on disk.
#
#   tests/e2e/beside.sh [TRAINC]
set -u
trainc=$(realpath "${1:-./trainc}")
here=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-beside.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fails=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() { echo "FAILED: $*"; fails=$((fails + 1)); }
"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 22 --size 16 2>/dev/null || exit 1
train=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 --epochs 6 --tensorboard)
beside=("${train[@]}" --output beside --result r.json --opts TRAIN.VALIDATE=beside)
run=resnet20/default
scores() { grep '"kind":"val"' "$1/$run/metrics.jsonl" | sort; }
table() { cut -d, -f1-9 "$1/$run/summary.csv"; } # the other columns are rates and seconds
# Counts TensorBoard's scalars by tag.
points() { grep -h -a -o 'val/[a-z0-9_]*' "$1/$run"/events.* | sort | uniq -c; }
same() { # FOLDER WHAT
  [ "$(scores inline | wc -l)" = 6 ] || fail "nothing to compare"
  diff <(scores inline) <(scores "$1") || fail "$2: other scores"
  diff <(table inline) <(table "$1") || fail "$2: another summary.csv"
  diff <(points inline) <(points "$1") || fail "$2: other points in TensorBoard"
  diff <(grep best_ in.json) <(grep best_ r.json) || fail "$2: another best"
  # skips the header, which contains times
  cmp -s <(tail -c 1000000 "inline/$run/best.safetensors") <(tail -c 1000000 "$1/$run/best.safetensors") ||
    fail "$2: best.safetensors is of another epoch"
  [ -z "$(ls "$1/$run" | grep validate)" ] || fail "$2: files are left"
}

"${train[@]}" --output inline --result in.json >log 2>&1 || { cat log; fail "inline"; }
"${beside[@]}" >log 2>&1 || { cat log; fail "beside"; }
same beside "undisturbed"
[ "$(grep -c "in background)" log)" = 6 ] || fail "not said"
[ -z "$(pgrep -f "$dir/beside")" ] || fail "an evaluator is left"
echo "ok: the same scores"

# A repeatedly killed evaluator is restarted, and training does not wait for it.
rm -rf beside
"${beside[@]}" >log 2>&1 &
pid=$!
killed=0
while kill -0 $pid 2>/dev/null; do
  child=$(pgrep -P $pid -f "eval --cfg")
  [ -n "$child" ] && [ $killed -lt 2 ] && sleep 0.1 && kill -9 "$child" 2>/dev/null && killed=$((killed + 1))
  sleep 0.02
done
wait $pid || { cat log; fail "a killed evaluator ends the run"; }
[ $killed = 2 ] && [ "$(grep -c "the background evaluator ended (signal 9): restarting it" log)" = 2 ] ||
  { cat log; fail "killed $killed times, and not said"; }
same beside "a killed evaluator"
echo "ok: a killed evaluator"

# An evaluator that hangs, while it starts or while it works, is killed after DIST.TIMEOUT and
# restarted; a run that is asked to stop does not wait for it. The program file is replaced
# meanwhile.
rm -rf beside
cp "$trainc" own
own=("./own" "${beside[@]:1}")
"${own[@]}" DIST.TIMEOUT=2 >log 2>&1 &
pid=$!
cp own new && mv new own
for ((i = 0; i < 200; i++)); do child=$(pgrep -P $pid -f "eval --cfg") && break; sleep 0.02; done
kill -STOP $child || fail "no evaluator"
wait $pid || { cat log; fail "an evaluator that hangs ends the run"; }
grep -q "the background evaluator sent no message for 2 seconds (DIST.TIMEOUT) and was killed: restarting it" log &&
  grep -q "waiting for the background evaluator: [1-6] checkpoint" log || { cat log; fail "an evaluator that hangs: not said"; }
same beside "an evaluator that hangs"
rm -rf beside
"${beside[@]}" >log 2>&1 &
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
"${beside[@]}" >log 2>&1 || { cat log; fail "after an evaluator that hangs"; }
grep -q '"best_epoch"' "beside/$run/result.json" || fail "result.json is that of the run before, which has no scores"
same beside "after an evaluator that hangs"
[ -z "$(pgrep -f "$dir/beside")" ] || fail "an evaluator that hangs is left"
echo "ok: an evaluator that hangs"

# The run is killed before and after the last results are written.
for lines in 1 3 5; do
  rm -rf beside
  "${beside[@]}" >log 2>&1 &
  pid=$!
  while ! [ "$(scores beside 2>/dev/null | wc -l)" -ge $lines ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
  kill -9 $pid
  wait $pid 2>/dev/null
  "${beside[@]}" >log 2>&1 || { cat log; fail "killed after $lines scores: does not go on"; }
  same beside "killed after $lines scores"
done
# The restarted run has no steps left to train.
rm -rf beside
"${beside[@]}" >log 2>&1 &
pid=$!
while ! [ -e "beside/$run/ckpt_epoch_5.safetensors" ] && kill -0 $pid 2>/dev/null; do sleep 0.005; done
kill -9 $pid
wait $pid 2>/dev/null
"${beside[@]}" >log 2>&1 || { cat log; fail "killed at the end: does not go on"; }
same beside "killed at the end"
# Files with similar names, such as backups and partial copies, are not checkpoints to validate.
last=$(sed -n 's/.*"kind":"val".*"step":\([0-9]*\).*/\1/p' "beside/$run/metrics.jsonl" | sort -n | tail -1)
for ending in .safetensors .safetensors~ .safetensors.tmp.part "" "~"; do
  cp "beside/$run/ckpt_epoch_5.safetensors" "beside/$run/validate_step_$last$ending"
done
"${beside[@]}" >log 2>&1 || { cat log; fail "files that are called alike"; }
grep -q "1 checkpoint of the previous process is still to be evaluated" log || { grep "of before" log; fail "a backup is evaluated"; }
[ "$(ls "beside/$run" | grep -c "^validate_step_$last")" = 4 ] || { ls "beside/$run"; fail "somebody's own file is deleted"; }
rm -f "beside/$run/validate_step_"*
same beside "files that are called alike"
echo "ok: a killed run catches up"

# With two ranks, the first one runs the evaluator. An early stop ends both.
rm -rf beside
mpirun --oversubscribe -n 2 "${beside[@]}" DATA.BATCH_SIZE=4 TRAIN.EARLY_STOP=20 >log 2>&1 || { cat log; fail "two ranks"; }
[ "$(scores beside | wc -l)" = 6 ] || fail "two ranks: $(scores beside | wc -l) scores"

# Validation by hand, and from decoded images that both processes share.
rm -rf beside
"$trainc" train --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 --output beside \
  --result r.json --cache mmap --opts TRAIN.VALIDATE=beside TRAIN.EPOCHS=6 LOG.TENSORBOARD=True DATA.INDEX_DIR=kept >log 2>&1 || { cat log; fail "decoded images"; }
same beside "decoded images"
[ "$(ls -d kept/cache-* 2>/dev/null | wc -l)" -ge 1 ] || fail "no cache on disk"
rm -rf beside
(
  while ! [ -S "beside/$run/validate.sock" ]; do sleep 0.005; done
  exec "$trainc" eval --cfg "beside/$run/config.yaml" --device ref --beside "beside/$run/validate.sock" --log-level debug >hand 2>&1
) &
"${beside[@]}" DEBUG.REDZONES=False >log 2>&1 || { cat log; fail "by hand"; }
wait
[ "$(scores beside | wc -l)" = 6 ] || { cat log hand; fail "by hand: $(scores beside | wc -l) scores"; }
echo "ok: two ranks, by hand, decoded images"

refused() { # PATTERN ARGUMENT...
  local says=$1
  shift
  "${train[@]}" --output no "$@" >log 2>&1
  [ $? = 2 ] && [ "$(grep -c "^trainc: error:.*$says" log)" = 1 ] || { cat log; fail "not refused: $says"; }
}
refused "the schedule plateau, which needs the score of each epoch" --sched plateau --opts TRAIN.VALIDATE=beside
refused "TRAIN.VALIDATE_DEVICE gpu is no device" --opts TRAIN.VALIDATE=beside TRAIN.VALIDATE_DEVICE=gpu
"$trainc" eval --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --beside nowhere/validate.sock >log 2>&1
[ $? = 1 ] && grep -q "no training listens there" log || { cat log; fail "no socket"; }
[ ! -e no ] || fail "a refused run has a folder"

[ $fails = 0 ] && echo "beside: passed" || { echo "beside: $fails failed"; exit 1; }
