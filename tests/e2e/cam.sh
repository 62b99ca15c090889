#!/bin/bash
# predict --cam: the heat maps of a trained network are hot where the class is; of another
# class they are not; names, layers, --json, several labels, a transformer, and refusals.
#
#   tests/e2e/cam.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

# Noise with a bright square in one quadrant, red or blue: its color is the class.
cat >images.py <<'X'
import os, random, struct, zlib

SIDE = 32

def write(path, rng, color):
    qx, qy = rng.randrange(2), rng.randrange(2)
    rows = [[[rng.randrange(60, 140) for _ in range(3)] for _ in range(SIDE)] for _ in range(SIDE)]
    for y in range(12):
        for x in range(12):
            rows[qy * 16 + 2 + y][qx * 16 + 2 + x] = [250 if c == color else 20 for c in range(3)]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(b'P6 %d %d 255\n' % (SIDE, SIDE))
        f.write(bytes(v for row in rows for p in row for v in p))
    return qx, qy

def ppm(path):
    head, data = open(path, 'rb').read().split(b'255\n', 1)
    w, h = map(int, head.split()[1:3])
    return w, h, data

def png(path):
    """The width, height, and bytes of an 8-bit RGB PNG."""
    data, at, body = open(path, 'rb').read(), 8, b''
    while at < len(data):
        n, kind = struct.unpack('>I4s', data[at:at + 8])
        if kind == b'IHDR':
            w, h, depth, color = struct.unpack('>IIBB', data[at + 8:at + 18])
            assert (depth, color) == (8, 2), (depth, color)
        body += data[at + 8:at + 8 + n] if kind == b'IDAT' else b''
        at += n + 12
    raw, out, before = zlib.decompress(body), b'', bytes(3 * w)
    for y in range(h):
        how, row = raw[y * (3 * w + 1)], bytearray(raw[y * (3 * w + 1) + 1:(y + 1) * (3 * w + 1)])
        for x in range(3 * w):
            a, b, c = (row[x - 3] if x > 2 else 0), before[x], (before[x - 3] if x > 2 else 0)
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[x] = (row[x] + [0, a, b, (a + b) // 2, near][how]) & 255
        out, before = out + row, bytes(row)
    return w, h, out
X
python3 - <<'X' || exit 1
import json, random
from images import write

rng, where = random.Random(5), {}
for split, n in ('train', 96), ('val', 24):
    for i in range(n):
        name = f'{split}/{("red", "blue")[i % 2]}/{i:03}.ppm'
        where[f'data/{name}'] = write(f'data/{name}', rng, (0, 2)[i % 2])
json.dump(where, open('where.json', 'w'))
X
train() { # TAG ARGUMENT...
  "$trainc" --data-path data --img-size 32 --device cpu --threads 1 --batch-size 16 --output out --tag "$@" \
    --opts DATA.CROP_PCT=1 AUG.HFLIP=0 >log 2>&1 || { fail "train $1"; finish; }
}
train net --model-type resnet --model resnet20 --epochs 8
net=$(ls out/*/net/last.safetensors)
predict() { "$trainc" predict --device cpu --threads 1 --weights "$@" >log 2>&1 || fail "predict $*"; } # WEIGHTS ARGUMENT...

predict "$net" --cam cams --json cams.json data/val
expect_line "heat maps written to 'cams': 24, of layer layer3"
predict "$net" --json plain.json data/val
# The answers do not change. The color of a place tells its heat: red minus blue, less that of the image.
python3 - <<'X' || fail "the maps are not hot where the squares are"
import json
from images import png, ppm

where, cams, plain = (json.load(open(f)) for f in ('where.json', 'cams.json', 'plain.json'))
assert len(cams['images']) == 24
hot = right = 0
for g, p in zip(cams['images'], plain['images']):
    assert g['image'] == p['image'] and g['top'] == p['top'] and 'cam' not in p
    assert g['cam_class'] == g['top'][0]['class'], g
    if g['cam_class'] != g['image'].split('/')[-2]:
        continue
    w, h, over = png(g['cam'])
    assert (w, h) == ppm(g['image'])[:2]
    image = ppm(g['image'])[2]
    heat = {}
    for y in range(h):
        for x in range(w):
            k = 3 * (y * w + x)
            heat.setdefault((x // 16, y // 16), []).append(
                2 * (over[k] - over[k + 2]) - (image[k] - image[k + 2]))
    mean = {q: sum(v) / len(v) for q, v in heat.items()}
    hot += max(mean, key=mean.get) == tuple(where[g['image']])
    right += 1
print(hot, right)
assert right >= 20 and hot >= 0.9 * right, (hot, right)
X
# Another class, another layer: other maps of the named class.
predict "$net" --cam blue --cam-class blue --json blue.json data/val/red
jq -e 'all(.images[]; .cam_class == "blue")' blue.json >/dev/null || fail "--cam-class"
cmp -s cams/red/000_cam.png blue/000_cam.png && fail "--cam-class changes nothing"
predict "$net" --cam index --cam-class 0 data/val/red
cmp blue/000_cam.png index/000_cam.png || fail "--cam-class by index"
predict "$net" --cam early --cam-layer layer1 data/val/red
expect_line "of layer layer1"
cmp -s cams/red/000_cam.png early/000_cam.png && fail "--cam-layer changes nothing"
predict "$net" --cam first --cam-layer -3 data/val/red
cmp early/000_cam.png first/000_cam.png || fail "--cam-layer by index"
# One image in a batch of its own has the same map.
predict "$net" --cam alone data/val/red/000.ppm
cmp cams/red/000_cam.png alone/000_cam.png || fail "the map depends on the other images"

# A transformer: the first norm of its last block.
train swin --model-type swin --model swin --epochs 1 MODEL.SWIN.PATCH_SIZE=2 MODEL.SWIN.EMBED_DIM=16 \
  MODEL.SWIN.DEPTHS=[1,1] MODEL.SWIN.NUM_HEADS=[2,2] MODEL.SWIN.WINDOW_SIZE=4
predict "$(ls out/*/swin/last.safetensors)" --cam swin data/val/red
expect_line "of layer layers.1.blocks.0.norm1"

refuses "cam-class: has no effect without --cam DIR" "$trainc" predict --weights "$net" --cam-class red data/val
refuses "cam-layer: has no effect without --cam DIR" "$trainc" predict --weights "$net" --cam-layer 1 data/val
refuses "no class 'green'; the classes are blue, red" "$trainc" predict --weights "$net" --cam x --cam-class green data/val
refuses "'layer9' is no stage; there are act1, layer1, layer2, layer3" "$trainc" predict --weights "$net" --cam x \
  --cam-layer layer9 data/val
refuses "does not work with TEST.TTA" "$trainc" predict --weights "$net" --cam x --tta hflip data/val
refuses "takes one file" "$trainc" predict --weights "$net" "$net" --cam x data/val
refuses "an 8-bit model (QUANT.ENABLE) has none" "$trainc" predict --weights "$net" --cam x data/val QUANT.ENABLE=True
refuses "only with classifiers" "$trainc" predict --cam x --model-type erfnet --model erfnet --weights "$net" \
  --dataset list --num-classes 3 data/val
mkdir twice && cp data/val/red/000.ppm twice/a.ppm && cp data/val/red/000.ppm twice/a.pnm
refuses "would share the output 'x/a_cam.png'" "$trainc" predict --weights "$net" --cam x twice
mkdir mine && echo text >mine/000_cam.png
refuses "refusing to overwrite 'mine/000_cam.png': .*; choose another --cam" "$trainc" predict --weights "$net" \
  --cam mine data/val/red/000.ppm
touch file
exits 1 "cannot create the folder 'file'" "$trainc" predict --weights "$net" --cam file data/val/red/000.ppm

finish
