atfile.o: src/config/atfile.c src/base/banned.h src/config/atfile.h \
  src/config/cmdline.h src/base/arena.h src/config/problems.h \
  src/base/alloc.h src/base/file.h src/base/strbuf.h

src/base/banned.h:

src/config/atfile.h:

src/config/cmdline.h:

src/base/arena.h:

src/config/problems.h:

src/base/alloc.h:

src/base/file.h:

src/base/strbuf.h:
