# Items of scripts/check_gpu.sh that pass or fail. Sourced; each item runs as a process in the
# folder of the whole check, and its last line of output is the detail.

# Compares the tensors of two checkpoints without their headers, which contain the configuration.
same_tensors() {
  python3 - "$1" "$2" <<'EOF'
import json, struct, sys
def tensors(path):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    h = json.loads(b[8:8 + n])
    h.pop("__metadata__", None)
    data = memoryview(b)[8 + n:] # so that slices do not copy
    return {k: bytes(data[slice(*v["data_offsets"])]) for k, v in h.items()}
a, b = (tensors(p) for p in sys.argv[1:3])
bad = [k for k in sorted(set(a) | set(b)) if a.get(k) != b.get(k)]
print("%d of %d tensors differ%s" % (len(bad), len(a), ": " + bad[0] if bad else ""))
sys.exit(1 if bad else 0)
EOF
}

# NAME COMMAND...: runs it with its output in NAME.log, and prints the time it took.
timed() {
  local name=$1 began=${EPOCHREALTIME/[.,]/} rc
  shift
  "$@" >"$name.log" 2>&1
  rc=$?
  printf '%s: %s s\n' "$name" "$(awk "BEGIN { printf \"%.1f\", (${EPOCHREALTIME/[.,]/} - $began) / 1e6 }")"
  return $rc
}

make_shapes() {
  [ -d "$dir/shapes" ] || "$trainc" synth shapes --out "$dir/shapes" --classes 4 \
    --train 48 --val 12 --size 16 >/dev/null 2>&1
}

# OUT [FLAG...] [-- KEY=VALUE...]: trains two epochs of 6 steps in fp16.
train() {
  local out=$1 flags=() keys=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do flags+=("$1"); shift; done
  [ $# -gt 0 ] && shift && keys=("$@")
  timed "$out" "$trainc" --cfg "$root/configs/smoke/shapes.yaml" --data-path "$dir/shapes" --device cuda \
    --output "$out" --result "$out.json" --amp-dtype fp16 --deterministic "${flags[@]}" \
    --opts CUDNN.CACHE= TRAIN.EPOCHS=2 PRINT_FREQ=1 "${keys[@]}" ||
    { cat "$out.log"; die "training in $out failed"; }
}

last() { echo "$1"/*/default/last.safetensors; }

check_devices() {
  "$trainc" devices --json >keep/devices.json || die "trainc devices failed"
  python3 - keep/devices.json <<'EOF'
import json, sys
cuda = [d for d in json.load(open(sys.argv[1]))["devices"] if d["name"] == "cuda"]
assert cuda, "this build has no CUDA"
c = cuda[0]
assert c["available"], c.get("why")
g = c["gpus"][0]
for key in ("name", "memory_total", "memory_free", "compute", "multiprocessors", "pci"):
    assert g[key], key
assert g["description"]["deviceVer"] >= 800
for l in c["libraries"]:
    print(l["name"], l.get("version"), l.get("path", l.get("why")))
print("%s, driver %s, runtime %s, %s" % (g["name"], c["driver"], c["runtime"],
      ", ".join(l["name"] + " " + l.get("version", "missing") for l in c["libraries"])))
EOF
}

# Compares `trainc summary` on this GPU with summary from the description that `trainc devices`
# printed. Claims and engines may differ, because some engines require a driver.
check_descriptions() {
  local json=keep/devices.json device
  [ -f $json ] || "$trainc" devices --json >$json || die "trainc devices failed"
  for device in cuda $json h200; do
    "$trainc" summary --cfg "$root/configs/resnet50.yaml" --device $device -b 32 --amp-dtype fp16 \
      --json "keep/summary_$(basename $device .json).json" --opts CUDNN.CACHE= CUDNN.BENCHMARK=False >summary.log 2>&1 ||
      { cat summary.log; die "summary --device $device"; }
  done
  python3 "$root/scripts/gpu/describe.py" $json keep/summary_{cuda,devices,h200}.json
}

ops() { # SETTING...: runs the op table against the reference
  (cd "$root" && env "$@" TEST_DEBUG=1 TEST_BACKENDS=cuda TEST_FILTER=test_backends "$tests/ops/test_ops") >ops.log 2>&1
  local rc=$?
  cat ops.log
  grep ' rows, ' ops.log | sed 's/^/  /' | tr '\n' ';'
  echo
  return $rc
}
check_ops() {
  ops TEST_TF32=0 ${quick:+TEST_ONLY_DTYPE="fp16 bf16"} || return
  (cd "$root" && TEST_BACKENDS=cuda "$tests/ops/test_residual") || die "residual sums"
}
check_ops_tf32() { ops TEST_TF32=1; }

check_goldens() {
  local n=0 t
  for t in models/test_{resnet,segment,transformer}_golden; do
    [ -x "$tests/$t" ] || die "there is no $tests/$t"
    (cd "$root" && TEST_BACKENDS=cuda "$tests/$t") || die "$t"
    n=$((n + 1))
  done
  echo "$n programs"
}

check_training_steps() {
  local n=0 t
  for t in "$tests"/{session,train}/test_*; do
    case $t in *.o | *.d) continue ;; esac
    (cd "$root" && TEST_DEVICE=cuda "$t") || die "$t"
    n=$((n + 1))
  done
  [ $n -gt 0 ] || die "there are no tests of training in $tests"
  echo "$n programs"
}

check_captured_is_eager() {
  make_shapes
  train captured
  train eager --no-graph
  same_tensors "$(last captured)" "$(last eager)"
}

check_deterministic() {
  make_shapes
  train once
  train twice
  same_tensors "$(last once)" "$(last twice)"
}

one_step() { # OUT CONFIGURATION BATCH [FLAG...] [KEY=VALUE...]: trains two steps in fp16
  local out=$1 cfg=$2 batch=$3 flags=()
  shift 3
  while [ $# -gt 0 ] && [[ $1 == -* ]]; do flags+=("$1"); shift; done
  timed "$out" "$trainc" --cfg "$root/configs/$cfg" --device cuda -b "$batch" --max-steps 2 --amp-dtype fp16 \
    --output "$out" --result "keep/$out.json" "${flags[@]}" --opts DATA.DATASET=synthetic DATA.DATA_PATH= \
    DATA.TRAIN_NUM_SAMPLES=$((2 * batch)) DATA.VAL_NUM_SAMPLES=2 TRAIN.EPOCHS=1 \
    TRAIN.WARMUP_EPOCHS=0 PRINT_FREQ=1 AMP.INIT_SCALE=256 CUDNN.CACHE=step-plans \
    CUDNN.BENCHMARK=True "$@" || { cat "$out.log"; die "training in $out failed"; }
  cat "$out.log"
  grep -q 'no CUDA graph' "$out.log" && die "$out: the step could not be captured"
  grep -q 'skipped: gradients' "$out.log" && die "$out: updates were skipped"
  return 0
}

# Compares captured and eager steps with the engines that training uses (timed once, then loaded
# from the plan folder): they must be bit-exact. If they are not, two captured runs must differ,
# too, because some engines vary from run to run; then deterministic engines are compared.
step() { # CONFIGURATION BATCH [KEY=VALUE...]
  local cfg=$1 batch=$2
  shift 2
  one_step step-captured "$cfg" "$batch" "$@"
  one_step step-eager "$cfg" "$batch" --no-graph "$@"
  if same_tensors "$(last step-captured)" "$(last step-eager)" >same.log; then
    one_step step-redzones "$cfg" "$batch" "$@" DEBUG.REDZONES=True
    same_tensors "$(last step-captured)" "$(last step-redzones)" || die "with NaN between the tensors: other weights"
    echo "timed engines, captured, eager, and with NaN between the tensors: equal bit for bit"
    return
  fi
  cat same.log
  one_step step-again "$cfg" "$batch" "$@"
  same_tensors "$(last step-captured)" "$(last step-again)" &&
    die "captured twice: equal; eager: $(cat same.log)"
  one_step step-strict "$cfg" "$batch" --deterministic "$@"
  one_step step-strict-eager "$cfg" "$batch" --deterministic --no-graph "$@"
  same_tensors "$(last step-strict)" "$(last step-strict-eager)" || die "deterministic engines, captured and eager"
  one_step step-strict-redzones "$cfg" "$batch" --deterministic "$@" DEBUG.REDZONES=True
  same_tensors "$(last step-strict)" "$(last step-strict-redzones)" || die "with NaN between the tensors: other weights"
  echo "a timed engine differs from run to run; deterministic ones, captured, eager, and with NaN between the tensors: equal bit for bit"
}
check_step_resnet50() {
  rm -rf step-{captured,eager,redzones,again,strict,strict-eager,strict-redzones} # of the other model
  [ -n "$emulated" ] && step resnet18.yaml 2 DATA.IMG_SIZE=32 MODEL.NUM_CLASSES=10 && return
  step resnet50.yaml 32
}
check_step_swin_tiny() {
  rm -rf step-{captured,eager,redzones,again,strict,strict-eager,strict-redzones}
  [ -n "$emulated" ] && step swin.yaml 2 DATA.IMG_SIZE=56 MODEL.NUM_CLASSES=10 \
    MODEL.SWIN.EMBED_DIM=8 MODEL.SWIN.DEPTHS=[1,2,1,1] MODEL.SWIN.NUM_HEADS=[1,2,2,4] && return
  step swin.yaml 32
}

# Kills the running process PID once FOLDER has a checkpoint of step STEP or later, and prints its
# step.
kill_at() { # PID FOLDER STEP
  python3 - "$@" <<'EOF'
import glob, os, re, sys, time
pid, folder, step = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
while True:
    names = glob.glob(folder + "/*/default/ckpt_step_*.safetensors")
    saved = max([int(re.search(r"step_(\d+)", n)[1]) for n in names], default=0)
    if open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[0] == "Z":
        sys.exit("the run was over before its checkpoint of update %d was seen" % step)
    if saved >= step:
        os.kill(pid, 9)
        print(saved)
        break
    time.sleep(0.002)
EOF
}

# The run is killed after a checkpoint in the first epoch and half-way. The resumed run ends with
# the weights of an undisturbed run.
check_resume() {
  make_shapes
  local epochs=20 step pid at=() run
  [ -z "$emulated" ] || epochs=4
  run=("$trainc" --cfg "$root/configs/smoke/shapes.yaml" --data-path "$dir/shapes" --device cuda
    --output killed --amp-dtype fp16 --deterministic --opts CUDNN.CACHE= "TRAIN.EPOCHS=$epochs"
    PRINT_FREQ=1 TRAIN.SAVE_STEPS=2)
  train whole -- "TRAIN.EPOCHS=$epochs"
  for step in 2 $((3 * epochs + 2)); do
    rm -rf killed
    "${run[@]}" >killed.log 2>&1 &
    pid=$!
    at+=("$(kill_at $pid killed "$step" 2>kill.log)") || { cat killed.log kill.log; die "$(tail -1 kill.log)"; }
    wait $pid 2>/dev/null
    [ $? = 137 ] || die "the run ended by itself"
    "${run[@]}" >killed.log 2>&1 || { cat killed.log; die "the resumed run failed"; }
    grep -q "resumed from" killed.log || { cat killed.log; die "killed after the checkpoint of update ${at[-1]}: started over"; }
    same_tensors "$(last whole)" "$(last killed)" || die "killed after the checkpoint of update ${at[-1]}: other weights"
  done
  echo "killed after the checkpoints of updates ${at[0]} and ${at[1]} of $((6 * epochs)): equal bit for bit"
}
check_overflow() {
  make_shapes
  train overflow -- AMP.INJECT_OVERFLOW_AT=4 AMP.INIT_SCALE=256
  grep -q "step 4 skipped: gradients" overflow.log || die "update 4 was not skipped"
  python3 - overflow/*/default/metrics.jsonl "$(last overflow)" <<'EOF'
import json, math, struct, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
rows = {r["step"]: r for r in rows if r["kind"] == "train"}
assert [rows[s]["loss_scale"] for s in (3, 4, 5)] == [256, 128, 128], "the scale"
assert all(math.isfinite(r["loss"]) for r in rows.values()), "a loss that is not finite"
b = open(sys.argv[2], "rb").read()
n = struct.unpack("<Q", b[:8])[0]
h = json.loads(b[8:8 + n])
h.pop("__metadata__")
data = memoryview(b)[8 + n:]
for k, v in h.items():
    if v["dtype"] == "F32":
        d = data[slice(*v["data_offsets"])]
        assert all(map(math.isfinite, struct.unpack("<%df" % (len(d) // 4), d))), k
    if k.endswith("num_batches_tracked") and not k.startswith("ema"):
        d = data[slice(*v["data_offsets"])]
        got = struct.unpack("<q", d)[0] if v["dtype"] == "I64" else struct.unpack("<f", d)[0]
        assert got == 11, (k, got)
print("update 4 skipped: scale halved, statistics and EMA without it, 11 of 12 applied")
EOF
}

check_ema() { # on the device and in host memory: the same bits
  make_shapes
  train ema-device
  train ema-cpu -- TRAIN.EMA.DEVICE=cpu
  same_tensors "$(last ema-device)" "$(last ema-cpu)"
}

# Two GPUs in one process, captured and eager, and one GPU each in two processes that use NCCL.
check_gpus() {
  make_shapes
  local n rank port pids=()
  n=$("$trainc" devices --json | python3 -c '
import json, sys
print(sum(len(d.get("gpus", [])) for d in json.load(sys.stdin)["devices"] if d["name"] == "cuda"))')
  [ "$n" -ge 2 ] || skip "there is one GPU"
  run=("$trainc" --cfg "$root/configs/smoke/shapes.yaml" --data-path "$dir/shapes" --amp-dtype fp16 --deterministic
    -b 8 --dist-timeout 60)
  keys=(--opts CUDNN.CACHE= TRAIN.EPOCHS=2 PRINT_FREQ=1)
  "${run[@]}" --device cuda:0,1 --output gpus-captured "${keys[@]}" >gpus.log 2>&1 || { cat gpus.log; die "two GPUs"; }
  "${run[@]}" --device cuda:0,1 --no-graph --output gpus-eager "${keys[@]}" >gpus.log 2>&1 ||
    { cat gpus.log; die "two GPUs without a graph"; }
  same_tensors "$(last gpus-captured)" "$(last gpus-eager)" || die "captured and eager differ"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])') || die "no free port"
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port \
      "${run[@]}" --device cuda --output gpus-processes "${keys[@]}" >gpus-$rank.log 2>&1 &
    pids+=($!)
  done
  for rank in 0 1; do wait "${pids[rank]}" || { cat gpus-$rank.log; die "rank $rank of two processes"; }; done
  same_tensors "$(last gpus-captured)" "$(last gpus-processes)" || die "threads and processes differ"
  echo "two of $n GPUs in one process, captured and eager, and in two: equal bit for bit"
}

# Compares fp32 losses of a few steps and the final accuracy with the CPU's. After the 8 epochs of
# configs/demo.yaml, top-1 varies by 3 points with seed and type (95.3 to 98.8 % on CPUs); after
# 20 epochs it is stable at 99.7 %.
check_accuracy() {
  make_shapes
  local device
  for device in cpu cuda; do
    "$trainc" --cfg "$root/configs/smoke/shapes.yaml" --data-path shapes --device $device \
      --output "curve-$device" --disable-amp --deterministic --opts CUDNN.CACHE= TRAIN.EPOCHS=1 \
      PRINT_FREQ=1 CUDNN.ALLOW_TF32=False >curve.log 2>&1 || { cat curve.log; die "$device"; }
  done
  python3 - curve-{cpu,cuda}/*/default/metrics.jsonl <<'EOF' || die "other losses than the CPU's"
import json, sys
a, b = ([json.loads(l) for l in open(p)] for p in sys.argv[1:3])
a, b = ([r["loss"] for r in x if r["kind"] == "train"] for x in (a, b))
worst = max(abs(x - y) / abs(x) for x, y in zip(a, b))
print("losses of %d updates: largest difference %.2g" % (len(a), worst))
sys.exit(0 if len(a) == len(b) == 6 and worst < 2e-3 else 1)
EOF
  [ -z "$emulated" ] || return 0
  local points=1.5 data=("--data-path" big --epochs 20) cfg=$root/configs/demo.yaml
  if [ -n "${CIFAR10:-}" ]; then
    data=("--data-path" "$CIFAR10" --epochs 3 --warmup-epochs 1)
    cfg=$root/configs/cifar10/resnet20.yaml
    points=3
  else
    "$trainc" synth shapes --out big --classes 6 --train 3000 --val 600 >/dev/null 2>&1
  fi
  for device in cpu cuda; do
    timed "acc-$device" "$trainc" --cfg "$cfg" "${data[@]}" --device $device --output "acc-$device" \
      --result acc-$device.json || { cat acc-$device.log; die "$device"; }
    grep "Acc@1\|skipped" acc-$device.log
  done
  python3 - acc-cpu.json acc-cuda.json $points <<'EOF'
import json, sys
cpu, cuda = (json.load(open(p)) for p in sys.argv[1:3])
print("top-1 %.2f %% on the GPU, %.2f %% on the CPU; %.0f and %.0f img/s" %
      (cuda["val_top1"], cpu["val_top1"], cuda["images_per_second"], cpu["images_per_second"]))
sys.exit(0 if cuda["val_top1"] >= cpu["val_top1"] - float(sys.argv[3]) else 1)
EOF
}

# Ten steps of an epoch need no more synchronizations than six.
check_steady_state() {
  make_shapes
  local n
  for n in 6 10; do
    train steady$n -b 4 --max-steps $n -- PRINT_FREQ=2
  done
  local a b
  a=$(value steady6.json device_syncs) b=$(value steady10.json device_syncs)
  [ -n "$a" ] && [ "$a" != null ] || die "no count in the result"
  [ "$a" = "$b" ] || die "$a synchronisations in 6 updates, $b in 10"
  echo "$a synchronisations in 6 updates and in 10"
}

check_memory() { # a run reports its peak memory; one that does not fit is rejected before it starts
  make_shapes
  train memory
  local peak library
  peak=$(value memory.json peak_memory_bytes) library=$(value memory.json library_memory_bytes)
  [ "${peak:-0}" -gt 0 ] || die "no peak"
  timeout 60 "$trainc" --cfg "$root/configs/resnet152.yaml" --device cuda -b 2048 --output huge \
    --opts CUDNN.CACHE= DATA.DATASET=synthetic >huge.log 2>&1 && die "it fits"
  grep -q "out of memory: this run needs .* DATA.BATCH_SIZE that fits is" huge.log ||
    { cat huge.log; die "no word of memory"; }
  echo "peak $peak bytes, libraries $library bytes"
}
