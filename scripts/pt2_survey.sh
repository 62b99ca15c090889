#!/bin/bash
# Exports networks of timm, torchvision, and segmentation_models_pytorch with PyTorch, and counts
# those that trainc trains equally: scripts/golden/pt2.py says what is compared.
#
#   python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch timm torchvision segmentation-models-pytorch
#   make CUDA=0 build/cc/tests/pt2/test_pt2_golden
#   PYTHON=/tmp/venv/bin/python scripts/pt2_survey.sh [NET...]       timm:resnet10t tv:vgg11_bn ...
#
# Without names: all of scripts/pt2_nets.txt, which takes hours. Prints a line per network:
#
#   equal timm:resnet10t
#   refused tv:swin_t node 'roll' of 'features.1': aten.roll.default: this operator is not supported
#   differs ...                                    the first figure that does
#   fails ...                                      PyTorch cannot export it, or it has other outputs
#
# TEST is the test program, by default of the build in build/cc; FOLDER holds one archive at a time.
set -u
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
test=${TEST:-build/cc/tests/pt2/test_pt2_golden}
folder=${FOLDER:-/tmp/pt2-survey.$$}
[ -x "$test" ] || { echo "pt2_survey: there is no '$test': make CUDA=0 $test" >&2; exit 2; }
mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- $(cat scripts/pt2_nets.txt)

# Prints the verdict on one network.
judge() {
  local file=$folder/${1/:/_} text why
  if ! "$python" scripts/golden/pt2.py "$folder" "$1" >"$folder/export" 2>&1 || [ ! -s "$file.json" ]; then
    echo "fails $1 $(tail -n 1 "$folder/export")"
    return
  fi
  if text=$(TEST_BACKENDS=${TEST_BACKENDS:-cpu} "$test" "$file.pt2" "$file.json" 2>&1); then
    echo "equal $1"
  elif why=$(grep -o "\.pt2': .*" <<<"$text" | head -n 1) && [ -n "$why" ]; then
    echo "refused $1 ${why#*: }"
  else
    echo "differs $1 $(grep -m 1 -E 'ERROR: |error' <<<"$text")"
  fi
  rm -f "$file.pt2" "$file.json"
}

for net in "$@"; do
  judge "$net"
done | tee "$folder/verdicts"
echo "$(grep -c '^equal' "$folder/verdicts") of $# equal, $(grep -c '^refused' "$folder/verdicts") refused," \
  "$(grep -c '^differs' "$folder/verdicts") differ, $(grep -c '^fails' "$folder/verdicts") without an archive"
