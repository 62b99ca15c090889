/*
 * Parts of a split: DATA.VAL_FRACTION and DATA.FOLD divide the training split into
 * training and validation images; DATA.FRACTION and DATA.MAX_VAL_IMAGES reduce them.
 */
#ifndef TRAIN_DATA_PART_H
#define TRAIN_DATA_PART_H

#include "config/config.h"
#include "config/problems.h"
#include "train/data_config.h"

/* True if the validation images are part of DATA.TRAIN_SPLIT. An explicit DATA.VAL_SPLIT,
 * such as a test set to evaluate on, takes precedence. */
bool data_part_is_carved(const struct config *cfg);

void data_part_check(const struct config *cfg, struct problems *p);

/* Returns the part of the open split `all` that `which` uses: a data set that owns `all`,
 * or `all` itself if no key selects a part. Dies if the part is empty. */
struct dataset *data_part(const struct config *cfg, enum data_split number,
                          struct dataset *all);

#endif
