#!/bin/bash
# Runs test programs and scripts and counts their tests: each test of a cmocka program, and a
# script as one. Two run at a time, plus one of the scripts that mostly wait (ranks*.sh). Scripts,
# and programs that train, get one thread (two programs with two threads each on two cores wait
# for each other and take three times as long); the kernels' programs (ops, cpu) keep all threads
# because they test threading. Output of passing programs is hidden.
#
#   scripts/tests.sh PROGRAM...
#
#   TESTS_COUNT=FILE  appends "PASSED FAILED" to FILE, for a caller that runs this several
#                     times, and the end of each failed test's output to FILE.failed
#   TESTS_JOBS=N      parallel programs (default 2)
#   TESTS_LIMIT=N     seconds allowed per program (default 600)
#   OMP_NUM_THREADS=N threads for all programs
#
# A script that cannot run here, because a program is not installed, exits with code 77 and counts
# as skipped. The last line is "N passed, N failed"; the exit code is 0 if all passed.
set -u
export GOMP_SPINCOUNT="${GOMP_SPINCOUNT:-3000}" # see src/cpu/spin.h
# For SANITIZE=thread: ignores libraries that are not instrumented, and allows threads in child
# processes.
export TSAN_OPTIONS="${TSAN_OPTIONS:-ignore_noninstrumented_modules=1:die_after_fork=0}"
# Indexes of test data are kept for this run only; ccache keeps its folder.
export CCACHE_DIR="${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}"
jobs_max=${TESTS_JOBS:-2}
[[ $jobs_max =~ ^[1-9][0-9]*$ ]] || {
  echo "scripts/tests.sh: TESTS_JOBS=$jobs_max is not a number of programs from 1 on" >&2
  exit 2
}
tests=("$@")
passed=0
failed=0
skipped=0
reported=0
dir=$(mktemp -d)
export XDG_CACHE_HOME=$dir/cache
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

run() { # number
  local program=${tests[$1]} began=$SECONDS child rc

  case $program in
    *.sh | */tests/session/* | */tests/models/* | */tests/train/*)
      export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" ;;
  esac
  [[ $program == */* ]] || program=./$program
  timeout "${TESTS_LIMIT:-600}" "$program" >"$dir/$1.log" 2>&1 &
  child=$!
  trap 'kill $child; exit' TERM
  wait $child
  rc=$?
  # CPU time of this subshell's children, user and system. (In a pipe `times` would run in another
  # subshell.)
  times >"$dir/$1.times"
  awk -F '[ms ]+' -v rc=$rc -v s=$((SECONDS - began)) \
    'NR == 2 { printf "%d %d %.1f\n", rc, s, 60 * ($1 + $3) + $2 + $4 }' \
    "$dir/$1.times" >"$dir/$1.new"
  mv "$dir/$1.new" "$dir/$1.end"
}

report() { # number
  local log=$dir/$1.log rc seconds cpu good bad

  read -r rc seconds cpu <"$dir/$1.end"
  good=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
  bad=$(sed -n 's/.*\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
  if [ "$rc" = 77 ]; then
    skipped=$((skipped + 1))
    echo "== ${tests[$1]}: skipped: $(tail -1 "$log")"
    return
  fi
  if [ "$rc" = 0 ]; then
    bad=0
  elif [ "${bad:-0}" = 0 ]; then
    bad=1 # it ended without a test summary
  fi
  [ -n "$good" ] || good=$((rc == 0))
  passed=$((passed + good))
  failed=$((failed + bad))
  echo "== ${tests[$1]}: $good passed, $bad failed ($seconds s, $cpu s of CPU)"
  if [ "$rc" = 0 ]; then # parts may be skipped because a program is not installed
    skipped=$((skipped + $(grep -cE '(^|: )skipped[:,] ' "$log")))
    grep -E '(^|: )skipped[:,] ' "$log" | sed 's/^/   /'
    return
  fi
  echo "   exit code $rc; what it said:"
  grep -v '^\[\( RUN      \|       OK \)\]' "$log" | tail -100
  [ -z "${TESTS_COUNT:-}" ] || {
    echo "== ${tests[$1]} failed: exit code $rc after $seconds s"
    grep -v '^\[\( RUN      \|       OK \|  PASSED  \)\]' "$log" | tail -8 | cut -c-200
  } >>"$TESTS_COUNT.failed"
}

report_ended() { # in the order of the arguments
  while [ -e "$dir/$reported.end" ]; do
    report "$reported"
    reported=$((reported + 1))
  done
}

waits() { # INDEX: true if it waits half of its time for processes to start or hang
  [[ ${tests[$1]} == */ranks*.sh ]]
}
lane() { # runs the waiting scripts one after another, in parallel with the others
  local i child

  for i in "${!tests[@]}"; do
    waits "$i" || continue
    run "$i" &
    child=$!
    trap 'kill $child; exit' TERM
    wait $child
  done
}

laned=
if [ "$jobs_max" -gt 1 ]; then
  lane &
  laned=$!
fi
for i in "${!tests[@]}"; do
  [ -z "$laned" ] || ! waits "$i" || continue
  while [ "$(jobs -rp | grep -cvx "$laned")" -ge "$jobs_max" ]; do wait -n; done
  run "$i" &
  report_ended
done
wait
report_ended

[ $skipped = 0 ] || echo "skipped: $skipped"
[ -z "${TESTS_COUNT:-}" ] || echo "$passed $failed" >>"$TESTS_COUNT"
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $reported = ${#tests[@]} ]
