dataset.o: src/dataset/dataset.c src/base/banned.h src/dataset/dataset.h \
  src/base/strbuf.h src/image/label.h src/image/image.h src/base/error.h

src/base/banned.h:

src/dataset/dataset.h:

src/base/strbuf.h:

src/image/label.h:

src/image/image.h:

src/base/error.h:
