#!/bin/bash
# Checks on a real GPU, most important first and within 25 minutes: devices and their
# descriptions, kernels against the reference, golden files, a step of ResNet-50 and of Swin-T
# captured and eager, images per second compared with PyTorch, kill and resume, a skipped
# overflow, no synchronization in a step, EMA weights, two GPUs, memory, accuracy; then memory,
# race, and barrier checks.
#
#   scripts/check_gpu.sh [ITEM...]       make check-gpu; all items if none is named
#
#   QUICK=1          what decides most, within 10 minutes: no fp32 rows, and neither descriptions,
#                    unit tests of training, accuracy, nor the sanitizer; PyTorch compiles its
#                    models while the kernels are checked
#   TRAINC=FILE      the program (default: ./trainc, or bin/trainc in a bundle)
#   TESTS=DIR        the unit tests (default: build/cc/tests, or bin)
#   RESULT=FILE      the file to send back (default: check_gpu.json, in OUT if that is set): result and output of
#                    each item, the table of speeds, and the JSON files of trainc devices,
#                    summary, and bench
#   LIMIT=SECONDS    for all items (1500, or 570): later items do not start, and an interrupted one
#                    counts as skipped
#   ITEM_LIMIT=SECONDS   for each item (default: the table below)
#   CIFAR10=DIR      CIFAR-10 as a folder with train/ and test/; default: generated shapes
#   PYTHON=FILE      a Python with torch, for PyTorch's speeds (python3)
#   EMULATED=1       the emulated build: no sanitizers, few speeds, smaller runs, no limits
#   SANITIZER=PATH   compute-sanitizer (default: from PATH or CUDA_HOME)
#
# Prints one line per item, the table of speeds, and one summary. RESULT is rewritten after each
# item, in case the script is stopped. Exits with 0 if something passed and nothing failed. An
# item that cannot run here is "skipped", with the reason. Speeds never fail.
set -u
script=$(realpath "$0")
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
emulated=${EMULATED:-}
quick=${QUICK:-}
export GOMP_SPINCOUNT="${GOMP_SPINCOUNT:-3000}"

# Libraries from a Python installation, if the linker finds none. (trainc searches there itself;
# the unit tests of a bundle may be elsewhere.)
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

skip() { echo "$*"; exit 77; }
die() { echo "$*"; exit 1; }
value() { sed -n "s/.*\"$2\": *\([^,}]*\).*/\1/p" "$1" | head -1; }
for part in correct speed sanitize; do
  . "$root/scripts/gpu/$part.sh"
done

# Each item is a process, so that its time limit ends everything it started. It runs in the folder
# of the whole check; files that it leaves in keep/ become part of RESULT.
if [ "${1:-}" = --item ]; then
  dir=$CHECK_DIR
  cd "$dir" || exit 1
  "check_$2"
  exit
fi

if [ "${1:-}" = --warm ]; then
  python=${PYTHON:-python3}
  warm_all
  exit
fi

# name:seconds, most important first. Items with "measure:" report and never fail.
table=(devices:60 descriptions:120 ops:300 ops_tf32:180 goldens:180
  step_resnet50:180 step_swin_tiny:180 measure:nodes:90 measure:speed:700
  resume:120 overflow:60 steady_state:60 ema:60 gpus:120 captured_is_eager:60 deterministic:60
  memory:90 training_steps:300 accuracy:240 measure:start:60 measure:bandwidth:120
  memcheck:200 synccheck:200 initcheck:200 racecheck:200)
[ -z "$quick" ] || table=(devices:30 goldens:100 ops:150 step_swin_tiny:80 measure:nodes:60 measure:speed:340
  resume:60 overflow:20 steady_state:30 ema:20)
wanted=("$@")
result=$(realpath -m "${RESULT:-${OUT:+$OUT/}check_gpu.json}")
limit=${LIMIT:-$([ -n "$emulated" ] && echo 999999 || { [ -n "$quick" ] && echo 570 || echo 1500; })}
export CHECK_DIR
CHECK_DIR=$(mktemp -d "${TMPDIR:-/tmp}/trainc-check.XXXXXX")
mkdir "$CHECK_DIR"/{keep,log}
running=
trap '[ -z "$running" ] || kill "$running"; [ -z "${warming:-}" ] || kill -- -$warming; rm -rf "$CHECK_DIR"' EXIT
trap 'exit 130' INT TERM
good=0 bad=0 skipped=0

