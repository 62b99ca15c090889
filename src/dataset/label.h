/* Reads, decodes, maps, and validates the label map of a sample. */
#ifndef DATASET_LABEL_H
#define DATASET_LABEL_H

#include "dataset/dataset.h"

/*
 * Fills r with classes and LABEL_IGNORE. Returns a negative value and a reason that names
 * the label file and, for an invalid value, the pixel and the value. `bytes` is a
 * reusable buffer.
 */
int dataset_label_map(const struct dataset *d, int64_t i,
                      const struct image_limits *limits, struct dataset_bytes *bytes,
                      struct label_reader *r, struct strbuf *why);

/* Appends bytes that identify the meaning of values or colors in label files. */
void dataset_add_label_meaning(const struct dataset *d, struct strbuf *out);

#endif
