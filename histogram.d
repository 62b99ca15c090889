histogram.o: src/dataset/histogram.c src/base/banned.h \
  src/dataset/histogram.h src/dataset/dataset.h src/base/strbuf.h \
  src/image/label.h src/image/image.h src/dataset/loader.h \
  src/image/transform.h src/image/augment.h src/base/philox.h \
  src/base/hostdev.h src/image/erase.h src/image/policy.h \
  src/image/resize.h src/image/warp.h src/base/alloc.h src/base/clock.h \
  src/base/error.h src/base/file.h src/base/log.h src/dataset/label.h

src/base/banned.h:

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

src/base/alloc.h:

src/base/clock.h:

src/base/error.h:

src/base/file.h:

src/base/log.h:

src/dataset/label.h:
