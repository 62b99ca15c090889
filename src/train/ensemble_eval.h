/*
 * Evaluation of an ensemble of classifiers: the mean of the members' softmax probabilities
 * on the validation images. Members run one after the other, each with the preprocessing
 * of its own configuration, so memory holds one model, and images x classes doubles.
 */
#ifndef TRAIN_ENSEMBLE_EVAL_H
#define TRAIN_ENSEMBLE_EVAL_H

#include "config/config.h"

struct ensemble_eval {
    struct config *const *cfg; /* of each member */
    const char *const *path;   /* their weights */
    int n;
    const char *result, *report; /* as for trainer_eval; NULL: none */
};

/* Returns the exit code. Dies if the members have other validation images or classes than
 * the first one. An image counts if all members could read it. */
int ensemble_eval(const struct ensemble_eval *o);

#endif
