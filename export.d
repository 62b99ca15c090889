export.o: src/cmd/export.c src/base/banned.h src/base/alloc.h \
  src/base/error.h src/base/file.h src/base/log.h src/base/strbuf.h \
  src/cmd/cmd.h src/config/cmdline.h src/base/arena.h \
  src/config/problems.h src/config/config.h src/config/choices.h \
  src/config/sections.h src/config/fields.h src/config/section_model.h \
  src/io/safetensors.h src/base/strmap.h

src/base/banned.h:

src/base/alloc.h:

src/base/error.h:

src/base/file.h:

src/base/log.h:

src/base/strbuf.h:

src/cmd/cmd.h:

src/config/cmdline.h:

src/base/arena.h:

src/config/problems.h:

src/config/config.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/io/safetensors.h:

src/base/strmap.h:
