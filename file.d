file.o: src/base/file.c src/base/banned.h src/base/file.h \
  src/base/alloc.h src/base/atomic.h

src/base/banned.h:

src/base/file.h:

src/base/alloc.h:

src/base/atomic.h:
