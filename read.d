read.o: src/dataset/read.c src/base/banned.h src/dataset/read.h \
  src/dataset/dataset.h src/base/strbuf.h src/image/label.h \
  src/image/image.h src/base/alloc.h

src/base/banned.h:

src/dataset/read.h:

src/dataset/dataset.h:

src/base/strbuf.h:

src/image/label.h:

src/image/image.h:

src/base/alloc.h:
