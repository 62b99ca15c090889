schema.o: src/config/schema.c src/base/banned.h src/config/schema.h \
  src/config/coerce.h src/config/value.h src/base/arena.h \
  src/base/strbuf.h src/config/config.h src/config/choices.h \
  src/config/sections.h src/config/fields.h src/config/section_model.h \
  src/base/log.h

src/base/banned.h:

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

src/base/log.h:
