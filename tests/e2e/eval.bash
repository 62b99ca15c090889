# Shared code of eval.sh, eval_predict.sh, export.sh, and failing_runs.sh; they source it:
#
#   . "$(dirname "$0")/eval.bash"
#
# It sources lib.bash and trains resnet20 for two epochs on the 32 images of `shapes`, which has 22
# validation images of four classes: ${args[@]} are the run's arguments, $run is its folder,
# train.json its result, and ${best[@]} predict's arguments for its weights.
# shellcheck shell=bash disable=SC2034
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

"$trainc" synth shapes --out shapes --classes 4 --train 32 --val 22 --size 16 2>/dev/null || exit 1
args=(--cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --output out --epochs 2)
run=out/resnet20/default
best=(--cfg $run/config.yaml --device cpu --weights $run/last.safetensors)
"$trainc" "${args[@]}" --device cpu --result train.json >log 2>&1 || { fail "cpu: training"; finish; }
