/*
 * Which batch norms training folds into the 1x1 convolutions before them
 * (ops/norm_fold.h): MODEL.FOLD_BN.
 *
 * A layer of C to K channels at M positions saves 7 passes over its result, M K elements
 * (its store, statistics, apply, sums, and dx), and adds the moments of its input and
 * their gradient: 4 passes over M C elements, 4 M C^2 FLOPs on tensor cores, and products
 * of C x C by K x C in plain fp32. With `auto` a layer is folded if that takes less time
 * at the device's rates.
 */
#ifndef SESSION_FOLD_H
#define SESSION_FOLD_H

#include "config/config.h"
#include "graph/backend.h"
#include "ops/norm_fold.h"

struct plan;

struct fold_choice {
    bool any, all;
    struct device_limits limits; /* unless all */
};

struct fold_choice fold_choice(const struct config *cfg, const struct backend *backend,
                               struct device *dev);

/* True if folding this layer saves time. */
bool fold_pays(const struct device_limits *l, const struct norm_fold_layer *layer);

/* Edits the training graph before autodiff; returns the number of folded batch norms. */
int fold_norms(struct graph *g, const struct plan *p);

#endif
