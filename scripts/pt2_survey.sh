#!/bin/bash
# Exports networks of timm, torchvision, segmentation_models_pytorch, and transformers with PyTorch,
# and counts those that trainc imports, and those that it trains equally: scripts/golden/pt2.py says
# what is compared.
#
#   python3 -m venv /tmp/venv
#   /tmp/venv/bin/pip install torch timm torchvision segmentation-models-pytorch transformers
#   make CUDA=0 build/cc/tests/pt2/test_pt2_golden
#   PYTHON=/tmp/venv/bin/python scripts/pt2_survey.sh [NET...]       timm:resnet10t tv:vgg11_bn ...
#
# Without names: all of scripts/pt2_nets.txt, which takes hours; with IMPORT=1, only the import is
# tried, which takes a quarter of one. Prints a line per network:
#
#   equal timm:resnet10t
#   equal timm:resnet10t within PyTorch's rounding  with the tolerance of "noise" in the figures
#   equal timm:resnet10t within its spread          with that of "spread": PyTorch's figures change
#                                                  in such steps if weights are rounded
#   equal timm:resnet10t with larger images        of the size for which it was trained, and slower
#   imports timm:resnet10t                         with IMPORT=1, or PyTorch took longer than LIMIT
#   refused timm:sequencer2d_s node 'lstm' of 'stages.0...': aten.lstm.input: this operator is ...
#   differs ...                                    the first figure that does
#   fails ...                                      PyTorch cannot export it
#
# and, at the end, the number of each, and how often each operator was refused. Images are as small
# as the network permits, in batches of BATCH (2). LIMIT is the CPU time for PyTorch, and for trainc, in
# seconds (300), MEMORY what either may allocate, in GiB (6). TEST is the test program, TRAINC the
# program; FOLDER keeps the archives and figures for the next call if it is set. RESULTS is a file
# to which the lines are appended: networks that have one there are not tried again, so that a
# survey can be stopped and continued.
#
# With TIME=ROUNDS, times a training step instead: trainc and PyTorch in turns, with the same
# archive, images of the size for which the network was trained, in batches of BATCH (8), bf16 or
# DTYPE=fp32, and torch.compile or MODE=eager. Prints the medians in images per second, and their
# ratio; with RESULTS, only for networks without a line of this type and mode in that file.
set -u
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
test=${TEST:-build/cc/tests/pt2/test_pt2_golden}
trainc=${TRAINC:-./trainc}
limit=${LIMIT:-300}
export MEMORY=${MEMORY:-6}
folder=${FOLDER:-/tmp/pt2-survey.$$}
results=${RESULTS:-$folder/verdicts}
mkdir -p "$folder"
[ -n "${FOLDER:-}" ] || trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- $(cat scripts/pt2_nets.txt)

# Prints why the archive is refused; nothing if it is not.
refusal() {
  "$trainc" summary --batch-size 2 --model "$1" 2>&1 >/dev/null | sed -n 's/^trainc: error: //p' |
    sed 's/^--model: //; s/^[^:]*pt2'"'"': //' | head -n 1
}

