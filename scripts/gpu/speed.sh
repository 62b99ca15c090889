# Items of scripts/check_gpu.sh that measure: they report and never fail. Sourced.

# model:configuration:batch:keys:PyTorch script of scripts/bench with its flags
models() {
  if [ -n "$emulated" ]; then
    echo "resnet20:smoke/shapes.yaml:8::pytorch_train_step.py --model resnet20"
    return
  fi
  echo "resnet50:resnet50.yaml:256::pytorch_train_step.py --model resnet50"
  echo "erfnet:erfnet.yaml:6::pytorch_erfnet_step.py --width 1024 --height 512 --classes 20"
  echo "swin_tiny:swin.yaml:128::pytorch_train_step.py --model swin_tiny_patch4_window7_224"
  echo "vit_small:vit_tiny.yaml:128:MODEL.NAME=vit_small_patch16_224:pytorch_train_step.py --model vit_small_patch16_224"
  echo "convnext_tiny:convnext_tiny.yaml:128::pytorch_train_step.py --model convnext_tiny"
}

row() { # MODEL BATCH WHAT IMAGES_PER_SECOND [NOTE]
  python3 - "$@" >>speed.jsonl <<'EOF'
import json, sys
model, batch, what, rate, *note = sys.argv[1:]
print(json.dumps({"model": model, "batch": int(batch), "dtype": "fp16", "what": what,
                  "images_per_second": float(rate) if rate else None,
                  **({"note": note[0]} if note else {})}))
EOF
  echo "$1, $3: ${4:-none} img/s${5:+ ($5)}"
}
json_value() { # FILE KEY
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2], ""))' "$@" 2>/dev/null
}

ours() { # MODEL CONFIGURATION BATCH [KEY=VALUE...]
  local run=(--cfg "$root/configs/$2" --device cuda -b "$3" --amp-dtype fp16)
  "$trainc" summary "${run[@]}" --json "keep/summary_$1.json" --opts CUDNN.CACHE=plans "${@:4}" >"$1.log" 2>&1
  row "$1" "$3" predicted "$(json_value "keep/summary_$1.json" predicted_images_per_second)"
  timeout --foreground 150 "$trainc" bench "${run[@]}" --seconds 5 --trace --json "keep/bench_$1.json" \
    --opts CUDNN.CACHE=plans CUDNN.BENCHMARK=True "${@:4}" >"keep/bench_$1.txt" 2>&1 || tail -3 "keep/bench_$1.txt"
  row "$1" "$3" trainc "$(json_value "keep/bench_$1.json" images_per_second)"
}

# Without fusion: each convolution in its own plan, and attention with our kernels. Shows the
# benefit of fused plans.
apart() { # MODEL CONFIGURATION BATCH [KEY=VALUE...]
  timeout --foreground 100 "$trainc" bench --cfg "$root/configs/$2" --device cuda -b "$3" --amp-dtype fp16 --seconds 5 \
    --json "keep/apart_$1.json" --opts CUDNN.CACHE=plans CUDNN.BENCHMARK=True CUDNN.FUSE=False "${@:4}" >apart.log 2>&1 || tail -3 apart.log
  row "$1" "$3" apart "$(json_value "keep/apart_$1.json" images_per_second)"
}

theirs() { # MODEL BATCH MODE SCRIPT [FLAG...]
  local rate log=keep/pytorch_$1_$3.txt
  (cd "$root/scripts/bench" && timeout --foreground 100 "$python" "${@:4}" --device cuda --dtype fp16 \
    --batch "$2" --mode "$3" --seconds 5) >"$log" 2>&1
  rate=$(grep -o '[0-9.]* img/s' "$log" | head -1 | cut -d' ' -f1)
  [ -n "$rate" ] && row "$1" "$2" "$3" "$rate" ||
    row "$1" "$2" "$3" "" "PyTorch $3, $1: $(tail -1 "$log" | cut -c1-150)"
}

# Predicted and measured for each model, then without fusion, then PyTorch: most important first,
# because the time limit may end this.
check_speed() {
  local python=${PYTHON:-python3} line name cfg batch keys peer mode
  while IFS=: read -r name cfg batch keys peer; do
    # shellcheck disable=SC2086
    ours "$name" "$cfg" "$batch" $keys
  done < <(models)
  while IFS=: read -r name cfg batch keys peer; do
    # shellcheck disable=SC2086
    case $name in resnet* | erfnet | vit*) apart "$name" "$cfg" "$batch" $keys ;; esac # others have nothing to fuse
  done < <(models)
  "$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>torch.log || {
    line="PyTorch: $(tail -1 torch.log | grep . || echo "it sees no GPU")"
    row "$(models | head -1 | cut -d: -f1)" "$(models | head -1 | cut -d: -f3)" eager "" "$line, so there is no comparison"
    return 0
  }
  for mode in eager compiled; do
    while IFS=: read -r name cfg batch keys peer; do
      # shellcheck disable=SC2086
      theirs "$name" "$batch" $mode $peer
    done < <(models)
  done
}

check_start() { # startup time with and without plans on disk
  [ -z "$emulated" ] || skip "not timed on the emulator"
  make_shapes
  local n
  for n in 1 2; do
    "$trainc" --cfg "$root/configs/smoke/shapes.yaml" --data-path shapes --device cuda \
      --max-steps 1 --output start$n --result start$n.json --opts CUDNN.CACHE=cache \
      CUDNN.DETERMINISTIC=False CUDNN.BENCHMARK=True >start.log 2>&1 ||
      { cat start.log; die "run $n"; }
  done
  python3 - start1.json start2.json <<'EOF'
import json, sys
one, two = (json.load(open(p)) for p in sys.argv[1:3])
opened = [r["device_open_seconds"] for r in (one, two)]
first = [r["first_step_seconds"] for r in (one, two)]
print("device open after %.2f s, again %.2f s; first step after %.2f s, with its plans "
      "on disk %.2f s" % (*opened, *first))
EOF
}

check_bandwidth() { # compares kernels that only move memory with the device's own copy
  [ -z "$emulated" ] || skip "not timed on the emulator"
  "$trainc" bench --ops --device cuda --json keep/bench_ops.json \
    --opts CUDNN.CACHE= CUDNN.BENCHMARK=False >bench.log 2>&1 || { cat bench.log; die "bench"; }
  cat bench.log
  python3 - keep/bench_ops.json <<'EOF'
import json, sys
r = json.load(open(sys.argv[1]))
moves = [s for s in r["steps"] if s["moves"]]
assert moves, "no row moves enough"
low = min(moves, key=lambda s: s["of_copy"])
print("%d of %d rows at 85 %% of the copy's %.0f GB/s; least %.0f %%: %s %s" %
      (r["moves"] - r["below_mark"], r["moves"], r["copy_gb_per_second"],
       100 * low["of_copy"], low["kernel"], low["row"]))
EOF
}
