rules.o: src/config/rules.c src/base/banned.h src/config/config.h \
  src/base/arena.h src/config/choices.h src/config/sections.h \
  src/config/fields.h src/config/section_model.h src/config/problems.h

src/base/banned.h:

src/config/config.h:

src/base/arena.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/problems.h:
