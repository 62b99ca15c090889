cmdline.o: src/config/cmdline.c src/base/banned.h src/config/cmdline.h \
  src/base/arena.h src/config/problems.h src/base/alloc.h \
  src/config/atfile.h src/config/flags.h src/config/schema.h \
  src/config/coerce.h src/config/value.h src/base/strbuf.h \
  src/config/config.h src/config/choices.h src/config/sections.h \
  src/config/fields.h src/config/section_model.h src/config/foreign.h

src/base/banned.h:

src/config/cmdline.h:

src/base/arena.h:

src/config/problems.h:

src/base/alloc.h:

src/config/atfile.h:

src/config/flags.h:

src/config/schema.h:

src/config/coerce.h:

src/config/value.h:

src/base/strbuf.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/foreign.h:
