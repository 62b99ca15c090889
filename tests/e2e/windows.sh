#!/bin/bash
# Segmentation of whole images in windows (TEST.SCALES, TEST.TTA): one window is the plain
# prediction, windows without overlap are predictions of parts, the flip test is symmetric, and
# label maps are compared in their own size; impossible settings are refused.
#
#   tests/e2e/windows.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

W=64 H=32
cat >images.py <<'X'
import os, random, struct, zlib

W, H = 64, 32

def scene(rng, w, h):
    """Pixels and labels: three kinds of horizontal bands with noise."""
    labels = [[(y * 3 // h + x // (w // 2 or 1)) % 3 for x in range(w)] for y in range(h)]
    pixels = [[[min(255, max(0, 60 + 70 * (labels[y][x] == c) + rng.randrange(-50, 90))) for c in range(3)]
               for x in range(w)] for y in range(h)]
    return pixels, labels

def ppm(path, pixels):
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    with open(path, 'wb') as f:
        f.write(b'P6 %d %d 255\n' % (len(pixels[0]), len(pixels)))
        f.write(bytes(v for row in pixels for p in row for v in p))

def pgm(path, labels):
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    with open(path, 'wb') as f:
        f.write(b'P5 %d %d 255\n' % (len(labels[0]), len(labels)))
        f.write(bytes(v for row in labels for v in row))

def png(path):
    """The values of an 8-bit PNG of palette indices or gray levels."""
    data, at, body = open(path, 'rb').read(), 8, b''
    while at < len(data):
        n, kind = struct.unpack('>I4s', data[at:at + 8])
        chunk = data[at + 8:at + 8 + n]
        if kind == b'IHDR':
            w, h, depth, color = struct.unpack('>IIBB', chunk[:10])
            assert depth == 8 and color in (0, 3), (depth, color)
        body += chunk if kind == b'IDAT' else b''
        at += n + 12
    raw, rows, before = zlib.decompress(body), [], [0] * w
    for y in range(h):
        how, row = raw[y * (w + 1)], list(raw[y * (w + 1) + 1:(y + 1) * (w + 1)])
        for x in range(w):
            a, b, c = (row[x - 1] if x else 0), before[x], (before[x - 1] if x else 0)
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[x] = (row[x] + [0, a, b, (a + b) // 2, near][how]) & 255
        rows.append(row)
        before = row
    return rows
X
python3 - <<'X' || exit 1
import random
from images import *

rng = random.Random(3)
for split, n in ('train', 16), ('val', 6):
    lines = []
    for i in range(n):
        pixels, labels = scene(rng, W, H)
        if split == 'val' and i == 0: # an ignored corner
            labels = [[255 if x < 9 and y < 5 else v for x, v in enumerate(row)] for y, row in enumerate(labels)]
        ppm(f'data/{split}/{i}.ppm', pixels)
        pgm(f'data/{split}_maps/{i}.pgm', labels)
        lines.append(f'{split}/{i}.ppm {split}_maps/{i}.pgm')
    open(f'data/{split}.txt', 'w').write('\n'.join(lines) + '\n')
wide, labels = scene(rng, 2 * W, 2 * H)
ppm('wide/all.ppm', wide)
ppm('mirrored/all.ppm', [row[::-1] for row in wide])
for y in range(2):
    for x in range(2):
        ppm(f'parts/{y}{x}.ppm', [row[x * W:(x + 1) * W] for row in wide[y * H:(y + 1) * H]])
ppm('half/all.ppm', [row[:W + W // 2] for row in wide[:H]])
ppm('half_parts/0.ppm', [row[:W] for row in wide[:H]])
ppm('half_parts/1.ppm', [row[W // 2:W + W // 2] for row in wide[:H]])
X
"$trainc" --model-type erfnet --model erfnet --num-classes 3 --dataset list --data-path data --device cpu --threads 1 \
  --batch-size 4 --epochs 12 --output out --opts DATA.IMG_WIDTH=$W DATA.IMG_HEIGHT=$H AMP_ENABLE=False \
  LOG.IMAGES=0 TRAIN.BEST_METRIC=boundary_iou >log 2>&1 || { fail "train"; finish; }
expect_line "boundary IoU 0\.[0-9]"
weights=$(ls out/*/*/last.safetensors)

predict() { # OUT IMAGES ARGUMENT...
  "$trainc" predict --device cpu --weights "$weights" --out "$1" "${@:3}" "$2" >log 2>&1 || fail "predict to $1"
}
same() { # WHAT: Python that prints what differs, with png()
  python3 -c "from images import *
$2" || fail "$1"
}

# One window: what predict and eval do without.
predict plain data/val
predict window data/val TEST.SCALES=[1]
for i in 0 1 2 3 4 5; do cmp -s plain/${i}_labels.png window/${i}_labels.png || fail "image $i: one window"; done
"$trainc" eval --device cpu --resume "$weights" TRAIN.EMA.ENABLE=True --result plain.json >log 2>&1 || fail "eval"
"$trainc" eval --device cpu --resume "$weights" --test-scales 1 --result window.json --report report >log 2>&1 ||
  fail "eval in windows"
expect_line "mIoU"
for key in miou acc class_acc boundary_iou; do
  jq -e --slurpfile b window.json \
    "(if .ema_$key == null then .val_$key else .ema_$key end) as \$a | (\$a - \$b[0].val_$key) | fabs < 1e-4" \
    plain.json >/dev/null || fail "eval in windows: another $key"
done
[ -s report/report.json ] || fail "no report"
expect_line "^class,pixels,.*,boundary_iou$" report/classes.csv
# The Boundary IoU, by counting: pixels with another one, or the edge, at most `width` away.
"$trainc" eval --device cpu --resume "$weights" TEST.BOUNDARY_WIDTH=0.05 TRAIN.EMA.ENABLE=True --result broad.json \
  >log 2>&1 || fail "eval with broad borders"
same "the Boundary IoU" "
import json

def border(m, width):
    inside = lambda y, x: 0 <= y < H and 0 <= x < W
    near = range(-width, width + 1)
    return {(y, x, m[y][x]) for y in range(H) for x in range(W) if m[y][x] != 255 and
            any(not inside(y + j, x + i) or m[y + j][x + i] != m[y][x] for j in near for i in near)}

def pgm_of(path):
    data = open(path, 'rb').read().split(b'255\n', 1)[1]
    return [list(data[y * W:(y + 1) * W]) for y in range(H)]

for name, width in ('plain', 1), ('broad', 4):
    both, either = [0] * 3, [0] * 3
    for i in range(6):
        label, guess = pgm_of(f'data/val_maps/{i}.pgm'), png(f'plain/{i}_labels.png')
        guess = [[255 if v == 255 else g for v, g in zip(*rows)] for rows in zip(label, guess)]
        a, b = border(label, width), border(guess, width)
        for k in range(3):
            both[k] += sum(p[2] == k for p in a & b)
            either[k] += sum(p[2] == k for p in a | b)
    got = json.load(open(f'{name}.json'))
    got = got['ema_boundary_iou'] if got['ema_boundary_iou'] is not None else got['val_boundary_iou']
    want = sum(x / y for x, y in zip(both, either)) / 3
    assert abs(got - want) < 1e-9, (name, got, want)"

# Windows without overlap: the predictions of the four parts.
predict parts.out parts
predict wide.out wide TEST.SCALES=[0] TEST.WINDOW_OVERLAP=0 TEST.WINDOW_WEIGHTS=uniform
same "four windows" "
wide = png('wide.out/all_labels.png')
for y in range(2):
    for x in range(2):
        part = png(f'parts.out/{y}{x}_labels.png')
        assert part == [row[x * W:(x + 1) * W] for row in wide[y * H:(y + 1) * H]], (y, x)
assert len({v for row in wide for v in row}) > 1"
# The same by a scale: the image fits the input at half its size.
predict scale.out wide TEST.SCALES=[2] TEST.WINDOW_OVERLAP=0
cmp -s scale.out/all_labels.png wide.out/all_labels.png || fail "scale 2"

# Two windows that overlap by half: pixels outside of the overlap belong to one window.
predict half.out half TEST.SCALES=[0]
predict half_parts.out half_parts
same "overlapping windows" "
whole, a, b = (png(f'half{p}_labels.png') for p in ('.out/all', '_parts.out/0', '_parts.out/1'))
assert [r[:W // 2] for r in whole] == [r[:W // 2] for r in a]
assert [r[W:] for r in whole] == [r[W // 2:] for r in b]
middle = [r[W // 2:W] for r in whole]
assert middle != [r[W // 2:] for r in a] or middle != [r[:W // 2] for r in b]"

# The flip test of a mirrored image is the mirror image.
predict flip.out wide --tta hflip
predict mirrored.out mirrored --tta hflip
predict unflipped.out wide TEST.SCALES=[1]
same "the flip test" "
a, b = png('flip.out/all_labels.png'), png('mirrored.out/all_labels.png')
assert a == [row[::-1] for row in b]
assert a != png('unflipped.out/all_labels.png'), 'the flipped view does nothing'"
predict several.out wide --tta hflip,vflip TEST.SCALES=[0.75,1,1.5]
"$trainc" eval --device cpu --resume "$weights" --tta hflip --test-scales 1 1.5 --result several.json >log 2>&1 ||
  fail "eval of scales and flips"
expect_line "whole images in windows of 64x32 at scales 1, 1.5; 2 views of each"
[ "$(jq '.val_miou > 0.2 and .val_loss < 1.2' several.json)" = true ] || fail "scales and flips: $(jq .val_miou several.json)"

# A damaged image is left out, named, and counted.
cp -r data damaged && head -c 900 data/val/3.ppm >damaged/val/3.ppm
"$trainc" eval --device cpu --resume "$weights" --data-path damaged --test-scales 1 --result damaged.json >log 2>&1 ||
  fail "a damaged image"
expect_line "3.ppm (val.txt:4)' is left out: the file is cut off"
expect_line "(5 images"
"$trainc" eval --device cpu --resume "$weights" --data-path damaged --test-scales 1 DATA.ON_ERROR=fail >log 2>&1 &&
  fail "ON_ERROR fail continues"
expect_line "error: .*3.ppm"

echo "MODEL: {TYPE: resnet, NAME: resnet20, NUM_CLASSES: 3}" >classifier.yaml
refuses "takes one file with TEST.SCALES" "$trainc" predict --weights "$weights" "$weights" TEST.SCALES=[1] data/val
"$trainc" eval --device cpu --resume "$weights" TEST.WINDOW_OVERLAP=0.3 >log 2>&1 || fail "WINDOW_OVERLAP without TEST.SCALES"
expect_line "TEST.WINDOW_OVERLAP has no effect"
refuses "five_crop and ten_crop are for classifiers" "$trainc" eval --resume "$weights" --tta ten_crop
refuses "TEST.SCALES" "$trainc" eval --resume "$weights" --test-scales -1
refuses "is for segmentation" "$trainc" predict --cfg classifier.yaml --weights "$weights" TEST.SCALES=[1] data/val
refuses "cannot be combined with THROUGHPUT_MODE" "$trainc" eval --resume "$weights" --test-scales 1 --throughput

finish
