problems.o: src/config/problems.c src/base/banned.h src/config/problems.h \
  src/base/alloc.h src/base/error.h src/base/strbuf.h

src/base/banned.h:

src/config/problems.h:

src/base/alloc.h:

src/base/error.h:

src/base/strbuf.h:
