#!/bin/bash
# Every file of configs/smoke trains to its end on generated images, its result is complete, and
# `trainc eval` reproduces it.
#
#   tests/e2e/smoke.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 24 --size 64 2>/dev/null ||
  exit 1
for cfg in "$here"/configs/smoke/*.yaml; do
  name=$(basename "$cfg" .yaml)
  args=(--cfg "$cfg" --output out --tag "$name")
  case $name in synthetic | segment) ;; *) args+=(--data-path shapes) ;; esac
  case $name in synthetic) args+=(--threads 2) ;; esac # the others use the caller's setting
  case $name in
    segment) scores=(val_acc val_class_acc val_miou val_fwiou) ;;
    *) scores=(val_top1) ;;
  esac
  "$trainc" "${args[@]}" --result train.json >log 2>&1 || { fail "$name"; continue; }
  for key in exit epochs steps train_loss val_loss "${scores[@]}" images_per_second \
    device_open_seconds first_step_seconds peak_memory_bytes wall_seconds train_seconds \
    data_wait_seconds data_stage_seconds; do
    case $(json_value train.json $key) in
      '' | null) fail "$name: $key is missing" ;;
    esac
  done
  [ "$(jq .data_stage_seconds.decode train.json)" != null ] || fail "$name: decode is missing"
  # The steps' durations, computed from the logged rates, add up to nearly the training time.
  python3 - out/*/"$name"/metrics.jsonl train.json <<'EOF' || fail "$name: rates"
import json, sys
at, seconds = {}, 0
for r in map(json.loads, open(sys.argv[1])):
    if r["kind"] != "train":
        continue
    since = r["step"] - at.get("step", 0)
    at = r
    seconds += since / r["images_per_second"]
result = json.load(open(sys.argv[2]))
images = result["images_per_second"] * result["train_seconds"] / result["steps"]
share = images * seconds / result["train_seconds"]
assert 0.4 < share < 1.05, share
EOF
  last=$(echo out/*/"$name"/last.safetensors)
  "$trainc" eval "${args[@]}" --resume "$last" --result eval.json >log 2>&1 ||
    fail "$name: eval"
  for key in val_loss ema_loss "${scores[@]}" "${scores[@]/val/ema}"; do
    [ "$(json_value train.json $key)" = "$(json_value eval.json $key)" ] ||
      fail "$name: $key is $(json_value train.json $key), in eval $(json_value eval.json $key)"
  done
  for file in config.yaml overrides.txt derived.yaml log.txt metrics.jsonl summary.csv best.safetensors; do
    [ -s "$(dirname "$last")/$file" ] || fail "$name: no $file"
  done
  # The saved configuration can be run again; that run has nothing left to do.
  "$trainc" --cfg "$(dirname "$last")/config.yaml" --result again.json >log 2>&1 ||
    fail "$name: its config.yaml"
  grep -q "resumed from" log || fail "$name: its config.yaml is another run"
  for key in steps val_loss "${scores[@]}"; do
    [ "$(json_value train.json $key)" = "$(json_value again.json $key)" ] ||
      fail "$name: $key is $(json_value train.json $key), again $(json_value again.json $key)"
  done
  echo "ok: $name"
done

# OMP_NUM_THREADS applies if THREADS is not set.
threads() { OMP_NUM_THREADS=$1 "$trainc" devices "${@:2}" | sed -n 's/^cpu *\([0-9]*\) thread.*/\1/p'; }
[ "$(threads 3)" = 3 ] || fail "OMP_NUM_THREADS=3: $(threads 3) threads"
many=$(($(nproc --all) + 1))
"$trainc" devices --threads $many 2>&1 | grep -q "^$many threads on [0-9]* cores*: they wait for each other" ||
  fail "$many threads: no warning that they are too many"
"$trainc" devices --threads 1 2>&1 | grep -q "wait for each other" && fail "a warning that one thread is too many"
[ "$(threads 3 --threads 2)" = 2 ] || fail "--threads 2: $(threads 3 --threads 2) threads"

# log.txt includes messages from before it was opened; eval does not explain the choice of device.
"$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output early --opts TEST.SHUFFLE True >log 2>&1 ||
  fail "a key without effect"
grep -q "warning: --opts #1: TEST.SHUFFLE has no effect" early/*/*/log.txt || fail "log.txt lacks a warning"
CUDA_VISIBLE_DEVICES= "$trainc" eval --device auto --resume early/*/*/last.safetensors >log 2>&1 ||
  fail "eval"
grep -q "DEVICE auto" log && fail "eval tells of devices"

# Processes that cannot find each other would train independently.
for size in WORLD_SIZE SLURM_STEP_NUM_TASKS OMPI_COMM_WORLD_SIZE PMI_SIZE; do
  env $size=2 "$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output world >log 2>&1
  [ $? = 2 ] && grep -Eq "$size is 2 .*need mpirun|$size says 2 processes, and MPI finds 1" log && [ ! -e world ] ||
    fail "$size=2"
done
env WORLD_SIZE=1 "$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output world >log 2>&1 ||
  fail "WORLD_SIZE=1"

finish
