#!/bin/bash
# Fuzzes the readers of foreign files (tests/fuzz) with clang's libFuzzer and its address and
# undefined-behavior sanitizers.
#
#   scripts/fuzz.sh [SECONDS [NAME...]]     default: 60 each, all
#
# Requires clang with its runtime: scripts/deps.sh clang libclang-rt-14-dev installs them.
#
# Each fuzzer starts from files of the source tree and from tests/fuzz/corpus/NAME, which earlier
# runs found. Inputs that reach new code are kept in build/fuzz/NAME for the next run. A failing
# input is kept in build/fuzz as NAME-crash-...; build/.../tests/fuzz/NAME FILE reproduces the
# failure. To add the smallest set of inputs with the same coverage to the corpus:
# build/fuzzer/tests/fuzz/NAME -merge=1 tests/fuzz/corpus/NAME build/fuzz/NAME. A unit test
# (tests/dataset/test_fuzz_corpus.c) feeds the corpus to the readers in every build. "All"
# excludes hdf5, because bugs of libhdf5 cannot be fixed here (1.10.8 loops forever on a damaged
# variable-length heap).
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift $(($# > 0))
kept=build/fuzz
build=build/fuzzer

[ $# -gt 0 ] || set -- $(ls tests/fuzz/*.c | sed 's|.*/||; s|\.c$||' | grep -vxE "fuzz|hdf5")
make -s -j"$(nproc)" CC=clang CUDA=0 OPT='-O2 -g -Wno-pass-failed' SANITIZE=fuzzer-no-link,address,undefined \
  B=$build "${@/#/$build/tests/fuzz/}"

seeds() { # NAME
  ls tests/fuzz/corpus/"$1"/* 2>/dev/null
  case $1 in
    config | yaml) ls configs/*.yaml configs/*/*.yaml ;;
    weights) ls tests/golden/io/*.safetensors tests/golden/io/*.pth ;;
    image) ls tests/golden/image_decode/* | grep -v '\.rgb$' ;;
    label) ls tests/golden/image_label/*.png ;;
    lmdb) ls tests/golden/containers/lmdb*/*/data.mdb ;;
    tar | tfrecord | hdf5) ls tests/golden/containers/"$1"*/train*.* ;;
  esac
}

keys=$kept/keys.dict
mkdir -p $kept
cut -f1 tests/golden/config/defaults.tsv | sed 's/.*/"&"/' >$keys
rc=0
for name in "$@"; do
  mkdir -p "$kept/$name"
  for file in $(seeds "$name"); do
    cp "$file" "$kept/$name/seed-$(echo "$file" | tr / -)"
  done
  words=
  case $name in config | yaml | cmdline) words=-dict=$keys ;; esac
  echo "fuzz: $name, $seconds s"
  part=$seconds
  case $name in list) part=40 ;; esac # rejected lists leak until the process ends
  for ((left = seconds; left > 0; left -= part)); do
    $build/tests/fuzz/"$name" $words -max_total_time=$((left < part ? left : part)) -timeout=20 \
      -rss_limit_mb=4096 -max_len=32768 -artifact_prefix="$kept/$name-" -print_final_stats=1 \
      "$kept/$name" >"$kept/$name.log" 2>&1 || {
      rc=1
      grep -E 'ERROR|SUMMARY|runtime error|fuzz:' "$kept/$name.log"
      break
    }
  done
  grep -E 'stat::number_of_executed_units|cov: ' "$kept/$name.log" | tail -n 1
done
exit $rc
