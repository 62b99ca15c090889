#!/bin/bash
# Reports of several processes: they count each image once and equal those of a single process.
#
#   tests/e2e/report_ranks.sh [TRAINC]
. "$(dirname "$0")/report.bash"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for net in resnet20/one erfnet/default; do
  "$trainc" eval --resume out/$net/last.safetensors --report alone >log 2>&1 || fail "$net: eval --report"
  mpirun --oversubscribe -n 3 "$trainc" eval --resume out/$net/last.safetensors --threads 1 --report three >log 2>&1 ||
    fail "$net: eval --report of three processes"
  [ "$(ls alone)" = "$(ls three)" ] || fail "$net: $(ls three), not $(ls alone)"
  for f in alone/*.csv alone/*.png; do cmp -s $f three/${f##*/} || fail "$net: three processes: another ${f##*/}"; done
  rm -rf alone three
done
mpirun --oversubscribe -n 2 "$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output out --tag ranks --epochs 1 --threads 1 >log 2>&1 ||
  fail "a run of two processes"
counts_images out/resnet20/ranks/report
has out/resnet20/ranks/report.html 'id="confusion"'

finish
