# Items of scripts/check_gpu.sh: the op table under NVIDIA's compute-sanitizer, one process per
# type, all in parallel. Sourced.

# Excludes NVIDIA's own kernels: they are slow to check, and not ours to fix. The flag had another
# name before CUDA 13.
leave_out() { # TOOL
  local flag names='kns=cudnn,kns=cutlass,kns=cublas,kns=xmma,kns=nvjet,kns=gemm,kns=cask,kns=implicit'
  for flag in --kernel-name-exclude --kernel-regex-exclude; do
    "$1" --help 2>/dev/null | grep -q -- "$flag" && { echo "$flag $names"; return; }
  done
}

# Prints findings, which appear at once; the summary comes at the end.
findings() { # LOG
  grep -v 'SUMMARY\|Internal Sanitizer Error' "$1" |
    grep '^========= *\(Invalid\|Misaligned\|Uninitialized\|Unused\|Barrier\|Divergent\|Error\|ERROR\|Warning\|WARN\|.*hazard\)'
}

# Checks one type. The last line of TYPE.said is the outcome (clean, found, failed, unfinished, or
# nothing) and its reason. The sanitizer itself fails on some of NVIDIA's kernels ("Internal
# Sanitizer Error"), excluded or not: the table then continues after that row.
sanitize_type() { # TYPE SECONDS TOOL [FLAG...]
  local type=$1 until=$((SECONDS + $2)) sanitizer=$3 log=$1.log rows=$PWD/$1.row lost=() after=() rc
  shift 3
  : >"$type.all"
  while :; do
    # The folder keeps the output if the time limit ends this.
    # shellcheck disable=SC2046
    (cd "$root" && env TEST_BACKENDS=cuda TEST_FILTER=test_backends TEST_ONLY_DTYPE="$type" TEST_ROW_LOG="$rows" \
      "${after[@]}" timeout --foreground $((until > SECONDS ? until - SECONDS : 1)) \
      "$sanitizer" --tool "$@" $(leave_out "$sanitizer") --error-exitcode 9 "$tests/ops/test_ops") >"$log" 2>&1
    rc=$?
    cat "$log" >>"$type.all"
    if findings "$log" >"$type.found"; then
      echo "found: $(wc -l <"$type.found"), $(sed -n '1s/^=* *//p' "$type.found")"
    elif [ $rc = 124 ]; then
      echo "unfinished: $(cat "$rows" 2>/dev/null)"
    elif grep -q 'Device not supported' "$log"; then
      echo "nothing: compute-sanitizer cannot look into this machine"
    elif grep -q 'Internal Sanitizer Error' "$log" && [ -s "$rows" ] && [ ${#lost[@]} -lt 20 ]; then
      lost+=("$(cat "$rows")")
      after=("TEST_AFTER=${lost[-1]}")
      continue
    elif grep -q 'Internal Sanitizer Error' "$log"; then
      echo "nothing: the sanitizer itself failed"
    elif [ $rc = 0 ]; then
      echo clean
    elif [ $rc != 9 ] && grep -q 'FAILED TEST' "$log"; then
      echo "clean: but the table itself fails: $(grep '^cuda .*: .*: ' "$log" | head -1)"
    else
      echo "failed: exit code $rc, $(tail -1 "$log")"
    fi
    break
  done >"$type.said"
  [ ${#lost[@]} = 0 ] || printf '%s\n' "${lost[@]}" >"$type.lost"
}

sanitize() { # TOOL [FLAG...]
  [ -z "$emulated" ] || [ -n "${SANITIZER:-}" ] || skip "the emulated build has no device code"
  local tool=${SANITIZER:-$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")}
  [ -x "$tool" ] || skip "there is no compute-sanitizer"
  local types=(fp32 bf16 fp16) type pids=() said='' rows=''
  mkdir "sanitize-$1" && cd "sanitize-$1" || die "no folder for $1"
  for type in "${types[@]}"; do
    sanitize_type "$type" "${SANITIZE_LIMIT:-185}" "$tool" "$@" &
    pids+=($!)
  done
  wait "${pids[@]}"
  for type in "${types[@]}"; do
    echo "$type:"
    tail -40 "$type.all"
    said+="$type $(cat "$type.said"); "
    [ ! -e "$type.lost" ] || rows+="${rows:+, }$(sed "s/^/$type /" "$type.lost" | paste -sd, | sed 's/,/, /g')"
  done
  said=${said%; }${rows:+; left out, as the sanitizer itself fails at a library\'s kernel: $rows}
  grep -q '^found\|^failed' ./*.said && die "$said"
  grep -q '^unfinished' ./*.said && skip "no error seen in ${SANITIZE_LIMIT:-185} s, but not done: $said"
  grep -q '^nothing' ./*.said && skip "$said"
  echo "0 errors: $said"
}
# Libraries make calls that may fail, to query the driver.
check_memcheck() { sanitize memcheck --report-api-errors no; }
check_synccheck() { sanitize synccheck; }
check_initcheck() { sanitize initcheck; }
check_racecheck() { sanitize racecheck; }
