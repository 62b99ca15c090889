#include "models/init.h"

#include <string.h>
#include <xxhash.h>

#include "base/philox.h"

/* Two elements a block, so that a pair of normal numbers costs one. */
static void fill_random(float *w, int64_t len, struct init init, uint64_t seed,
                        uint64_t name)
{
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < (len + 1) / 2; pair++) {
        struct philox r = philox(seed, PHILOX_INIT, name, (uint64_t)pair);

        for (int64_t k = 0; k < 2 && 2 * pair + k < len; k++) {
            uint32_t a = r.v[2 * k], b = r.v[2 * k + 1];
            float unit = init.kind == INIT_NORMAL ? philox_normal(a, b)
                                                  : 2 * philox_uniform(a) - 1;

            w[2 * pair + k] = init.value * unit;
        }
    }
}

void init_weights(const struct flat *flat, uint64_t seed, float *weights)
{
    memset(weights, 0, (size_t)flat->weights_len * sizeof(*weights));
    for (int s = 0; s < flat->nsegment; s++) {
        const struct segment *seg = &flat->segment[s];
        const struct tensor *t = seg->tensor;
        float *w = weights + seg->offset;

        if (t->init.kind == INIT_CONSTANT)
            for (int64_t i = 0; i < seg->len; i++)
                w[i] = t->init.value;
        else if (t->init.kind != INIT_ZERO) /* the stream has the step's top byte */
            fill_random(w, seg->len, t->init, seed,
                        XXH64(t->name, strlen(t->name), 0) >> 8);
    }
}
