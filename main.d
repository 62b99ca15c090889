main.o: src/main.c src/base/banned.h src/base/error.h src/base/log.h \
  src/base/suggest.h src/base/version.h src/cmd/cmd.h \
  src/config/cmdline.h src/base/arena.h src/config/problems.h \
  src/config/config.h src/config/choices.h src/config/sections.h \
  src/config/fields.h src/config/section_model.h src/config/foreign.h \
  src/config/load.h src/config/cfgnode.h src/config/coerce.h \
  src/config/value.h src/base/strbuf.h src/config/schema.h \
  src/config/print.h src/cpu/spin.h

src/base/banned.h:

src/base/error.h:

src/base/log.h:

src/base/suggest.h:

src/base/version.h:

src/cmd/cmd.h:

src/config/cmdline.h:

src/base/arena.h:

src/config/problems.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/foreign.h:

src/config/load.h:

src/config/cfgnode.h:

src/config/coerce.h:

src/config/value.h:

src/base/strbuf.h:

src/config/schema.h:

src/config/print.h:

src/cpu/spin.h:
