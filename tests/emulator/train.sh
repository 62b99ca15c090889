#!/bin/bash
# Training on the emulated GPU. One run is repeated in every way that must not change a bit of its
# weights: kernel by kernel instead of as a graph; in other orders of threads, blocks, and streams;
# killed and resumed. Steps cause no synchronization and no allocation; insufficient memory is
# detected before training.
#
#   tests/emulator/train.sh [TRAINC]
. "$(dirname "$0")/../e2e/lib.bash" "${1:-${EMULATED:-build/cc/emulated}/../trainc-emulated}"

"$trainc" synth shapes --out shapes --classes 4 --train 48 --val 12 --size 16 2>/dev/null ||
  exit 1
common=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cuda
  --output out --amp-dtype fp16 --deterministic)
opts=(--opts CUDNN.CACHE= TRAIN.EPOCHS=2 PRINT_FREQ=1)

told() { cut -d, -f1-5 out/*/default/summary.csv; } # of each epoch, without rates and times

same() { # name, then settings of the environment, flags of the run, and after -- keys
  name=$1
  shift
  settings=()
  while [[ ${1:-} == *=* ]]; do settings+=("$1"); shift; done
  rm -rf out
  flags=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do flags+=("$1"); shift; done
  env "${settings[@]}" "${common[@]}" "${flags[@]}" "${opts[@]}" "${@:2}" >log 2>&1 || fail "$name"
  cmp -s <(tensor_bytes out/*/default/last.safetensors) first || fail "$name: other weights"
  cmp -s <(told) first.csv || fail "$name: other losses: $(told | xargs)"
  echo "ok: $name"
}

rm -rf out
"${common[@]}" "${opts[@]}" >log 2>&1 || fail "training"
tensor_bytes out/*/default/last.safetensors >first
[ "$(stat -c %s first)" -gt 1000000 ] || fail "training: no weights"
cp out/*/default/metrics.jsonl .
told >first.csv
for key in loss lr; do
  [ "$(jq -s --arg key $key 'any(has($key))' metrics.jsonl)" = true ] || fail "metrics.jsonl has no $key"
done
grep -qi 'nan\|inf' metrics.jsonl && fail "metrics.jsonl has a NaN"
for when in "at the start" "after epoch 1" "after epoch 2" "at the end"; do
  grep -q "^memory $when: .* MiB (.*arena .*), libraries .*, driver and other programs .*; free .* of .*, peak " log ||
    fail "no memory $when: $(grep ^memory log)"
done
echo "ok: training"

same "again" EMULATOR_PROTECT=1
# Another program allocates memory in the second epoch: it is not counted for the libraries.
libraries() { sed -n "s/^memory $1: .*), libraries \([0-9.]* MiB\), driver and other programs \([0-9.]*\) GiB;.*/\1 \2/p" log; }
read -r first_mib _ first_others < <(libraries "after epoch 1")
same "with others" EMULATOR_OTHERS=20G EMULATOR_OTHERS_AFTER=15
read -r mib _ others < <(libraries "after epoch 2")
[ -n "$mib" ] && [ "$mib" = "$first_mib" ] && awk -v a="$others" -v b="$first_others" 'BEGIN { exit !(a - b > 19.8 && a - b < 20.2) }' ||
  fail "others took 20 GiB: $(grep ^memory log)"
same "without a graph" --no-graph
same "with redzones" -- DEBUG.REDZONES=True
arena() { # with these keys
  "$trainc" summary --cfg "$here/configs/smoke/shapes.yaml" --device cuda --json arena.json \
    --opts CUDNN.CACHE= CUDNN.BENCHMARK=False "$@" >log 2>&1 || fail "summary"
  json_value arena.json arena_bytes
}
[ "$(arena DEBUG.REDZONES=True)" -gt "$(arena)" ] || fail "redzones: the arena is no larger"
same "other order" EMULATOR_ORDER=reverse
same "late streams" EMULATOR_LAZY=1 EMULATOR_ORDER=shuffle:3
often=("${opts[@]}")
# No waits during an epoch, and the loader refills a batch as soon as possible.
opts=(--opts CUDNN.CACHE= TRAIN.EPOCHS=2 PRINT_FREQ=100 DATA.PREFETCH=1)
same "later streams" EMULATOR_LAZY=1 EMULATOR_BUSY=1
same "later streams without a graph" EMULATOR_LAZY=1 --no-graph
opts=("${often[@]}")

# Killed in the first and in the second epoch, and resumed.
for step in 3 8; do
  rm -rf out
  resume=("${common[@]}" "${opts[@]}" TRAIN.SAVE_STEPS=2)
  "${resume[@]}" >log 2>&1 &
  pid=$!
  until grep -q "\"step\":$step," out/*/default/metrics.jsonl 2>/dev/null; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.02
  done
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  "${resume[@]}" >log 2>&1 || fail "resume at $step"
  grep -q "resumed from" log || fail "resume at $step: started over"
  cmp -s <(tensor_bytes out/*/default/last.safetensors) first || fail "resume at $step: other weights"
  echo "ok: killed at update $step and resumed"
done

# A ViT with cuDNN attention: two steps, also kernel by kernel, and one by one.
shapes=("${common[@]}") often=("${opts[@]}")
common=("$trainc" --model vit_tiny_patch16_224 --img-size 32 -b 4 --max-steps 2 --data-path shapes --device cuda
  --output out --amp-dtype fp16 --deterministic)
opts=(--opts CUDNN.CACHE= CUDNN.BENCHMARK=False PRINT_FREQ=1 TRAIN.SAVE_STEPS=1)
cp first first.shapes && cp first.csv first.shapes.csv && rm -rf out
EMULATOR_COMPILED=compiled.list "${common[@]}" "${opts[@]}" >log 2>&1 || fail "ViT"
grep -q "^engine 2$" compiled.list && grep -q "^engine 6$" compiled.list || fail "ViT: attention is not cuDNN's"
tensor_bytes out/*/default/last.safetensors >first
told >first.csv
same "ViT without a graph, late streams" EMULATOR_LAZY=1 --no-graph
rm -rf out
for steps in 1 2; do "${common[@]}" --max-steps $steps "${opts[@]}" >log 2>&1 || fail "ViT: $steps updates"; done
grep -q "resumed from" log || fail "ViT: started over"
cmp -s <(tensor_bytes out/*/default/last.safetensors) first || fail "ViT, resumed: other weights"
same "ViT's attention of 9.14" EMULATOR_CUDNN=91400
common=("${shapes[@]}") opts=("${often[@]}")
mv first.shapes first && mv first.shapes.csv first.csv
echo "ok: ViT"

# Choices of both libraries are kept and reloaded; a damaged one is made again.
opts[1]=CUDNN.CACHE=plans
same "choices made"
for f in plans/cublaslt-*.json; do
  [ -e "$f" ] || fail "cuBLASLt's choices are not kept"
  sed -i 's/"algorithm": "../"algorithm": "zz/' "$f"
done
same "choices found, some of them damaged"
grep -q "ignoring .*: the checksum is wrong; choosing the algorithm again" log || fail "no word of the damage"
grep -l '"algorithm": "zz' plans/* && fail "a damaged choice was kept"
opts[1]=CUDNN.CACHE=

# Four more steps in the same epoch cost only four graph launches.
for steps in 6 10; do
  rm -rf out
  EMULATOR_COUNTERS=$steps.json "${common[@]}" -b 4 --max-steps $steps --opts CUDNN.CACHE= \
    PRINT_FREQ=100 >log 2>&1 || fail "$steps steps"
done
for key in synchronisations pageable allocations launches captures; do
  [ "$(json_value 6.json $key)" = "$(json_value 10.json $key)" ] ||
    fail "$key: $(json_value 6.json $key) in 6 updates, $(json_value 10.json $key) in 10"
done
[ $(($(json_value 10.json graph_launches) - $(json_value 6.json graph_launches))) = 4 ] ||
  fail "graph launches: $(json_value 6.json graph_launches) in 6 updates, $(json_value 10.json graph_launches) in 10"
echo "ok: steady state"

# A loss scale far too large: steps are skipped, and the run continues.
rm -rf out
"${common[@]}" "${opts[@]}" AMP.INIT_SCALE=1e9 >log 2>&1 || fail "overflow"
grep -q "skipped" log || fail "overflow: nothing was skipped"
tail -1 out/*/default/metrics.jsonl | grep -qi nan && fail "overflow: NaN"
echo "ok: overflow"

rm -rf out
EMULATOR_MEMORY=6M "${common[@]}" "${opts[@]}" >log 2>&1 && fail "memory: 6 MB were enough"
grep -qi "memory" log || fail "memory: no clear message"
[ -e out ] && find out -name metrics.jsonl -size +0 | grep -q . && fail "memory: found too late"
echo "ok: out of memory"

# The op table's benchmark: bytes per step, compared with a copy.
"$trainc" bench --ops cross_entropy --batch 1 --device cuda --json ops.json >log 2>&1 ||
  fail "bench --ops"
grep -q '"kernel":"cuda ' ops.json && grep -q '"copy_gb_per_second":[1-9]' ops.json &&
  grep -q '\* below 85 % of copy speed' log || fail "bench --ops"
echo "ok: bench --ops"

# A benchmark with skipped steps warns that its speed is too high.
"$trainc" bench --cfg "$here/configs/smoke/shapes.yaml" --device cuda --amp-dtype fp16 -b 2 --seconds 0.1 \
  --opts CUDNN.CACHE= CUDNN.BENCHMARK=False AMP.INIT_SCALE=1e9 >log 2>&1 || fail "bench"
grep -q "gradients overflowed, so [0-9]* of [0-9]* steps skipped the optimizer" log || fail "bench"
echo "ok: bench of skipped steps"

finish
