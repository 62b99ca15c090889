/*
 * What data_config.h does for data with label pictures: DATA.DATASET cityscapes, list and
 * voc, and synthetic for a model that segments.
 */
#ifndef TRAIN_SCENE_CONFIG_H
#define TRAIN_SCENE_CONFIG_H

#include "config/config.h"
#include "config/problems.h"
#include "dataset/dataset.h"
#include "image/transform.h"
#include "train/data_config.h"

/* Does the configuration describe label pictures? */
bool scene_config(const struct config *cfg);

void scene_check(const struct config *cfg, struct problems *p);

/* The folder or list file of the split, whose name ends in `name`; a heap string. */
char *scene_path(const struct config *cfg, const char *split);

struct dataset *scene_open(const struct config *cfg, const char *split);

/* Of training, or with `train` false of validation. */
struct transform scene_transform(const struct config *cfg, bool train);

#endif
