model_config.o: src/train/model_config.c src/base/banned.h \
  src/train/model_config.h src/config/config.h src/base/arena.h \
  src/config/choices.h src/config/sections.h src/config/fields.h \
  src/config/section_model.h src/config/problems.h src/models/table.h \
  src/base/strbuf.h src/graph/graph.h src/graph/op.h src/graph/tensor.h \
  src/models/options.h src/ops/init.h src/base/error.h \
  src/train/class_weights.h src/train/segmentation.h

src/base/banned.h:

src/train/model_config.h:

src/config/config.h:

src/base/arena.h:

src/config/choices.h:

src/config/sections.h:

src/config/fields.h:

src/config/section_model.h:

src/config/problems.h:

src/models/table.h:

src/base/strbuf.h:

src/graph/graph.h:

src/graph/op.h:

src/graph/tensor.h:

src/models/options.h:

src/ops/init.h:

src/base/error.h:

src/train/class_weights.h:

src/train/segmentation.h:
