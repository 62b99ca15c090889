table.o: src/models/table.c src/base/banned.h src/models/table.h \
  src/base/strbuf.h src/graph/graph.h src/base/arena.h src/graph/op.h \
  src/graph/tensor.h src/models/options.h src/ops/init.h \
  src/base/alloc.h src/base/error.h src/base/suggest.h \
  src/models/erfnet.h src/models/resnet.h

src/base/banned.h:

src/models/table.h:

src/base/strbuf.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/models/options.h:

src/ops/init.h:

src/base/alloc.h:

src/base/error.h:

src/base/suggest.h:

src/models/erfnet.h:

src/models/resnet.h:
