row.o: src/config/row.c src/base/banned.h src/base/error.h \
  src/base/suggest.h src/config/schema.h src/config/coerce.h \
  src/config/value.h src/base/arena.h src/base/strbuf.h \
  src/config/config.h src/config/choices.h src/config/sections.h \
  src/config/fields.h src/config/section_model.h

src/base/banned.h:

src/base/error.h:

src/base/suggest.h:

src/config/schema.h:

src/config/coerce.h:

src/config/value.h:

src/base/arena.h:

src/base/strbuf.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:
