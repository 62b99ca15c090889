#!/bin/bash
# Compares what the command line writes to stdout and stderr, and its exit codes, with
# tests/golden/config/cli.txt. There, "$ ARGUMENTS" is a call, "! LINE" is from stderr, "= CODE"
# is the exit code, "% LINE" is a comment, and all other lines are from stdout.
#
#   tests/e2e/config.sh [TRAINC]            compare
#   tests/e2e/config.sh [TRAINC] --write    rewrite the file; review the diff
. "$(dirname "$0")/lib.bash"
cd "$here" || exit 1
golden=tests/golden/config/cli.txt
export COLUMNS=80

while IFS= read -r line; do
  case $line in
  '$ '*) ;;
  '% '*) echo "$line"; continue ;;
  *) continue ;;
  esac
  echo "$line"
  eval "\"$trainc\" ${line#'$ '}" >"$dir/out" 2>"$dir/err" </dev/null
  code=$?
  case $line in # later lines depend on the machine
  *--version) head -1 "$dir/out" ;;
  *) cat "$dir/out" ;;
  esac
  sed 's/^/! /' "$dir/err"
  echo "= $code"
done <$golden >"$dir/got"

if [ "${2:-}" = --write ]; then
  cp "$dir/got" $golden
elif ! diff -u $golden "$dir/got"; then
  fail "the command line differs from $golden"
fi
finish
