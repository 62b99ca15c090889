transform.o: src/image/transform.c src/base/banned.h \
  src/image/transform.h src/image/augment.h src/base/philox.h \
  src/base/hostdev.h src/image/erase.h src/image/image.h \
  src/base/strbuf.h src/image/label.h src/image/policy.h \
  src/image/resize.h src/image/warp.h src/base/alloc.h src/base/error.h \
  src/image/enhance.h

src/base/banned.h:

src/image/transform.h:

src/image/augment.h:

src/base/philox.h:

src/base/hostdev.h:

src/image/erase.h:

src/image/image.h:

src/base/strbuf.h:

src/image/label.h:

src/image/policy.h:

src/image/resize.h:

src/image/warp.h:

src/base/alloc.h:

src/base/error.h:

src/image/enhance.h:
