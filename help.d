help.o: src/cmd/help.c src/base/banned.h src/base/error.h \
  src/base/suggest.h src/cmd/cmd.h src/config/cmdline.h src/base/arena.h \
  src/config/problems.h src/config/config.h src/config/choices.h \
  src/config/sections.h src/config/fields.h src/config/section_model.h \
  src/config/dump.h src/config/cfgnode.h src/config/coerce.h \
  src/config/value.h src/base/strbuf.h src/config/schema.h

src/base/banned.h:

src/base/error.h:

src/base/suggest.h:

src/cmd/cmd.h:

src/config/cmdline.h:

src/base/arena.h:

src/config/problems.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/dump.h:

src/config/cfgnode.h:

src/config/coerce.h:

src/config/value.h:

src/base/strbuf.h:

src/config/schema.h:
