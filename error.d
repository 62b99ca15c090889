error.o: src/base/error.c src/base/banned.h src/base/error.h

src/base/banned.h:

src/base/error.h:
