/*
 * Parses the class in a JSON member of an archive: {"label": 3}, {"cls": "cat"},
 * {"class": [0, 1, 0]}, or only the value. Private to src/dataset.
 */
#ifndef DATASET_MEMBER_JSON_H
#define DATASET_MEMBER_JSON_H

#include "dataset/samples.h"

/* Sets the label. Invalid JSON marks the sample as damaged. JSON without a class leaves
 * it unlabeled; s->hint then describes the fields of the first such member. */
void member_json_label(struct samples *s, struct sample *dst, const char *name,
                       const struct dataset_bytes *b);

#endif
