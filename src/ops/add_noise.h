/*
 * add_noise: y = x + deviation * N(0, 1), in training; outside it, or with deviation 0, x
 * itself. Numbers are functions of (control.seed, control.micro, layer, element of the
 * batch of all processes), as in ops/dropout.h; x's first dim is the images. The gradient
 * is dy. Always fp32.
 */
#ifndef OPS_ADD_NOISE_H
#define OPS_ADD_NOISE_H

#include "base/philox.h"
#include "graph/graph.h"
#include "ops/share.h"

#ifdef __cplusplus
extern "C" {
#endif

struct add_noise_attrs {
    const char *layer;
    float deviation;
    int salt;           /* set by the builder: a hash of the layer's name */
    struct share share; /* set by the builder: of the images */
};

enum { ADD_NOISE_X, ADD_NOISE_CONTROL };

struct tensor *add_noise(struct builder *b, struct tensor *x, float deviation,
                         const char *layer);

extern const struct op op_add_noise;

/* Returns number `pos` of a layer: two share a block. */
HOST_DEVICE static inline float add_noise_normal(uint64_t seed, uint64_t micro,
                                                 uint32_t salt, uint64_t pos)
{
    struct philox r = philox(seed, PHILOX_DROPOUT, micro, (uint64_t)salt << 32 ^ pos / 2);

    return philox_normal(r.v[pos % 2 * 2], r.v[pos % 2 * 2 + 1]);
}

#ifdef __cplusplus
}
#endif

#endif
