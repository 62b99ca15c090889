#!/bin/bash
# Batch norm statistics of the average of TRAIN.SWA, and of trainc average --bn-batches, equal those
# of torch.optim.swa_utils.update_bn.
# The weights are those of SEED, which a learning rate of 0 keeps, and the images are generated.
# To write the golden file again: KEEP=DIR tests/e2e/swa_norms.sh; scripts/golden/swa.py
# DIR/last.safetensors DIR/images
#
#   tests/e2e/swa_norms.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 8 --size 32 >log 2>&1 || fail "synth"
"$trainc" --data-path shapes --device cpu --threads 1 --opts DEFAULTS swin MODEL.TYPE resnet MODEL.NAME resnet18 DATA.IMG_SIZE 32 DATA.BATCH_SIZE 8 \
  DATA.CROP_PCT 1.0 TRAIN.EPOCHS 2 TRAIN.SWA.ENABLE True TRAIN.SWA.START 1 TRAIN.BASE_LR 0 TRAIN.WARMUP_LR 0 TRAIN.MIN_LR 0 AMP_OPT_LEVEL O0 \
  AUG.MIXUP 0 AUG.CUTMIX 0 AUG.PAD_CROP 0 AUG.SCALE "[1, 1]" AUG.RATIO "[1, 1]" AUG.HFLIP 0 AUG.COLOR_JITTER 0 AUG.AUTO_AUGMENT none \
  AUG.REPROB 0 DATA.SHUFFLE False SEED 1 OUTPUT out >log 2>&1 || fail "train"
last=$(ls out/*/*/last.safetensors)
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP"; cp -r "$last" "$KEEP"; cp -r shapes/train "$KEEP/images"; }
as_pytorch() { # FILE PREFIX
  python3 - "$1" "$here/tests/golden/train/swa_norms.json" "$2" <<'END' || fail "$1: statistics differ from PyTorch's"
import json, struct, sys
data = open(sys.argv[1], 'rb').read()
n = struct.unpack('<Q', data[:8])[0]
head, want = json.loads(data[8:8 + n]), json.load(open(sys.argv[2]))
assert len(want) == 40, len(want)
for name, values in want.items():
    t = head[sys.argv[3] + name]
    at = 8 + n + t['data_offsets'][0]
    got = struct.unpack_from('<%df' % len(values), data, at)
    most = max(abs(v) for v in values)
    for x, y in zip(got, values):
        assert abs(x - y) <= 2e-4 * most, (name, x, y)
END
}
as_pytorch "$last" ema.
cp "$last" same.safetensors
"$trainc" average --raw "$last" same.safetensors --bn-batches all --out mean.safetensors >log 2>&1 || fail "--bn-batches"
expect_line "estimated from 8 batches of 8 images$"
as_pytorch mean.safetensors ""
finish
