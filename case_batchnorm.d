case_batchnorm.o: src/ops/case_batchnorm.c src/base/banned.h \
  src/ops/case_build.h src/ops/cases.h src/graph/graph.h \
  src/base/arena.h src/graph/op.h src/graph/tensor.h \
  src/ops/accumulation_formula.h src/base/hostdev.h src/ops/add.h \
  src/ops/batchnorm.h src/ops/batchnorm_parts.h src/ops/image.h \
  src/ops/maxpool2d.h src/ops/relu.h

src/base/banned.h:

src/ops/case_build.h:

src/ops/cases.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/ops/accumulation_formula.h:

src/base/hostdev.h:

src/ops/add.h:

src/ops/batchnorm.h:

src/ops/batchnorm_parts.h:

src/ops/image.h:

src/ops/maxpool2d.h:

src/ops/relu.h:
