#!/bin/bash
# trainc features --knn: the accuracy of weighted k-nearest-neighbor classification, computed again from
# the vectors that --out writes; impossible combinations are refused.
#
#   tests/e2e/knn.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out shapes --classes 6 --train 60 --val 42 --size 24 2>/dev/null || exit 1
features=("$trainc" features --model-type resnet --model resnet20 --img-size 24 --device cpu --threads 1 --pool)
for k in 1 7 20; do
  "${features[@]}" --knn $k --out v.safetensors shapes/train shapes/val >out 2>log || fail "$k neighbors"
  python3 - $k <<'X' || fail "$k neighbors: $(grep NN out)"
import json, math, re, struct, sys

k = int(sys.argv[1])
data = open('v.safetensors', 'rb').read()
n = struct.unpack('<Q', data[:8])[0]
head = json.loads(data[8:8 + n])
files = json.loads(head.pop('__metadata__')['files'])
last = max(head.values(), key=lambda t: t['data_offsets'][1])
count, width = last['shape']
start = 8 + n + last['data_offsets'][0]
flat = struct.unpack(f'<{count * width}f', data[start:start + 4 * count * width])
rows = {'train': [], 'val': []}
for i, path in enumerate(files):
    v = flat[i * width:(i + 1) * width]
    norm = math.sqrt(sum(x * x for x in v))
    split, name = path.split('/')[-3:-1]
    rows[split].append((name, [x / norm for x in v]))
right = 0
for name, v in rows['val']:
    near = sorted(rows['train'], key=lambda r: -sum(a * b for a, b in zip(v, r[1])))[:k]
    vote = {}
    for other, u in near:
        vote[other] = vote.get(other, 0) + math.exp(sum(a * b for a, b in zip(v, u)) / 0.07)
    right += max(vote, key=vote.get) == name
want = 100 * right / len(rows['val'])
got = float(re.search(rf'{k}-NN of .*: Acc@1 ([0-9.]+) Acc@5', open('out').read())[1])
assert abs(got - want) < 0.001, (got, want)
assert len(rows['val']) == 42 and 20 < want < 100, want
X
done
expect_line "6 classes, 60 training images, 42 validation images" out
"${features[@]}" --knn 3 shapes/train shapes/val >out 2>log || fail "without --out"
expect_line "3-NN" out

"${features[@]}" --knn 3 shapes/val >out 2>log && fail "no training images"
expect_line "no images below train/CLASS/"
refuses "must be a number of at least 1, not 'x'" "${features[@]}" --knn x shapes/train
refuses "needs --pool" "${features[@]:0:${#features[@]}-1}" --knn 3 shapes/train
refuses "no output file" "${features[@]}" shapes/train

finish
