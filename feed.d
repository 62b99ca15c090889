feed.o: src/train/feed.c src/base/banned.h src/train/feed.h \
  src/config/config.h src/base/arena.h src/config/choices.h \
  src/config/sections.h src/config/fields.h src/config/section_model.h \
  src/config/problems.h src/dataset/loader.h src/dataset/dataset.h \
  src/base/strbuf.h src/image/label.h src/image/image.h \
  src/image/transform.h src/image/augment.h src/base/philox.h \
  src/base/hostdev.h src/image/erase.h src/image/policy.h \
  src/image/resize.h src/image/warp.h src/train/checkpoint.h \
  src/train/scores.h src/io/json.h src/models/table.h src/graph/graph.h \
  src/graph/op.h src/graph/tensor.h src/models/options.h src/ops/init.h \
  src/train/step.h src/graph/program.h src/graph/backend.h \
  src/graph/kernel.h src/ops/control.h src/train/build.h \
  src/train/plan.h src/graph/precision.h src/ops/accumulation_formula.h \
  src/ops/control_formula.h src/ops/schedule_formula.h \
  src/train/inflight.h src/base/alloc.h src/base/error.h \
  src/train/class_weights.h src/train/data_config.h \
  src/dataset/histogram.h

src/base/banned.h:

src/train/feed.h:

src/config/config.h:

src/base/arena.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/problems.h:

src/dataset/loader.h:

src/dataset/dataset.h:

src/base/strbuf.h:

src/image/label.h:

src/image/image.h:

src/image/transform.h:

src/image/augment.h:

src/base/philox.h:

src/base/hostdev.h:

src/image/erase.h:

src/image/policy.h:

src/image/resize.h:

src/image/warp.h:

src/train/checkpoint.h:

src/train/scores.h:

src/io/json.h:

src/models/table.h:

src/graph/graph.h:

src/graph/op.h:

src/graph/tensor.h:

src/models/options.h:

src/ops/init.h:

src/train/step.h:

src/graph/program.h:

src/graph/backend.h:

src/graph/kernel.h:

src/ops/control.h:

src/train/build.h:

src/train/plan.h:

src/graph/precision.h:

src/ops/accumulation_formula.h:

src/ops/control_formula.h:

src/ops/schedule_formula.h:

src/train/inflight.h:

src/base/alloc.h:

src/base/error.h:

src/train/class_weights.h:

src/train/data_config.h:

src/dataset/histogram.h:
