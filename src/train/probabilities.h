/*
 * Means of answers, over the members of an ensemble or over views: of probabilities, those
 * of the softmax of a row of logits or of the sigmoid of each (MODEL.TASK multilabel), or
 * of values (MODEL.TASK regression).
 */
#ifndef TRAIN_PROBABILITIES_H
#define TRAIN_PROBABILITIES_H

#include <stdint.h>

#include "models/table.h"

/* Adds the probabilities of n rows of `classes` logits to sum[n, classes], or the values
 * of a regression. */
void probabilities_add(double *sum, const float *logits, int64_t n, int classes,
                       enum model_task task);

/* Writes logits[len] whose softmax, or sigmoid, is sum / count; of a regression the values.
 * Those of the sigmoid are at most 80 from 0. */
void probabilities_to_logits(float *logits, const double *sum, int64_t len, int count,
                             enum model_task task);

/* Returns what is averaged, for messages: "probabilities" or "values". */
const char *probabilities_name(enum model_task task);

#endif
