#!/bin/bash
# Ensembles: predict and eval --weights A B C average the probabilities of their members, which
# may differ in architecture and input size but not in classes.
#
#   tests/e2e/ensemble.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

train() { # TAG ARGUMENT...
  "$trainc" --model-type resnet --model resnet20 --data-path shapes --img-size 32 --device cpu --threads 1 \
    --batch-size 16 --epochs 1 --output out --tag "$@" >log 2>&1 || { fail "train $1"; finish; }
}
"$trainc" synth shapes --out shapes --classes 4 --train 16 --val 10 --size 40 2>/dev/null || exit 1
"$trainc" synth shapes --out five --classes 5 --train 20 --val 10 --size 40 2>/dev/null || exit 1
train a --seed 1
train b --seed 2
train c --model resnet32 --img-size 40 --seed 3
train five --data-path five
cp -r shapes renamed
for split in train val; do mv "$(ls -d renamed/$split/*/ | head -1)" renamed/$split/aaa; done
train renamed --data-path renamed
renamed=$(ls out/*/renamed/last.safetensors)
a=$(ls out/*/a/last.safetensors) b=$(ls out/*/b/last.safetensors)
c=$(ls out/*/c/last.safetensors) five=$(ls out/*/five/last.safetensors)

predict() { # NAME ARGUMENT...
  "$trainc" predict --device cpu --probabilities --json "$1.json" --weights "${@:2}" shapes/val >log 2>&1 ||
    fail "predict $1"
}
# Compares probabilities in a JSON file with the mean of those in others.
mean() { # JSON JSON...
  python3 - "$@" <<'X'
import json, sys
got, *of = [json.load(open(f))['images'] for f in sys.argv[1:]]
assert len(got) >= 8 and all(len(o) == len(got) for o in of), 'number of images'
for i, g in enumerate(got):
    assert all(o[i]['image'] == g['image'] for o in of)
    for k, p in enumerate(g['probabilities']):
        want = sum(o[i]['probabilities'][k] for o in of) / len(of)
        assert abs(p - want) <= 1e-6, (g['image'], k, p, want)
X
}
predict a "$a"
predict b "$b"
predict c "$c"
predict all "$a" "$b" "$c"
expect_line "ensemble of 3"
mean all.json a.json b.json c.json || fail "the mean of three"
mean all.json a.json b.json >/dev/null 2>&1 && fail "the third member does nothing"
predict two "$b" "$c"
mean two.json b.json c.json || fail "the mean of two"

# eval computes accuracy and loss from the probabilities that predict writes.
"$trainc" eval --device cpu --weights "$a" "$b" "$c" --result eval.json --report report >log 2>&1 || fail "eval"
expect_line "ensemble of 3"
python3 - <<'Y' || fail "eval differs from predict"
import json, math
r, v = json.load(open('all.json')), json.load(open('eval.json'))
index = {c: i for i, c in enumerate(r['classes'])}
loss = right = 0
for g in r['images']:
    label = index[g['image'].split('/')[-2]]
    loss -= math.log(g['probabilities'][label]) / len(r['images'])
    right += max(range(4), key=g['probabilities'].__getitem__) == label
assert abs(v['val_loss'] - loss) < 1e-5, (v['val_loss'], loss)
assert abs(v['val_top1'] - 100 * right / len(r['images'])) < 1e-9, (v['val_top1'], right)
Y
grep -q '"ensemble"' report/report.json || fail "report: not of the ensemble"
# An ensemble of one gives the result of eval without ensembles.
"$trainc" eval --device cpu --weights "$a" --result one.json >log 2>&1 || fail "eval of one"
"$trainc" eval --device cpu --resume "$a" --result resumed.json >log 2>&1 || fail "eval --resume"
[ "$(json_value one.json val_top1)" = "$(json_value resumed.json val_top1)" ] || fail "one member: another accuracy"

refused() { exits "$1" "$2" "$trainc" "${@:3}"; } # CODE PATTERN ARGUMENT...
refused 1 "has 5 classes, and the first has 4" predict --weights "$a" "$five" shapes/val
refused 1 "class 0 is 'aaa', and '.*' in the first" predict --weights "$a" "$renamed" shapes/val
refused 2 "there is no file 'none.safetensors'" predict --weights "$a" none.safetensors shapes/val
refused 2 "no images" predict --weights "$a" "$b"
head -c 9000 "$b" >cut.safetensors
refused 2 "'cut.safetensors'" predict --weights "$a" cut.safetensors shapes/val
refused 2 "has 4 classes, .* MODEL.NUM_CLASSES is 5" eval --weights "$a" "$five" --data-path shapes
refused 2 "cannot be combined with --weights" eval --weights "$a" "$b" --resume "$a"
refused 2 "unrecognized arguments: $b" eval "$b" --resume "$a"
refused 2 "unrecognized arguments: shapes" eval --weights "$a" shapes
refused 2 "'cut.safetensors'" eval --weights "$a" cut.safetensors

finish
