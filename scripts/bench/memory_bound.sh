#!/bin/sh
# The memory-bound steps of the op table against the machine's copy of 128 MiB, measured
# before and behind each row, and against a bare loop that loads and stores the same bytes
# (trainc bench --ops; what is counted: src/ops/op_bench.h).
#
#   scripts/bench/memory_bound.sh [GLOB...]      rows by name, default all
#
#   BAR=0.8   the share of the machine's copy that a step must reach
#   OPS=...   the ops whose steps must reach it (a regular expression)
#
# Prints the steps of 4 MiB and more, with a star where one stays below, and exits with 1
# if any does; the second share is of the bare loop. Dropout is left out: its Philox numbers
# are arithmetic (docs/performance.md); so is the loss of pixels, with which a cast may go. So
# are the parts of a batch norm, which only the GPU backend makes.
set -eu
cd "$(dirname "$0")/../.."
bar=${BAR:-0.8}
ops=${OPS:-'^(batchnorm|relu|add|cast|scale_channels|maxpool2d|avgpool2d|global_avgpool|pad_shortcut|normalize|mix|bias_grad|drop_path|sgd|adam|rmsprop|ema|grad)'}
[ $# -gt 0 ] || set -- '*'
json=$(mktemp)
trap 'rm -f "$json"' EXIT
bad=0

for glob in "$@"; do
    ./trainc bench --ops "$glob" --json "$json" >/dev/null
    awk -v bar="$bar" -v ops="$ops" '
        function field(name) {
            return match($0, "\"" name "\":[^,}]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : ""
        }
        BEGIN { RS = "{\"row\":" }
        NR > 1 && field("moves") == "true" && field("of_copy") != "" {
            match($0, /^"[^"]*"/)
            row = substr($0, 2, RLENGTH - 2)
            match($0, /"ops":\["[^"]*"/)
            op = substr($0, RSTART + 8, RLENGTH - 9)
            share = field("of_copy")
            if (op !~ ops || $0 ~ /"cross_entropy2d_grad"/ || op ~ /^batchnorm_(stats|finalize|fold|apply|grad_stats|grad_apply)$/) next
            n++
            below += share < bar
            dtype = field("dtype")
            gsub(/"/, "", dtype)
            printf "%s %4.0f %%  %4.0f %%  %7.3f ms  %5.1f MB  %-28s %-5s %s\n", share < bar ? "*" : " ",
                   100 * share, 100 * field("of_bare"), field("ms"), field("bytes") / 1e6, row, dtype, op
        }
        END {
            printf "%d of %d steps at %.0f %% of a copy or more\n", n - below, n, 100 * bar
            exit below > 0
        }' "$json" || bad=1
done
exit $bad
