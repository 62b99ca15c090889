#!/bin/bash
# Memory does not grow: after ten epochs of training and validation, resident memory is within 2 %
# of that after the second epoch. Tested with a folder and two workers, and with decoded images.
#
#   tests/e2e/memory.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out shapes --classes 4 --train 200 --val 40 --size 120 2>/dev/null || exit 1

flat() { # NAME FLAG...: prints the resident memory after each validation, in KiB
  local name=$1 pid told=0 now
  shift
  "$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 -j 2 --epochs 11 \
    --output out --tag "$name" --opts DATA.IMG_SIZE=32 AUG.PAD_CROP=0 "$@" >log 2>&1 &
  pid=$!
  : >"$name.rss"
  while kill -0 $pid 2>/dev/null; do
    now=$(cat out/*/"$name"/metrics.jsonl 2>/dev/null | grep -c '"kind":"val"')
    if [ "$now" -gt $told ]; then
      told=$now
      sed -n "s/VmRSS:[^0-9]*\([0-9]*\) kB/$now \1/p" /proc/$pid/status >>"$name.rss" 2>/dev/null
    fi
    sleep 0.02
  done
  wait $pid || fail "$name"
  awk -v name="$name" '
    $1 == 2 { second = $2 }
    $1 >= 10 && !last { last = $2 }
    END {
      if (!(second > 0 && last > 0)) { print name ": not seen often enough"; exit 1 }
      printf "%s: %d KiB after 2 epochs, %d after 10 (%+.2f %%)\n", name, second, last, 100 * (last - second) / second
      exit !(last <= 1.02 * second)
    }' "$name.rss" || fail "$name: $(tr '\n' ';' <"$name.rss")"
}
flat folder
flat decoded DATA.CACHE=decoded

finish
