build.o: src/train/build.c src/base/banned.h src/train/build.h \
  src/graph/graph.h src/base/arena.h src/graph/op.h src/graph/tensor.h \
  src/train/plan.h src/config/config.h src/config/choices.h \
  src/config/sections.h src/config/fields.h src/config/section_model.h \
  src/graph/backend.h src/graph/kernel.h src/graph/precision.h \
  src/models/table.h src/base/strbuf.h src/models/options.h \
  src/ops/init.h src/ops/accumulation_formula.h src/base/hostdev.h \
  src/ops/control_formula.h src/ops/control.h src/ops/schedule_formula.h \
  src/base/alloc.h src/base/error.h src/dataset/dataset.h \
  src/image/label.h src/image/image.h src/graph/autodiff.h \
  src/graph/checkpoint.h src/graph/flat.h src/ops/confusion.h \
  src/ops/cross_entropy.h src/ops/cross_entropy2d.h src/ops/ema.h \
  src/ops/grad_stats.h src/ops/grads_accumulate.h src/ops/image.h \
  src/ops/loss_scale.h src/ops/metrics.h src/ops/mix.h \
  src/ops/normalize.h src/ops/optimizer.h src/ops/update.h \
  src/base/half.h src/ops/running_stats.h src/ops/state.h \
  src/ops/table.h src/ops/update_control.h src/train/model_config.h \
  src/config/problems.h

src/base/banned.h:

src/train/build.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/train/plan.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/graph/backend.h:

src/graph/kernel.h:

src/graph/precision.h:

src/models/table.h:

src/base/strbuf.h:

src/models/options.h:

src/ops/init.h:

src/ops/accumulation_formula.h:

src/base/hostdev.h:

src/ops/control_formula.h:

src/ops/control.h:

src/ops/schedule_formula.h:

src/base/alloc.h:

src/base/error.h:

src/dataset/dataset.h:

src/image/label.h:

src/image/image.h:

src/graph/autodiff.h:

src/graph/checkpoint.h:

src/graph/flat.h:

src/ops/confusion.h:

src/ops/cross_entropy.h:

src/ops/cross_entropy2d.h:

src/ops/ema.h:

src/ops/grad_stats.h:

src/ops/grads_accumulate.h:

src/ops/image.h:

src/ops/loss_scale.h:

src/ops/metrics.h:

src/ops/mix.h:

src/ops/normalize.h:

src/ops/optimizer.h:

src/ops/update.h:

src/base/half.h:

src/ops/running_stats.h:

src/ops/state.h:

src/ops/table.h:

src/ops/update_control.h:

src/train/model_config.h:

src/config/problems.h:
