decode.o: src/image/decode.c src/base/banned.h src/base/alloc.h \
  src/base/error.h src/image/decoder.h src/image/image.h \
  src/base/strbuf.h

src/base/banned.h:

src/base/alloc.h:

src/base/error.h:

src/image/decoder.h:

src/image/image.h:

src/base/strbuf.h:
