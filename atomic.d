atomic.o: src/base/atomic.c src/base/banned.h src/base/atomic.h \
  src/base/alloc.h src/base/file.h src/base/strbuf.h

src/base/banned.h:

src/base/atomic.h:

src/base/alloc.h:

src/base/file.h:

src/base/strbuf.h:
