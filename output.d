output.o: src/train/output.c src/base/banned.h src/train/output.h \
  src/io/csv.h src/io/lines.h src/base/strbuf.h src/io/jsonl.h \
  src/io/json.h src/io/tensorboard.h src/train/checkpoint.h \
  src/train/scores.h src/models/table.h src/graph/graph.h \
  src/base/arena.h src/graph/op.h src/graph/tensor.h \
  src/models/options.h src/ops/init.h src/train/step.h \
  src/graph/program.h src/graph/backend.h src/graph/kernel.h \
  src/ops/control.h src/train/build.h src/train/plan.h \
  src/config/config.h src/config/choices.h src/config/sections.h \
  src/config/fields.h src/config/section_model.h src/graph/precision.h \
  src/ops/accumulation_formula.h src/base/hostdev.h \
  src/ops/control_formula.h src/ops/schedule_formula.h \
  src/train/inflight.h src/train/segmentation.h src/base/alloc.h \
  src/base/error.h src/base/file.h src/base/log.h src/config/dump.h \
  src/config/cfgnode.h src/config/coerce.h src/config/value.h \
  src/config/problems.h src/config/load.h src/config/cmdline.h \
  src/config/schema.h src/config/print.h src/train/saves.h

src/base/banned.h:

src/train/output.h:

src/io/csv.h:

src/io/lines.h:

src/base/strbuf.h:

src/io/jsonl.h:

src/io/json.h:

src/io/tensorboard.h:

src/train/checkpoint.h:

src/train/scores.h:

src/models/table.h:

src/graph/graph.h:

src/base/arena.h:

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

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/graph/precision.h:

src/ops/accumulation_formula.h:

src/base/hostdev.h:

src/ops/control_formula.h:

src/ops/schedule_formula.h:

src/train/inflight.h:

src/train/segmentation.h:

src/base/alloc.h:

src/base/error.h:

src/base/file.h:

src/base/log.h:

src/config/dump.h:

src/config/cfgnode.h:

src/config/coerce.h:

src/config/value.h:

src/config/problems.h:

src/config/load.h:

src/config/cmdline.h:

src/config/schema.h:

src/config/print.h:

src/train/saves.h:
