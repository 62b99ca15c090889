cross_entropy.o: src/cpu/cross_entropy.c src/base/banned.h \
  src/ops/cross_entropy.h src/graph/graph.h src/base/arena.h \
  src/graph/op.h src/graph/tensor.h src/base/error.h src/cpu/device.h \
  src/cpu/loops.h src/graph/kernel.h src/cpu/kernels.h

src/base/banned.h:

src/ops/cross_entropy.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/base/error.h:

src/cpu/device.h:

src/cpu/loops.h:

src/graph/kernel.h:

src/cpu/kernels.h:
