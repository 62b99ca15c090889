global_avgpool.o: src/cpu/global_avgpool.c src/base/banned.h \
  src/ops/global_avgpool.h src/graph/graph.h src/base/arena.h \
  src/graph/op.h src/graph/tensor.h src/cpu/device.h src/cpu/loops.h \
  src/graph/kernel.h src/cpu/kernels.h src/ops/image.h \
  src/ops/scale_channels.h

src/base/banned.h:

src/ops/global_avgpool.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/cpu/device.h:

src/cpu/loops.h:

src/graph/kernel.h:

src/cpu/kernels.h:

src/ops/image.h:

src/ops/scale_channels.h:
