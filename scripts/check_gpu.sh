#!/bin/bash
# Everything about the CUDA backend that only a run can show: kernels against the
# reference, goldens, captured against eager, repeatability, kill and resume, memory and
# race checks, a skipped overflow, accuracy, and that a step waits for nothing.
#
#   scripts/check_gpu.sh [ITEM...]       make check-gpu; all items if none is named
#
#   TRAINC=FILE      the program (default ./trainc, or bin/trainc in a bundle)
#   TESTS=DIR        the unit tests (default build/cc/tests, or bin)
#   RESULT=FILE      the outcome as JSON (default check_gpu.json)
#   CIFAR10=DIR      CIFAR-10 as a folder with train/ and test/; else generated shapes
#   EMULATED=1       the emulated build: no sanitizers, nothing timed, smaller runs
#   SANITIZER=PATH   compute-sanitizer (default: from PATH or CUDA_HOME)
#   SANITIZE_LIMIT=SECONDS   of each of memcheck and racecheck (540)
#   LIMIT=SECONDS    no item begins later than that; those that would are skipped
#
# One line an item, one summary, and RESULT, which is there after each item, should the
# script be stopped; exit 0 if something passed and nothing failed. An item that cannot be
# tried here is "skipped", with the reason.
set -u
root=$(realpath "$(dirname "$0")/..")
cd "$root" || exit 1
if [ -d "$root/bin" ] && [ -d "$root/lib" ]; then # in a bundle
  export LD_LIBRARY_PATH="$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  ldconfig -p 2>/dev/null | grep -q 'libstdc++.so.6' || LD_LIBRARY_PATH+=":$root/lib/cxx"
  trainc=${TRAINC:-$root/bin/trainc} tests=${TESTS:-$root/bin}
  have=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/[^0-9]*//') need=$(cat lib/glibc)
  if [ "$(printf '%s\n%s\n' "$need" "${have:-0}" | sort -V | tail -1)" != "${have:-0}" ]; then
    echo "this machine has glibc ${have:-(none)}, and the bundle needs $need" >&2
    exit 1
  fi
elif [ -n "${EMULATED:-}" ]; then
  trainc=${TRAINC:-build/cc/trainc-emulated} tests=${TESTS:-build/cc/emulated/tests}
else
  trainc=${TRAINC:-./trainc} tests=${TESTS:-build/cc/tests}
fi
trainc=$(realpath "$trainc")
tests=$(realpath "$tests")
result=$(realpath -m "${RESULT:-check_gpu.json}")
emulated=${EMULATED:-}
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-check.XXXXXX")
trap 'rm -rf "$dir"' EXIT
log=$dir/log
export GOMP_SPINCOUNT="${GOMP_SPINCOUNT:-3000}"

# cuDNN, cuBLASLt and NCCL of a Python installation, where the linker finds none.
find_library() { # VARIABLE SONAME
  [ -z "${!1:-}" ] && ! ldconfig -p 2>/dev/null | grep -q "$2" || return 0
  [ -e "${CUDA_HOME:-/usr/local/cuda}/lib64/$2" ] && return 0
  local found
  found=$(python3 - "$2" <<'EOF' 2>/dev/null
import glob, site, sys
for base in site.getsitepackages() + [p for p in sys.path if p.endswith("packages")]:
    hits = glob.glob(base + "/nvidia/*/lib/" + sys.argv[1])
    if hits:
        print(hits[0])
        break
EOF
  )
  [ -n "$found" ] && export "$1=$found"
}
find_library TRAINC_CUDNN libcudnn.so.9
find_library TRAINC_CUBLASLT libcublasLt.so.13
find_library TRAINC_NCCL libnccl.so.2

names=() states=() seconds=() details=()
wanted=("$@")

record() { # NAME STATE SECONDS DETAIL
  names+=("$1") states+=("$2") seconds+=("$3") details+=("$4")
  printf '%-8s %-22s %5d s  %s\n' "$2" "$1" "$3" "$4"
}

