region.o: src/graph/region.c src/base/banned.h src/base/alloc.h \
  src/base/error.h src/graph/compile.h src/graph/program.h \
  src/graph/backend.h src/graph/kernel.h src/graph/graph.h \
  src/base/arena.h src/graph/op.h src/graph/tensor.h

src/base/banned.h:

src/base/alloc.h:

src/base/error.h:

src/graph/compile.h:

src/graph/program.h:

src/graph/backend.h:

src/graph/kernel.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:
