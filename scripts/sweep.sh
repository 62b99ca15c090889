#!/bin/sh
# A sweep as a shell loop: each run has its own tag and result file. If it is started again,
# finished runs end within a second and the others continue. `trainc sweep` does the same with
# parallel runs, successive halving, and a table.
#
#   sweep.sh OUTPUT TRAINC-ARGUMENTS...        sweep.sh /tmp/runs --cfg configs/smoke/synthetic.yaml
#
#   RATES="0.01 0.1" SEEDS="1 2"   values to combine
set -u
out=$1
shift
mkdir -p "$out" || exit 1
for lr in ${RATES:-0.01 0.1}; do
    for seed in ${SEEDS:-1 2}; do
        tag=lr${lr}_seed$seed
        ./trainc "$@" --lr "$lr" --seed "$seed" --output "$out" --tag "$tag" --result "$out/$tag.json" \
            >"$out/$tag.log" 2>&1 || echo "$tag failed: $(tail -1 "$out/$tag.log")" >&2
    done
done
# Best first.
for f in "$out"/*.json; do
    echo "$(sed -n 's/.*"best_top1": \([^,]*\),*/\1/p' "$f") $(basename "$f" .json)"
done | sort -rn
