/*
 * Parts of a split: DATA.VAL_FRACTION and DATA.FOLD divide the training split into
 * training and validation images, DATA.FRACTION and DATA.MAX_VAL_IMAGES leave some out.
 */
#ifndef TRAIN_DATA_PART_H
#define TRAIN_DATA_PART_H

#include "config/config.h"
#include "config/problems.h"
#include "train/data_config.h"

/* True if the validation images are part of DATA.TRAIN_SPLIT. An explicit DATA.VAL_SPLIT
 * (of evaluation on a test set, say) takes precedence. */
bool data_part_is_carved(const struct config *cfg);

void data_part_check(const struct config *cfg, struct problems *p);

/* The part of `all`, the open split, that `which` uses: `all` itself where no key asks
 * for less, else a data set that owns it. Dies if a part would be empty. */
struct dataset *data_part(const struct config *cfg, enum data_split which,
                          struct dataset *all);

#endif
