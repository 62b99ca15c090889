pnm.o: src/image/pnm.c src/base/banned.h src/image/decoder.h \
  src/image/image.h src/base/strbuf.h

src/base/banned.h:

src/image/decoder.h:

src/image/image.h:

src/base/strbuf.h:
