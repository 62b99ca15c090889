/*
 * Proposals of a search: at random, or by the tree-structured Parzen estimator (Bergstra et
 * al. 2011, "Algorithms for hyper-parameter optimization", section 4).
 *
 * The best ceil(n / 10) of n trials, at most 25, are good, as in Optuna. On each axis, l
 * is a density around the good ones, g one around the others; of 24 draws from l, the one
 * with the largest l / g is proposed. A density is a mixture of normal distributions cut off
 * at 0 and 1: one per trial, as wide as the larger distance to its neighbors, and a broad one
 * in the middle. That of choices counts them.
 */
#ifndef CMD_SWEEP_TPE_H
#define CMD_SWEEP_TPE_H

#include <stdint.h>

#include "cmd/sweep_space.h"

struct tpe_trial {
    double *position; /* [axes] */
    double score;     /* larger is better; NaN: failed, worse than all others */
};

enum { TPE_RANDOM = 10 }; /* trials before the estimator proposes */

/* Writes positions[axes] of trial number `number`, a pure function of the arguments. With
 * fewer than TPE_RANDOM trials, or none, they are uniform. */
void tpe_propose(const struct space *s, const struct tpe_trial *trial, int n,
                 uint64_t seed, int number, double *position);

#endif
