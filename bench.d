bench.o: src/cmd/bench.c src/base/banned.h src/base/alloc.h \
  src/base/clock.h src/base/error.h src/base/file.h src/base/philox.h \
  src/base/hostdev.h src/cmd/bench_convs.h src/train/step.h \
  src/graph/program.h src/graph/backend.h src/graph/kernel.h \
  src/graph/graph.h src/base/arena.h src/graph/op.h src/graph/tensor.h \
  src/ops/control.h src/train/build.h src/train/plan.h \
  src/config/config.h src/config/choices.h src/config/sections.h \
  src/config/fields.h src/config/section_model.h src/graph/precision.h \
  src/models/table.h src/base/strbuf.h src/models/options.h \
  src/ops/init.h src/ops/accumulation_formula.h \
  src/ops/control_formula.h src/ops/schedule_formula.h \
  src/train/inflight.h src/cmd/bench_copy.h src/cmd/bench_loader.h \
  src/cmd/bench_ops.h src/cmd/bench_program.h src/cmd/cmd.h \
  src/config/cmdline.h src/config/problems.h src/io/json.h \
  src/train/data_config.h src/dataset/histogram.h src/dataset/dataset.h \
  src/image/label.h src/image/image.h src/dataset/loader.h \
  src/image/transform.h src/image/augment.h src/image/erase.h \
  src/image/policy.h src/image/resize.h src/image/warp.h \
  src/train/devices.h src/train/model_config.h

src/base/banned.h:

src/base/alloc.h:

src/base/clock.h:

src/base/error.h:

src/base/file.h:

src/base/philox.h:

src/base/hostdev.h:

src/cmd/bench_convs.h:

src/train/step.h:

src/graph/program.h:

src/graph/backend.h:

src/graph/kernel.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/ops/control.h:

src/train/build.h:

src/train/plan.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/graph/precision.h:

src/models/table.h:

src/base/strbuf.h:

src/models/options.h:

src/ops/init.h:

src/ops/accumulation_formula.h:

src/ops/control_formula.h:

src/ops/schedule_formula.h:

src/train/inflight.h:

src/cmd/bench_copy.h:

src/cmd/bench_loader.h:

src/cmd/bench_ops.h:

src/cmd/bench_program.h:

src/cmd/cmd.h:

src/config/cmdline.h:

src/config/problems.h:

src/io/json.h:

src/train/data_config.h:

src/dataset/histogram.h:

src/dataset/dataset.h:

src/image/label.h:

src/image/image.h:

src/dataset/loader.h:

src/image/transform.h:

src/image/augment.h:

src/image/erase.h:

src/image/policy.h:

src/image/resize.h:

src/image/warp.h:

src/train/devices.h:

src/train/model_config.h:
