# Items of scripts/check_gpu.sh that measure: they report and never fail. Sourced.

# model:configuration:batch:keys:PyTorch script of scripts/bench with its flags
models() {
  if [ -n "$emulated" ]; then
    echo "resnet20:smoke/shapes.yaml:8::pytorch_train_step.py --model resnet20"
    return
  fi
  echo "resnet50:resnet50.yaml:256::pytorch_train_step.py --model resnet50"
  [ -n "$quick" ] || echo "erfnet:erfnet.yaml:6::pytorch_erfnet_step.py --width 1024 --height 512 --classes 20"
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
  timeout --foreground 150 "$trainc" bench "${run[@]}" --seconds "${emulated:+0.}5" --trace --json "keep/bench_$1.json" \
    --opts CUDNN.CACHE=plans CUDNN.BENCHMARK=True "${@:4}" >"keep/bench_$1.txt" 2>&1 || tail -3 "keep/bench_$1.txt"
  row "$1" "$3" trainc "$(json_value "keep/bench_$1.json" images_per_second)"
}

# Without fusion (each convolution in its own plan, attention with our kernels), or with folded
# batch norms: shows the benefit of each.
apart() { # WHAT MODEL CONFIGURATION BATCH [KEY=VALUE...]
  timeout --foreground 100 "$trainc" bench --cfg "$root/configs/$3" --device cuda -b "$4" --amp-dtype fp16 --seconds "${emulated:+0.}5" \
    --json "keep/$1_$2.json" --opts CUDNN.CACHE=plans CUDNN.BENCHMARK=True "${@:5}" >apart.log 2>&1 || tail -3 apart.log
  row "$2" "$4" "$1" "$(json_value "keep/$1_$2.json" images_per_second)"
}

# The largest batch of MLPerf's ResNet-50.
larger() {
  local name cfg batch keys peer
  IFS=: read -r name cfg batch keys peer < <(models)
  [ -n "$emulated" ] && batch=16 || batch=400
  # shellcheck disable=SC2086
  apart trainc "$name" "$cfg" $batch $keys
}

# PyTorch must not compile while it is timed, nor while trainc is: a call with --seconds 0 leaves its
# kernels in the caches of Inductor and Triton.
pytorch() { # MODEL BATCH MODE SECONDS SCRIPT [FLAG...]
  (cd "$root/scripts/bench" && PYTHONPATH="$root/python" timeout --foreground 150 "$python" "${@:5}" --device cuda --dtype fp16 \
    --batch "$2" --mode "$3" --seconds "$4") >"keep/pytorch_$1_$3.txt" 2>&1
}
warm() { # MODEL BATCH SCRIPT [FLAG...]
  [ -e "$CHECK_DIR/warm_$1" ] || pytorch "$1" "$2" max-autotune 0 "${@:3}" && touch "$CHECK_DIR/warm_$1"
}
theirs() { # MODEL BATCH eager|compiled SCRIPT [FLAG...]
  local rate mode=$3 log note=
  if [ "$3" = compiled ]; then
    mode=max-autotune
    [ -n "$quick" ] || warm "$1" "$2" "${@:4}"
    [ -e "$CHECK_DIR/warm_$1" ] || note="PyTorch compiled, $1: its caches were not warm"
  fi
  log=keep/pytorch_$1_$mode.txt
  pytorch "$1" "$2" "$mode" 5 "${@:4}"
  rate=$(grep -o '[0-9.]* img/s' "$log" | head -1 | cut -d' ' -f1)
  [ -n "$rate" ] && row "$1" "$2" "$3" "$rate" "$note" ||
    row "$1" "$2" "$3" "" "PyTorch $3, $1: $(tail -1 "$log" | cut -c1-150)"
}
has_torch() {
  "$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>torch.log
}

# QUICK: compiles PyTorch's models in the background while items run that time nothing.
warm_all() {
  local name cfg batch keys peer
  cd "$CHECK_DIR" && has_torch || return 0
  while IFS=: read -r name cfg batch keys peer; do
    # shellcheck disable=SC2086
    warm "$name" "$batch" $peer
  done < <(models)
}

each_model() { # FUNCTION: calls it with MODEL CONFIGURATION BATCH KEYS PYTORCH
  local name cfg batch keys peer
  while IFS=: read -r name cfg batch keys peer; do
    "$1" "$name" "$cfg" "$batch" "$keys" "$peer" </dev/null
  done < <(models)
}
# shellcheck disable=SC2086
measure_ours() { ours "$1" "$2" "$3" $4; }
measure_variants() { # what the fused kernels gain, and with QUICK also folded batch norms
  # shellcheck disable=SC2086
  case ${quick:+quick}$1 in
    resnet* | erfnet | vit* | quickvit*) apart apart "$1" "$2" "$3" CUDNN.FUSE=False $4 ;; # others have nothing to fuse
    quickresnet*) apart folded "$1" "$2" "$3" MODEL.FOLD_BN=auto $4 ;;
  esac
}
# shellcheck disable=SC2086
measure_compiled() { theirs "$1" "$3" compiled $5; }
# shellcheck disable=SC2086
measure_eager() { # QUICK: only the first model
  [ -n "$quick" ] && [ -e eager.done ] || theirs "$1" "$3" eager $5
  touch eager.done
}

# Predicted and measured for each model, then variants, then PyTorch: most important first, because
# the time limit may end this.
check_speed() {
  local python=${PYTHON:-python3} line
  each_model measure_ours
  each_model measure_variants
  [ -z "$quick" ] || larger
  has_torch || {
    line="PyTorch: $(tail -1 torch.log | grep . || echo "it sees no GPU")"
    row "$(models | head -1 | cut -d: -f1)" "$(models | head -1 | cut -d: -f3)" eager "" "$line, so there is no comparison"
    return 0
  }
  each_model measure_compiled
  each_model measure_eager
}

# Plain and fused nodes, epilogues, and folded batch norms.
check_nodes() {
  local python=${PYTHON:-python3}
  [ -x "$tests/cuda/bench_nodes" ] || die "there is no bench_nodes in $tests"
  (cd "$root" && "$tests/cuda/bench_nodes" --json "$CHECK_DIR/keep/nodes.json" ${emulated:+--small}) || die "bench_nodes"
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
