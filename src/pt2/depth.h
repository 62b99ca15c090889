/*
 * Layers of an exported network for TRAIN.LAYER_DECAY, as timm's param_groups_layer_decay counts
 * them for models without rules of their own: twelve parameters at a time, in the order of the
 * state dict; those of the heads are the last layer.
 */
#ifndef PT2_DEPTH_H
#define PT2_DEPTH_H

#include "models/layers.h"
#include "pt2/program.h"

/* Returns rules that live as long as the program. `heads`: names of layers, ended by NULL. */
const struct layer_rule *pt2_depth_rules(struct pt2_program *p, const char *const *heads);

#endif
