/*
 * Fills the flat weights from tensor->init. Element i of a parameter is a pure function
 * of (seed, name, i) in stored order, so layers with the same name and shape start with
 * the same values in every model, batch size, and program.
 */
#ifndef MODELS_INIT_H
#define MODELS_INIT_H

#include <stdint.h>

#include "graph/flat.h"

/* `weights` has flat->weights_len elements; gaps become zero. */
void init_weights(const struct flat *flat, uint64_t seed, float *weights);

#endif
