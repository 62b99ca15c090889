# Shared code of the scripts in tests/e2e and tests/emulator; each of them sources it first:
#
#   . "$(dirname "$0")/lib.bash" [PROGRAM]
#
# It changes to a new temporary folder ($dir), which is deleted at exit. $trainc is the program:
# PROGRAM, the script's first argument, or ./trainc. $here is the root of the source tree. A script
# ends with `finish`.
# shellcheck shell=bash disable=SC2034
set -u
trainc=$(realpath "${1:-${TRAINC:-./trainc}}")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-$(basename "$0" .sh).XXXXXX")
fails=0
cleanup() { :; } # scripts may replace it
trap 'cleanup; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# Counts a failure and shows the end of `log`, which holds the output of the last command.
fail() {
  echo "FAILED: $*"
  [ ! -s log ] || tail -n 30 log | sed 's/^/  log: /'
  fails=$((fails + 1))
}
finish() {
  [ $fails = 0 ] || { echo "$(basename "$0" .sh): $fails failed"; exit 1; }
  echo "$(basename "$0" .sh): passed"
  exit 0
}

# PATTERN [FILE]: fails unless a line of the file (default: log) matches.
expect_line() {
  grep -q -e "$1" "${2:-log}" && return
  [ "${2:-log}" = log ] || cat "$2"
  fail "no '$1' in ${2:-log}"
}
# CODE PATTERN COMMAND...: fails unless the command exits with the code and prints a matching line.
exits() {
  local status
  "${@:3}" >log 2>&1 </dev/null
  status=$?
  [ $status = "$1" ] && grep -q -e "$2" log || fail "exit code $status, not $1 with '$2': ${*:3}"
}
# PATTERN COMMAND...: the same with exit code 2.
refuses() { exits 2 "$@"; }

# FILE KEY: prints the value of a key in a JSON object, or "null" if it has no such key.
json_value() { jq -r --arg key "$2" '.[$key]' "$1"; }

# FILE: prints the keys best_* of a run's result.
best_values() { jq 'with_entries(select(.key | startswith("best_")))' "$1"; }

# FILE FILE KEY...: fails unless two JSON files have the same values, none of which is null.
same_values() {
  local key a b
  for key in "${@:3}"; do
    a=$(json_value "$1" "$key") b=$(json_value "$2" "$key")
    [ -n "$a" ] && [ "$a" != null ] && [ "$a" = "$b" ] || fail "$key is $a in $1 and $b in $2"
  done
}

# FOLDER STEP PID: waits until the run's metrics.jsonl has the step; false if the process ends before.
reached() {
  # shellcheck disable=SC2086 # FOLDER may be a pattern
  until grep -q "\"step\":$2," $1/metrics.jsonl 2>/dev/null; do
    kill -0 "$3" 2>/dev/null || return 1
    sleep 0.02
  done
}
# A B: true if the number A is greater than B.
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }

# FILE: prints the tensors of a checkpoint without its header, which contains times and names.
tensor_bytes() { tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"; }
