/*
 * TRAIN.CLASS_WEIGHTS: what the pixels of each class weigh in the loss of a segmentation,
 * the mean of which is sum(w_y loss) / sum(w_y).
 */
#ifndef TRAIN_CLASS_WEIGHTS_H
#define TRAIN_CLASS_WEIGHTS_H

#include "config/config.h"
#include "config/problems.h"

struct dataset;

/* What is wrong with a list, for a verb's check(). */
void class_weights_check(const struct config *cfg, struct problems *p);

/*
 * Fills weight[MODEL.NUM_CLASSES]; false: all weigh 1, and `weight` is untouched. `train`
 * may be NULL for an evaluation or if no data set is at hand.
 */
bool class_weights(const struct config *cfg, const struct dataset *train, float *weight);

#endif
