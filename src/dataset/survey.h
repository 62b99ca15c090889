/*
 * What a data set has of each class, and whether that is enough to learn from: the same
 * words for `trainc init`, `check` and `train`.
 *
 *   struct survey s = {0};
 *   survey_labels(&s, dataset, &limits, 200);
 *   why = survey_judge(&s, dataset, &n); logs warnings; a reason to refuse it
 */
#ifndef DATASET_SURVEY_H
#define DATASET_SURVEY_H

#include "dataset/dataset.h"
#include "image/image.h"

struct survey {
    int64_t count[256]; /* of label maps: pixels of each class, and of LABEL_IGNORE */
    int64_t maps;       /* label maps that were read */
};

/* Adds the classes of one label map. */
void survey_add(struct survey *s, const uint8_t *pixel, int64_t n);

void survey_merge(struct survey *to, const struct survey *from);

/* Reads at most `most` label maps, evenly; damaged ones are passed over. */
void survey_labels(struct survey *s, const struct dataset *d,
                   const struct image_limits *limits, int64_t most);

/*
 * Warns of a data set of one class, and of classes that never occur: with label maps by
 * *s, else (s unused, NULL) by the labels of all samples. Returns why nothing can be
 * learned from it, a heap string: no pixel has a class, or the one class is all there is.
 * NULL: it can. Adds its warnings to *warnings.
 */
char *survey_judge(const struct survey *s, const struct dataset *d, int *warnings);

#endif
