case_build.o: src/ops/case_build.c src/base/banned.h src/ops/case_build.h \
  src/ops/cases.h src/graph/graph.h src/base/arena.h src/graph/op.h \
  src/graph/tensor.h src/ops/accumulation_formula.h src/base/hostdev.h \
  src/base/error.h src/ops/add.h src/ops/avgpool2d.h src/ops/batchnorm.h \
  src/ops/cast.h src/ops/concat.h src/ops/confusion.h src/ops/conv2d.h \
  src/ops/init.h src/ops/conv_transpose2d.h src/ops/cross_entropy.h \
  src/ops/cross_entropy2d.h src/ops/dropout.h src/ops/global_avgpool.h \
  src/ops/linear.h src/ops/loss_scale.h src/ops/maxpool2d.h \
  src/ops/metrics.h src/ops/mix.h src/ops/normalize.h \
  src/ops/pad_shortcut.h src/ops/relu.h src/ops/scale_channels.h \
  src/ops/sigmoid.h src/ops/state.h

src/base/banned.h:

src/ops/case_build.h:

src/ops/cases.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/ops/accumulation_formula.h:

src/base/hostdev.h:

src/base/error.h:

src/ops/add.h:

src/ops/avgpool2d.h:

src/ops/batchnorm.h:

src/ops/cast.h:

src/ops/concat.h:

src/ops/confusion.h:

src/ops/conv2d.h:

src/ops/init.h:

src/ops/conv_transpose2d.h:

src/ops/cross_entropy.h:

src/ops/cross_entropy2d.h:

src/ops/dropout.h:

src/ops/global_avgpool.h:

src/ops/linear.h:

src/ops/loss_scale.h:

src/ops/maxpool2d.h:

src/ops/metrics.h:

src/ops/mix.h:

src/ops/normalize.h:

src/ops/pad_shortcut.h:

src/ops/relu.h:

src/ops/scale_channels.h:

src/ops/sigmoid.h:

src/ops/state.h:
