#!/bin/bash
# trainc summary for a GPU that is not in this machine, with NVIDIA's cuDNN. Skipped without cuDNN
# and in builds without CUDA.
#
#   tests/e2e/summary_gpu.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" devices --json >devices.json || fail "devices --json"
if ! grep -q '"path": ".*libcudnn' devices.json; then
  echo "skipped: no CUDA in this build, or no cuDNN in this machine"
  exit 77
fi
opts=(--opts CUDNN.CACHE= AMP.DTYPE=fp16)
ask() { # FILE OPTION...: summary of ResNet-50 at batch 256 unless the options differ
  local to=$1
  shift
  "$trainc" summary --cfg "$here/configs/resnet50.yaml" --batch-size 256 "$@" "${opts[@]}" \
    >"$to" 2>log
}

# ResNet-50 at batch 256: the arena, and an engine for each convolution.
ask h200.txt --device h200 --json h200.json || fail "summary"
python3 - h200.json <<'EOF' || fail "what summary says of ResNet-50 on an H200"
import json, sys
s = json.load(open(sys.argv[1]))
arena, bound = s["arena_bytes"], s["lower_bound_bytes"]
assert 8e9 < arena <= 1.1 * bound, (arena, bound)
assert s["fits"] and s["need_bytes"] > arena
convs = [c for c in s["claims"] if c["kernel"].startswith("cuda conv2d")]
assert len(convs) == 3 * 53 - 1, len(convs)  # the images need no gradient
assert all("engine" in c["detail"] for c in convs)
assert max(c["workspace_bytes"] for c in s["claims"]) <= s["memory"]["workspace"]
# Estimated time from each step's bytes and operations, at 132 SMs x 1.98 GHz and 6,144 bits x 3.2
# GHz.
move, fp32, half = 3.201e9 * 2 * 6144 / 8, 132 * 1.98e9 * 256, 132 * 1.98e9 * 4096
tensor = ("cuda conv2d", "cuda linear")
peak = lambda c: half if c["kernel"].startswith(tensor) else fp32
floor = sum(max(c["bytes"] / move, c["flops"] / peak(c)) for c in s["claims"])
likely = [max(c["bytes"] / move / 0.9, c["flops"] / peak(c) / 0.65, 2.5e-6) for c in s["claims"]]
assert abs(s["floor_seconds"] / floor - 1) < 1e-3, (s["floor_seconds"], floor)
assert abs(s["predicted_seconds"] / sum(likely) - 1) < 1e-3, (s["predicted_seconds"], sum(likely))
assert all(abs(c["predicted_seconds"] - t) < 1e-3 * t for c, t in zip(s["claims"], likely))
assert 5000 < s["predicted_images_per_second"] < 12000, s["predicted_images_per_second"]
print("arena %.3f GiB, %.2f %% above its lower bound" % (arena / 2**30, 100 * arena / bound - 100))
EOF

# The statistics of batch norms come with the convolutions; with the stem only where there is a
# driver.
n=$(grep -c '^forward .* cuda conv2d statistics  *batchnorm_stats + conv2d' h200.txt)
[ "$n" = 52 ] || [ "$n" = 53 ] || fail "statistics in convolutions: $n"
ask apart50.txt --device h200 --opts CUDNN.FUSE=False || fail "summary, apart"
grep -q 'cuda conv2d statistics' apart50.txt && fail "CUDNN.FUSE False: statistics in convolutions"

# At the ends of blocks our kernels write and read the masks of relus as bits; with activation
# checkpointing they do not.
bits() { grep -c "^$1 .* cuda batchnorm $2 .*relu_bits" "$3"; }
[ "$(bits forward apply h200.txt) $(bits backward 'gradient sums' h200.txt)" = "16 16" ] || fail "masks as bits"
ask kept.txt --device h200 --use-checkpoint || fail "summary, checkpointed"
grep -q relu_bits kept.txt && fail "masks as bits, checkpointed"

# The largest batch that fits; beyond 2672 a tensor would have 2^31 elements.
ask huge.txt --device h200 --batch-size 4096 || fail "huge"
grep -q "that fits is [0-9]*; beyond 2672 there are tensors of 2^31 elements" huge.txt ||
  fail "huge: $(grep 'out of memory' huge.txt)"

# ERFNet: the last layer and its loss are one region, so its logits are not stored.
"$trainc" summary --cfg "$here/configs/cityscapes/erfnet20.yaml" --device h200 \
  --batch-size 16 "${opts[@]}" >erfnet.txt 2>log || fail "erfnet"
[ "$(grep -c '^\(forward\|backward\) .* cuda head ' erfnet.txt)" = 2 ] ||
  fail "erfnet: the last layer and its loss are not one region each way"
grep '^\(forward\|backward\) ' erfnet.txt | grep -v 'cuda head' | grep -q cross_entropy2d &&
  fail "erfnet: logits are stored"

# The table in docs/gpu.md is the output of summary without a driver; a driver enables more fused
# engines.
for model in erfnet20:cityscapes/erfnet20.yaml:6 swin:swin.yaml:128; do
  IFS=: read -r name file batch <<<"$model"
  "$trainc" summary --cfg "$here/configs/$file" --device h200 --batch-size $batch "${opts[@]}" \
    --json $name.json >$name.txt 2>log || fail "$name"
done
# 21 of Swin's 29 layer norms normalize a sum; 24 of their gradients are added to another one. At
# the end of a stage, other nodes also read the sum.
[ "$(grep -c '^forward .* cuda layernorm  *layernorm + add' swin.txt)" = 21 ] || fail "swin: norms of sums"
[ "$(grep -c '^backward .* cuda layernorm_grad  *layernorm_grad + add' swin.txt)" = 24 ] || fail "swin: gradients of sums"
"$trainc" summary --cfg "$here/configs/swin.yaml" --device h200 --batch-size 128 --use-checkpoint "${opts[@]}" >again.txt 2>log ||
  fail "swin, checkpointed"
again() { grep -c "^backward .*$1 .* cuda layernorm  *layernorm + add" again.txt; }
[ "$(again norm1) $(again norm2)" = "0 12" ] || fail "swin: a block computed again takes along the sum that it begins with"
"$trainc" summary --cfg "$here/configs/swin.yaml" --device h200 --batch-size 128 "${opts[@]}" CUDNN.FUSE=False >apart.txt 2>log ||
  fail "swin, apart"
[ "$(grep -c '^\(forward\|backward\) .* cuda layernorm.* + ' apart.txt)" = 0 ] || fail "CUDNN.FUSE False: norms of sums"

# ConvNeXt-T's 18 depthwise convolutions use trainc's kernels, forward and backward. The
# gradients' kernels include the residual additions, unless fusion is off.
for fuse in True False; do
  "$trainc" summary --cfg "$here/configs/convnext_tiny.yaml" --device h200 --batch-size 32 "${opts[@]}" CUDNN.FUSE=$fuse >convnext.txt 2>log ||
    fail "ConvNeXt"
  [ "$(grep -c '^\(forward\|backward\) .* cuda depthwise ' convnext.txt)" = 36 ] || fail "ConvNeXt, fused $fuse: depthwise convolutions"
  adds=$(grep -c '^backward .* cuda depthwise .*add + ' convnext.txt)
  [ "$adds" = "$([ $fuse = True ] && echo 18 || echo 0)" ] || fail "ConvNeXt, fused $fuse: $adds adds go along"
done

# MODEL.GELU_TANH: linear layers include GELU, and their data gradients its slope. Norms include the
# casts around ViT's fp32 residual sums, forward and backward, except at both ends of the net.
for fuse in True False; do
  "$trainc" summary --cfg "$here/configs/vit_tiny.yaml" --device h200 --batch-size 8 "${opts[@]}" MODEL.GELU_TANH=True CUDNN.FUSE=$fuse >gelu.txt 2>log ||
    fail "ViT with tanh"
  n=$(grep -c '^forward .* cuda linear  *gelu_tanh + linear.* + gelu, its input stored,' gelu.txt)
  grads=$(grep -c '^backward .* cuda linear_data_grad  *gelu_tanh_grad + linear_data_grad.* + gradient of gelu,' gelu.txt)
  [ "$n $grads" = "$([ $fuse = True ] && echo 12 12 || echo 0 0)" ] || fail "GELU in linear layers, fused $fuse: $n forward, $grads backward"
  n=$(grep -c '^forward .* cuda layernorm  *layernorm + cast' gelu.txt)
  grads=$(grep -c '^backward .* cuda layernorm_grad  *layernorm_grad + add + cast' gelu.txt)
  [ "$n $grads" = "$([ $fuse = True ] && echo 24 24 || echo 0 0)" ] || fail "ViT's norms with casts, fused $fuse: $n forward, $grads backward"
done

# The table size limit does not apply to long sequences without a bias table in our kernels.
"$trainc" summary --cfg "$here/configs/vit_tiny.yaml" --device h200 --batch-size 2 "${opts[@]}" DATA.IMG_SIZE=768 CUDNN.FUSE=False >long.txt 2>log ||
  fail "ViT at 768"
[ "$(grep -c '^\(forward\|backward\) .* cuda window_attention[_grad]* mma ' long.txt)" = 24 ] || fail "2,305 tokens: $(grep -m1 window_attention long.txt)"
[[ $trainc = *emulated ]] || python3 - "$here/docs/gpu.md" h200 erfnet20 swin <<'EOF' || fail "docs/gpu.md: what is predicted for each kernel"
import json, re, sys
doc = open(sys.argv[1]).read()
rows = [[c.strip() for c in l.strip("|").split("|")] for l in doc.splitlines() if l.count("|") == 6]
names = {r[0] for r in rows}
wrong = []
for column, model in enumerate(sys.argv[2:], 1):
    moved, claims = {}, json.load(open(model + ".json"))["claims"]
    if any("runtime-compiled" in c.get("detail", "") for c in claims):
        sys.exit()
    for c in claims:
        moved[c["kernel"]] = moved.get(c["kernel"], 0) + c["bytes"]
    times = re.findall(r"^  (cuda .*?) +\d+ +[\d.]+ ms +[\d.]+% +([\d.]+) ms", open(model + ".txt").read(), re.M)
    assert len(times) > 10, model
    for kernel, floor in times:
        name, told = kernel[len("cuda "):], "%.2f GB, %.2f ms" % (moved[kernel] / 1e9, float(floor))
        here = [r[column] for r in rows if r[0] == name]
        if here and here != [told] and not (here[0] in ("", "below 0.005 ms") and float(floor) < 0.005):
            wrong.append("%s, %s: %s, and not %s" % (model, name, told, here[0]))
        if not here and float(floor) >= 0.01:
            wrong.append("%s: no row of %s: %s" % (model, name, told))
print("\n".join(wrong) or "docs/gpu.md: %d kernels as predicted" % len(names))
sys.exit(bool(wrong))
EOF

# The same GPU with 6 GiB, as in the output of trainc devices --json.
cat >small.json <<'EOF'
{"devices":[{"name":"cuda","gpus":[{"index":0,"description":
{"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,
"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,
"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,
"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,
"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,
"totalGlobalMem":6442450944,"smClockRateKHz":1980000,"memClockRateKHz":3201000,
"l2CacheSize":62914560,"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,
"deviceName":"Small GPU"}}]}]}
EOF
ask small.txt --device small.json || fail "small"
expect_line "unknown: the clocks" small.txt
line=$(grep "out of memory: this run needs" small.txt) || fail "no word of a run that does not fit"
largest=$(sed -n 's/.*largest DATA.BATCH_SIZE that fits is \([0-9]*\);.*/\1/p' <<<"$line")
[ -n "$largest" ] || fail "no batch size in: $line"
grep -q "TRAIN.USE_CHECKPOINT True would need" <<<"$line" || fail "no cure in: $line"
ask fits.txt --device small.json --batch-size "$largest" || fail "batch $largest"
grep -q "out of memory" fits.txt && fail "batch $largest does not fit after all"
ask more.txt --device small.json --batch-size $((largest + 8)) || fail "batch $largest + 8"
grep -q "out of memory" more.txt || fail "batch $largest is not the largest"
ask auto.txt --device small.json --batch-size auto || fail "--batch-size auto"
grep -q "^resnet50: batch $largest," auto.txt || fail "auto: $(head -1 auto.txt), not $largest"
ask checkpoint.txt --device small.json --use-checkpoint || fail "--use-checkpoint"
grep -q "out of memory" checkpoint.txt && fail "with checkpointing it does not fit"

# cuDNN from a Python package: its run-time compiler is in another folder and is opened once, not
# for each engine.
from=$(dirname "$(sed -n 's/.*"path": "\(.*libcudnn.so.9\)".*/\1/p' devices.json)")
compiler=$(ls "$from"/libnvrtc.so.?? 2>/dev/null)
if [ -n "$compiler" ]; then
  packages=$dir/packages/nvidia
  mkdir -p "$packages/cudnn/lib" "$packages/cu${compiler##*.}/lib"
  ln -s "$from"/libcudnn*.so.9 "$packages/cudnn/lib/"
  ln -s "$from"/libnvrtc*.so.* "$packages/cu${compiler##*.}/lib/"
  TRAINC_CUDNN=$packages/cudnn/lib/libcudnn.so.9 LD_DEBUG=files LD_DEBUG_OUTPUT=$dir/opened \
    ask packages.txt --device h200 --batch-size 8 || fail "packages"
  n=$(cat opened.* | grep -c 'calling init: .*/libnvrtc\.so')
  [ "$n" = 1 ] || fail "packages: the run-time compiler is opened $n times"
fi

# With a driver, even the toolkit's stub, cuDNN offers engines compiled at run time. Skipped on
# the emulated runtime, which has its own driver.
stub=$(ls "${CUDA_HOME:-/usr/local/cuda}"/lib64/stubs/libcuda.so 2>/dev/null)
if [ -n "$stub" ] && [[ $trainc != *emulated ]]; then
  LD_PRELOAD=$stub ask stub.txt --device h200 --json stub.json || fail "stub"
  expect_line "runtime-compiled" stub.txt
  expect_line "^backward .* cuda conv2d_data_grad .*conv2d_data_grad + add\|add + conv2d_data_grad" stub.txt

  # ResNet-50 with folded batch norms on an H100: bytes, arena, and predicted time of a step.
  for type in fp16 bf16; do
    LD_PRELOAD=$stub "$trainc" summary --cfg "$here/configs/resnet50.yaml" --batch-size 256 --device h100 \
      --json folded.json "${opts[@]}" AMP.DTYPE=$type MODEL.FOLD_BN=auto >folded.txt 2>log || fail "folded, $type"
    python3 - folded.json <<'EOF' || fail "folded, $type"
import json, sys
s = json.load(open(sys.argv[1]))
moved = sum(c["bytes"] for c in s["claims"])
folded = [c for c in s["claims"] if c["kernel"] == "cuda norm_fold"]
assert len(folded) == 17 and all("without TF32" in c["detail"] for c in folded), len(folded)
assert moved <= 64e9, moved
bits = [c for c in s["claims"] if c["kernel"].startswith("cuda conv2d") and any("relu_bits" in o for o in c["ops"])]
assert len(bits) == 2 * 12, len(bits)  # not after a projected shortcut, nor before the head
assert s["arena_bytes"] <= 7.5 * 2**30, s["arena_bytes"]
assert s["predicted_seconds"] <= 30e-3, s["predicted_seconds"]
print("folded: %.1f GB, %.2f ms" % (moved / 1e9, 1e3 * s["predicted_seconds"]))
EOF
  done

  # cuDNN computes attention of ViT-S and ViT-B, forward and backward, in both 16-bit types; the
  # memory plan includes its workspace, such as the sums of dq.
  for model in vit_small:6 vit_base:12; do
    for type in fp16 bf16; do
      for strict in False True; do
        LD_PRELOAD=$stub "$trainc" summary --cfg "$here/configs/vit_tiny.yaml" --device h200 --batch-size 128 --json vit.json \
          "${opts[@]}" AMP.DTYPE=$type MODEL.NAME=${model%:*}_patch16_224 CUDNN.DETERMINISTIC=$strict >vit.txt 2>log ||
          fail "$model"
        python3 - vit.json "${model#*:}" $strict <<'EOF' || fail "${model%:*}, $type, deterministic $strict: attention"
import json, sys
s, heads, strict = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3] == "True"
forward, backward = ([c for c in s["claims"] if c["kernel"] == "cuda " + n] for n in ("attention cudnn", "attention_grad cudnn"))
assert len(forward) == len(backward) == 12, (len(forward), len(backward))
assert all("engine " in c["detail"] and "tensor-core" in c["detail"] for c in forward + backward)
assert all(("any order" in c["detail"]) != strict for c in backward)
lse, dq = 128 * 197 * heads * 4, 128 * 197 * heads * 64 * 4
pairs = 128 * heads * 256 * 256 * 2  # deterministic: gradients of scores, in whole tiles
for c in backward:
    own = c["workspace_bytes"] - 2 * lse
    assert (pairs if strict else dq) <= own < (pairs if strict else dq) + (1 << 20), (own, pairs, dq)
    assert c["workspace_bytes"] <= s["memory"]["workspace"]
assert all(lse <= c["workspace_bytes"] < lse + (1 << 20) for c in forward), forward[0]["workspace_bytes"]
EOF
      done
    done
  done
  LD_PRELOAD=$stub "$trainc" summary --cfg "$here/configs/vit_tiny.yaml" --device h200 --batch-size 128 "${opts[@]}" CUDNN.FUSE=False >vit.txt 2>log ||
    fail "ViT, apart"
  [ "$(grep -c '^\(forward\|backward\) .* cuda window_attention[_grad]* mma ' vit.txt)" = 24 ] || fail "CUDNN.FUSE False: attention"
fi

# A description of a GPU cannot run anything, and an invalid one gives one clear line.
refuses "DEVICE h200 describes a GPU that is not on this machine" "$trainc" bench --device h200 --cfg "$here/configs/resnet50.yaml"
echo '{"deviceName":"half"}' >half.json
ask half.txt --device half.json
[ $? = 1 ] && grep -q 'half.json: a device description needs "' log || fail "half"
ask none.txt --device none.json
[ $? = 1 ] && grep -q "cannot read the device description 'none.json'" log || fail "none"

finish
