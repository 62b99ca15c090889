#!/bin/bash
# Reliability under torture: random configurations of everything are disturbed at random, started
# again without a disturbance, and have to end with the weights, metrics, and summaries of a run
# that was never disturbed, bit for bit. docs/dev/reliability.md has the kinds and the figures.
#
#   scripts/torture.sh [--seconds N | --trials N] [--seed S] [--only KIND] [--jobs J]
#
#   --seconds N   for so long (3600)
#   --trials N    so many, however long they take
#   --seed S      of the first trial (from the clock); the next one has S + 1
#   --only KIND   kill, fault, or power
#   --jobs J      trials side by side (1)
#   --keep DIR    where the folders of failures are kept (torture-failures)
#
#   TRAINC=PROGRAM (./trainc)   TMPDIR=FOLDER, a fast one: /dev/shm if it is not set
#   TORTURE_PLANT=fsync|rename  plants a bug: some of these calls do nothing; it has to be found
#
# It needs gcc and python3. The last lines are "N trials, M failures", counts for each kind, and
# the command that does each failure again. The exit code is 1 if there were any.
set -u
here=$(realpath "$(dirname "$0")/..")
export TRAINC=${TRAINC:-$here/trainc}
TRAINC=$(realpath "$TRAINC")
[ -x "$TRAINC" ] || { echo "scripts/torture.sh: '$TRAINC' is not there: make" >&2; exit 2; }
[ -n "${TMPDIR:-}" ] || { [ -w /dev/shm ] && TMPDIR=/dev/shm; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-torture.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
${CC:-gcc} -O1 -shared -fPIC -o "$dir/disturb.so" "$here/scripts/torture/disturb.c" -ldl -lpthread || exit 2
python3 "$here/scripts/torture/torture.py" --dir "$dir" "$@"
