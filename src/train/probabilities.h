/*
 * Means of probabilities, over the members of an ensemble or over views: of the softmax of
 * a row of logits, or of the sigmoid of each (MODEL.TASK multilabel).
 */
#ifndef TRAIN_PROBABILITIES_H
#define TRAIN_PROBABILITIES_H

#include <stdbool.h>
#include <stdint.h>

/* Adds the probabilities of n rows of `classes` logits to sum[n, classes]. */
void probabilities_add(double *sum, const float *logits, int64_t n, int classes,
                       bool sigmoid);

/* Writes logits[len] whose softmax, or sigmoid, is sum / count. Those of the sigmoid are at
 * most 80 from 0. */
void probabilities_to_logits(float *logits, const double *sum, int64_t len, int count,
                             bool sigmoid);

#endif
