coerce.o: src/config/coerce.c src/base/banned.h src/config/coerce.h \
  src/config/value.h src/base/arena.h src/base/strbuf.h \
  src/config/literal.h

src/base/banned.h:

src/config/coerce.h:

src/config/value.h:

src/base/arena.h:

src/base/strbuf.h:

src/config/literal.h:
