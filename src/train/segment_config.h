/*
 * What data_config.h does for data with label maps.
 */
#ifndef TRAIN_SEGMENT_CONFIG_H
#define TRAIN_SEGMENT_CONFIG_H

#include "config/config.h"
#include "config/problems.h"
#include "dataset/class_set.h"
#include "image/transform.h"

/* Does the configuration describe label maps? Those of a storage that has no others, or
 * of one that has both if the model segments. */
bool segment_config(const struct config *cfg);

/* For a verb without a model: from here on the data, or keys of label maps, say whether
 * there are label maps, unless the configuration names a model. */
void segment_by_data(void);

/* The set of DATA.CLASS_SET or DATA.CLASS_COLORS; NULL: none. Ends the program if the
 * colours cannot be read, which segment_check tells before. */
const struct class_set *segment_class_set(const struct config *cfg);

/* What is wrong with the keys of label maps, or that they are set without label maps. */
void segment_check(const struct config *cfg, struct problems *p);
/* Without label maps: is it a key that segment_check wants to be left at its default? */
bool segment_refuses(const struct config *cfg, const char *key);

/* For training or, with `train` false, for validation. */
struct transform segment_transform(const struct config *cfg, bool train);

#endif
