dropout.o: src/cpu/dropout.c src/base/banned.h src/ops/dropout.h \
  src/graph/graph.h src/base/arena.h src/graph/op.h src/graph/tensor.h \
  src/cpu/device.h src/cpu/loops.h src/graph/kernel.h src/cpu/kernels.h \
  src/cpu/rows.h src/ops/image.h src/cpu/scalar.h src/base/half.h \
  src/base/hostdev.h src/ops/control.h src/ops/dropout_formula.h \
  src/base/philox.h src/ops/pointwise.h src/ops/sigmoid.h

src/base/banned.h:

src/ops/dropout.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/cpu/device.h:

src/cpu/loops.h:

src/graph/kernel.h:

src/cpu/kernels.h:

src/cpu/rows.h:

src/ops/image.h:

src/cpu/scalar.h:

src/base/half.h:

src/base/hostdev.h:

src/ops/control.h:

src/ops/dropout_formula.h:

src/base/philox.h:

src/ops/pointwise.h:

src/ops/sigmoid.h:
