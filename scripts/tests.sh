#!/bin/bash
# Runs test programs and scripts and counts: a cmocka program counts each of its tests, a
# script is one. The output of those that pass is not shown. Programs, which have threads
# of their own, run one after the other; scripts, which mostly keep one core busy, two at a
# time.
#
#   scripts/tests.sh PROGRAM...
#
#   TESTS_COUNT=FILE  appends "PASSED FAILED" to FILE, for a caller that runs several
#   TESTS_JOBS=N      scripts at a time (default 2)
#   TESTS_LIMIT=N     seconds that one program may take (default 600)
#
# The last line is "N passed, N failed"; the exit code says whether all passed.
set -u
export GOMP_SPINCOUNT="${GOMP_SPINCOUNT:-3000}" # see src/cpu/spin.h
# For SANITIZE=thread: no reports of libraries that know nothing of it; children may have
# threads.
export TSAN_OPTIONS="${TSAN_OPTIONS:-ignore_noninstrumented_modules=1:die_after_fork=0}"
beside=${TESTS_JOBS:-2}
[[ $beside =~ ^[1-9][0-9]*$ ]] || {
  echo "scripts/tests.sh: TESTS_JOBS=$beside is not a number of scripts from 1 on" >&2
  exit 2
}
tests=("$@")
passed=0
failed=0
reported=0
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

attempt() { # number
  local program=${tests[$1]}

  [[ $program == */* ]] || program=./$program
  exec timeout "${TESTS_LIMIT:-600}" "$program" >"$dir/$1.log" 2>&1
}

end() { # number, exit code, when it began
  echo "$2 $((SECONDS - $3))" >"$dir/$1.new" && mv "$dir/$1.new" "$dir/$1.end"
}

run() { # number
  local began=$SECONDS

  (attempt "$1")
  end "$1" $? $began
}

run_beside() { # number
  local began=$SECONDS child

  attempt "$1" &
  child=$!
  trap 'kill $child; exit' TERM
  wait $child
  end "$1" $? $began
}

report() { # number
  local log=$dir/$1.log rc seconds good bad

  read -r rc seconds <"$dir/$1.end"
  good=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
  bad=$(sed -n 's/.*\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
  if [ "$rc" = 0 ]; then
    bad=0
  elif [ "${bad:-0}" = 0 ]; then
    bad=1 # it ended in some other way
  fi
  [ -n "$good" ] || good=$((rc == 0))
  passed=$((passed + good))
  failed=$((failed + bad))
  echo "== ${tests[$1]}: $good passed, $bad failed ($seconds s)"
  [ "$rc" != 0 ] || return
  echo "   exit code $rc; what it said:"
  grep -v '^\[\( RUN      \|       OK \)\]' "$log" | tail -100
}

report_ended() { # in the order in which they were named
  while [ -e "$dir/$reported.end" ]; do
    report "$reported"
    reported=$((reported + 1))
  done
}

for i in "${!tests[@]}"; do
  if [[ ${tests[i]} == *.sh ]]; then
    while [ "$(jobs -rp | wc -l)" -ge "$beside" ]; do wait -n; done
    run_beside "$i" &
  else
    wait
    run "$i"
  fi
  report_ended
done
wait
report_ended

[ -z "${TESTS_COUNT:-}" ] || echo "$passed $failed" >>"$TESTS_COUNT"
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $reported = ${#tests[@]} ]
