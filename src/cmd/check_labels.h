/* What `trainc check` says of the labels of whole images: classes or targets. */
#ifndef CMD_CHECK_LABELS_H
#define CMD_CHECK_LABELS_H

#include "dataset/inspect.h"

/* True if sample i of `a` and sample k of `b` have different classes or targets. False for
 * label maps. */
bool check_labels_differ(const struct dataset *a, int64_t i, const struct dataset *b,
                         int64_t k);

/* Prints "; 3 classes of 10 ('a') to 20 ('b') images", or the range of each target; nothing
 * for label maps. Damaged images are not counted. */
void check_print_labels(const struct dataset *d, const struct inspected *found);

#endif
