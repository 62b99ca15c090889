data_config.o: src/train/data_config.c src/base/banned.h \
  src/train/data_config.h src/config/config.h src/base/arena.h \
  src/config/choices.h src/config/sections.h src/config/fields.h \
  src/config/section_model.h src/config/problems.h \
  src/dataset/histogram.h src/dataset/dataset.h src/base/strbuf.h \
  src/image/label.h src/image/image.h src/dataset/loader.h \
  src/image/transform.h src/image/augment.h src/base/philox.h \
  src/base/hostdev.h src/image/erase.h src/image/policy.h \
  src/image/resize.h src/image/warp.h src/base/error.h src/base/file.h \
  src/train/scene_config.h

src/base/banned.h:

src/train/data_config.h:

src/config/config.h:

src/base/arena.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/problems.h:

src/dataset/histogram.h:

src/dataset/dataset.h:

src/base/strbuf.h:

src/image/label.h:

src/image/image.h:

src/dataset/loader.h:

src/image/transform.h:

src/image/augment.h:

src/base/philox.h:

src/base/hostdev.h:

src/image/erase.h:

src/image/policy.h:

src/image/resize.h:

src/image/warp.h:

src/base/error.h:

src/base/file.h:

src/train/scene_config.h:
