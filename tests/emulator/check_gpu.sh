#!/bin/bash
# Runs scripts/check_gpu.sh from a bundle, in an empty folder, on the emulated GPU: checks its
# report when all is well, and that it detects failures.
#
#   tests/emulator/check_gpu.sh [FOLDER]
emulated=$(realpath "${1:-${EMULATED:-build/cc/emulated}}")
. "$(dirname "$0")/../e2e/lib.bash" "$emulated/../trainc-emulated"

cd "$here" || exit 1
TRAINC=$emulated/../trainc-emulated TESTS=$emulated/tests PACK=cat \
  scripts/gpu_bundle.sh "$dir/bundle.tar" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
cd "$dir" && tar xf bundle.tar || exit 1
export TRAINC_CUDNN=$emulated/libcudnn.so.9 TRAINC_CUBLASLT=$emulated/libcublasLt.so.13
export EMULATED=1 RESULT=$dir/result.json
check() { trainc-gpu/scripts/check_gpu.sh "$@" >log 2>&1; }
state() { # NAME STATE: what result.json says of an item
  python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
sys.exit([i["state"] for i in r["items"] if i["name"] == sys.argv[2]] != [sys.argv[3]])' \
    "$RESULT" "$1" "$2" || fail "$1 is not $2: $(cat "$RESULT")"
}

# A Python with torch, as far as the script queries it.
cat >python <<'EOF'
#!/bin/bash
case $* in
  *"import torch"*) exit ;;
  *max-autotune*) echo "RuntimeError: no compiler"; exit 1 ;;
  *) echo "resnet20 fp16 batch 8 torch 0 eager: 100.0 img/s, 80.00 ms per step" ;;
esac
EOF
chmod +x python
PYTHON=$dir/python check devices descriptions speed start overflow steady_state ema memcheck || fail "exit code $?"
for name in devices descriptions speed overflow steady_state ema; do state $name passed; done
for name in start memcheck; do state $name skipped; done
grep -q "6 passed, 0 failed, 2 skipped" log || fail "no summary"
grep -q "resnet20 .* 8 .* fp16 .* 100.0 .* %.* x$" log || fail "no table of speeds"
python3 - "$RESULT" <<'EOF' || fail "not all is in the one file: $(cat "$RESULT")"
import json, sys
r = json.load(open(sys.argv[1]))
rate = {row["what"]: row["images_per_second"] for row in r["speed"]}
assert set(rate) == {"predicted", "trainc", "apart", "eager", "compiled"}, rate
assert rate["predicted"] > 0 and rate["trainc"] > 0 and rate["apart"] > 0 and rate["eager"] == 100, rate
assert any("no compiler" in row.get("note", "") for row in r["speed"])
files = r["files"]
assert files["devices.json"]["devices"] and files["bench_resnet20.json"]["step_ms_median"] > 0
assert files["summary_cuda.json"]["claims"] and "per step" in files["bench_resnet20.txt"]
assert all(i["log"] for i in r["items"])
EOF
# What decides most: the order of the items, nodes one by one, and PyTorch compiled before it is timed.
cat >compiler <<'EOF'
#!/bin/bash
case $* in
  *"import torch"*) exit ;;
  *max-autotune*"--seconds 0"*) echo "resnet20: compiled" ;;
  *max-autotune*) echo "resnet20 fp16 batch 8 torch 0 max-autotune: 120.0 img/s" ;;
  *) echo "resnet20 fp16 batch 8 torch 0 eager: 100.0 img/s" ;;
esac
echo "$*" >>"$(dirname "$0")/calls"
EOF
chmod +x compiler
mkdir out
PYTHON=$dir/compiler QUICK=1 OUT=$dir/out RESULT='' check devices speed nodes || fail "quick: exit code $?"
python3 - out/check_gpu.json calls <<'EOF' || fail "quick: $(cat log calls)"
import json, sys
r = json.load(open(sys.argv[1]))
assert [(i["name"], i["state"]) for i in r["items"]] == \
    [(n, "passed") for n in ("devices", "nodes", "speed")], r["items"]
rate = {row["what"]: row["images_per_second"] for row in r["speed"]}
assert set(rate) == {"predicted", "trainc", "folded", "eager", "compiled"}, rate
assert rate["folded"] > 0 and rate["compiled"] == 120, rate
assert not any(row.get("note") for row in r["speed"]), r["speed"]
calls = [line.split("--mode ")[1].split() for line in open(sys.argv[2])]
assert [c[0] for c in calls] == ["max-autotune", "max-autotune", "eager"], calls
assert [c[2] for c in calls] == ["0", "5", "5"], calls
rows = r["files"]["nodes.json"]
for part in "conv 1x1 + add", "data grad", "gram", "drelu + bias grad", "gelu", "folded", "fused":
    assert any(part in row["node"] and row["us"] > 0 for row in rows), part
assert all(row["plain_us"] > 0 for row in rows), rows
EOF
check gpus && fail "gpus passed with one"
state gpus skipped
# Its processes meet at a free port, even if the default port is taken.
python3 -c 'import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 29533)); s.listen(); time.sleep(600)' &
listener=$!
TRAINC_NCCL=$emulated/libnccl.so.2 EMULATOR_GPUS=2 check gpus || fail "gpus"
kill $listener
state gpus passed
PYTHON=/bin/false check speed || fail "speed without torch: exit code $?"
state speed passed
grep -q "PyTorch: .*no comparison" log || fail "no line that there is no torch"
check step_swin_tiny || fail "step_swin_tiny"

# A call that fails, steps that wait, runs that differ, and an unknown item.
EMULATOR_FAIL=launch:400 check captured_is_eager && fail "a launch that fails was not noticed"
state captured_is_eager failed
cat >waits <<'EOF'
#!/bin/bash
# Reports more waits for longer runs.
"$(dirname "$0")/trainc-gpu/bin/trainc" "$@" || exit
[[ " $* " == *" 10 "* ]] && sed -i 's/"device_syncs": /"device_syncs": 1/' steady10.json
exit 0
EOF
chmod +x waits
TRAINC=$dir/waits check steady_state && fail "a step that waits was not noticed"
state steady_state failed
cat >other <<'EOF'
#!/bin/bash
# Trains with a different seed each time.
exec "$(dirname "$0")/trainc-gpu/bin/trainc" "$@" $([[ " $* " == *" --cfg "* ]] && echo SEED=$RANDOM)
EOF
chmod +x other
TRAINC=$dir/other check deterministic && fail "two different runs were not noticed"
state deterministic failed
cat >graph <<'EOF'
#!/bin/bash
# Trains with a different seed if steps are not captured.
exec "$(dirname "$0")/trainc-gpu/bin/trainc" "$@" $([[ " $* " == *" --no-graph "* ]] && echo SEED=1)
EOF
chmod +x graph
TRAINC=$dir/graph check step_swin_tiny && fail "another graph than the eager step was not noticed"
state step_swin_tiny failed
sed -i 's/--no-graph/TRAIN.EMA.DEVICE=cpu/' graph
TRAINC=$dir/graph check ema && fail "other EMA weights were not noticed"
state ema failed
# Possible results of compute-sanitizer: nothing, a race, a kernel that it cannot run, a timeout;
# and a table that fails on its own.
cat >sanitizer <<'EOF'
#!/bin/bash
[ "$1" != --help ] || exit 0
case $SAYS$TEST_ONLY_DTYPE in
  racefp16) echo "========= Error: Race reported between Write access at pad_kernel"; exit 9 ;;
  lostbf16) [ -n "${TEST_AFTER:-}" ] || {
    TEST_ROWS=relu "${@: -1}"
    echo "========= Internal Sanitizer Error: The Sanitizer failed to handle a hardware exception."
    exit 9
  } ;;
  latefp32) sleep 60 ;;
  tablefp32) echo " 1 FAILED TEST(S)"; exit 1 ;;
esac
TEST_ROWS='relu*' "${@: -1}"
EOF
chmod +x sanitizer
sanitized() { # SAYS STATE PATTERN
  SAYS=$1 SANITIZER=$dir/sanitizer SANITIZE_LIMIT=20 check racecheck
  state racecheck "$2"
  grep -q "$3" log || fail "sanitizer, $1"
}
sanitized nothing passed "0 errors: fp32 clean; bf16 clean; fp16 clean$"
sanitized race failed "fp16 found: 1, Error: Race reported"
sanitized lost passed "0 errors: .* left out, .*: bf16 relu$"
sanitized late skipped "not done: fp32 unfinished"
sanitized table passed "fp32 clean: but the table itself fails"
cat >forgets <<'EOF'
#!/bin/bash
# A run that was killed starts over.
[[ " $* " != *" --output killed "* ]] || rm -rf killed
exec "$(dirname "$0")/trainc-gpu/bin/trainc" "$@"
EOF
chmod +x forgets
TRAINC=$dir/forgets check resume && fail "a run that started over was not noticed"
grep -q "update 2: started over" log || fail "no word of where it was killed"
ITEM_LIMIT=1 check ops && fail "an item took longer than its limit"
state ops failed
grep -q "not done within 1 s" log || fail "no word of the limit"
LIMIT=2 check ops && fail "an item ran beyond the limit of all"
state ops skipped
CUDA_VISIBLE_DEVICES= TRAINC=$here/trainc check && fail "a machine without a GPU passed"
state devices failed
state ops skipped
LIMIT=0 check devices && fail "an item began after the limit"
state devices skipped
check nothing && fail "an item that is not there passed"

finish
