#!/bin/bash
# Report pages in headless Chromium: no script errors, tables sort, light and dark themes work, and
# a phone needs no horizontal scrolling. Skipped without Chromium.
#
#   tests/e2e/report_browser.sh [TRAINC]      CHROMIUM=PROGRAM
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
[ -n "$chromium" ] || { echo "report_browser: skipped: no Chromium (apt-get install chromium)"; exit 77; }
. "$(dirname "$0")/report.bash"

more_runs
run --cfg "$here/configs/smoke/shapes.yaml" --data-path 'sh<b>&pes' --epochs 2 --tag two --opts TRAIN.BASE_LR=0.1 LOG.TENSORBOARD=False ||
  fail "a second run"
"$trainc" report out --out all.html 2>log || fail "trainc report"

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

finish
