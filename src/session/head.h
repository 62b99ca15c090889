/*
 * The head of a net, which TRAIN.FREEZE_EPOCHS trains alone first: the parameters that match
 * TRAIN.FREEZE_HEAD, or else the layers of the classifier (models/table.h: heads; otherwise
 * the layer that computes the logits) and the auxiliary classifiers of LOSSES.
 */
#ifndef SESSION_HEAD_H
#define SESSION_HEAD_H

#include "session/plan.h"

/* Sets plan.head, in the plan's arena. Builds a graph if the family does not list its
 * classifier. */
void head_choose(struct plan *p, const struct config *cfg);

/* True if the parameter belongs to the head. */
bool head_has(const struct plan *p, const char *name);

/* Returns the layer of a graph that computes the logits, or "" if it has none. */
struct build;
const char *head_layer(const struct build *t);

#endif
