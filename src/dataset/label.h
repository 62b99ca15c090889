/*
 * A sample's label map as classes: read, decoded, its values mapped and checked.
 */
#ifndef DATASET_LABEL_H
#define DATASET_LABEL_H

#include "dataset/dataset.h"

/*
 * Classes and LABEL_IGNORE into r. -1 and a reason that names the label file, and the
 * pixel and the value if it is one that is no class. `bytes` is memory to be used.
 */
int dataset_label_map(const struct dataset *d, int64_t i,
                      const struct image_limits *limits, struct dataset_bytes *bytes,
                      struct label_reader *r, struct strbuf *why);

/* Appends bytes that differ if the values or colours of label files mean something else. */
void dataset_add_label_meaning(const struct dataset *d, struct strbuf *out);

#endif
