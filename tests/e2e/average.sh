#!/bin/bash
# trainc average: the mean of given files, and of a run's last and best checkpoints, equals
# Python's; eval and predict read it; files that do not fit together are rejected by name.
#
#   tests/e2e/average.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

train() { # TAG ARGUMENT...
  "$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output out --device cpu --threads 1 --tag "$@" >log 2>&1 ||
    { fail "train $1"; finish; }
}

# Compares OUT with the fsum-based mean of FILE..., whose tensors are named PREFIX + name.
same_mean() { # PREFIX OUT FILE...
  python3 - "$@" <<'X'
import json, math, struct, sys
def load(path):
    data = open(path, 'rb').read()
    n = struct.unpack('<Q', data[:8])[0]
    head = json.loads(data[8:8 + n])
    meta = head.pop('__metadata__', {})
    kinds = {'F32': 'f', 'I64': 'q', 'F64': 'd'}
    def values(t):
        a, b = t['data_offsets']
        k = kinds[t['dtype']]
        return t['dtype'], t['shape'], struct.unpack('<%d%s' % ((b - a) // struct.calcsize(k), k), data[8 + n + a:8 + n + b])
    return {name: values(t) for name, t in head.items()}, meta
prefix, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
got, meta = load(out)
want = [load(f) for f in files]
names = [k for k in want[0][0] if not k.startswith(('ema.', 'optimizer.'))]
assert sorted(names) == sorted(got), 'other tensors'
assert meta['trainc_config'] == want[0][1]['config'] and meta['classes'] == want[0][1]['classes'], 'metadata'
for name in names:
    dtype, shape, v = got[name]
    of = [w[0].get(prefix + name, w[0][name]) for w in want]
    assert shape == of[0][1], name
    if dtype == 'I64':
        assert v[0] == max(x[2][0] for x in of), name
        continue
    for i, x in enumerate(v):
        exact = math.fsum(w[2][i] for w in of) / len(of)
        assert abs(x - exact) <= 1e-6 * abs(exact) + 1e-30, (name, i, x, exact)
X
}

train run --epochs 4 --opts TRAIN.EMA.ENABLE False TRAIN.KEEP_CHECKPOINTS 9
run=out/resnet20/run
ck() { echo "$run/ckpt_epoch_$1.safetensors"; }
"$trainc" average "$(ck 3)" "$(ck 0)" "$(ck 2)" --out three.safetensors >log 2>&1 || fail "three files"
same_mean "" three.safetensors "$(ck 3)" "$(ck 0)" "$(ck 2)" || fail "the mean of three files"
"$trainc" average $run --last 2 --out last.safetensors >log 2>&1 || fail "--last"
same_mean "" last.safetensors "$(ck 3)" "$(ck 2)" || fail "--last 2 of a run"
"$trainc" average $run --out all.safetensors >log 2>&1 || fail "a run"
expect_line "mean of 4 checkpoints"

# --best ranks by the scores in metrics.jsonl; the newer checkpoint wins a tie.
best=$(jq 'select(.kind == "val").val_top1' $run/metrics.jsonl | awk '{print $1, NR - 1}' |
  sort -k1,1gr -k2,2nr | head -2 | cut -d' ' -f2)
"$trainc" average $run --best 2 --out best.safetensors >log 2>&1 || fail "--best"
for e in $best; do grep -q "averaged '$(ck "$e")'" log || fail "--best 2: epoch $e is left out"; done
# With this learning rate the loss rises between epochs, so the best are not the newest.
train loss --epochs 5 --opts TRAIN.EMA.ENABLE False TRAIN.KEEP_CHECKPOINTS 9 TRAIN.BASE_LR 2 TRAIN.BEST_METRIC loss
best=$(jq 'select(.kind == "val").val_loss' out/resnet20/loss/metrics.jsonl | awk '{print $1, NR - 1}' |
  sort -k1,1g | head -3 | cut -d' ' -f2)
"$trainc" average out/resnet20/loss --best 3 --out best.safetensors >log 2>&1 || fail "--best by loss"
for e in $best; do grep -q "averaged .*loss/ckpt_epoch_$e.safe" log || fail "--best 3: epoch $e is left out"; done
"$trainc" eval --pretrained three.safetensors --result eval.json >log 2>&1 || fail "eval"
[ "$(json_value eval.json val_top1)" != null ] || fail "eval: no accuracy"
"$trainc" average three.safetensors last.safetensors --out again.safetensors >log 2>&1 || fail "means of means"

# Averages EMA weights or, on request, the trained weights.
train ema --epochs 2 --opts TRAIN.EMA.ENABLE True TRAIN.EMA.DECAY 0.5
e=out/resnet20/ema
"$trainc" average $e --out ema.safetensors >log 2>&1 || fail "average of EMA weights"
expect_line "EMA weights"
same_mean ema. ema.safetensors $e/ckpt_epoch_1.safetensors $e/ckpt_epoch_0.safetensors || fail "the mean of EMA weights"
"$trainc" average $e --raw --out raw.safetensors >log 2>&1 || fail "--raw"
same_mean "" raw.safetensors $e/ckpt_epoch_1.safetensors $e/ckpt_epoch_0.safetensors || fail "--raw"
"$trainc" eval --pretrained ema.safetensors >log 2>&1 || fail "eval of a mean of EMA weights"

refused() { exits "$1" "$2" "$trainc" average "${@:3}"; } # CODE PATTERN ARGUMENT...
train other --epochs 1 --opts TRAIN.EMA.ENABLE False MODEL.NUM_CLASSES 7
train wide --epochs 1 --opts TRAIN.EMA.ENABLE False MODEL.NAME resnet32
refused 1 "tensor 'fc.*' has the shape \[7.*\], and \[4.*\] in" "$(ck 0)" out/resnet20/other/last.safetensors --out x.safetensors
wide=$(find out -path '*wide/last.safetensors')
refused 1 "has a tensor 'layer3.4.*', which .* lacks" "$(ck 0)" "$wide" --out x.safetensors
refused 1 "lacks the tensor 'layer3.4" "$wide" "$(ck 0)" --out x.safetensors
refused 1 "has EMA weights and .* has none" "$(ck 0)" $e/last.safetensors --out x.safetensors
refused 1 "run' has 4 checkpoints" $run --last 5 --out x.safetensors
refused 1 "run' has 4 checkpoints" $run --best 5 --out x.safetensors
refused 1 "is one checkpoint" $run --last 1 --out x.safetensors
refused 1 "is no run" . --out x.safetensors
refused 2 "there is no file or folder 'none'" none --out x.safetensors
refused 2 "no argument is a folder" "$(ck 0)" "$(ck 1)" --last 2 --out x.safetensors
refused 2 "cannot be combined" $run --last 2 --best 2 --out x.safetensors
refused 2 "is one of the checkpoints" "$(ck 0)" "$(ck 1)" --out "$(ck 1)"
refused 2 "no output: give --out" "$(ck 0)" "$(ck 1)"
refused 2 "no checkpoints: give files" --out x.safetensors
refused 2 "must be a number from 1" $run --last 0 --out x.safetensors
refused 1 "is a PyTorch file" "$here/tests/golden/io/compiled.pth" "$(ck 0)" --out x.safetensors
head -c 20000 "$(ck 1)" >cut.safetensors
refused 1 "'cut.safetensors'" "$(ck 0)" cut.safetensors --out x.safetensors
sed 's/trainc_config/trainc_confix/' three.safetensors >bad.safetensors
refused 1 "'bad.safetensors'" three.safetensors bad.safetensors --out x.safetensors
[ ! -e x.safetensors ] || fail "a refused average left a file"

finish
