/*
 * Evaluation of an ensemble of classifiers, of the views of TEST.TTA, or of both: the mean
 * probabilities of members and views on the validation images. Members run one after the
 * other, each with the preprocessing of its own configuration, so memory holds one model,
 * and images x classes doubles.
 */
#ifndef TRAIN_ENSEMBLE_EVAL_H
#define TRAIN_ENSEMBLE_EVAL_H

#include "config/config.h"

struct ensemble_eval {
    struct config *const *cfg; /* [n]: configuration of each member */
    const char *const *path;   /* [n]: weights of each member */
    int n;
    const char *result, *report; /* as for trainer_eval; may be NULL */
};

/* Returns the exit code. Dies if the members differ in their validation images or number
 * of classes. Only images that all members could read count. */
int ensemble_eval(const struct ensemble_eval *o);

#endif
