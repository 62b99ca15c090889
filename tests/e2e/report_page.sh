#!/bin/bash
# report.html and report/ of a run: all parts exist, names from files are escaped, and the page
# fetches nothing. A finished run that is restarted rewrites lost files and keeps its result.
#
#   tests/e2e/report_page.sh [TRAINC]
. "$(dirname "$0")/report.bash"

more_runs
for f in report.html result.json settings.csv model.csv report/confusion.csv report/classes.csv report/worst.csv report/worst_11.jpg; do
  [ -s "out/resnet20/one/$f" ] || fail "no $f"
  [ ! -e "out/resnet20/none/$f" ] || fail "LOG.REPORT False: $f"
done
[ -s out/resnet20/short/report/confusion.csv ] || fail "MAX_STEPS: no confusion matrix"
[ "$(json_value out/resnet20/one/result.json exit)" = 0 ] || fail "result.json: $(cat out/resnet20/one/result.json)"
counts_images out/resnet20/one/report
# A finished run rewrites report files that a power failure destroyed, but repeats no messages.
for net in "resnet20/one --cfg $here/configs/smoke/shapes.yaml --data-path sh<b>&pes --epochs 2 --tag one" \
  "erfnet/default --cfg $here/configs/smoke/segment.yaml --epochs 2"; do
  folder=out/${net%% *}
  cp -r "$folder/report" whole && rm -rf "$folder/report"
  sed -i 's/"exit": 0/"exit": 143/' "$folder/result.json"
  # shellcheck disable=SC2086
  run ${net#* } || fail "$folder: done already"
  diff -rq whole "$folder/report" >/dev/null || fail "$folder: report/ is not made again: $(diff -rq whole "$folder/report" 2>&1)"
  [ "$(json_value "$folder/result.json" exit)" = 0 ] || fail "$folder: result.json is of an earlier process"
  rm -rf whole
done
run --cfg "$here/configs/smoke/synthetic.yaml" --tag background --opts TRAIN.VALIDATE background || fail "validation in the background"
counts_images out/resnet20/background/report
has out/resnet20/background/report.html 'id="confusion"'

for part in '<figcaption>loss</figcaption>' '<figcaption>accuracy, %' '<figcaption>learning rate' '<figcaption>gradient norm' \
  '<figcaption>waiting for data' 'id="configuration"' 'id="model"' 'id="confusion"' 'id="classes"' \
  'id="images"' 'id="time"' 'TRAIN.BASE_LR' 'shapes.yaml:' 'src="data:image/jpeg;base64,/9j/' 'predicted as sq&lt;u&gt;&amp;are' 'sh&lt;b&gt;&amp;pes'; do
  has $page "$part"
done
has_not $page '<u>'
has_not $page '<figcaption>loss scale' # bf16's loss scale is always 1
has_not $page 'sh<b>'
for p in $page out/erfnet/default/report.html; do
  grep -Eoq '(src|href)="[^#d]' $p && fail "$p: fetches $(grep -Eo '(src|href)="[^#d].{20}' $p | head -1)"
done
has out/erfnet/default/report.html '<figcaption>mean IoU'
has out/erfnet/default/report.html '<h2 id="images">Label maps'
has_not out/erfnet/default/report.html '<figcaption>accuracy, %'

# Restarting a finished run leaves the result unchanged.
cp out/resnet20/one/result.json before.json
run --cfg "$here/configs/smoke/shapes.yaml" --data-path 'sh<b>&pes' --epochs 2 --tag one || fail "a run that is done"
cmp -s before.json out/resnet20/one/result.json || fail "a run that is done has another result"

# A diverged run has a page that says so.
has out/resnet20/bad/report.html '<b>The run failed:</b>'

finish
