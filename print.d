print.o: src/config/print.c src/base/banned.h src/config/print.h \
  src/base/strbuf.h src/config/config.h src/base/arena.h \
  src/config/choices.h src/config/sections.h src/config/fields.h \
  src/config/section_model.h src/config/dump.h src/config/cfgnode.h \
  src/config/coerce.h src/config/value.h src/config/problems.h \
  src/config/schema.h

src/base/banned.h:

src/config/print.h:

src/base/strbuf.h:

src/config/config.h:

src/base/arena.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/dump.h:

src/config/cfgnode.h:

src/config/coerce.h:

src/config/value.h:

src/config/problems.h:

src/config/schema.h:
