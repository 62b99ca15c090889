/*
 * The pieces that the optimizer's blocks process, and each formula of
 * ops/optimizer_list.h as a type, for which kernels are compiled.
 */
#ifndef CUDA_OPTIMIZER_KINDS_H
#define CUDA_OPTIMIZER_KINDS_H

#include "cuda/launch.h"
#include "ops/optimizer_list.h"

enum { BLOCK = 256, PIECE = 2048, RULES_BLOCK = 64, TRUST_BLOCK = 128 };

struct piece {
    int64_t first; /* first element in the flat arrays */
    int64_t grad;  /* and in the array of gradients, of its type */
    int len;       /* at most PIECE */
    int segment;   /* or -1: EMA only */
    bool half;     /* the gradients have 16 bits */
};

/* The pieces of a segment. */
struct range {
    int first, n;
};

#define KIND_BODY(NAME)                                                                  \
    using rule = struct NAME##_rule;                                                     \
                                                                                         \
    __device__ static rule make(const struct optimizer_attrs &a,                         \
                                const update_segment *s, const control *c)               \
    {                                                                                    \
        return NAME##_rule(&a, s, c);                                                    \
    }                                                                                    \
    __device__ static void element(float *w, float *m1, float *m2, float g,              \
                                   const rule &r)                                        \
    {                                                                                    \
        NAME##_element(w, m1, m2, g, &r);                                                \
    }

#define KIND(NAME)                                                                       \
    struct NAME##_kind {                                                                 \
        static constexpr bool trusts = false;                                            \
        KIND_BODY(NAME)                                                                  \
    };

#define TRUST_KIND(NAME)                                                                 \
    struct NAME##_kind {                                                                 \
        static constexpr bool trusts = true;                                             \
        KIND_BODY(NAME)                                                                  \
                                                                                         \
        __device__ static float measured(float w, float m1, float m2, float g,           \
                                         const rule &r)                                  \
        {                                                                                \
            return NAME##_measured(w, m1, m2, g, &r);                                    \
        }                                                                                \
        __device__ static float trust(const struct optimizer_attrs &a,                   \
                                      const update_segment *s, const control *c,         \
                                      double w, double x)                                \
        {                                                                                \
            return NAME##_trust(&a, s, c, w, x);                                         \
        }                                                                                \
    };
OPTIMIZER_LIST(KIND, TRUST_KIND)

/* The EMA without an optimizer: no segments and no rule. */
struct no_kind {
    static constexpr bool trusts = false;
    struct rule {
    };

    __device__ static rule make(const struct optimizer_attrs &, const update_segment *,
                                const control *)
    {
        return {};
    }
    __device__ static void element(float *, float *, float *, float, const rule &) {}
};

#endif
