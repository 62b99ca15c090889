#!/bin/bash
# Builds trainc for aarch64 on another machine and tests it with qemu.
#
#   scripts/aarch64.sh sysroot    Debian's arm64 packages in build/aarch64/sysroot (needs mmdebstrap)
#   scripts/aarch64.sh build      build/aarch64/trainc
#   scripts/aarch64.sh test       builds, then runs unit tests and a smoke run (make test-aarch64)
#
# Requires gcc-aarch64-linux-gnu, qemu-user-static, and the sysroot folder. If one is missing, test
# prints its name and exits with code 77 (skipped). Nothing is installed on the system.
#
#   JOBS=N         parallel compilers (default: one per core)
#   SYSROOT=DIR    another folder of arm64 packages
#   TESTS="T ..."  other unit tests, each as FOLDER/test_NAME
set -eu
cd "$(dirname "$0")/.."
out=build/aarch64
sysroot=$(realpath -m "${SYSROOT:-$out/sysroot}")
triple=aarch64-linux-gnu
fail() { echo "aarch64: $*" >&2; exit 1; }

make_sysroot() {
  command -v mmdebstrap >/dev/null || fail "needs mmdebstrap: scripts/deps.sh mmdebstrap"
  mkdir -p "$out"
  . /etc/os-release
  # The packages of scripts/deps.sh that are libraries.
  libraries=$(DEPS_LIST=1 scripts/deps.sh | grep -- '^lib.*-dev$' | paste -sd,)
  mmdebstrap --quiet --variant=extract --arch=arm64 --include="$libraries,libgcc-s1" \
    "$VERSION_CODENAME" "$sysroot"
  echo "aarch64: $sysroot"
}

missing() { # prints what the machine lacks
  command -v $triple-gcc >/dev/null || echo "$triple-gcc (scripts/deps.sh gcc-$triple libc6-dev-arm64-cross)"
  command -v qemu-aarch64-static >/dev/null || echo "qemu-aarch64-static (scripts/deps.sh qemu-user-static)"
  [ -e "$sysroot/usr/include/dnnl.h" ] || echo "$sysroot (scripts/aarch64.sh sysroot)"
}

cross() { # targets
  local lib=$sysroot/usr/lib/$triple

  make -s -j"${JOBS:-$(nproc)}" CC=$triple-gcc CUDA=0 SANITIZE= DEBUG= B=$out BIN=$out/trainc \
    CPPFLAGS="--sysroot=$sysroot" "$@" \
    LDFLAGS="--sysroot=$sysroot -L$lib -Wl,-rpath-link,$lib:$sysroot/lib/$triple"
}

emulate() { OMP_NUM_THREADS=1 qemu-aarch64-static -L "$sysroot" "$@"; }

run_tests() {
  local t passed=0 failed=0

  for t in "${tests[@]}" smoke; do
    if [ "$t" = smoke ]; then
      set -- "$out/trainc" --cfg configs/smoke/synthetic.yaml --output $out/output --tag "$$" \
        TRAIN.EPOCHS=1
    else
      set -- "$out/tests/$t"
    fi
    if emulate "$@" >$out/log 2>&1; then
      passed=$((passed + 1))
    else
      tail -20 $out/log
      echo "FAILED: $t"
      failed=$((failed + 1))
    fi
  done
  rm -rf $out/output
  echo "$passed passed, $failed failed"
  [ $failed = 0 ]
}

case ${1:-test} in
  sysroot) make_sysroot ;;
  build) cross $out/trainc ;;
  test)
    lacks=$(missing | paste -sd, | sed 's/,/, /g')
    [ -z "$lacks" ] || { echo "aarch64: skipped: this machine lacks $lacks"; exit 77; }
    tests=(${TESTS:-base/test_base base/test_numbers config/test_cmdline image/test_resize
      cpu/test_loops cpu/test_gelu cpu/test_onednn models/test_layers})
    cross $out/trainc "${tests[@]/#/$out/tests/}"
    run_tests
    ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
