concat.o: src/cpu/concat.c src/base/banned.h src/ops/concat.h \
  src/graph/graph.h src/base/arena.h src/graph/op.h src/graph/tensor.h \
  src/cpu/device.h src/cpu/loops.h src/graph/kernel.h src/cpu/kernels.h \
  src/ops/image.h

src/base/banned.h:

src/ops/concat.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/cpu/device.h:

src/cpu/loops.h:

src/graph/kernel.h:

src/cpu/kernels.h:

src/ops/image.h:
