# Items of scripts/check_gpu.sh: the op table under NVIDIA's compute-sanitizer. Sourced.

# NVIDIA's own kernels are left out: they are slow to look into, and not ours to mend. The
# flag had another name before CUDA 13.
leave_out() { # TOOL
  local flag names='kns=cudnn,kns=cutlass,kns=cublas,kns=xmma,kns=nvjet,kns=gemm,kns=cask,kns=implicit'
  for flag in --kernel-name-exclude --kernel-regex-exclude; do
    "$1" --help 2>/dev/null | grep -q -- "$flag" && { echo "$flag $names"; return; }
  done
}

sanitize() { # TOOL [FLAG...]
  [ -z "$emulated" ] || skip "the emulated build has no device code"
  local tool=${SANITIZER:-$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")}
  [ -x "$tool" ] || skip "there is no compute-sanitizer"
  # The folder keeps what it says if the time is over.
  # shellcheck disable=SC2046
  (cd "$root" && TEST_BACKENDS=cuda TEST_FILTER=test_backends timeout --foreground "${SANITIZE_LIMIT:-185}" \
    "$tool" --tool "$@" $(leave_out "$tool") --error-exitcode 9 "$tests/ops/test_ops") >sanitizer.log 2>&1
  local rc=$?
  tail -40 sanitizer.log
  grep 'ERROR SUMMARY' sanitizer.log | tail -1
  grep -q 'Device not supported' sanitizer.log && skip "compute-sanitizer cannot look into this machine"
  if [ $rc = 124 ]; then # what it finds, it says at once
    grep -q '^========= *\(Invalid\|Misaligned\|Uninitialized\|Barrier\|Error\|Warning\|.*hazard\)' sanitizer.log &&
      die "errors, and not done within ${SANITIZE_LIMIT:-185} s"
    skip "no error seen in ${SANITIZE_LIMIT:-185} s, but not done"
  fi
  return $rc
}
# Calls that libraries make to find out what the driver knows may fail.
check_memcheck() { sanitize memcheck --report-api-errors no; }
check_synccheck() { sanitize synccheck; }
check_initcheck() { sanitize initcheck; }
check_racecheck() { sanitize racecheck; }
