log.o: src/base/log.c src/base/banned.h src/base/log.h src/base/error.h \
  src/base/strbuf.h src/base/strmap.h

src/base/banned.h:

src/base/log.h:

src/base/error.h:

src/base/strbuf.h:

src/base/strmap.h:
