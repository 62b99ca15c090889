/*
 * Tensors while a graph runs: packed floats, channels last, in memory that lasts for one
 * run. Values of narrower types are rounded when stored.
 */
#ifndef EMULATOR_CUDNN_VALUE_H
#define EMULATOR_CUDNN_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/emulator/cudnn/graph.h"

struct value {
    int rank;
    int64_t dims[CUDNN_DIM_MAX];
    int64_t step[CUDNN_DIM_MAX]; /* elements of v */
    int64_t count;
    float *v; /* NULL: not computed yet */
};

/* Memory until the next value_reset(); zeroed only on first use. */
void *value_memory(size_t size);
void value_reset(void);

void value_shape(struct value *x, const struct tensor *t); /* v stays NULL */
void value_load(struct value *x, const struct tensor *t, const void *memory);
void value_store(struct value *x, const struct tensor *t, void *memory);

/* Rounds a virtual tensor to the values that would be read back. */
void value_round(struct value *x, int type);

/* Rounds a float to 10 bits of mantissa, as tensor cores do. */
float value_tf32(float f);

/*
 * Iterates over the elements of `shape` in the order of its v, with up to three more
 * values that are broadcast to it (their dimensions are its own or 1):
 *   struct walk w;  walk_start(&w, shape, a, b, NULL);
 *   do { ... w.i, w.offset[0], w.offset[1] ... } while (walk_next(&w));
 */
struct walk {
    const struct value *shape;
    int64_t i, offset[3];
    int order[CUDNN_DIM_MAX]; /* dimensions, innermost first */
    int64_t index[CUDNN_DIM_MAX], step[3][CUDNN_DIM_MAX];
};

void walk_start(struct walk *w, const struct value *shape, const struct value *a,
                const struct value *b, const struct value *c);
bool walk_next(struct walk *w);

#endif
