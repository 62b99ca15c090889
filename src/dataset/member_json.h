/*
 * The class in a JSON member of an archive: {"label": 3}, {"cls": "cat"}, {"class": [0,
 * 1, 0]}, or the value alone. Private to src/dataset.
 */
#ifndef DATASET_MEMBER_JSON_H
#define DATASET_MEMBER_JSON_H

#include "dataset/samples.h"

/* What is damaged makes the sample damaged; JSON without a class leaves it without one,
 * and s->hint then says what the first of them has. */
void member_json_label(struct samples *s, struct sample *to, const char *name,
                       const struct dataset_bytes *b);

#endif
