folder.o: src/dataset/folder.c src/base/banned.h src/base/alloc.h \
  src/base/arena.h src/base/error.h src/base/file.h src/base/log.h \
  src/dataset/dataset.h src/base/strbuf.h src/image/label.h \
  src/image/image.h src/dataset/read.h

src/base/banned.h:

src/base/alloc.h:

src/base/arena.h:

src/base/error.h:

src/base/file.h:

src/base/log.h:

src/dataset/dataset.h:

src/base/strbuf.h:

src/image/label.h:

src/image/image.h:

src/dataset/read.h:
