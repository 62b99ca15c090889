# Shared code of the scripts in tests/e2e; each of them sources it first:
#
#   . "$(dirname "$0")/lib.bash"
#
# It changes to a new temporary folder ($dir), which is deleted at exit. $trainc is the program:
# the script's first argument, or ./trainc. $here is the root of the source tree. A script ends
# with `finish`.
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
# PATTERN COMMAND...: fails unless the command exits with code 2 and prints a matching line.
refuses() {
  local status
  "${@:2}" >log 2>&1 </dev/null
  status=$?
  [ $status = 2 ] && grep -q -e "$1" log || fail "not refused with '$1' (exit code $status): ${*:2}"
}

# FILE KEY: prints the value of a key in a JSON object, or "null" if it has no such key.
json_value() { jq -r --arg key "$2" '.[$key]' "$1"; }

# FILE: prints the tensors of a checkpoint without its header, which contains times and names.
tensor_bytes() { tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"; }
