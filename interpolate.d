interpolate.o: src/config/interpolate.c src/base/banned.h \
  src/config/load.h src/config/cfgnode.h src/config/coerce.h \
  src/config/value.h src/base/arena.h src/base/strbuf.h \
  src/config/problems.h src/config/cmdline.h src/config/config.h \
  src/config/choices.h src/config/sections.h src/config/fields.h \
  src/config/section_model.h src/config/schema.h

src/base/banned.h:

src/config/load.h:

src/config/cfgnode.h:

src/config/coerce.h:

src/config/value.h:

src/base/arena.h:

src/base/strbuf.h:

src/config/problems.h:

src/config/cmdline.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/schema.h:
