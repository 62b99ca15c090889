/*
 * TRAIN.CLASS_WEIGHTS: what the pixels of each class weigh in the loss of a segmentation,
 * the mean of which is sum(w_y loss) / sum(w_y): a list, or from the training labels by
 * the formula of dataset/histogram.h.
 */
#ifndef TRAIN_CLASS_WEIGHTS_H
#define TRAIN_CLASS_WEIGHTS_H

#include "config/config.h"

struct dataset;
struct safetensors;

/*
 * Fills weight[MODEL.NUM_CLASSES]; false: all weigh 1, and `weight` is untouched. `train`
 * may be NULL for an evaluation, whose loss is that of the validation in training: then
 * `auto` are those in the checkpoint, and without them it opens the training data itself;
 * if these are not there either, it warns, and all weigh 1.
 */
bool class_weights(const struct config *cfg, const struct dataset *train, float *weight);

/* Warns if a run goes on from a file that was trained with others; NULL: all weigh 1. */
void class_weights_compare(const struct safetensors *file, const float *weight,
                           int64_t classes);

#endif
