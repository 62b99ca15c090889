#!/bin/bash
# Segmentation losses when the batches of a step have different numbers of valid pixels: the loss
# is the mean over all valid pixels of the step, no matter if its images are in one batch, in
# several processes, or in several batches (TRAIN.ACCUMULATION_STEPS). The reference device sums
# in fp64, so only the order of images differs.
#
#   tests/e2e/ranks_pixels.sh [TRAINC]
. "$(dirname "$0")/ranks.bash"

# Noise images; every second label map is void except for a few pixels.
python3 - <<'P' || exit 1
import os, random, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def png(name, color, row):
    with open(name, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, color, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(r) for r in row))) + chunk(b"IEND", b""))
os.mkdir("maps")
random.seed(1)
for k in range(8):
    squares = [[random.randrange(5) for _ in range(8)] for _ in range(8)]
    y = [[squares[i // 4][j // 4] for j in range(32)] for i in range(32)]
    x = [[v for c in r for v in (random.randrange(256), 50 * c, random.randrange(256))] for r in y]
    y = [[255 if k % 2 and random.random() < 0.97 else c for c in r] for r in y]
    png(f"maps/{k}.png", 2, x)
    png(f"maps/{k}_l.png", 0, y)
    png(f"maps/{k}_void.png", 0, [[255] * 32] * 32)
with open("train.txt", "w") as f:
    f.write("".join(f"maps/{k}.png maps/{k}_l.png\n" for k in range(8)))
P
cp train.txt val.txt

opts=(DATA.IMG_WIDTH=32 DATA.IMG_HEIGHT=32 MODEL.SYNC_BN=True LOG.IMAGES=0 TRAIN.MAX_STEPS=1 TRAIN.WARMUP_EPOCHS=0
  DATA.SHUFFLE=False AUG.HFLIP=0 AUG.COLOR_JITTER=0 AMP_ENABLE=False PRINT_FREQ=1 THREADS=1 TRAIN.SCALE_LR=False)
run=("$trainc" train --model erfnet --num-classes 5 --dataset list --device ref)
told() { # FOLDER
  jq -r 'select(.kind == "train") | "\(.loss) \(.grad_norm)"' "$1"/*/*/metrics.jsonl | head -1
}
same() { # WHAT A B
  awk -v a="$(told "$2")" -v b="$(told "$3")" 'BEGIN {
    n = split(a, x, " "); split(b, y, " ")
    for (i = 1; i <= 2; i++) {d = (x[i] - y[i]) / x[i]; if (!(d * d < 1e-10)) bad = 1}
    exit bad || n != 2}' || fail "$1: loss and gradient norm $(told "$2"), and $(told "$3")"
}

for loss in "TRAIN.CLASS_WEIGHTS=[1, 2, 0.5, 4, 1]" "TRAIN.LOSS.NAME=focal" \
  "LOSSES=[{type: cross_entropy}, {type: focal, stage: 1, weight: 0.4}]"; do
  rm -rf one two
  "${run[@]}" --data-path . --output one --opts "${opts[@]}" "$loss" DATA.BATCH_SIZE=4 >log 2>&1 ||
    fail "$loss: one process"
  ranks 2 "${run[@]}" --data-path . --output two --opts "${opts[@]}" "$loss" DATA.BATCH_SIZE=2 >log 2>&1 ||
    fail "$loss: two processes"
  same "$loss" one two
done
[ $fails = 0 ] && echo "ok: two processes are one"

# Scores are of the images of both processes.
weights=$(ls one/*/*/last.safetensors)
"$trainc" eval --resume "$weights" --result one.json >log 2>&1 || fail "eval: one process"
ranks 2 "$trainc" eval --resume "$weights" --result two.json >log 2>&1 || fail "eval: two processes"
same_values one.json two.json val_miou val_mdice ema_boundary_iou

# A fully void batch changes nothing; dropout draws the numbers of the first batch.
mkdir void
ln -s ../maps void/maps
cp val.txt void/val.txt
sed '3,4s/_l/_void/' train.txt >void/train.txt
"${run[@]}" --data-path . --output alone --opts "${opts[@]}" DATA.BATCH_SIZE=2 >log 2>&1 || fail "a batch without void"
"${run[@]}" --data-path void --output both --opts "${opts[@]}" DATA.BATCH_SIZE=2 TRAIN.ACCUMULATION_STEPS=2 \
  >log 2>&1 || fail "accumulation"
same "a batch of void in an update of two" alone both
[ $fails = 0 ] && echo "ok: accumulation counts valid pixels"
finish
