bench_loader.o: src/cmd/bench_loader.c src/base/banned.h \
  src/cmd/bench_loader.h src/config/config.h src/base/arena.h \
  src/config/choices.h src/config/sections.h src/config/fields.h \
  src/config/section_model.h src/base/clock.h src/base/error.h \
  src/base/file.h src/base/log.h src/io/json.h src/base/strbuf.h \
  src/train/data_config.h src/config/problems.h src/dataset/histogram.h \
  src/dataset/dataset.h src/image/label.h src/image/image.h \
  src/dataset/loader.h src/image/transform.h src/image/augment.h \
  src/base/philox.h src/base/hostdev.h src/image/erase.h \
  src/image/policy.h src/image/resize.h src/image/warp.h

src/base/banned.h:

src/cmd/bench_loader.h:

src/config/config.h:

src/base/arena.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/base/clock.h:

src/base/error.h:

src/base/file.h:

src/base/log.h:

src/io/json.h:

src/base/strbuf.h:

src/train/data_config.h:

src/config/problems.h:

src/dataset/histogram.h:

src/dataset/dataset.h:

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
