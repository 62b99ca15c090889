#!/bin/bash
# trainc bench: the output of each mode, and the documented JSON fields hold numbers. Speeds are
# not compared.
#
#   tests/e2e/bench.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

value() { # FILE KEY: prints the first value of that key, at any depth
  jq -r --arg key "$2" 'first(.. | objects | select(has($key)))[$key]' "$1"
}
positive() { # file key...
  local file=$1 key
  shift
  for key; do
    awk -v v="$(value "$file" "$key")" 'BEGIN { exit !(v + 0 > 0) }' ||
      fail "$file: $key is '$(value "$file" "$key")'"
  done
}

# ---- step and convolutions ----

step=("$trainc" bench --cfg "$here/configs/cifar10/resnet20.yaml" --batch-size 4 --device cpu
  --seconds 0.1 --json step.json)

"${step[@]}" --no-amp --convs --trace >log 2>&1 || fail "a step"
positive step.json images_per_second step_ms_median peak_memory_bytes convs_images_per_second
[ "$(value step.json dtype)" = fp32 ] || fail "dtype: $(value step.json dtype)"
[ "$(value step.json batch)" = 4 ] || fail "batch: $(value step.json batch)"
[ "$(value step.json device)" = cpu ] || fail "device: $(value step.json device)"
grep -Eq '^resnet20: [0-9.]+ img/s, [0-9.]+ ms per step' log || fail "no line of the step"
grep -Eq '^convolutions only: [0-9.]+ img/s, forward [0-9.]+ ms, data gradient [0-9.]+ ms, weight gradient [0-9.]+ ms' log ||
  fail "no line of the convolutions: $(grep ^conv log)"
grep -Eq '^all kernels +[0-9]+ ' log || fail "no sum of the trace"

# Own kernels compared with the library: the total counts each kernel's lines, and the ratio is
# that of the two times. On a processor without own kernels there is no table.
sed -n '/^our own /,/^layer /p' log | grep -E ' cpu ' >own
if [ -s own ]; then
  awk '{ k = ""; for (i = 2; i <= NF - 6; i++) k = k " " $i
         if ($1 == "all") { if (k in count) bad = 1; count[k] = $(NF - 5); ms[k] = $(NF - 4) }
         else { n[k]++; sum[k] += $(NF - 4) }
         if ($(NF - 4) > 0.5 && ($(NF) - $(NF - 2) / $(NF - 4)) ^ 2 > 0.0004) bad = 1
         if (!($(NF) > 0) || !($(NF - 3) > 0) || !($(NF - 1) > 0)) bad = 1 }
       END { for (k in n) if (n[k] != count[k] || (sum[k] - ms[k]) ^ 2 > 0.001) bad = 1
             for (k in count) if (!(k in n)) bad = 1
             exit bad }' own || { cat own; fail "our own convolutions do not add up"; }
elif grep -Eq '(narrow|winograd|gemm|direct|amx)$' <(awk '{print $2, $3, $4}' log); then
  fail "our own convolutions are not compared"
fi
"${step[@]}" --no-amp --inference --val-batch-size 2 --trace >log 2>&1 || fail "inference"
positive step.json images_per_second step_ms_median
[ "$(value step.json batch)" = 2 ] || fail "inference: batch $(value step.json batch)"
grep -q "weight_grad\|optimizer" log && fail "inference has steps of training"
grep -Eq '^conv1 ' log || grep -Eq '^act1 ' log || fail "inference: no convolution"
"${step[@]}" --inference --convs >log 2>&1 && fail "--convs of an inference"
"${step[@]}" --no-amp --convs >log 2>&1 || fail "without a trace"
grep -q '^layer1.0.conv1 ' log && fail "each convolution without --trace"
grep -q '^all kernels' log && fail "a trace without --trace"
echo "ok: a step and its convolutions"

"${step[@]}" >log 2>&1 || fail "a step without --convs"
grep -q convs_images_per_second step.json && fail "convolutions that were not timed are in the JSON"
grep -q '^convolutions only' log && fail "convolutions without --convs"

# With "--json -" stdout carries the JSON only; text for people goes to stderr.
for what in "--seconds 0.01 --cfg $here/configs/smoke/synthetic.yaml" "--ops relu*limit" \
  "--seconds 0.1 --loader --cfg $here/configs/smoke/synthetic.yaml"; do
  "$trainc" bench $what --device cpu --json - >out.json 2>log || fail "$what --json -"
  [ "$(head -c 1 out.json)$(tail -n 1 out.json | tail -c 2)" = "{}" ] || fail "$what --json -: $(head -1 out.json)"
  grep -q "/s\|relu" log || fail "$what --json -: the text is lost"
done
"$trainc" bench --ops 'relu limit' --device cpu --json - >/dev/full 2>log && fail "--json - onto a full disk"
"$trainc" summary --cfg "$here/configs/smoke/synthetic.yaml" --json - 2>log | head -c 1 | grep -q '^{' ||
  fail "summary --json - prints more than JSON"
echo "ok: only JSON on the standard output"

# ---- rows of the op table ----

"$trainc" bench --ops 'relu limit' --device cpu --json ops.json >log 2>&1 || fail "--ops"
positive ops.json copy_gb_per_second ms bytes of_copy
rows=$(jq -r '.steps[].row' ops.json | sort -u)
[ "$rows" = "relu limit" ] || fail "--ops: rows $(xargs -d '\n' <<<"$rows")"
echo "ok: rows of the op table"

# ---- the loader ----

"$trainc" synth shapes --out data --classes 2 --train 16 --val 8 --size 16 2>/dev/null || exit 1
"$trainc" bench --loader --seconds 0.1 --cfg "$here/configs/smoke/shapes.yaml" --data-path data --device cpu \
  --json loader.json >log 2>&1 || fail "--loader"
positive loader.json images_per_second
echo "ok: the loader"

finish
