onednn.o: src/cpu/onednn.c src/base/banned.h src/cpu/onednn.h \
  src/graph/tensor.h src/base/alloc.h src/base/error.h

src/base/banned.h:

src/cpu/onednn.h:

src/graph/tensor.h:

src/base/alloc.h:

src/base/error.h:
