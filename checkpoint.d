checkpoint.o: src/train/checkpoint.c src/base/banned.h \
  src/train/checkpoint.h src/base/strbuf.h src/train/scores.h \
  src/io/json.h src/models/table.h src/graph/graph.h src/base/arena.h \
  src/graph/op.h src/graph/tensor.h src/models/options.h src/ops/init.h \
  src/train/step.h src/graph/program.h src/graph/backend.h \
  src/graph/kernel.h src/ops/control.h src/train/build.h \
  src/train/plan.h src/config/config.h src/config/choices.h \
  src/config/sections.h src/config/fields.h src/config/section_model.h \
  src/graph/precision.h src/ops/accumulation_formula.h \
  src/base/hostdev.h src/ops/control_formula.h \
  src/ops/schedule_formula.h src/train/inflight.h src/base/alloc.h \
  src/base/error.h src/base/log.h src/dataset/dataset.h \
  src/image/label.h src/image/image.h src/train/statedict.h \
  src/graph/flat.h src/io/safetensors.h src/base/strmap.h

src/base/banned.h:

src/train/checkpoint.h:

src/base/strbuf.h:

src/train/scores.h:

src/io/json.h:

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

src/base/alloc.h:

src/base/error.h:

src/base/log.h:

src/dataset/dataset.h:

src/image/label.h:

src/image/image.h:

src/train/statedict.h:

src/graph/flat.h:

src/io/safetensors.h:

src/base/strmap.h:
