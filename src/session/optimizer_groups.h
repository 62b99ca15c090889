/*
 * TRAIN.OPTIMIZER.GROUPS: the optimizer and hyperparameters of each parameter. Groups
 * that differ only in learning rate or weight decay share their optimizer's node, as
 * segments do (ops/update.h); every other group has its own node over the same flat
 * arrays.
 *
 *   const struct optimizer_group *g = optimizer_group_of(&groups, "head.weight");
 *   groups.use[g->use].optimizer->name
 */
#ifndef SESSION_OPTIMIZER_GROUPS_H
#define SESSION_OPTIMIZER_GROUPS_H

#include "config/config.h"
#include "config/problems.h"
#include "ops/optimizer.h"

enum { OPTIMIZER_GROUPS_MAX = 64 };

struct optimizer_group {
    const char *match; /* shell pattern of names; NULL in the last group, which takes the
                        * rest */
    int use;
    double lr_scale;
    struct float_opt weight_decay; /* of all that match; unset: as without the group */
};

struct optimizer_groups {
    struct optimizer_use {
        const struct optimizer *optimizer;
        struct hyperparameters h;
    } use[OPTIMIZER_GROUPS_MAX + 1]; /* first: TRAIN.OPTIMIZER.NAME */
    int nuse;
    struct optimizer_group group[OPTIMIZER_GROUPS_MAX + 1];
    int n; /* at least 1: the group of the rest */
};

/* Part of optimizer_config_check. */
void optimizer_groups_check(const struct config *cfg, struct problems *p);

/* Requires checked keys. Strings belong to the configuration. */
void optimizer_groups_init(struct optimizer_groups *g, const struct config *cfg);

/* Refuses a group that matches no parameter of the training graph. */
void optimizer_groups_check_matches(const struct config *cfg,
                                    const struct optimizer_groups *g,
                                    const struct graph *graph);

/* Returns the first group that matches the name of a parameter. */
const struct optimizer_group *optimizer_group_of(const struct optimizer_groups *g,
                                                 const char *name);
const struct optimizer_use *optimizer_use_of(const struct optimizer_groups *g,
                                             const char *name);

/* True if one of them uses trust ratios. */
bool optimizer_groups_trust(const struct optimizer_groups *g);
/* True if one of them is adaptive (ops/optimizer.h). */
bool optimizer_groups_adaptive(const struct optimizer_groups *g);

#endif
