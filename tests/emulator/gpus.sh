#!/bin/bash
# Several emulated GPUs and an emulated NCCL: two GPUs in one process, and one GPU each in two
# processes that find each other through mpirun or torchrun's variables. All end with the same
# bits, captured and eager, in any legal order of a graph's nodes. After being killed or asked to
# stop, they resume; a process that hangs ends the others. Impossible settings are refused in one
# line.
#
#   tests/emulator/gpus.sh [TRAINC]
. "$(dirname "$0")/../e2e/lib.bash" "${1:-${EMULATED:-build/cc/emulated}/../trainc-emulated}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$dir
weights() { tensor_bytes "$1"/*/default/last.safetensors; }
same() { # FOLDER FOLDER
  cmp -s <(weights "$1") <(weights "$2") && [ "$(weights "$1" | wc -c)" -gt 100000 ] || fail "$2: other weights than $1"
}
"$trainc" synth shapes --out shapes --classes 4 --train 48 --val 22 --size 16 >/dev/null 2>&1

export EMULATOR_GPUS=2
cfg=(--cfg "$here/configs/smoke/shapes.yaml" --data-path shapes)
keys=() # of the next runs
run() { # OUT DEVICE [FLAG...]: sets the arguments of four steps
  args=("${cfg[@]}" --amp-dtype fp16 --deterministic --batch-size 4 --max-steps 4 --output "$1" --device "$2"
    "${@:3}" --opts CUDNN.CACHE= PRINT_FREQ=1 AMP.INIT_SCALE=256 "${keys[@]}")
}
threads() { # OUT [FLAG...]
  run "$1" cuda:0,1 "${@:2}"
  "$trainc" "${args[@]}" >"$1.log" 2>&1 || { cat "$1.log"; fail "$1"; }
}
processes() { # OUT [FLAG...]
  run "$1" cuda "${@:2}"
  timeout 300 mpirun --oversubscribe -n 2 "$trainc" "${args[@]}" >"$1.log" 2>&1 || { cat "$1.log"; fail "$1"; }
}
torchrun() { # PORT OUT [FLAG...]: $world processes, or two
  local port=$1 rank pids=() n=${world:-2}
  run "$2" cuda "${@:3}"
  for ((rank = 0; rank < n; rank++)); do
    RANK=$rank WORLD_SIZE=$n LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$n MASTER_ADDR=localhost MASTER_PORT=$port \
      EMULATOR_COUNTERS=$2.$rank.count timeout 300 "$trainc" "${args[@]}" >"$2.$rank.log" 2>&1 &
    pids+=($!)
  done
  for ((rank = 0; rank < n; rank++)); do wait "${pids[rank]}" || { cat "$2.$rank.log"; fail "$2: rank $rank"; }; done
}

EMULATOR_COUNTERS=count threads threads --result threads.json
grep -q "2 processes, each with batches of 4 images" threads.log || fail "threads: not said: $(head -3 threads.log)"
[ "$(grep -c "Max accuracy" threads.log)" = 1 ] || fail "threads: the log is of both"
grep -q "(22 images" threads.log || fail "threads: not each image once"
[ "$(json_value threads.json steps)" = 4 ] || fail "threads: no result"
# Per GPU: the first of four steps is eager, three are graphs; likewise with the evaluation.
[ "$(json_value count captures)" -ge 4 ] && [ "$(json_value count graph_launches)" -ge 6 ] || fail "threads: no graphs: $(cat count)"
processes processes
same threads processes
port=$((20000 + RANDOM % 20000))
torchrun $port torchrun
same threads torchrun
[ ! -s torchrun.1.log ] || fail "torchrun: rank 1 says: $(cat torchrun.1.log)"
# torchrun's agent listens at MASTER_PORT itself.
python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("", int(sys.argv[1]))); s.listen(); time.sleep(300)' $((port + 10)) &
agent=$!
TORCHELASTIC_USE_AGENT_STORE=True torchrun $((port + 10)) agent
kill $agent
same threads agent
# Four more steps in the same epoch need no more exchanges between the hosts, which wait for their
# GPUs, with accumulation, too.
for steps in 6 10; do
  keys=(PRINT_FREQ=100)
  torchrun $((port + 30 + steps)) quiet$steps --batch-size 2 --max-steps $steps
  torchrun $((port + 50 + steps)) micro$steps --batch-size 2 --max-steps $((steps / 2)) --accumulation-steps 2
done
keys=()
for run in quiet micro; do
  for key in synchronisations captures; do
    [ "$(json_value ${run}6.0.count $key)" -gt 0 ] && [ "$(json_value ${run}6.0.count $key)" = "$(json_value ${run}10.0.count $key)" ] ||
      fail "$run: $(json_value ${run}6.0.count $key) $key in 6 steps, $(json_value ${run}10.0.count $key) in 10"
  done
done
# A signal to either rank stops both after the same step of the first epoch's 120, with a checkpoint.
"$trainc" synth shapes --out more --classes 4 --train 480 --val 22 --size 16 >/dev/null 2>&1
for asked in 0 1; do
  rm -rf stop
  run stop cuda --batch-size 2 --max-steps 400 --data-path more
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$((port + 70 + asked)) \
      timeout 200 "$trainc" "${args[@]}" TRAIN.EPOCHS=100 >stop.$rank.log 2>&1 &
    pids[rank]=$!
  done
  while ! grep -q '"step":4,' stop/*/*/metrics.jsonl 2>/dev/null && kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.05; done
  pkill -TERM -P "${pids[asked]}"
  for rank in 0 1; do
    wait "${pids[rank]}"
    [ $? = 143 ] || { tail -3 stop.$rank.log; fail "SIGTERM to rank $asked: rank $rank ends otherwise"; }
  done
  stopped=$(sed -n 's/.*stopping at step \([0-9]*\).*/\1/p' stop.0.log)
  [ "${stopped:-0}" -ge 4 ] && [ "$stopped" -lt 120 ] || { tail -3 stop.0.log; fail "SIGTERM to rank $asked: not said"; }
  [ -e stop/*/default/last.safetensors ] || fail "SIGTERM to rank $asked: no checkpoint"
done
threads eager --no-graph
same threads eager
for order in reverse shuffle:3; do
  EMULATOR_ORDER=$order threads order
  same threads order
  rm -rf order
done
# While a GPU waits in a collective, the driver waits for it to load the next kernel's code.
EMULATOR_LAZY=1 EMULATOR_LOADS=1 timeout -k 5 120 "$trainc" "${cfg[@]}" --amp-dtype fp16 --deterministic --batch-size 4 --max-steps 4 \
  --output loads --device cuda:0,1 --opts CUDNN.CACHE= AMP.INIT_SCALE=256 DIST.BUCKET_MB=1 >log 2>&1 ||
  fail "code is loaded while another GPU waits"
same threads loads
# One GPU with the same batch sees half of the images, so its weights must differ.
"$trainc" "${cfg[@]}" --amp-dtype fp16 --deterministic --batch-size 4 --max-steps 4 --output one --device cuda \
  --opts CUDNN.CACHE= AMP.INIT_SCALE=256 >log 2>&1 || fail "one GPU"
cmp -s <(weights one) <(weights threads) && fail "two GPUs train as one"

# The same number of images per step, without batch norms: equals one GPU up to rounding.
cat >tiny.yaml <<END
BASE: [$here/configs/cifar10/swin.yaml]
MODEL:
  NAME: tiny
  NUM_CLASSES: 4
  DROP_PATH_RATE: 0.0
  SWIN: {EMBED_DIM: 24, DEPTHS: [2, 2], NUM_HEADS: [2, 4], WINDOW_SIZE: 4}
DATA: {DATA_PATH: shapes, VAL_SPLIT: val, IMG_SIZE: 16}
TRAIN: {EPOCHS: 1, WARMUP_EPOCHS: 0, BASE_LR: 0.1, OPTIMIZER: {NAME: sgd}}
PRINT_FREQ: 1
END
losses() { jq 'select(.kind == "train").loss' "$1"/*/*/metrics.jsonl | awk '{printf "%.4f\n", $1}'; }
for how in "cuda 8" "cuda:0,1 4"; do
  read -r device batch <<<"$how"
  "$trainc" --cfg tiny.yaml --device "$device" --batch-size "$batch" --max-steps 3 --disable-amp --output "swin$batch" \
    --opts CUDNN.ALLOW_TF32=False >log 2>&1 || fail "swin on $device"
done
[ "$(losses swin8 | wc -l)" = 3 ] && [ "$(losses swin8)" = "$(losses swin4)" ] ||
  fail "two GPUs with 4 images each are not one with 8: $(losses swin8 swin4 | tr '\n' ' ')"

# Gradients of two micro-batches are averaged only once.
threads group --accumulation-steps 2
processes group2 --accumulation-steps 2
same group group2

# Many buckets, 16-bit gradients, sharded moments: threads and processes agree, and sharding
# changes no bit. (Without clipping, whose norm is then summed in another order.)
keys=(TRAIN.CLIP_GRAD=0)
threads whole
keys+=(DIST.BUCKET_MB=1 DIST.SHARD_OPTIMIZER=True)
threads shard
processes shard2
same shard shard2
same whole shard
rm -rf whole
keys=(DIST.SHARD_OPTIMIZER=True)
threads clip
processes clip2
same clip clip2
keys=(DIST.HALF_GRADIENTS=True)
threads half
processes half2
keys=()
same half half2
cmp -s <(weights half) <(weights threads) && fail "gradients in 16 bits are those in fp32"

# Synchronized batch norms over all GPUs: equal to one GPU with all images.
for how in "cuda 8" "cuda:0,1 4"; do
  read -r device batch <<<"$how"
  "$trainc" "${cfg[@]}" --device "$device" --batch-size "$batch" --max-steps 3 --disable-amp --sync-bn \
    --output "norms$batch" --opts CUDNN.ALLOW_TF32=False CUDNN.CACHE= PRINT_FREQ=1 CUDNN.DETERMINISTIC=True AUG.MIXUP=0 >log 2>&1 ||
    fail "sync-bn on $device"
done
[ "$(losses norms8 | wc -l)" = 3 ] && [ "$(losses norms8)" = "$(losses norms4)" ] ||
  fail "batch norms over two GPUs: $(losses norms8 norms4 | tr '\n' ' ')"

# Statistics over pairs of four GPUs: threads, and processes with NCCL only.
export EMULATOR_GPUS=4
for how in 2 4; do
  keys=(MODEL.SYNC_BN=True MODEL.SYNC_BN_GROUP=$how)
  run norms-of-$how cuda:0,1,2,3 --batch-size 2
  "$trainc" "${args[@]}" >log 2>&1 || fail "norms of $how"
  grep -q "over the batches of $how processes" log || fail "norms of $how: not said"
done
cmp -s <(weights norms-of-2) <(weights norms-of-4) && fail "pairs have the statistics of all"
keys=(MODEL.SYNC_BN=True MODEL.SYNC_BN_GROUP=2)
world=4 torchrun $((port + 20)) pairs --batch-size 2
same norms-of-2 pairs
keys=()
export EMULATOR_GPUS=2

# Evaluation counts each image once.
for how in "cuda:0" "cuda:0,1"; do
  "$trainc" eval --resume threads/*/default/last.safetensors --data-path shapes --device $how --batch-size 4 \
    --result eval.json >log 2>&1 || fail "eval on $how"
  printf '%.4g %.4g\n' "$(json_value eval.json val_loss)" "$(json_value eval.json val_top1)" >>evals
done
[ "$(sort -u evals | wc -l)" = 1 ] && [ "$(wc -l <evals)" = 2 ] || fail "eval depends on the GPUs: $(cat evals)"

# Killed, or asked to stop: resumes at the same step.
steps() { for i in "${!args[@]}"; do [ "${args[i]}" != --max-steps ] || args[i + 1]=$1; done; }
run whole cuda:0,1
steps 9
long=("${args[@]}" TRAIN.SAVE_STEPS=2)
"$trainc" "${long[@]}" >log 2>&1 || fail "undisturbed"
mv whole undisturbed
for sig in KILL TERM; do
  rm -rf whole
  "$trainc" "${long[@]}" >log 2>&1 &
  pid=$!
  while ! grep -q '"step":4,' whole/*/*/metrics.jsonl 2>/dev/null && kill -0 $pid 2>/dev/null; do sleep 0.02; done
  kill -$sig $pid
  wait $pid
  "$trainc" "${long[@]}" >log 2>&1 || fail "SIG$sig: does not resume"
  grep -q "resumed from" log || fail "SIG$sig: did not resume"
  same undisturbed whole
done

# A process hangs: the other ends with a message. A host only waits for its own GPU; an emulated
# GPU only works while the host waits for it (LAZY, BUSY).
run hang cuda --dist-timeout 2
steps 400
EMULATOR_LAZY=1 EMULATOR_BUSY=1 timeout 100 mpirun --oversubscribe -n 2 "$trainc" "${args[@]}" TRAIN.EPOCHS=100 >log 2>&1 &
pid=$!
while ! grep -q '"step":3,' hang/*/*/metrics.jsonl 2>/dev/null && kill -0 $pid 2>/dev/null; do sleep 0.05; done
mpi=$(pgrep -P $pid | head -1)
child=$(pgrep -P "$mpi" -f "output hang" | sed -n 2p)
kill -STOP "$child"
for ((i = 0; i < 150; i++)); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
kill -0 $pid 2>/dev/null && { kill -CONT "$child"; kill $pid; fail "a hanging process is waited for"; }
kill -CONT "$child" 2>/dev/null
wait $pid
grep -q "waited 2 seconds for the other processes (DIST.TIMEOUT)" log || fail "hanging: no word"

# Without MPI, the waiting ranks name the missing one, too: a rank that never starts, the first or
# another, and one that hangs.
one_rank() { # RANK [FLAG...]: runs one of three ranks that are connected by NCCL only
  RANK=$1 WORLD_SIZE=3 LOCAL_RANK=$1 LOCAL_WORLD_SIZE=3 MASTER_ADDR=localhost MASTER_PORT=$meet EMULATOR_GPUS=3 \
    EMULATOR_LAZY=1 EMULATOR_BUSY=1 timeout 100 "$trainc" "${args[@]}" TRAIN.EPOCHS=100 >"log.$1" 2>&1 &
  pids[$1]=$!
}
named() { # NAME RANKS WHO: each of these ranks names WHO, and none names another one
  local r
  for r in $2; do
    for ((i = 0; i < 300; i++)); do kill -0 "${pids[r]}" 2>/dev/null || break; sleep 0.1; done
    kill -0 "${pids[r]}" 2>/dev/null && { kill "${pids[r]}"; fail "$1: rank $r waits for ever"; }
    wait "${pids[r]}" && fail "$1: rank $r ends well"
  done
  cat log.[$(echo "$2" | tr -d ' ')] >log
  grep -q "(DIST.TIMEOUT), .*: $3 hangs, or its machine is gone" log || fail "$1: not named"
  grep "DIST.TIMEOUT" log | grep -v ": $3 hangs" && fail "$1: another one is named"
}
meet=$((port + 20))
rm -rf hang
run hang cuda --dist-timeout 3
steps 400
for rank in 0 2; do one_rank $rank; done
named "rank 1 never came" "0 2" "rank 1"
meet=$((port + 21))
for rank in 1 2; do one_rank $rank; done
named "rank 0 never came" "1 2" "rank 0"
run hang cuda --dist-timeout 10
steps 400
for hung in 0 2; do
  meet=$((port + 22 + hung))
  rm -rf hang
  for rank in 0 1 2; do one_rank $rank; done
  while ! grep -q '"step":3,' hang/*/*/metrics.jsonl 2>/dev/null && kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.05; done
  child=$(pgrep -P "${pids[hung]}")
  kill -STOP "$child" || fail "rank $hung ended: $(tail -1 log.$hung)"
  named "rank $hung hangs" "$(echo 0 1 2 | tr -d "$hung")" "rank $hung on host $(hostname)"
  kill -KILL "$child"
  wait "${pids[hung]}" 2>/dev/null
done

# NCCL allocates memory: a batch that fits one GPU may not fit with a second GPU.
run alone cuda:0
EMULATOR_MEMORY=1G "$trainc" "${args[@]}" >log 2>&1 || fail "one GPU of 1 GiB"

# Impossible settings.
refused() { # PATTERN COMMAND...
  timeout 60 "${@:2}" >log 2>&1 && fail "not refused: ${*:2}"
  grep -q -- "$1" log || fail "no '$1'"
  [ "$(grep -c 'error: ' log)" = 1 ] || fail "more than one line"
}
# DIST.SHARD_EXPERTS: experts on two GPUs give the weights of experts on each, up to the order of sums.
moe=MODEL.SWIN_MOE
experts() { # OUT KEY VALUE...
  "$trainc" train --model-type swin_moe --device cuda:0,1 --deterministic --batch-size 2 --epochs 2 --output "$1" --amp-dtype fp16 --opts \
    DATA.DATASET synthetic DATA.TRAIN_NUM_SAMPLES 8 DATA.VAL_NUM_SAMPLES 4 DATA.IMG_SIZE 32 MODEL.NAME tiny MODEL.NUM_CLASSES 5 \
    $moe.EMBED_DIM 16 $moe.DEPTHS '[1]' $moe.NUM_HEADS '[2]' $moe.WINDOW_SIZE 8 $moe.MOE_BLOCKS '[[0]]' $moe.NUM_EXPERTS 4 \
    $moe.PRETRAINED_WINDOW_SIZES '[]' $moe.MLP_FC2_BIAS True $moe.TOP_VALUE 2 $moe.CAPACITY_FACTOR 1.0 CUDNN.CACHE "" AMP.INIT_SCALE 256 \
    TRAIN.WARMUP_EPOCHS 0 TRAIN.SCALE_LR False TRAIN.BASE_LR 0.05 TRAIN.OPTIMIZER.NAME sgd TRAIN.CLIP_GRAD 0.5 "${@:2}" >"$1.log" 2>&1 ||
    { cat "$1.log"; fail "$1"; }
}
experts copies
experts shards DIST.SHARD_EXPERTS True
paste <(weights copies | od -An -v -w4 -tf4) <(weights shards | od -An -v -w4 -tf4) |
  awk '{d = $1 - $2; d = d < 0 ? -d : d; if (!(d <= most)) most = d} END {exit !(NR > 5000 && most < 1e-5)}' ||
  fail "shards: other weights than copies"

run refused cuda:0,1
EMULATOR_GPUS=1 refused "cannot use cuda:1: there is no GPU 1: the driver shows 1" "$trainc" "${args[@]}"
CUDA_VISIBLE_DEVICES=1 refused "there is no GPU 1: the driver shows 1, counted from 0 (CUDA_VISIBLE_DEVICES='1')" "$trainc" "${args[@]}"
TRAINC_NCCL=/none refused "several GPUs need NCCL: cannot open NCCL, which TRAINC_NCCL names" "$trainc" "${args[@]}"
EMULATOR_FAIL=nccl:9 refused "ncclAllReduce: unhandled cuda error: a launch failed on purpose; in step" "$trainc" "${args[@]}" CUDA.GRAPH=False
for bad in cuda:0,0 cuda:0, cuda:,1 cuda:0,x cuda:0-1 cpu:0,1; do
  run refused $bad
  refused "DEVICE must be one of .* cuda:N, " "$trainc" "${args[@]}"
done
refused "this command uses one device" "$trainc" bench "${cfg[@]:0:2}" --device cuda:0,1
refused "trainc summary works on one device" "$trainc" summary "${cfg[@]:0:2}" --device cuda:0,1
run refused cuda:0,1
EMULATOR_MEMORY=1G refused "out of memory: this run needs" "$trainc" "${args[@]}"
run refused cuda:0,1 --batch-size auto
refused "set the batch size of each of the 2 devices" "$trainc" "${args[@]}"
run refused cuda
EMULATOR_GPUS=1 refused "ncclCommInitRank: invalid usage: Duplicate GPU detected.*(each rank needs a GPU of its own)" \
  mpirun --oversubscribe -n 2 "$trainc" "${args[@]}"
export RANK=0 WORLD_SIZE=2
refused "MASTER_ADDR and MASTER_PORT have to say where" "$trainc" "${args[@]}"
MASTER_ADDR=localhost MASTER_PORT=${port}x refused "they are 'localhost' and '${port}x'" "$trainc" "${args[@]}"
MASTER_ADDR=localhost MASTER_PORT=$((port + 1)) refused "waited 2 seconds for the other" "$trainc" "${args[@]}" DIST.TIMEOUT=2
run refused cpu
refused "processes on CPUs need mpirun -n 2" "$trainc" "${args[@]}"
unset RANK WORLD_SIZE
run refused cuda:1
refused "2 processes on this machine need a device each: cuda, or a list with one number per process" \
  mpirun --oversubscribe -n 2 "$trainc" "${args[@]}"

finish
