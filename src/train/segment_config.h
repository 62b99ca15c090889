/*
 * The parts of data_config.h for data with label maps.
 */
#ifndef TRAIN_SEGMENT_CONFIG_H
#define TRAIN_SEGMENT_CONFIG_H

#include "config/config.h"
#include "config/problems.h"
#include "dataset/class_set.h"
#include "image/transform.h"

/* True if the data have label maps: the storage has nothing else, or it may have them and
 * the model is for segmentation. */
bool segment_config(const struct config *cfg);

/* For a verb without a model: afterwards, unless the configuration names a model, the
 * data or the keys for label maps decide whether there are label maps. */
void segment_by_data(void);

/* Returns the class set of DATA.CLASS_SET or DATA.CLASS_COLORS, or NULL if both are
 * empty. Dies if the colors cannot be read, which segment_check() reports before. */
const struct class_set *segment_class_set(const struct config *cfg);

/* Reports mistakes in the keys for label maps, or that they are set without label
 * maps. */
void segment_check(const struct config *cfg, struct problems *p);
/* True if the data have no label maps and the key is one for label maps. */
bool segment_refuses(const struct config *cfg, const char *key);

/* Returns the transform for training or, if `train` is false, for validation. */
struct transform segment_transform(const struct config *cfg, bool train);

#endif
