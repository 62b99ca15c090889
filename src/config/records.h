/*
 * Items of lists of dicts: a struct for each kind of item, and a schema row for each of
 * its fields. Lists are accessed with RECORD (base/fields.h):
 *
 *   for (int i = 0; i < cfg->hooks.n; i++)
 *       RECORD(cfg->hooks, struct config_hook, i)->run
 */
#ifndef CONFIG_RECORDS_H
#define CONFIG_RECORDS_H

#include "base/fields.h"
#include "config/schema.h"

/* HOOKS */
struct config_hook {
    int event; /* enum of config/choices.h */
    const char *run;
    bool shell, wait;
    double timeout;
    int64_t every;
};
extern const struct schema record_hook[];

/* LOSSES */
struct config_loss {
    const char *type; /* session/losses.h */
    double weight;
    int64_t stage; /* -1: the logits */
    struct float_opt smoothing, target_thresh, delta;
    bool sum_classes, squared, hard;
    double gamma, smooth, thresh, min_share, temperature;
};
extern const struct schema record_loss[];
void config_loss_default(struct config_loss *c); /* all fields except the type */

/* AUG.LIST: an operation of image/augment_ops.h, and the fields of all operations; None:
 * the operation's default. Lists have one or two numbers. */
struct config_augment {
    const char *name;
    struct float_opt p;
    struct float_list degrees, translate, scale, shear, distortion, sigma, std, amount,
        bits, threshold, holes, size, clip_limit, tiles, severity, width, depth;
};
extern const struct schema record_augment[];

/* TRAIN.OPTIMIZER.GROUPS: for None, the keys outside the list apply. */
struct config_group {
    const char *match, *name;
    double lr_scale;
    struct float_opt weight_decay, eps, momentum, alpha, trust_coeff;
    struct float_list betas;
    struct bool_opt nesterov, trust_clip, always_adapt;
};
extern const struct schema record_group[];

#endif
