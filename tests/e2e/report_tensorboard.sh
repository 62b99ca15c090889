#!/bin/bash
# Hyperparameters and scores of runs in TensorBoard's HPARAMS tab. Skipped without TensorBoard.
#
#   tests/e2e/report_tensorboard.sh [TRAINC]      PYTHON=PROGRAM (python3)
python=${PYTHON:-python3}
"$python" -c 'import tensorboard' 2>/dev/null || { echo "report_tensorboard: skipped: $python has no tensorboard"; exit 77; }
. "$(dirname "$0")/report.bash"

mkdir -p board && cp -r out/resnet20/one out/erfnet/default board
"$python" "$here/scripts/golden/io_hparams.py" "$dir/board" >log 2>&1 || fail "TensorBoard's HPARAMS tab"
grep -q "^one .*'TRAIN.EMA.ENABLE': True.*'val/val_top1': (16, " log || fail "hyperparameters in TensorBoard"

finish
