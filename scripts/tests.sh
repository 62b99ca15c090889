#!/bin/bash
# Runs test programs and scripts one after the other and counts: a cmocka program counts
# each of its tests, a script is one. The output of those that pass is not shown.
#
#   scripts/tests.sh PROGRAM...
#
#   TESTS_COUNT=FILE  appends "PASSED FAILED" to FILE, for a caller that runs several
#   TESTS_LIMIT=N     seconds that one program may take (default 600)
#
# The last line is "N passed, N failed"; the exit code says whether all passed.
set -u
export GOMP_SPINCOUNT="${GOMP_SPINCOUNT:-3000}" # see src/cpu/spin.h
# For SANITIZE=thread: no reports of libraries that know nothing of it; children may have
# threads.
export TSAN_OPTIONS="${TSAN_OPTIONS:-ignore_noninstrumented_modules=1:die_after_fork=0}"
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for test in "$@"; do
  began=$SECONDS
  case $test in
    */*) program=$test ;;
    *) program=./$test ;;
  esac
  timeout "${TESTS_LIMIT:-600}" "$program" >"$log" 2>&1
  rc=$?
  good=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
  bad=$(sed -n 's/.*\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
  if [ $rc = 0 ]; then
    bad=0
  elif [ "${bad:-0}" = 0 ]; then
    bad=1 # it ended in some other way
  fi
  [ -n "$good" ] || good=$((rc == 0))
  passed=$((passed + good))
  failed=$((failed + bad))
  echo "== $test: $good passed, $bad failed ($((SECONDS - began)) s)"
  if [ $rc != 0 ]; then
    echo "   exit code $rc; what it said:"
    grep -v '^\[\( RUN      \|       OK \)\]' "$log" | tail -100
  fi
done
[ -z "${TESTS_COUNT:-}" ] || echo "$passed $failed" >>"$TESTS_COUNT"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