write_result() {
  local i
  {
    for i in "${!names[@]}"; do
      printf '%s\t%s\t%s\t%s\n' "${names[i]}" "${states[i]}" "${seconds[i]}" "${details[i]}"
    done
  } | python3 -c '
import json, sys
rows = [l.rstrip("\n").split("\t", 3) for l in sys.stdin]
json.dump({"failed": sum(r[1] == "failed" for r in rows),
           "passed": sum(r[1] == "passed" for r in rows),
           "skipped": sum(r[1] == "skipped" for r in rows),
           "emulated": bool(sys.argv[2]),
           "items": [dict(zip(("name", "state", "seconds", "detail"),
                              (r[0], r[1], int(r[2]), r[3]))) for r in rows]},
          open(sys.argv[1], "w"), indent=1)' "$result" "$emulated"
}

# Runs a function: 0 passed, 77 skipped, else failed. Its last line of output is the detail.
item() {
  local name=$1 began=$SECONDS rc state
  [ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " == *" $name "* ]] || return 0
  if [ "$began" -ge "${LIMIT:-999999}" ]; then
    echo "LIMIT is over" >"$log"
    rc=77
  elif [ -n "$gpu" ] || [ "$name" = devices ]; then
    (cd "$dir" && "check_$name") >"$log" 2>&1
    rc=$?
  else
    echo "there is no GPU to use" >"$log"
    rc=77
  fi
  case $rc in 0) state=passed ;; 77) state=skipped ;; *) state=failed ;; esac
  record "$name" $state $((SECONDS - began)) "$(tail -1 "$log" | cut -c1-300)"
  write_result
  [ $state != failed ] || sed 's/^/    /' "$log" | tail -60
}

skip() { echo "$*"; exit 77; }
die() { echo "$*"; exit 1; }
value() { sed -n "s/.*\"$2\": *\([^,}]*\).*/\1/p" "$1" | head -1; }

# Tensors alone: the configuration in a checkpoint's header may differ.
same_tensors() {
  python3 - "$1" "$2" <<'EOF'
import json, struct, sys
def tensors(path):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    h = json.loads(b[8:8 + n])
    h.pop("__metadata__", None)
    return {k: b[8 + n:][slice(*v["data_offsets"])] for k, v in h.items()}
a, b = (tensors(p) for p in sys.argv[1:3])
bad = [k for k in sorted(set(a) | set(b)) if a.get(k) != b.get(k)]
print("%d of %d tensors differ%s" % (len(bad), len(a), ": " + bad[0] if bad else ""))
sys.exit(1 if bad else 0)
EOF
}

make_shapes() {
  [ -d "$dir/shapes" ] || "$trainc" synth shapes --out "$dir/shapes" --classes 4 \
    --train 48 --val 12 --size 16 >/dev/null 2>&1
}

