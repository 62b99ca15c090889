cases.o: src/ops/cases.c src/base/banned.h src/ops/case_build.h \
  src/ops/cases.h src/graph/graph.h src/base/arena.h src/graph/op.h \
  src/graph/tensor.h src/ops/accumulation_formula.h src/base/hostdev.h \
  src/ops/avgpool2d.h src/ops/batchnorm.h src/ops/batchnorm_parts.h \
  src/ops/conv2d.h src/ops/init.h src/ops/conv_transpose2d.h \
  src/ops/cross_entropy.h src/ops/cross_entropy2d.h src/ops/maxpool2d.h \
  src/ops/mix.h src/ops/pad_shortcut.h src/ops/relu.h

src/base/banned.h:

src/ops/case_build.h:

src/ops/cases.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/ops/accumulation_formula.h:

src/base/hostdev.h:

src/ops/avgpool2d.h:

src/ops/batchnorm.h:

src/ops/batchnorm_parts.h:

src/ops/conv2d.h:

src/ops/init.h:

src/ops/conv_transpose2d.h:

src/ops/cross_entropy.h:

src/ops/cross_entropy2d.h:

src/ops/maxpool2d.h:

src/ops/mix.h:

src/ops/pad_shortcut.h:

src/ops/relu.h:
