/*
 * TRAIN.OPTIMIZER.GROUPS: which optimizer updates a parameter, with which
 * hyperparameters. Groups that differ in rate or weight decay alone share the one node of
 * their optimizer, as segments do (ops/update.h); each other one is a node of its own,
 * over the same flat arrays.
 *
 *   const struct optimizer_group *g = optimizer_group_of(&groups, "head.weight");
 *   groups.use[g->use].optimizer->name
 */
#ifndef SESSION_OPTIMIZER_GROUPS_H
#define SESSION_OPTIMIZER_GROUPS_H

#include "config/config.h"
#include "config/problems.h"
#include "ops/optimizer.h"

enum { OPTIMIZER_GROUPS_MOST = 64 };

struct optimizer_group {
    const char *match; /* shell pattern of names; NULL: the last one, all that is left */
    int use;
    double lr_scale;
    struct float_opt weight_decay; /* of all that match, or as without the group */
};

struct optimizer_groups {
    struct optimizer_use {
        const struct optimizer *optimizer;
        struct hyperparameters h;
    } use[OPTIMIZER_GROUPS_MOST + 1]; /* the first is TRAIN.OPTIMIZER.NAME */
    int nuse;
    struct optimizer_group group[OPTIMIZER_GROUPS_MOST + 1];
    int n; /* at least the one of what is left */
};

/* Part of optimizer_config_check. */
void optimizer_groups_check(const struct config *cfg, struct problems *p);

/* All is checked; texts are the configuration's. */
void optimizer_groups_init(struct optimizer_groups *g, const struct config *cfg);

/* Refuses a group that no parameter of a training graph belongs to. */
void optimizer_groups_check_matches(const struct config *cfg,
                                    const struct optimizer_groups *g,
                                    const struct graph *graph);

/* The first that matches the name of a parameter. */
const struct optimizer_group *optimizer_group_of(const struct optimizer_groups *g,
                                                 const char *name);
const struct optimizer_use *optimizer_use_of(const struct optimizer_groups *g,
                                             const char *name);

/* Has one of them trust ratios? */
bool optimizer_groups_trust(const struct optimizer_groups *g);
/* True if one of them is adaptive (ops/optimizer.h). */
bool optimizer_groups_adaptive(const struct optimizer_groups *g);

#endif