write_result() {
  python3 "$root/scripts/gpu/result.py" "$CHECK_DIR" "$emulated" "$result"
}

record() { # NAME STATE SECONDS DETAIL
  printf '%s\t%s\t%s\t%s\n' "$@" >>"$CHECK_DIR/items"
  printf '%-8s %-18s %5d s  %s\n' "$2" "$1" "$3" "$4"
  case $2 in passed) good=$((good + 1)) ;; failed) bad=$((bad + 1)) ;; *) skipped=$((skipped + 1)) ;; esac
  write_result
}

is_wanted() { # NAME
  [ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]
}

# 0: passed, 77: skipped, else failed; timeout itself returns 124 and 137.
item() { # NAME SECONDS MEASURES
  local name=$1 most=${ITEM_LIMIT:-$2} measures=$3 began=$SECONDS rc state detail log cut=
  local left=$((limit - SECONDS))

  is_wanted "$name" || return 0
  log=$CHECK_DIR/log/$name
  [ -n "$emulated" ] && [ -z "${ITEM_LIMIT:-}" ] && most=$limit
  [ "$left" -gt "$most" ] || { most=$left cut=1; }
  if [ "$left" -le 0 ]; then
    echo "LIMIT is over" >"$log"
    rc=77
  elif [ -n "$gpu" ] || [ "$name" = devices ]; then
    timeout -k 5 "$most" "$script" --item "$name" >"$log" 2>&1 &
    running=$!
    wait $running
    rc=$?
    running=
  else
    echo "there is no GPU to use" >"$log"
    rc=77
  fi
  detail=$(tail -1 "$log" | tr '\t' ' ' | cut -c1-300)
  case $rc in 0) state=passed ;; 77) state=skipped ;; *) state=failed ;; esac
  case $rc in 124 | 137) detail="not done within $most s${detail:+: $detail}" ;; esac
  case $rc$cut in 1241 | 1371) state=skipped detail="LIMIT is over; $detail" ;; esac
  [ $state != failed ] || [ -z "$measures" ] || state=skipped
  record "$name" $state $((SECONDS - began)) "$detail"
  [ $state != failed ] || sed 's/^/    /' "$log" | tail -60
  [ "$name" != speed ] || [ ! -f "$CHECK_DIR/speed.jsonl" ] ||
    python3 "$root/scripts/gpu/speed_table.py" "$CHECK_DIR/speed.jsonl" | sed 's/^/    /'
}

usable() { # true if there is a GPU that trainc can use
  "$trainc" devices --json | python3 -c '
import json, sys
sys.exit(not any(d["name"] == "cuda" and d["available"] for d in json.load(sys.stdin)["devices"]))'
}
usable && gpu=1 || gpu=

# QUICK: PyTorch compiles until the first item that measures, or at most as long as items may take
# that check.
export TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-$CHECK_DIR/inductor}"
export TRITON_CACHE_DIR="${TRITON_CACHE_DIR:-$CHECK_DIR/triton}"
warming=
if [ -n "$quick" ] && [ -n "$gpu" ] && is_wanted speed; then
  setsid "$script" --warm >"$CHECK_DIR/log/warm" 2>&1 &
  warming=$!
fi
stop_warming() { # waits until second 190 of this script
  [ -n "$warming" ] || return 0
  while [ $SECONDS -lt ${WARM_LIMIT:-190} ] && kill -0 $warming 2>/dev/null; do sleep 0.2; done
  kill -- -$warming 2>/dev/null
  wait $warming
  warming=
}

write_result
for row in "${table[@]}"; do
  measures=
  [ "${row%%:*}" != measure ] || { measures=1 row=${row#*:}; }
  [ -z "$measures" ] || stop_warming
  item "${row%:*}" "${row#*:}" "$measures"
done
stop_warming

echo "$good passed, $bad failed, $skipped skipped; $result"
[ $bad = 0 ] && [ $good -gt 0 ]
