/*
 * Counts the classes of a data set and decides whether a model can learn from them.
 * `trainc init`, `check`, and `train` print the same messages.
 *
 *   struct survey s = {0};
 *   survey_labels(&s, dataset, &limits, 200);
 *   why = survey_judge(&s, dataset, &n);  logs warnings; why: a reason to refuse, or NULL
 */
#ifndef DATASET_SURVEY_H
#define DATASET_SURVEY_H

#include "dataset/dataset.h"
#include "image/image.h"

struct survey {
    int64_t count[256]; /* pixels of label maps, per class and of LABEL_IGNORE */
    int64_t maps;       /* number of label maps */
};

/* Adds the classes of one label map. */
void survey_add(struct survey *s, const uint8_t *pixel, int64_t n);

void survey_merge(struct survey *dst, const struct survey *src);

/* Reads at most `max_samples` evenly spaced label maps; skips damaged ones. */
void survey_labels(struct survey *s, const struct dataset *d,
                   const struct image_limits *limits, int64_t max_samples);

/*
 * Warns about a data set with one class, and about classes that never occur. Uses *s for
 * label maps; otherwise uses the labels of all samples, and s may be NULL. Returns why
 * nothing can be learned (no pixel has a class, or all have the same), a heap string, or
 * NULL. Adds the number of warnings to *warnings.
 */
char *survey_judge(const struct survey *s, const struct dataset *d, int *warnings);

#endif
