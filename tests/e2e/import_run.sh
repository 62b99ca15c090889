#!/bin/bash
# scripts/import_run.py passes every number of a run, with its step, and the configuration to W&B
# and MLflow. A stub that records its calls stands in for both; if MLflow is installed, it is
# tested, too.
#
#   tests/e2e/import_run.sh [TRAINC]      PYTHON=PROGRAM (python3)
. "$(dirname "$0")/lib.bash"
python=${PYTHON:-python3}
"$python" -c 'import yaml' 2>/dev/null || { echo "import_run: skipped, as there is no Python with PyYAML"; exit 77; }

"$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --device cpu --output out --tag t1 >log 2>&1 || { fail "train"; finish; }
run=out/resnet20/t1

mkdir play
cat >play/wandb.py <<'PY'
class init:
    def __init__(self, project, name, config):
        print("project", project, name, config["TRAIN"]["BASE_LR"], flush=True)
    def __enter__(self): return self
    def __exit__(self, *args): print("end")
    def log(self, values, step):
        for key in sorted(values): print(step, key, repr(values[key]))
PY
cat >play/mlflow.py <<'PY'
def set_experiment(name): print("project", name, end=" ")
class start_run:
    def __init__(self, run_name): self.name = run_name
    def __enter__(self): print(self.name, end=" ")
    def __exit__(self, *args): print("end")
def log_params(config): print(config["TRAIN.BASE_LR"])
def log_metrics(values, step):
    for key in sorted(values): print(step, key, repr(values[key]))
PY
for to in wandb mlflow; do
  PYTHONPATH=play "$python" "$here/scripts/import_run.py" $to $run mine >$to.told 2>log || fail "$to"
  [ "$(head -1 $to.told)" = "project mine resnet20/t1 0.05" ] || fail "$to: $(head -1 $to.told)"
  [ "$(tail -1 $to.told)" = end ] || fail "$to: the run does not end"
done
cmp -s wandb.told mlflow.told || fail "the two are told different things"
# Every validation and log line arrives with its step.
[ "$(grep -c ' val/val_top1 ' wandb.told)" = "$(jq -c 'select(.kind == "val")' $run/metrics.jsonl | wc -l)" ] || fail "validations are missing"
"$python" -c '
import json, sys
for line in map(json.loads, open(sys.argv[1])):
    if line["kind"] == "train":
        print(line["step"], repr(line["loss"]))' $run/metrics.jsonl >want || fail "metrics.jsonl"
sed -n 's|^\([0-9]*\) train/loss |\1 |p' wandb.told | cmp -s - want || fail "losses: $(sed -n 's|^\([0-9]*\) train/loss |\1 |p' wandb.told | diff - want | head -3)"
[ -s want ] || fail "no losses"
"$python" "$here/scripts/import_run.py" wandb >log 2>&1 && fail "without a run"

if "$python" -c 'import mlflow' 2>/dev/null; then
  MLFLOW_ALLOW_FILE_STORE=true MLFLOW_TRACKING_URI="file://$dir/mlruns" "$python" "$here/scripts/import_run.py" mlflow $run mine >log 2>&1 || fail "MLflow"
  cat mlruns/*/*/metrics/val/val_top1 2>/dev/null | cut -d' ' -f2,3 >got
  sed -n 's|^\([0-9]*\) val/val_top1 \(.*\)|\2 \1|p' mlflow.told >want
  awk 'NR == FNR { want[NR] = $0; next } { split(want[FNR], w); if ($1 + 0 != w[1] + 0 || $2 != w[2]) exit 1; n++ } END { exit !n }' want got || fail "MLflow has other scores"
  echo "ok: MLflow"
else
  echo "MLflow itself: skipped, as it is not installed"
fi

finish
