/*
 * The units of a regression's targets: the mean and the standard deviation of the training
 * set, with which the model's outputs are standardized. They are weights of the net,
 * target.mean and target.std (session/losses.h), so every checkpoint and export has them.
 */
#ifndef TRAIN_UNITS_H
#define TRAIN_UNITS_H

#include "dataset/dataset.h"
#include "session/session.h"

/* Sets the units from a training set; does nothing for other tasks. Call it after weights
 * are loaded, unless a run is resumed. The deviation is that of the population; a constant
 * target has deviation 1. */
void units_learn(struct session *s, const struct dataset *train);

/* Gets the standard deviations of the targets, std[classes]. */
void units_std(const struct session *s, float *std);

#endif
