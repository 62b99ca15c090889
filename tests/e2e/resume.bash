# Shared code of resume.sh and resume_changed.sh; they source it:
#
#   . "$(dirname "$0")/resume.bash"
#
# It sources lib.bash and makes three data sets: ${cpu[@]} is a run on `shapes` on the CPU, ${ref[@]}
# one in fp16 on `fewest` on the reference device; $run is the folder of either.
# shellcheck shell=bash disable=SC2034
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

"$trainc" synth shapes --out shapes --classes 4 --train 200 --val 30 --size 16 2>/dev/null || exit 1
"$trainc" synth shapes --out few --classes 4 --train 64 --val 8 --size 16 2>/dev/null || exit 1
"$trainc" synth shapes --out fewest --classes 4 --train 32 --val 8 --size 16 2>/dev/null || exit 1

common=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --output out --epochs 2)
cpu=("${common[@]}" --data-path shapes --device cpu --opts PRINT_FREQ=1 TRAIN.SAVE_STEPS=7
  TRAIN.KEEP_CHECKPOINTS=2)
ref=("${common[@]}" --data-path fewest --device ref -b 4 --amp-dtype fp16 --optim adamw --lr 0.002
  --opts PRINT_FREQ=1 TRAIN.SAVE_STEPS=2 AMP.INIT_SCALE=1e7 TRAIN.ACCUMULATION_STEPS=3)
run=out/resnet20/default
