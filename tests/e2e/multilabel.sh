#!/bin/bash
# MODEL.TASK multilabel: tables of either form train the same model; mAP ends at least 0.35 above
# the share of images that have a label; the checkpoint contains thresholds that predict uses;
# resuming changes nothing; errors are one line.
#
#   tests/e2e/multilabel.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

train() { # DATA TAG [ARGUMENT...]
  "$trainc" train --data-path "$1" --dataset csv --task multilabel --model resnet20 --img-size 16 --batch-size 16 \
    --device cpu --output out --tag "$2" "${@:3}" >log 2>&1
}
score() { # TAG NAME: prints the last epoch's score, of the EMA weights if there are any
  awk -F, -v n="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    END { v = $at["ema_" n]; print v == "" ? $at["val_" n] : v }' "out/resnet20/$1/summary.csv"
}

# Noise images: red, green, and blue are each bright in a third of them, which is the average
# precision of a random ranking. Labels are lists (tags) and one-hot columns.
mkdir -p lists/train lists/val
images() { # SPLIT N
  LC_ALL=C awk -v part="$1" -v n="$2" 'BEGIN {
    srand(n); name[0] = "red"; name[1] = "green"; name[2] = "blue"
    print "image,tags" >(part ".csv"); print "file,blue,green,red" >("../" part ".hot")
    for (i = 0; i < n; i++) {
      list = ""; file = part "/" i ".ppm"
      for (c = 0; c < 3; c++) {
        on[c] = rand() < 1 / 3
        if (on[c]) list = list (list == "" ? "" : "|") name[c]
      }
      printf "P6\n16 16\n255\n" >file
      for (p = 0; p < 256; p++) for (c = 0; c < 3; c++) printf "%c", int(40 + 90 * on[c] + rand() * 120) >file
      close(file)
      print file "," list >(part ".csv")
      print file "," on[2] "," on[1] "," on[0] >("../" part ".hot")
    } }'
}
(cd lists && images train 240 && images val 80) || exit 1

# mAP rises.
train lists learns --epochs 3 || fail "training"
map=$(score learns map)
above "$map" 0.7 || fail "mAP $map is not 0.35 above 0.35, what a random order has"
above "$(score learns auroc)" 0.7 || fail "AUROC $(score learns auroc)"
expect_line 'mAP 0\.'
expect_line 'Best map'
grep -qa thresholds out/resnet20/learns/best.safetensors || fail "no thresholds in the checkpoint"
expect_line '^class,images,positive,ap,auroc' out/resnet20/learns/report/labels.csv

# init recognizes lists and one-hot columns, but does not split class names into words.
mkdir hot && cp -r lists/train lists/val hot && cp train.hot hot/train.csv && cp val.hot hot/val.csv
for data in lists hot; do
  "$trainc" init $data >init.yaml 2>log || fail "init $data"
  expect_line '^  TASK: multilabel ' init.yaml
  expect_line '^  NUM_CLASSES: 3 ' init.yaml
  "$trainc" --cfg init.yaml --output initialized --tag $data --max-steps 2 >log 2>&1 || fail "$data: what init wrote"
done
cp -r lists words && sed -i 's/,.*red.*/,red car/; t; s/,.*green.*/,red truck/; t; 1!s/,.*/,blue car/' words/*.csv
"$trainc" init words >init.yaml 2>log || fail "init words"
grep -q 'TASK: multilabel' init.yaml && fail "words of a class's name are labels"

# predict and eval use the thresholds and the scores.
"$trainc" predict --weights out/resnet20/learns/best.safetensors lists/val --json p.json --csv p.csv >said 2>log ||
  fail predict
jq -e '.thresholds | arrays' p.json >/dev/null || fail "predict --json: no thresholds"
expect_line '^image,labels,class1' p.csv
"$trainc" predict --weights out/resnet20/learns/best.safetensors lists/val --threshold 0.99 --json t.json >said 2>log ||
  fail "predict --threshold"
jq -e '([.thresholds[]] | unique) == [0.99] and
  all(.images[]; (.labels | length) == ([.top[] | select(.probability >= 0.99)] | length))' t.json >/dev/null ||
  fail "predict --threshold: labels"
"$trainc" eval --resume out/resnet20/learns/last.safetensors --data-path lists >log 2>&1 || fail eval
expect_line 'mAP 0\.'

# One-hot columns give the same data.
train lists one --epochs 1 || fail "lists"
train hot two --epochs 1 --label-column '*' || fail "one-hot columns"
[ "$(score one map)" = "$(score two map)" ] || fail "lists have mAP $(score one map), one-hot columns $(score two map)"

# Other losses, positive class weights, mixup, and unknown targets.
train lists asl --epochs 1 --loss asymmetric --opts AUG.MIXUP 0.4 AUG.CUTMIX 1.0 || fail "asymmetric loss"
# Images without a label / images with it.
train lists auto --epochs 1 TRAIN.LOSS.POS_WEIGHT=auto || fail "POS_WEIGHT auto"
for name in blue green red; do
  n=$(grep -c "[,|]$name" lists/train.csv)
  LC_ALL=C awk -v n="$n" 'BEGIN {printf "%.4g\n", (240 - n) / n}'
done | xargs >want
sed -n 's/.*positive weights: //p' log | tr -d ',' | xargs -n 2 | sort | cut -d' ' -f2 | xargs >got
cmp -s want got || fail "POS_WEIGHT auto: $(cat got), not $(cat want)"
train lists focal --epochs 1 --loss focal --opts TRAIN.LOSS.POS_WEIGHT "[1, 2, 3]" || fail "focal loss"
sed -i '3,60s/,[01]$/,/' hot/train.csv
train hot unknown --epochs 1 || fail "unknown targets"
for tag in asl focal unknown; do above "$(score $tag map)" 0 || fail "$tag has no mAP"; done

# Ensembles: predict has the mean of the probabilities and of the thresholds; eval has the same probabilities, and
# refuses a member with one label per image.
a=out/resnet20/learns/best.safetensors b=out/resnet20/asl/best.safetensors
for name in a b; do
  "$trainc" predict --device cpu --weights ${!name} --probabilities --json $name.json lists/val >log 2>&1 || fail "predict $name"
done
"$trainc" predict --device cpu --weights $a $b --probabilities --json both.json lists/val >log 2>&1 || fail "predict both"
expect_line "ensemble of 2"
"$trainc" eval --device cpu --weights $a $b --data-path lists --result both_eval.json --report both >log 2>&1 || fail "eval both"
python3 - <<'X' || fail "the ensemble of two"
import csv, json, math

a, b, both = (json.load(open(f'{n}.json')) for n in ('a', 'b', 'both'))
close = lambda x, y: abs(x - y) <= 1e-6
assert a['thresholds'] != b['thresholds']
assert all(close(t, (u + v) / 2) for t, u, v in zip(both['thresholds'], a['thresholds'], b['thresholds']))
loss = n = 0
labels = {r['image']: r['tags'].split('|') for r in csv.DictReader(open('lists/val.csv'))}
for x, y, z in zip(a['images'], b['images'], both['images']):
    p = z['probabilities']
    assert all(close(p[k], (x['probabilities'][k] + y['probabilities'][k]) / 2) for k in range(3)), z
    assert set(z['labels']) == {c for k, c in enumerate(both['classes']) if p[k] >= both['thresholds'][k]}, z
    for k, c in enumerate(both['classes']):
        loss -= math.log(p[k] if c in labels['/'.join(z['image'].split('/')[1:])] else 1 - p[k])
        n += 1
got = json.load(open('both_eval.json'))
assert abs(got['val_loss'] - loss / n) < 1e-5, (got['val_loss'], loss / n)
assert got['val_map'] > 0.5 and len(list(csv.DictReader(open('both/labels.csv')))) == 3, got
X
"$trainc" synth shapes --out shapes --classes 3 --train 6 --val 3 --size 16 2>/dev/null
"$trainc" --data-path shapes --model-type resnet --model resnet20 --img-size 16 --device cpu --batch-size 6 --epochs 1 \
  --output out --tag single >log 2>&1 || fail "train one label per image"
refuses "has another MODEL.TASK than the first" "$trainc" predict --device cpu --weights $a \
  out/resnet20/single/last.safetensors lists/val

# A resumed run is bit-exact.
train lists whole --epochs 2 || fail "two epochs"
train lists part --epochs 2 --opts TRAIN.MAX_STEPS 15 || fail "one of two epochs"
train lists part --epochs 2 --resume out/resnet20/part/last.safetensors || fail "resuming"
[ "$(score whole map)" = "$(score part map)" ] || fail "a resumed run has mAP $(score part map), a whole one $(score whole map)"

# Wrong tables are reported, not misread.
"$trainc" train --data-path lists --dataset csv --label-column tags --model resnet20 --img-size 16 --batch-size 16 --epochs 1 \
  --device cpu --output out --tag single --opts TRAIN.MAX_STEPS 1 >log 2>&1
expect_line 'MODEL.TASK multilabel\|the class is empty'
mistake() { # MESSAGE ARGUMENT...
  train lists mistake --epochs 1 "${@:2}" && fail "no error: $1"
  expect_line "$1"
}
mistake 'TRAIN.CLASS_WEIGHTS cannot be combined' --class-weights balanced
mistake 'asymmetric' --loss distill
mistake 'TRAIN.LOSS.POS_WEIGHT has 2 numbers' --opts TRAIN.LOSS.POS_WEIGHT "[1, 2]"
mistake 'TRAIN.BEST_METRIC top1' --opts TRAIN.BEST_METRIC top1
mistake 'needs a table' --dataset synthetic
mistake "has no column 'nothing'" --label-column nothing,tags

echo "multilabel: mAP $map"
finish
