#include "models/init.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/philox.h"

/* Random numbers of one parameter. */
struct stream {
    uint64_t seed, name;
    struct init init;
};

static const float trunc_limit = 2;

/* Returns element k of a pair. Both are drawn from block r; a value beyond the limit is
 * redrawn from blocks of its own. */
static float draw(const struct stream *s, struct philox r, uint64_t pair, int64_t k)
{
    enum init_kind kind = s->init.kind;
    uint64_t again = 0;
    float v;

    if (kind == INIT_UNIFORM)
        return s->init.value * (2 * philox_uniform(r.v[2 * k]) - 1);
    v = s->init.value * philox_normal(r.v[2 * k], r.v[2 * k + 1]);
    while (kind == INIT_TRUNC_NORMAL && fabsf(v) > trunc_limit) {
        r = philox(s->seed, PHILOX_INIT, s->name, pair ^ ++again << 40);
        v = s->init.value * philox_normal(r.v[2 * k], r.v[2 * k + 1]);
    }
    return v;
}

static void fill_random(float *w, int64_t len, const struct stream *s)
{
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < (len + 1) / 2; pair++) {
        struct philox r = philox(s->seed, PHILOX_INIT, s->name, (uint64_t)pair);

        for (int64_t k = 0; k < 2 && 2 * pair + k < len; k++)
            w[2 * pair + k] = draw(s, r, (uint64_t)pair, k);
    }
}

void init_weights(const struct flat *flat, uint64_t seed, float *weights)
{
    memset(weights, 0, (size_t)flat->weights_len * sizeof(*weights));
    for (int s = 0; s < flat->nsegment; s++) {
        const struct segment *seg = &flat->segment[s];
        const struct tensor *t = seg->tensor;
        float *w = weights + seg->offset;
        /* 56 bits of the hash: philox() keeps the stream in the step's top byte */
        struct stream stream = {seed, XXH64(t->name, strlen(t->name), 0) >> 8, t->init};

        if (t->init.kind == INIT_CONSTANT)
            for (int64_t i = 0; i < seg->len; i++)
                w[i] = t->init.value;
        else if (t->init.kind != INIT_ZERO)
            fill_random(w, seg->len, &stream);
    }
}
