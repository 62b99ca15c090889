csv.o: src/io/csv.c src/base/banned.h src/io/csv.h src/io/lines.h \
  src/base/strbuf.h src/base/error.h src/io/json.h

src/base/banned.h:

src/io/csv.h:

src/io/lines.h:

src/base/strbuf.h:

src/base/error.h:

src/io/json.h:
