/*
 * metrics: adds this run to struct metrics (ops/control.h), exactly:
 *
 *   count      += samples with label >= 0
 *   loss_sum   += loss * those samples and measured += those samples, if the loss is
 *                finite; else nonfinite += 1
 *   top1, top5 += samples whose label is among the 1 or 5 largest logits
 *   runs       += 1
 *
 * The rank of the label is the number of logits that are greater, or equal with a lower
 * index. A sample whose label's logit is NaN is always wrong; another NaN counts as
 * greater, so a diverged run gets no credit.
 */
#ifndef OPS_METRICS_H
#define OPS_METRICS_H

#include "graph/graph.h"

enum { METRICS_LOGITS, METRICS_LABELS, METRICS_LOSS }; /* as in ops/cross_entropy.h */
enum { METRICS_STATE };                                /* out[0]: written state */

struct node *metrics(struct builder *b, struct tensor *logits, struct tensor *labels,
                     struct tensor *loss);

extern const struct op op_metrics;

#endif