# train OUT [FLAG...] [-- KEY=VALUE...]: two epochs of 6 updates, fp16.
train() {
  local out=$1 flags=() keys=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do flags+=("$1"); shift; done
  [ $# -gt 0 ] && shift && keys=("$@")
  "$trainc" --cfg "$root/configs/smoke/shapes.yaml" --data-path "$dir/shapes" --device cuda \
    --output "$out" --result "$out.json" --amp-dtype fp16 --deterministic "${flags[@]}" \
    --opts CUDNN.CACHE= TRAIN.EPOCHS=2 PRINT_FREQ=1 "${keys[@]}" >"$out.log" 2>&1 ||
    { cat "$out.log"; die "training in $out failed"; }
}
last() { echo "$1"/*/default/last.safetensors; }

# ---- the items ----

check_devices() {
  "$trainc" devices --json >devices.json || die "trainc devices failed"
  python3 - devices.json <<'EOF'
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

check_start() { # under 0.5 s before the first plan; the second start tunes nothing
  [ -z "$emulated" ] || skip "not timed on the emulator"
  make_shapes
  local n
  for n in 1 2; do
    "$trainc" --cfg "$root/configs/smoke/shapes.yaml" --data-path shapes --device cuda \
      --max-steps 1 --output start$n --result start$n.json --opts CUDNN.CACHE=cache \
      CUDNN.DETERMINISTIC=False CUDNN.BENCHMARK=True >start.log 2>&1 ||
      { cat start.log; die "run $n"; }
  done
  python3 - start1.json start2.json <<'EOF'
import json, sys
one, two = (json.load(open(p)) for p in sys.argv[1:3])
opened = [r["device_open_seconds"] for r in (one, two)]
first = [r["first_step_seconds"] for r in (one, two)]
print("device open after %.2f s, again %.2f s; first step after %.2f s, with its plans "
      "on disk %.2f s" % (*opened, *first))
sys.exit(0 if min(opened) < 0.5 and first[1] - opened[1] < 1 else 1)
EOF
}

ops() { # settings: the op table against the reference
  (cd "$root" && env "$@" TEST_BACKENDS=cuda TEST_FILTER=test_backends "$tests/ops/test_ops") >ops.log 2>&1
  local rc=$?
  cat ops.log
  grep ' rows, ' ops.log | sed 's/^/  /' | tr '\n' ';'
  echo
  return $rc
}
check_ops() { ops TEST_TF32=0; }
check_ops_tf32() { ops TEST_TF32=1; }

check_goldens() {
  local n=0 t
  for t in models/test_{resnet,erfnet}_golden; do
    [ -x "$tests/$t" ] || continue
    (cd "$root" && TEST_BACKENDS=cuda "$tests/$t") || die "$t"
    n=$((n + 1))
  done
  [ $n -gt 0 ] || die "there are no golden tests in $tests"
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

check_resume() {
  make_shapes
  train whole
  local step pid
  for step in 3 8; do
    local run=("$trainc" --cfg "$root/configs/smoke/shapes.yaml" --data-path shapes --device cuda
      --output killed --amp-dtype fp16 --deterministic --opts CUDNN.CACHE= TRAIN.EPOCHS=2
      PRINT_FREQ=1 TRAIN.SAVE_STEPS=2)
    rm -rf killed
    "${run[@]}" >killed.log 2>&1 &
    pid=$!
    until grep -q "\"step\":$step," killed/*/default/metrics.jsonl 2>/dev/null; do
      kill -0 $pid 2>/dev/null || break
      sleep 0.01
    done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    "${run[@]}" >killed.log 2>&1 || { cat killed.log; die "the resumed run failed"; }
    grep -q "resumed from\|are done already" killed.log || die "update $step: began anew"
    same_tensors "$(last whole)" "$(last killed)" || die "killed at update $step: other weights"
  done
  echo "killed at updates 3 and 8: equal bit for bit"
}

sanitize() { # TOOL [FLAG...]
  [ -z "$emulated" ] || skip "the emulated build has no device code"
  local tool=${SANITIZER:-$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")}
  [ -x "$tool" ] || skip "there is no compute-sanitizer"
  # Our own kernels: NVIDIA's libraries are not ours to check.
  (cd "$root" && TEST_BACKENDS=cuda TEST_FILTER=test_backends timeout "${SANITIZE_LIMIT:-540}" \
    "$tool" --tool "$@" --error-exitcode 9 "$tests/ops/test_ops") >sanitizer.log 2>&1
  local rc=$?
  tail -40 sanitizer.log
  grep 'ERROR SUMMARY' sanitizer.log | tail -1
  grep -q 'Device not supported' sanitizer.log && skip "compute-sanitizer cannot look into this machine"
  if [ $rc = 124 ]; then # what it finds, it says at once
    grep -q '^========= *\(Invalid\|Misaligned\|Error\|Warning\|.*hazard\)' sanitizer.log &&
      die "errors, and not done within ${SANITIZE_LIMIT:-540} s"
    skip "no error seen in ${SANITIZE_LIMIT:-540} s, but not done"
  fi
  return $rc
}
# Calls that libraries make to find out what the driver knows may fail.
check_memcheck() { sanitize memcheck --report-api-errors no; }
check_racecheck() { sanitize racecheck; }

check_overflow() {
  make_shapes
  train overflow -- AMP.INJECT_OVERFLOW_AT=4 AMP.INIT_SCALE=256
  grep -q "1 of the updates up to 4" overflow.log || die "update 4 was not skipped"
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
for k, v in h.items():
    if v["dtype"] == "F32":
        d = b[8 + n:][slice(*v["data_offsets"])]
        assert all(map(math.isfinite, struct.unpack("<%df" % (len(d) // 4), d))), k
    if k.endswith("num_batches_tracked") and not k.startswith("ema"):
        d = b[8 + n:][slice(*v["data_offsets"])]
        got = struct.unpack("<q", d)[0] if v["dtype"] == "I64" else struct.unpack("<f", d)[0]
        assert got == 11, (k, got)
print("update 4 skipped: scale halved, statistics and average without it, 11 of 12 applied")
EOF
}

# The curve of losses in fp32, and the accuracy in the end, against the CPU's.
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
  local data=("--data-path" big) cfg=$root/configs/demo.yaml
  if [ -n "${CIFAR10:-}" ]; then
    data=("--data-path" "$CIFAR10" --epochs 3 --warmup-epochs 1)
    cfg=$root/configs/cifar10/resnet20.yaml
  else
    "$trainc" synth shapes --out big --classes 6 --train 3000 --val 600 >/dev/null 2>&1
  fi
  for device in cpu cuda; do
    "$trainc" --cfg "$cfg" "${data[@]}" --device $device --output "acc-$device" \
      --result acc-$device.json >acc.log 2>&1 || { cat acc.log; die "$device"; }
  done
  python3 - acc-cpu.json acc-cuda.json <<'EOF'
import json, sys
cpu, cuda = (json.load(open(p)) for p in sys.argv[1:3])
print("top-1 %.2f %% on the GPU, %.2f %% on the CPU; %.0f and %.0f img/s" %
      (cuda["val_top1"], cpu["val_top1"], cuda["images_per_second"], cpu["images_per_second"]))
sys.exit(0 if cuda["val_top1"] >= cpu["val_top1"] - 3 else 1)
EOF
}

# Four more updates of the same epoch: not one synchronisation more.
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

check_memory() { # what the plan says is what is allocated; too much is found in time
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

check_bandwidth() { # kernels that only move memory, against the device's own copy
  [ -z "$emulated" ] || skip "not timed on the emulator"
  "$trainc" bench --ops --device cuda --json bench.json \
    --opts CUDNN.CACHE= CUDNN.BENCHMARK=False >bench.log 2>&1 || { cat bench.log; die "bench"; }
  cat bench.log
  python3 - bench.json <<'EOF'
import json, sys
r = json.load(open(sys.argv[1]))
moves = [s for s in r["steps"] if s["moves"]]
assert moves, "no row moves enough"
low = min(moves, key=lambda s: s["of_copy"])
print("%d of %d rows at 85 %% of the copy's %.0f GB/s; least %.0f %%: %s %s" %
      (r["moves"] - r["below_mark"], r["moves"], r["copy_gb_per_second"],
       100 * low["of_copy"], low["kernel"], low["row"]))
sys.exit(r["below_mark"] > 0)
EOF
}

usable() { # whether there is a GPU that trainc can use
  "$trainc" devices --json | python3 -c '
import json, sys
sys.exit(not any(d["name"] == "cuda" and d["available"] for d in json.load(sys.stdin)["devices"]))'
}
usable && gpu=1 || gpu=

write_result
for name in devices start ops ops_tf32 goldens training_steps captured_is_eager deterministic \
  resume overflow accuracy steady_state memory bandwidth \
  memcheck racecheck; do
  item $name
done

bad=0 good=0
for s in "${states[@]}"; do
  [ "$s" = failed ] && bad=$((bad + 1))
  [ "$s" = passed ] && good=$((good + 1))
done
echo "$good passed, $bad failed, $((${#names[@]} - good - bad)) skipped; $result"
[ $bad = 0 ] && [ $good -gt 0 ]
