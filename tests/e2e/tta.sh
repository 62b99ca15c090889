#!/bin/bash
# Test-time augmentation (TEST.TTA): predict and eval average the probabilities of mirrored images
# and of five crops, compared with those of images that are mirrored and cropped by hand; together
# with ensembles and with several labels per image; impossible settings are refused.
#
#   tests/e2e/tta.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

python3 - <<'X' || exit 1
import os, random

rng = random.Random(7)
SIZE, CROP = 40, 32

def write(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(b'P6 %d %d 255\n' % (len(rows[0]), len(rows)))
        f.write(bytes(v for row in rows for pixel in row for v in pixel))

def image(label):
    base = [rng.randrange(256) for _ in range(3)]
    left = rng.random() < 0.5
    return [[[min(255, max(0, base[c] + rng.randrange(-60, 60) + (80 if (x < SIZE // 2) == left else 0) * label))
              for c in range(3)] for x in range(SIZE)] for y in range(SIZE)]

def corner(rows, y, x):
    return [row[x:x + CROP] for row in rows[y:y + CROP]]

for split, n in ('train', 24), ('val', 9):
    lines = ['image,labels']
    for i in range(n):
        label = i % 3
        rows = image(label)
        write(f'photos/{split}/{"abc"[label]}/{i:03}.ppm', rows)
        write(f"table/{split}/{i:03}.ppm", rows)
        lines.append(f'{split}/{i:03}.ppm,' + '|'.join(c for k, c in enumerate('xyz') if k <= label))
        if split == 'train':
            continue
        hi = SIZE - CROP
        crops = [corner(rows, hi // 2, hi // 2), corner(rows, 0, 0), corner(rows, 0, hi), corner(rows, hi, 0),
                 corner(rows, hi, hi)]
        for k, crop in enumerate(crops):
            write(f'views/{k}/{i:03}.ppm', crop)
            write(f'views/{k}h/{i:03}.ppm', [row[::-1] for row in crop])
            write(f'views/{k}v/{i:03}.ppm', crop[::-1])
            write(f'views/{k}hv/{i:03}.ppm', [row[::-1] for row in crop[::-1]])
    with open(f'table/{split}.csv', 'w') as f:
        f.write('\n'.join(lines) + '\n')
X
common=(--model-type resnet --model resnet20 --img-size 32 --device cpu --threads 1 --batch-size 8 --epochs 1
  --output out --opts DATA.CROP_PCT=0.8 AUG.HFLIP=0)
for seed in 1 2; do
  "$trainc" --data-path photos --tag $seed "${common[@]}" SEED=$seed >log 2>&1 || { fail "train $seed"; finish; }
done
a=$(ls out/*/1/last.safetensors) b=$(ls out/*/2/last.safetensors)

predict() { # NAME IMAGES ARGUMENT...: to NAME.json, in the order of the images
  "$trainc" predict --device cpu --probabilities --json "$1.json" "$2" "${@:3}" >log 2>&1 || fail "predict $1"
}
# Compares the probabilities in a JSON file with the mean of those in others.
mean() {
  python3 - "$@" <<'X'
import json, sys
got, *of = [sorted(json.load(open(f))['images'], key=lambda g: g['image'].split('/')[-1]) for f in sys.argv[1:]]
assert len(got) == 9 and all(len(o) == len(got) for o in of), 'number of images'
for i, g in enumerate(got):
    for k, p in enumerate(g['probabilities']):
        want = sum(o[i]['probabilities'][k] for o in of) / len(of)
        assert abs(p - want) <= 1e-6, (g['image'], k, p, want)
X
}
for view in views/*; do predict "${view#views/}" "$view" --weights "$a" DATA.CROP_PCT=1; done
predict plain photos/val --weights "$a"
mean plain.json 0.json || fail "the center crop"
predict tta photos/val --weights "$a" --tta hflip
mean tta.json 0.json 0h.json || fail "hflip"
mean tta.json 0.json >/dev/null 2>&1 && fail "the flipped view does nothing"
predict tta photos/val --weights "$a" --tta hflip,vflip
mean tta.json 0.json 0h.json 0v.json 0hv.json || fail "hflip and vflip"
predict tta photos/val --weights "$a" TEST.TTA=five_crop
mean tta.json [0-4].json || fail "five_crop"
predict tta photos/val --weights "$a" --tta ten_crop
mean tta.json [0-4].json [0-4]h.json || fail "ten_crop"

# The views of each member of an ensemble.
predict other photos/val --weights "$b" --tta hflip
predict one photos/val --weights "$a" --tta hflip
predict both photos/val --tta hflip --weights "$a" "$b"
mean both.json one.json other.json || fail "views of an ensemble"

# eval has the accuracy and loss of the probabilities that predict writes.
"$trainc" eval --device cpu --resume "$a" --tta ten_crop --result eval.json --report report >log 2>&1 || fail "eval"
expect_line "10 views of each image: mean of probabilities"
python3 - <<'X' || fail "eval differs from predict"
import json, math
r, v = json.load(open('tta.json')), json.load(open('eval.json'))
loss = right = 0
for g in r['images']:
    label = r['classes'].index(g['image'].split('/')[-2])
    loss -= math.log(g['probabilities'][label]) / len(r['images'])
    right += max(range(3), key=g['probabilities'].__getitem__) == label
assert abs(v['val_loss'] - loss) < 1e-5, (v['val_loss'], loss)
assert abs(v['val_top1'] - 100 * right / len(r['images'])) < 1e-9, (v['val_top1'], right)
X
[ -s report/report.json ] || fail "no report"
"$trainc" eval --device cpu --weights "$a" "$b" --tta hflip >log 2>&1 || fail "eval of an ensemble with views"
expect_line "ensemble of 2, 4 views of each image"

# Several labels per image: the mean of the sigmoids.
"$trainc" --dataset csv --data-path table --tag sets "${common[@]}" --epochs 15 MODEL.TASK=multilabel \
  DATA.IMAGE_COLUMN=image >log 2>&1 || { fail "train multilabel"; finish; }
sets=$(ls out/*/sets/last.safetensors)
predict s0 views/0 --weights "$sets" DATA.CROP_PCT=1
predict s0h views/0h --weights "$sets" DATA.CROP_PCT=1
predict tta table/val --weights "$sets" --tta hflip
mean tta.json s0.json s0h.json || fail "views of several labels"
"$trainc" eval --device cpu --resume "$sets" --tta hflip --result sets.json >log 2>&1 || fail "eval multilabel"
python3 - <<'X' || fail "eval of several labels differs from predict"
import json, math
r, v = json.load(open('tta.json')), json.load(open('sets.json'))
loss = n = 0
for g in r['images']:
    label = int(g['image'].split('/')[-1][:3]) % 3
    for k, p in enumerate(g['probabilities']):
        loss -= math.log(p if k <= label else 1 - p)
        n += 1
assert abs(v['val_loss'] - loss / n) < 1e-5, (v['val_loss'], loss / n)
assert v['val_map'] > 0, v
X

# The weights may be named by the configuration.
config=$(ls out/*/1/config.yaml)
echo "MODEL: {RESUME: '$a'}" >resume.yaml
echo "MODEL: {PRETRAINED: '$a'}" >pretrained.yaml
"$trainc" eval --device cpu --resume "$a" --tta hflip --result flags.json >log 2>&1 || fail "eval --resume"
for file in resume pretrained; do
  "$trainc" eval --device cpu --cfg "$config" --cfg $file.yaml --tta hflip --result $file.json >log 2>&1 || fail "eval of $file.yaml"
  [ "$(json_value $file.json val_loss)" = "$(json_value flags.json val_loss)" ] || fail "$file.yaml: another loss"
done
refuses "nothing to evaluate" "$trainc" eval --device cpu --cfg "$config" --tta hflip
refuses "TEST.TTA: works only in one process, and .* is 2" env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
  "$trainc" eval --device cpu --resume "$a" --tta hflip

refuses "TEST.TTA: has no view 'rot90'" "$trainc" eval --resume "$a" --tta hflip,rot90
refuses "need TEST.CROP True" "$trainc" eval --resume "$a" --tta five_crop TEST.CROP=False
refuses "cannot be combined with THROUGHPUT_MODE" "$trainc" eval --resume "$a" --tta hflip --throughput
"$trainc" eval --device cpu --resume "$a" --tta five_crop DATA.CROP_PCT=1 >log 2>&1 || fail "CROP_PCT 1"
expect_line "five crops of a square image are the same"
"$trainc" --data-path photos --tag again "${common[@]}" TEST.TTA=hflip >log 2>&1 || fail "train with TEST.TTA"
expect_line "training validates the plain images"

finish
