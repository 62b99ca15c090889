optimizer.o: src/cpu/optimizer.c src/base/banned.h src/ops/optimizer.h \
  src/graph/graph.h src/base/arena.h src/graph/op.h src/graph/tensor.h \
  src/ops/update.h src/base/half.h src/base/hostdev.h src/ops/control.h \
  src/cpu/device.h src/cpu/loops.h src/graph/kernel.h src/cpu/kernels.h \
  src/ops/adam_formula.h src/ops/control_formula.h \
  src/ops/schedule_formula.h src/ops/ema.h src/ops/grad_stats.h \
  src/ops/grads_accumulate.h src/ops/accumulation_formula.h \
  src/ops/rmsprop_formula.h src/ops/sgd_formula.h

src/base/banned.h:

src/ops/optimizer.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/ops/update.h:

src/base/half.h:

src/base/hostdev.h:

src/ops/control.h:

src/cpu/device.h:

src/cpu/loops.h:

src/graph/kernel.h:

src/cpu/kernels.h:

src/ops/adam_formula.h:

src/ops/control_formula.h:

src/ops/schedule_formula.h:

src/ops/ema.h:

src/ops/grad_stats.h:

src/ops/grads_accumulate.h:

src/ops/accumulation_formula.h:

src/ops/rmsprop_formula.h:

src/ops/sgd_formula.h:
