cfgnode.o: src/config/cfgnode.c src/base/banned.h src/config/cfgnode.h \
  src/config/coerce.h src/config/value.h src/base/arena.h \
  src/base/strbuf.h src/config/problems.h src/base/alloc.h \
  src/base/error.h

src/base/banned.h:

src/config/cfgnode.h:

src/config/coerce.h:

src/config/value.h:

src/base/arena.h:

src/base/strbuf.h:

src/config/problems.h:

src/base/alloc.h:

src/base/error.h:
