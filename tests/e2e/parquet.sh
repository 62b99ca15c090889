#!/bin/bash
# scripts/parquet.py converts a Parquet data set, as on Hugging Face, to tar files that trainc can
# train on.
#
#   tests/e2e/parquet.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
script=$here/scripts/parquet.py
python=${PYTHON:-python3}
"$python" -c 'import pyarrow' 2>/dev/null || { echo "parquet: skipped: $python has no pyarrow"; exit 77; }

"$trainc" synth shapes --out shapes --classes 3 --train 30 --val 9 --size 32 >log 2>&1 || { fail "synth"; finish; }
"$python" - <<'P' || { fail "pyarrow"; finish; }
import json, pathlib, pyarrow as pa, pyarrow.parquet as pq
names = sorted(p.name for p in pathlib.Path("shapes/train").iterdir())
pathlib.Path("hf/data").mkdir(parents=True)
for split, file in (("train", "train-00000-of-00001"), ("val", "validation-00000-of-00001")):
    rows = [(p.read_bytes(), p.name, names.index(p.parent.name)) for p in sorted(pathlib.Path("shapes", split).rglob("*.*"))]
    images = [{"bytes": b, "path": n} for b, n, _ in rows]
    table = pa.table({"image": images, "label": [k for _, _, k in rows]})
    info = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
    pq.write_table(table.replace_schema_metadata({"huggingface": json.dumps(info)}), f"hf/data/{file}.parquet")
pq.write_table(pa.table({"x": [1]}), "odd.parquet")
P
"$python" "$script" hf tar >log 2>&1 || { fail "the script"; finish; }
grep -qx "train: 30 images" log && grep -qx "val: 9 images" log || fail "counts"
[ "$(wc -l <tar/classes.txt)" = 3 ] || fail "names of the classes"
"$trainc" check --data-path tar --dataset tar --model resnet20 --num-classes 3 --img-size 32 >log 2>&1 || fail "check"
expect_line "train: 30 images.* 3 classes of 10 images"
"$trainc" train --data-path tar --dataset tar --model resnet20 --num-classes 3 --img-size 32 -b 4 --max-steps 2 \
  --warmup-epochs 0 --mixup 0 --cutmix 0 >log 2>&1 || fail "training"
"$python" "$script" odd.parquet out >log 2>&1 && fail "a file without images was taken"
expect_line "odd.parquet: no column of image; name it by --image: x"

finish