# Asks PyTorch for the archive and the figures of a network, unless they exist; or for the noise of
# the figures, their spread, or figures of larger images.
export_net() { # NET [noise|spread|large]
  local reply
  [ $# -eq 2 ] || [ ! -s "$folder/${1/:/_}.json" ] || return 0
  [ -n "${exporter_PID:-}" ] || coproc exporter {
    ONLY=${IMPORT:+archives} SIDE=0 BATCH=${BATCH:-2} LIMIT=$limit exec "$python" scripts/golden/pt2.py \
      "$folder" - 2>>"$folder/export.log"
  }
  echo "$*" >&"${exporter[1]}"
  read -r reply <&"${exporter[0]}"
}

# True if trainc trains the network as PyTorch does; else $folder/text says what differs.
compare() {
  (ulimit -d $((MEMORY << 20)) -t "$limit" && TEST_BACKENDS=${TEST_BACKENDS:-cpu} \
    "$test" "$1.pt2" "$1.json") >"$folder/text" 2>&1
}

# Sets `verdict` for one network.
judge() {
  local file=$folder/${1/:/_} why
  export_net "$1"
  if [ ! -s "$file.pt2" ]; then
    verdict="fails $1 $(cat "$file.why" 2>/dev/null || echo "it needs more than $MEMORY GiB")"
  elif [ -s "$file.json" ] && compare "$file"; then
    verdict="equal $1"
  elif why=$(refusal "$file.pt2") && [ -n "$why" ]; then
    verdict="refused $1 $why"
  elif [ ! -s "$file.json" ]; then
    verdict="imports $1 $(cat "$file.why" 2>/dev/null)"
  elif export_net "$1" noise && compare "$file"; then
    verdict="equal $1 within PyTorch's rounding"
  elif export_net "$1" spread && compare "$file"; then
    verdict="equal $1 within its spread"
  elif { export_net "$1" large && compare "$file"; } || { export_net "$1" spread && compare "$file"; }; then
    verdict="equal $1 with larger images"
  else
    verdict="differs $1 $(grep -m 1 -E 'ERROR: |error' "$folder/text" || echo "it takes longer")"
  fi
  [ -n "${FOLDER:-}" ] || rm -f "$file.pt2" "$file.json"
}

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
rate() { grep -o '[0-9.]* img/s' | head -n 1 | cut -d' ' -f1; }

# Prints the speed of a network in trainc and in PyTorch.
time_net() {
  local file=$folder/${1/:/_}_full dtype=${DTYPE:-bf16} batch=${BATCH:-8} level=O1 log=$folder/times
  local mode=${MODE:-compiled}
  mkdir -p "$log"
  rm -f "$log"/*
  [ "$dtype" = bf16 ] || level=O0
  [ -s "$file.pt2" ] || ONLY=archives SUFFIX=_full "$python" scripts/golden/pt2.py "$folder" "$1" >"$log/line" 2>&1
  [ -s "$file.pt2" ] || { echo "$1 fails: $(tail -n 1 "$log/line")"; return; }
  for ((i = 0; i < TIME; i++)); do
    "$python" scripts/bench/pytorch_train_step.py --model "$1" --dtype "$dtype" \
      --mode "$mode" --batch "$batch" --seconds 5 >"$log/line" 2>&1 || { echo "$1 fails: $(tail -n 1 "$log/line")"; return; }
    rate <"$log/line" >>"$log/torch"
    "$trainc" bench --model "$file.pt2" --batch-size "$batch" --seconds 5 --opts AMP_OPT_LEVEL $level \
      AMP.DTYPE bf16 TRAIN.EMA.ENABLE False >"$log/line" 2>&1 || { echo "$1 fails: $(tail -n 1 "$log/line")"; return; }
    rate <"$log/line" >>"$log/trainc"
  done
  echo "$(median <"$log/trainc") $(median <"$log/torch")" | awk -v what="$1 $dtype $mode batch $batch" \
    '{printf "%s: trainc %s img/s, PyTorch %s img/s, ratio %.2f\n", what, $1, $2, $1 / $2}'
  [ -n "${FOLDER:-}" ] || rm -f "$file.pt2"
}

if [ -n "${TIME:-}" ]; then
  touch "$results"
  for net in "$@"; do
    grep -qE "^$net (fails|${DTYPE:-bf16} ${MODE:-compiled})" "$results" || time_net "$net" | tee -a "$results"
  done
  exit
fi

[ -x "$test" ] || { echo "pt2_survey: there is no '$test': make CUDA=0 $test" >&2; exit 2; }
touch "$results"
for net in "$@"; do
  grep -qE "^[a-z]* $net( |$)" "$results" && continue
  judge "$net"
  echo "$verdict" | tee -a "$results"
done
echo
for verdict in equal imports refused differs fails; do
  echo "$(grep -c "^$verdict " "$results") of $# $verdict"
done
sed -n 's/^refused [^ ]* //p' "$results" | sed "s/^node '[^']*'\( of '[^']*'\)\?: //" |
  sort | uniq -c | sort -rn
