#!/usr/bin/env python3
"""Copies a run of trainc from metrics.jsonl and config.yaml to Weights & Biases or MLflow.

    scripts/import_run.py wandb OUTPUT/NAME/TAG [PROJECT]
    scripts/import_run.py mlflow OUTPUT/NAME/TAG [EXPERIMENT]

Server and login come from the environment, as usual for both libraries (WANDB_MODE=offline,
MLFLOW_TRACKING_URI). The run is named after its folder; train/..., val/..., and epoch/...
use trainc's step numbers.
"""
import json
import math
import pathlib
import sys

import yaml

KINDS = ("train", "val", "epoch")
AXES = ("kind", "seq", "step", "epoch")


def lines(folder):
    """Yields (step, {"train/loss": ...}) for each line that has a step."""
    step = 0
    for text in (folder / "metrics.jsonl").read_text().splitlines():
        line = json.loads(text)
        step = line.get("step", step)
        if line.get("kind") in KINDS:
            yield step, {
                f"{line['kind']}/{k}": v
                for k, v in line.items()
                if k not in AXES and isinstance(v, (int, float)) and math.isfinite(v)
            }


def flat(node, prefix=""):
    for key, value in node.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def to_wandb(folder, project, config):
    import wandb

    with wandb.init(project=project, name="/".join(folder.parts[-2:]), config=config) as run:
        for step, values in lines(folder):
            run.log(values, step=step)


def to_mlflow(folder, experiment, config):
    import mlflow

    mlflow.set_experiment(experiment)
    with mlflow.start_run(run_name="/".join(folder.parts[-2:])):
        mlflow.log_params(dict(flat(config)))
        for step, values in lines(folder):
            mlflow.log_metrics(values, step=step)


def main():
    to = {"wandb": to_wandb, "mlflow": to_mlflow}
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in to:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2]).resolve()
    with open(folder / "config.yaml") as f:
        config = yaml.safe_load(f)
    to[sys.argv[1]](folder, sys.argv[3] if len(sys.argv) == 4 else "trainc", config)


if __name__ == "__main__":
    main()
