/*
 * The search space of a sweep: what a key's value is drawn from.
 *
 *   TRAIN.BASE_LR=log(1e-4,1e-1)         log-uniform
 *   MODEL.DROP_PATH_RATE=uniform(0,0.3)  uniform
 *   AUG.REPEATS=int(1,4)                 whole numbers, both ends included
 *   TRAIN.OPTIMIZER.NAME=sgd,adamw       one of the values, as in sweep_grid.h
 *
 * A position on an axis is a number in [0, 1): of a value from low to high, or of a choice.
 */
#ifndef CMD_SWEEP_SPACE_H
#define CMD_SWEEP_SPACE_H

#include <stdbool.h>

enum space_kind { SPACE_CHOICE, SPACE_UNIFORM, SPACE_LOG, SPACE_INT };

struct space_axis {
    char *key;
    enum space_kind kind;
    double low, high;
    char **choice; /* of SPACE_CHOICE */
    int nchoice;
};

struct space {
    struct space_axis *axis;
    int n;
};

/* True if the values of KEY=VALUES are a distribution. */
bool space_is_distribution(const char *axis);

/* Parses axes (KEY=VALUES). Exits if one is invalid. */
void space_init(struct space *s, char *const *axis, int n);
void space_release(struct space *s);

/* Returns "KEY=VALUE" at a position as a heap string; numbers have 4 significant digits. */
char *space_word(const struct space_axis *a, double position);

#endif
