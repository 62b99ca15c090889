#!/bin/bash
# report.html of runs, and trainc report: all parts exist and names from files are escaped. If
# headless Chromium is installed: no script errors, tables sort, light and dark themes work, and a
# phone needs no horizontal scrolling.
#
#   tests/e2e/report.sh [TRAINC]      CHROMIUM=PROGRAM
. "$(dirname "$0")/lib.bash"

has() { grep -qF -- "$2" "$1" || fail "$1: no $2"; }
has_not() { ! grep -qF -- "$2" "$1" || fail "$1: has $2"; }
run() { "$trainc" --output out --device cpu "$@" >log 2>&1; }

"$trainc" synth shapes --out 'sh<b>&pes' --classes 4 --train 64 --val 24 --size 16 2>/dev/null || exit 1
mv 'sh<b>&pes/train/square' 'sh<b>&pes/train/sq<u>&are' && mv 'sh<b>&pes/val/square' 'sh<b>&pes/val/sq<u>&are'
run --cfg "$here/configs/smoke/shapes.yaml" --data-path 'sh<b>&pes' --epochs 2 --tag one || fail "a run"
run --cfg "$here/configs/smoke/shapes.yaml" --data-path 'sh<b>&pes' --epochs 2 --tag two --opts TRAIN.BASE_LR=0.1 LOG.TENSORBOARD=False ||
  fail "a second run"
run --cfg "$here/configs/smoke/segment.yaml" --epochs 2 || fail "a segmentation"
run --cfg "$here/configs/smoke/synthetic.yaml" --tag none --epochs 1 --warmup-epochs 0 --no-html-report || fail "a run without a page"
run --cfg "$here/configs/smoke/synthetic.yaml" --tag short --opts TRAIN.MAX_STEPS=3 || fail "a run of three updates"
page=out/resnet20/one/report.html

for f in report.html result.json settings.csv model.csv report/confusion.csv report/classes.csv report/worst.csv report/worst_11.jpg; do
  [ -s "out/resnet20/one/$f" ] || fail "no $f"
  [ ! -e "out/resnet20/none/$f" ] || fail "LOG.REPORT False: $f"
done
[ -s out/resnet20/short/report/confusion.csv ] || fail "MAX_STEPS: no confusion matrix"
[ "$(sed -n 's/^  "exit": \(.*\),/\1/p' out/resnet20/one/result.json)" = 0 ] || fail "result.json: $(cat out/resnet20/one/result.json)"
# A confusion matrix counts each validation image once.
[ "$(tail -n +2 out/resnet20/one/report/confusion.csv | cut -d, -f2- | tr ',' '\n' | paste -sd+ | bc)" = 24 ] ||
  fail "the confusion matrix does not count 24 images"
# A finished run rewrites report files that a power failure destroyed, but repeats no messages.
for net in "resnet20/one --cfg $here/configs/smoke/shapes.yaml --data-path sh<b>&pes --epochs 2 --tag one" \
  "erfnet/default --cfg $here/configs/smoke/segment.yaml --epochs 2"; do
  folder=out/${net%% *}
  cp -r "$folder/report" whole && rm -rf "$folder/report"
  sed -i 's/"exit": 0/"exit": 143/' "$folder/result.json"
  # shellcheck disable=SC2086
  run ${net#* } || fail "$folder: done already"
  diff -rq whole "$folder/report" >/dev/null || fail "$folder: report/ is not made again: $(diff -rq whole "$folder/report" 2>&1)"
  grep -q '"exit": 0' "$folder/result.json" || fail "$folder: result.json is of an earlier process"
  rm -rf whole
done
# Several processes count each image once and write the report of a single process.
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
run --cfg "$here/configs/smoke/synthetic.yaml" --tag background --opts TRAIN.VALIDATE background || fail "validation in the background"
for tag in ranks background; do
  [ "$(tail -n +2 out/resnet20/$tag/report/confusion.csv | cut -d, -f2- | tr ',' '\n' | paste -sd+ | bc)" = 24 ] ||
    fail "$tag: the confusion matrix does not count 24 images"
  has out/resnet20/$tag/report.html 'id="confusion"'
done
rm -rf out/resnet20/ranks out/resnet20/background
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
run --cfg "$here/configs/smoke/shapes.yaml" --data-path 'sh<b>&pes' --tag bad --no-amp --opts TRAIN.BASE_LR=1e6 TRAIN.WARMUP_EPOCHS=0 AMP.MAX_SKIPS=1000000 TRAIN.CLIP_GRAD=0
[ $? = 1 ] || fail "a run that diverges"
has out/resnet20/bad/report.html '<b>The run failed:</b>'

"$trainc" report out/resnet20/one --out - 2>/dev/null | cmp -s - <(sed 's|resnet20/one</|out/resnet20/one</|' $page) || fail "trainc report of a run is not its page"
"$trainc" report out --out all.html 2>log || fail "trainc report"
has log "wrote 'all.html' (6 runs)"
[ "$(grep -c '^<tr><td>' all.html)" = 6 ] || fail "all.html has not a row for each run"
has all.html '>resnet20/two<'
has all.html '>TRAIN.BASE_LR</th>'
has all.html ' failed: '
"$trainc" report out/resnet20/one out/resnet20/two --out two.html 2>log || fail "two runs"
[ "$(grep -o '<th tabindex="0">[A-Z_.]*</th>' two.html | grep -v '>exit<' | sed 's/<[^>]*>//g' | xargs)" = "TRAIN.BASE_LR LOG.TENSORBOARD" ] ||
  fail "keys in which two runs differ: $(grep -o '<th tabindex="0">[A-Z_.]*</th>' two.html | xargs)"

refuses() { # MESSAGE ARGUMENT...: exit code 2 and one line with the message
  local say=$1
  shift
  "$trainc" report "$@" >log 2>&1
  [ $? = 2 ] && [ "$(wc -l <log)" = 1 ] && grep -q -- "$say" log || fail "report $*"
}
mkdir empty && echo mine >mine.html
refuses 'no run: give the folder of a run' --out x.html
refuses 'no output file: give --out FILE' out
refuses "no runs found in 'empty': no folder in it contains metrics.jsonl" empty --out x.html
refuses "'nowhere' is not a folder" nowhere --out x.html
refuses 'no page of trainc' out --out mine.html
cp -r out/resnet20/one broken && echo nonsense >>broken/metrics.jsonl
"$trainc" report broken --out x.html >log 2>&1
[ $? = 1 ] && [ "$(wc -l <log)" = 1 ] && grep -q "metrics.jsonl', line [0-9]*: " log || fail "broken metrics"
echo "ok: pages"

python=${PYTHON:-python3}
if "$python" -c 'import tensorboard' 2>/dev/null; then
  rm -rf board && mkdir -p board && cp -r out/resnet20/one out/erfnet/default board
  "$python" "$here/scripts/golden/io_hparams.py" "$dir/board" >log 2>&1 || fail "TensorBoard's HPARAMS tab"
  grep -q "^one .*'TRAIN.EMA.ENABLE': True.*'val/val_top1': (16, " log || fail "hyperparameters in TensorBoard"
  echo "ok: TensorBoard's HPARAMS tab"
else
  echo "TensorBoard's HPARAMS tab: skipped, as TensorBoard is not installed"
fi

chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
if [ -z "$chromium" ]; then
  echo "pages in a browser: skipped, as there is no Chromium (apt-get install chromium)"
else
  # Adds a script that clicks and measures, and prints what it stores in the attribute data-seen.
  browse() { # FILE WIDTH THEME
    sed -e "s|<style>|<script>var errors=[];addEventListener('error',e=>errors.push(e.message))</script><style>|" \
      -e "s|</body>|<script>{const d=document.documentElement,t=document.querySelector('table.sorts'),col=k=>[...t.tBodies[0].rows].map(r=>r.cells[k].textContent),h=t.tHead.rows[0].cells,k=t.tHead.rows[0].cells.length>4?8:0,was=col(k);h[k].click();const up=col(k);h[k].click();const down=col(k);const s=document.querySelector('svg');s.dispatchEvent(new PointerEvent('pointermove',{clientX:s.getBoundingClientRect().left+200,clientY:9}));d.dataset.seen=JSON.stringify({errors,width:innerWidth,scroll:d.scrollWidth,bg:getComputedStyle(document.body).backgroundColor,svg:s.getBoundingClientRect().width,up:up,down:down,at:document.querySelector('.at').textContent})}</script></body>|" "$1" >seen.html
    timeout 120 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/profile" \
      --window-size="$2",900 --blink-settings=preferredColorScheme="$([ "$3" = dark ] && echo 0 || echo 1)" \
      --virtual-time-budget=3000 --dump-dom "file://$dir/seen.html" 2>/dev/null | sed -n 's/.*data-seen="\([^"]*\)".*/\1/p' | sed 's/&quot;/"/g'
  }
  number() { jq -r ".$1" <<<"$seen"; }
  looks() { # FILE WIDTH THEME BACKGROUND
    seen=$(browse "$1" "$2" "$3")
    [[ $seen == *'"errors":[]'* ]] || fail "$1, $2 $3: errors, or nothing seen: $seen"
    [[ $seen == *"\"bg\":\"$4\""* ]] || fail "$1, $2 $3: background $seen"
    awk -v s="$(number scroll)" -v w="$(number width)" 'BEGIN { exit !(s > 0 && s <= w) }' || fail "$1, $2 $3: scrolls sideways: $seen"
    awk -v s="$(number svg)" 'BEGIN { exit !(s > 200) }' || fail "$1, $2 $3: no curve to see: $seen"
    [[ $seen == *'"at":"step '* ]] || fail "$1, $2 $3: no figures under the pointer: $seen"
  }
  for p in $page out/erfnet/default/report.html all.html; do
    looks $p 1200 light 'rgb(255, 255, 255)'
    looks $p 390 dark 'rgb(21, 24, 28)'
    [ "$(number width)" -le 500 ] || fail "the window is no telephone's: $seen"
  done
  looks all.html 1200 light 'rgb(255, 255, 255)'
  up=$(jq -r '.up[] | select(. != "")' <<<"$seen") down=$(jq -r '.down[] | select(. != "")' <<<"$seen")
  [ "$up" = "$(sort -g <<<"$up")" ] && [ "$down" = "$(sort -gr <<<"$down")" ] && [ "$up" != "$down" ] ||
    fail "the table does not sort: $up; $down"
  echo "ok: pages in a browser"
fi

finish
