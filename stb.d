stb.o: src/image/stb.c src/base/banned.h src/base/error.h \
  src/image/decoder.h src/image/image.h src/base/strbuf.h

src/base/banned.h:

src/base/error.h:

src/image/decoder.h:

src/image/image.h:

src/base/strbuf.h:
