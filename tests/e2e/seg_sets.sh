#!/bin/bash
# Published segmentation data sets in their own layouts, made up and tiny: init recognizes
# ADE20K, COCO-Stuff, LoveDA, and PASCAL VOC with their classes, and training reads them.
#
#   tests/e2e/seg_sets.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

python3 - <<'X' || exit 1
import os, random, struct, zlib

W, H = 32, 16
rng = random.Random(1)

def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)

def image(path):
    put(path, b'P6 %d %d 255\n' % (W, H) + bytes(rng.randrange(256) for _ in range(3 * W * H)))

def labels(path, values):
    """A PNG whose blocks have these values in turn."""
    raw = b''.join(b'\0' + bytes(values[(y // 4 * 4 + x // 8) % len(values)] for x in range(W)) for y in range(H))
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    put(path, b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', W, H, 8, 0, 0, 0, 0)) +
        chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b''))

for split, part, n in ('training', 'train', 6), ('validation', 'val', 3):
    for i in range(1, n + 1):
        image(f'ADEChallengeData2016/images/{split}/ADE_{part}_{i:08}.jpg')
        labels(f'ADEChallengeData2016/annotations/{split}/ADE_{part}_{i:08}.png', [0, 1, 2, 150, 17 + i, 30])
for split, n in ('train2017', 6), ('val2017', 3):
    for i in range(1, n + 1):
        values = [0, 1, 12, 181, 255, 60 + i, 91 + i, 11]
        image(f'coco/{split}/{i:012}.jpg')
        labels(f'coco/stuffthingmaps/{split}/{i:012}.png', values)
        image(f'mm/images/{split}/{i:012}.jpg')
        labels(f'mm/annotations/{split}/{i:012}.png', values)
        image(f'things/images/{split}/{i:012}.jpg') # 80 classes are not COCO-Stuff
        labels(f'things/annotations/{split}/{i:012}.png', [0, 1, 79, 255])
for split, n in ('train', 6), ('val', 3):
    for i in range(n):
        image(f'LoveDA/img_dir/{split}/{i}.png')
        labels(f'LoveDA/ann_dir/{split}/{i}.png', [0, 1, 2, 3, 4, 5, 6, 7])
        voc = f'VOC2012/{{}}/2007_{i + 10 * (split == "val"):06}'
        image(voc.format('JPEGImages') + '.jpg')
        labels(voc.format('SegmentationClass') + '.png', [0, 15, 255, 20, 1 + i])
    put(f'VOC2012/ImageSets/Segmentation/{split}.txt',
        ''.join(f'2007_{i + 10 * (split == "val"):06}\n' for i in range(n)).encode())
X
recognized() { # FOLDER CLASS_SET CLASSES
  "$trainc" init "$1" >"$2.yaml" 2>log || { fail "init $1"; return; }
  expect_line "CLASS_SET: $2 " "$2.yaml"
  expect_line "NUM_CLASSES: $3 " "$2.yaml"
  "$trainc" check --cfg "$2.yaml" >log 2>&1 || fail "check $1"
  "$trainc" --cfg "$2.yaml" --device cpu --threads 1 --epochs 1 --output out --tag "$2" --opts LOG.IMAGES=0 >log 2>&1 ||
    fail "train $1"
}
recognized ADEChallengeData2016 ade20k150 150
recognized coco coco_stuff171 171
recognized mm coco_stuff171 171
recognized LoveDA loveda7 7
recognized VOC2012 voc21 21
"$trainc" init things >things.yaml 2>log || fail "init things"
grep -q CLASS_SET things.yaml && fail "80 classes are COCO-Stuff"

# The values 1, 2, 150, and 30 are classes 0, 1, 149, and 29, which have names; 0 is ignored.
w=$(ls out/*/ade20k150/last.safetensors)
"$trainc" eval --resume "$w" --device cpu --report report >log 2>&1 || fail "eval"
python3 - <<'X' || fail "ADE20K's classes"
import csv
rows = [(r['class'], int(r['pixels'])) for r in csv.DictReader(open('report/classes.csv'))]
assert len(rows) == 150
assert [name for name, n in rows if n] == ['wall', 'building', 'plant', 'curtain', 'chair', 'field', 'flag'], rows
assert 0 < sum(n for _, n in rows) < 3 * 32 * 16, 'the value 0 counts'
X
refuses "REDUCE_ZERO_LABEL: DATA.CLASS_SET ade20k150 already ignores 0" \
  "$trainc" check --cfg ade20k150.yaml --opts DATA.REDUCE_ZERO_LABEL=True
refuses "has 150 classes, but MODEL.NUM_CLASSES is 151" "$trainc" check --cfg ade20k150.yaml --opts MODEL.NUM_CLASSES=151

finish
