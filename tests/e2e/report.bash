# Shared code of the scripts report_*.sh; they source it:
#
#   . "$(dirname "$0")/report.bash"
#
# It sources lib.bash and trains two runs in the folder `out`: resnet20/one, on a data set whose
# names must be escaped in HTML, and the segmentation erfnet/default.
# shellcheck shell=bash disable=SC2034
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

has() { grep -qF -- "$2" "$1" || fail "$1: no $2"; }
has_not() { ! grep -qF -- "$2" "$1" || fail "$1: has $2"; }
run() { "$trainc" --output out --device cpu "$@" >log 2>&1; }
# FOLDER: fails unless the report's confusion matrix counts each of the 24 validation images once.
counts_images() {
  [ "$(tail -n +2 "$1/confusion.csv" | cut -d, -f2- | tr ',' '\n' | paste -sd+ | bc)" = 24 ] ||
    fail "$1: the confusion matrix does not count 24 images"
}
# Trains more runs: `none` without a report, `short` with three steps, and `bad`, which diverges.
more_runs() {
  run --cfg "$here/configs/smoke/synthetic.yaml" --tag none --epochs 1 --warmup-epochs 0 --no-html-report || fail "a run without a page"
  run --cfg "$here/configs/smoke/synthetic.yaml" --tag short --opts TRAIN.MAX_STEPS=3 || fail "a run of three updates"
  run --cfg "$here/configs/smoke/shapes.yaml" --data-path 'sh<b>&pes' --tag bad --no-amp --opts TRAIN.BASE_LR=1e6 TRAIN.WARMUP_EPOCHS=0 AMP.MAX_SKIPS=1000000 TRAIN.CLIP_GRAD=0
  [ $? = 1 ] || fail "a run that diverges"
}

"$trainc" synth shapes --out 'sh<b>&pes' --classes 4 --train 64 --val 24 --size 16 2>/dev/null || exit 1
mv 'sh<b>&pes/train/square' 'sh<b>&pes/train/sq<u>&are' && mv 'sh<b>&pes/val/square' 'sh<b>&pes/val/sq<u>&are'
run --cfg "$here/configs/smoke/shapes.yaml" --data-path 'sh<b>&pes' --epochs 2 --tag one || fail "a run"
run --cfg "$here/configs/smoke/segment.yaml" --epochs 2 || fail "a segmentation"
page=out/resnet20/one/report.html
