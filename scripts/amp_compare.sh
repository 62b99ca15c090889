#!/bin/bash
# Compares training with and without mixed precision: trains the same epochs twice and writes one
# table (time, memory, loss, and accuracy of each epoch) and one image of the curves.
#
#   scripts/amp_compare.sh [--cfg FILE] [TRAINC FLAGS...]
#
#   scripts/amp_compare.sh --cfg configs/erfnet.yaml --data-path /data/cityscapes
#   scripts/amp_compare.sh --data-path /data/camvid --device cpu
#
#   CFG=configs/camvid/erfnet.yaml   if no --cfg is given
#   EPOCHS=10                        epochs of each run
#   OUT=output/amp_compare           runs, table.txt, and curves.svg; finished runs there
#                                    are not repeated
#   TRAINC=./trainc  PYTHON=python3  the interpreter draws the curves
#
# Times include the first step of a process, which also loads kernels. Memory is the device's peak
# plus the memory of its libraries.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
trainc=${TRAINC:-$here/trainc}
epochs=${EPOCHS:-10}
out=${OUT:-output/amp_compare}
cfg=(--cfg "${CFG:-$here/configs/camvid/erfnet.yaml}")
for flag; do
  case $flag in -c* | --cfg | --cfg=*) cfg=() ;; esac
done
mkdir -p "$out"

# Rejects a folder whose runs have a different command line.
command=$(printf '%q ' "${cfg[@]}" "$@" --epochs "$epochs")
if [ -e "$out/command.txt" ] && [ "$(cat "$out/command.txt")" != "$command" ]; then
  echo "$0: '$out' has runs of another command line, $(cat "$out/command.txt"): choose another OUT" >&2
  exit 2
fi
printf '%s\n' "$command" >"$out/command.txt"

value() { sed -n "s/.*\"$2\": \([^,]*\),*$/\1/p" "$1"; }

for run in amp fp32; do
  flag=--amp
  [ $run = amp ] || flag=--no-amp
  [ -s "$out/$run.json" ] && [ "$(value "$out/$run.json" exit)" = 0 ] && continue
  echo "== $run"
  "$trainc" "${cfg[@]}" "$@" $flag --epochs "$epochs" --output "$out" --tag $run \
    --result "$out/$run.json" --opts TRAIN.EVAL_FREQ=1
done

dir() { dirname "$(ls -t "$out"/*/"$1"/summary.csv | head -1)"; }

# Prints the peak memory plus the memory of a GPU's libraries, in bytes.
memory() {
  local library
  library=$(value "$out/$1.json" library_memory_bytes)
  echo $(($(value "$out/$1.json" peak_memory_bytes) + ${library/null/0}))
}

# Prints columns of summary.csv; of several names the first that exists is used.
table() {
  awk -F, -v run="$1" -v memory="$(memory "$1")" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    function get(a, b) { return (a in at) ? $at[a] : (b in at) ? $at[b] : "" }
    { printf "%s %s %.2f %s %.4f %.4f %s %s\n", run, get("epoch"), get("seconds"), memory,
        get("train_loss"), get("val_loss"), get("val_acc", "val_top1"), get("val_miou", "val_top5") }
  ' "$(dir "$1")/summary.csv"
}

{
  seg=$(grep -c val_miou "$(dir amp)/summary.csv" || true)
  [ "$seg" = 0 ] && names="top-1 top-5" || names="accuracy mIoU"
  { table amp; table fp32; } | awk -v names="$names" '
    BEGIN {
      split(names, n, " ")
      printf "%-6s %-5s %9s %12s %11s %9s %9s %9s\n", "epoch", "run", "time (s)", "memory (GiB)",
        "train loss", "val loss", n[1], n[2]
    }
    { line[$2 + 0, $1] = sprintf("%-6d %-5s %9.2f %12.2f %11.4f %9.4f %9.4f %9.4f", $2, $1, $3, $4 / 2^30,
        $5, $6, $7, $8)
      m[$1] = $4
      sum[$1] += $3; count[$1]++; if ($2 + 0 > last) last = $2 + 0 }
    END {
      for (e = 0; e <= last; e++) { print line[e, "amp"]; print line[e, "fp32"] }
      printf "\ntime of all epochs: AMP %.2f s, without %.2f s: ratio %.3f\n", sum["amp"], sum["fp32"],
        sum["fp32"] / sum["amp"]
      printf "memory: AMP %.2f GiB, without %.2f GiB: %.1f %% less\n", m["amp"] / 2^30,
        m["fp32"] / 2^30, 100 - 100 * m["amp"] / m["fp32"]
    }'
  for run in amp fp32; do
    echo "$(value "$out/$run.json" images_per_second)"
  done | awk '{ r[NR] = $1 } END { printf "training alone: AMP %.2f img/s, without %.2f img/s\n", r[1], r[2] }'
} | tee "$out/table.txt"

"${PYTHON:-python3}" "$here/scripts/plot.py" -o "$out/curves.svg" --title "AMP against no AMP" \
  "AMP=$(dir amp)" "fp32=$(dir fp32)" && echo "curves: $out/curves.svg"
