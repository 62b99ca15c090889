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
#   imports timm:resnet10t                         with IMPORT=1, or PyTorch took longer than LIMIT
#   refused timm:sequencer2d_s node 'lstm' of 'stages.0...': aten.lstm.input: this operator is ...
#   differs ...                                    the first figure that does
#   fails ...                                      PyTorch cannot export it
#
# and, at the end, the number of each, and how often each operator was refused. Images are as small
# as the network permits, in batches of BATCH (2). LIMIT is the time for PyTorch, and for trainc, in
# seconds (300). TEST is the test program, TRAINC the program; FOLDER keeps the archives and figures
# for the next call if it is set.
set -u
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
test=${TEST:-build/cc/tests/pt2/test_pt2_golden}
trainc=${TRAINC:-./trainc}
limit=${LIMIT:-300}
folder=${FOLDER:-/tmp/pt2-survey.$$}
[ -x "$test" ] || { echo "pt2_survey: there is no '$test': make CUDA=0 $test" >&2; exit 2; }
mkdir -p "$folder"
[ -n "${FOLDER:-}" ] || trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- $(cat scripts/pt2_nets.txt)

# Prints why the archive is refused; nothing if it is not.
refusal() {
  "$trainc" summary --batch-size 2 --model "$1" 2>&1 >/dev/null | sed -n 's/^trainc: error: //p' |
    sed 's/^--model: //; s/^[^:]*pt2'"'"': //' | head -n 1
}

# Prints the verdict on one network.
judge() {
  local file=$folder/${1/:/_} text why only=
  [ -z "${IMPORT:-}" ] || only=archives
  [ -s "$file.json" ] || ONLY=$only SIDE=0 BATCH=${BATCH:-2} LIMIT=$limit \
    "$python" scripts/golden/pt2.py "$folder" "$1" >"$folder/export" 2>&1
  if [ ! -s "$file.pt2" ]; then
    echo "fails $1 $(tail -n 1 "$folder/export")"
    return
  fi
  why=$(refusal "$file.pt2")
  if [ -n "$why" ]; then
    echo "refused $1 $why"
  elif [ ! -s "$file.json" ]; then
    echo "imports $1"
  elif text=$(TEST_BACKENDS=${TEST_BACKENDS:-cpu} timeout "$limit" \
    "$test" "$file.pt2" "$file.json" 2>&1); then
    echo "equal $1"
  else
    echo "differs $1 $(grep -m 1 -E 'ERROR: |error' <<<"$text" || echo "it takes longer")"
  fi
  [ -n "${FOLDER:-}" ] || rm -f "$file.pt2" "$file.json"
}

for net in "$@"; do
  judge "$net"
done | tee "$folder/verdicts"
echo
for verdict in equal imports refused differs fails; do
  echo "$(grep -c "^$verdict " "$folder/verdicts") of $# $verdict"
done
sed -n 's/^refused [^ ]* //p' "$folder/verdicts" | sed "s/^node '[^']*'\( of '[^']*'\)\?: //" |
  sort | uniq -c | sort -rn
