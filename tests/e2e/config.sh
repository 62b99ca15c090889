#!/bin/bash
# The command line as its users see it: what goes to stdout, what to stderr, and the exit
# code, compared with tests/golden/config/cli.txt. There, a line "$ ARGUMENTS" is a call,
# "! LINE" came from stderr, "= CODE" is the exit code, "% LINE" a comment, all else came from stdout.
#
#   tests/e2e/config.sh [TRAINC]            compare
#   tests/e2e/config.sh [TRAINC] --write    write the file anew, to be read in the diff
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
  case $line in # what follows depends on the machine
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
