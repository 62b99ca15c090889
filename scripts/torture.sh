#!/bin/bash
# Reliability test: disturbs runs of random configurations at random, restarts them undisturbed,
# and requires bit-exact weights, metrics, and summaries of a run that was never disturbed.
# docs/dev/reliability.md explains the kinds and gives figures.
#
#   scripts/torture.sh [--seconds N | --trials N] [--seed S] [--only KIND] [--jobs J]
#
#   --seconds N   time to run (3600)
#   --trials N    number of trials, without a time limit
#   --seed S      seed of the first trial (default: from the clock); each next one adds 1
#   --only KIND   kill, fault, or power
#   --jobs J      parallel trials (1)
#   --keep DIR    where to keep the folders of failures (torture-failures)
#
#   TRAINC=PROGRAM (./trainc)   TMPDIR=FOLDER, a fast one (default: /dev/shm)
#   TORTURE_PLANT=fsync|rename  plants a bug that must be detected: some of these calls do nothing
#
# Requires gcc and python3. The last lines are "N trials, M failures", counts for each kind, and
# the command that repeats each failure. Exits with 1 if there were any.
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
