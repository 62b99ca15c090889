/* MODEL.TASK ordinal: the order of the classes. */
#ifndef TRAIN_DATA_ORDER_H
#define TRAIN_DATA_ORDER_H

#include <stdbool.h>

#include "config/config.h"
#include "dataset/dataset.h"

/*
 * Orders the classes of an open data set, for MODEL.TASK ordinal only: as DATA.CLASS_NAMES
 * lists them; else by value if all are numbers; else as the data set has them (lines of
 * classes.txt, or names in byte order). Ends the program if there are too few or too many
 * classes, or if DATA.CLASS_NAMES are others. `log`: logs the order.
 */
void data_order(const struct config *cfg, struct dataset *d, bool log);

/* True if MODEL.TASK reads the key, which otherwise is of label maps. */
bool data_order_reads(const struct config *cfg, const char *key);

#endif
