merge.o: src/config/merge.c src/base/banned.h src/base/alloc.h \
  src/base/suggest.h src/config/cfgnode.h src/config/coerce.h \
  src/config/value.h src/base/arena.h src/base/strbuf.h \
  src/config/problems.h src/config/yaml.h

src/base/banned.h:

src/base/alloc.h:

src/base/suggest.h:

src/config/cfgnode.h:

src/config/coerce.h:

src/config/value.h:

src/base/arena.h:

src/base/strbuf.h:

src/config/problems.h:

src/config/yaml.h:
