#!/bin/sh
# Compares the memory-bound steps of the op table with the machine's copy of 128 MiB, measured
# before and after each row, and with a plain loop that loads and stores the same bytes (trainc
# bench --ops; src/cases/op_bench.h defines the bytes).
#
#   scripts/bench/memory_bound.sh [GLOB...]      rows by name, default all
#
#   ROUNDS=3  runs of all rows; takes medians of each step's shares and time, because the
#             load of a shared machine varies
#   BAR=0.8   share of the machine's copy that a step must reach
#   OPS=...   ops whose steps must reach it (a regular expression)
#
# Prints the steps of 4 MiB and more, with a star if one is below the bar, and exits with 1 if any
# is or if there is none; the second share is relative to the plain loop. Excluded: dropout,
# because its Philox numbers are arithmetic (docs/dev/performance.md); the segmentation loss,
# which may include a cast, for the same reason; and the parts of a batch norm, which only the GPU
# backend creates.
set -eu
cd "$(dirname "$0")/../.."
rounds=${ROUNDS:-3}
bar=${BAR:-0.8}
ops=${OPS:-'^(batchnorm|relu|add|cast|scale_channels|maxpool2d|avgpool2d|global_avgpool|pad_shortcut|normalize|mix|bias_grad|drop_path|sgd|adam|rmsprop|ema|grad)'}
[ $# -gt 0 ] || set -- '*'
json=$(mktemp)
steps=$(mktemp)
trap 'rm -f "$json" "$steps"' EXIT

# number within the run, shares of copy and plain loop, ms, bytes, row, dtype, op
for round in $(seq "$rounds"); do
    first=0
    for glob in "$@"; do
        ./trainc bench --ops "$glob" --json "$json" >/dev/null
        awk -v ops="$ops" -v first="$first" '
            function field(name) {
                return match($0, "\"" name "\":[^,}]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : ""
            }
            BEGIN { RS = "{\"row\":"; OFS = "\t" }
            NR > 1 {
                match($0, /^"[^"]*"/)
                row = substr($0, 2, RLENGTH - 2)
                match($0, /"ops":\["[^"]*"/)
                op = substr($0, RSTART + 8, RLENGTH - 9)
                dtype = field("dtype")
                gsub(/"/, "", dtype)
                if (field("moves") != "true" || field("of_copy") == "" || op !~ ops || $0 ~ /"cross_entropy2d_grad"/ ||
                    op ~ /^batchnorm_(stats|finalize|fold|apply|grad_stats|grad_apply)$/) next
                print first + NR, field("of_copy"), field("of_bare"), field("ms"), field("bytes"), row, dtype, op
            }' "$json" >>"$steps"
        first=$((first + 100000))
    done
done

awk -v bar="$bar" '
    function median(list, v, n, i, j, t) {
        n = split(list, v, " ")
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
        return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    BEGIN { FS = "\t" }
    !($1 in copy) { at[++n] = $1; bytes[$1] = $5; name[$1] = sprintf("%-28s %-5s %s", $6, $7, $8) }
    { copy[$1] = copy[$1] " " $2; bare[$1] = bare[$1] " " $3; ms[$1] = ms[$1] " " $4 }
    END {
        for (i = 1; i <= n; i++) {
            k = at[i]
            share = median(copy[k])
            of_bare = median(bare[k])
            below += share < bar
            both += share < bar && of_bare < bar
            printf "%s %4.0f %%  %4.0f %%  %7.3f ms  %5.1f MB  %s\n", share < bar ? "*" : " ", 100 * share, 100 * of_bare,
                   median(ms[k]), bytes[k] / 1e6, name[k]
        }
        printf "%d of %d steps at %.0f %% of a copy or more, %d at neither that nor %.0f %% of a bare loop\n",
               n - below, n, 100 * bar, both, 100 * bar
        exit below > 0 || n == 0
    }' "$steps"
