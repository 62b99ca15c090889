summary.o: src/cmd/summary.c src/base/banned.h src/base/alloc.h \
  src/base/error.h src/base/file.h src/base/strbuf.h src/cmd/cmd.h \
  src/config/cmdline.h src/base/arena.h src/config/problems.h \
  src/config/config.h src/config/choices.h src/config/sections.h \
  src/config/fields.h src/config/section_model.h src/graph/flat.h \
  src/graph/graph.h src/graph/op.h src/graph/tensor.h \
  src/graph/program.h src/graph/backend.h src/graph/kernel.h \
  src/io/json.h src/models/count.h src/models/table.h \
  src/models/options.h src/ops/init.h src/ops/op_bench.h \
  src/ops/case_run.h src/ops/cases.h src/ops/accumulation_formula.h \
  src/base/hostdev.h src/train/fit.h src/train/step.h src/ops/control.h \
  src/train/build.h src/train/plan.h src/graph/precision.h \
  src/ops/control_formula.h src/ops/schedule_formula.h \
  src/train/inflight.h src/train/model_config.h

src/base/banned.h:

src/base/alloc.h:

src/base/error.h:

src/base/file.h:

src/base/strbuf.h:

src/cmd/cmd.h:

src/config/cmdline.h:

src/base/arena.h:

src/config/problems.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/graph/flat.h:

src/graph/graph.h:

src/graph/op.h:

src/graph/tensor.h:

src/graph/program.h:

src/graph/backend.h:

src/graph/kernel.h:

src/io/json.h:

src/models/count.h:

src/models/table.h:

src/models/options.h:

src/ops/init.h:

src/ops/op_bench.h:

src/ops/case_run.h:

src/ops/cases.h:

src/ops/accumulation_formula.h:

src/base/hostdev.h:

src/train/fit.h:

src/train/step.h:

src/ops/control.h:

src/train/build.h:

src/train/plan.h:

src/graph/precision.h:

src/ops/control_formula.h:

src/ops/schedule_formula.h:

src/train/inflight.h:

src/train/model_config.h:
