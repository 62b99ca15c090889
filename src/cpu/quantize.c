#include "ops/quantize.h"

#include "base/clones.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/quantize.h"
#include "graph/kernel.h"
#include "ops/quantize_formula.h"

#if !defined(__clang__)
#pragma GCC optimize("O3") /* loops for the auto-vectorizer */
#endif

/* Adding 1.5 * 2^23 to a small number rounds it to nearest, ties to even. */
#define ROUND 12582912.0f

/* Like quantize_element(), as an integer. */
static inline __attribute__((always_inline)) int32_t rounded(float x, float scale,
                                                             float lo, float hi)
{
    float q = x / scale;

    q = x == x ? q : 0;
    q = q > lo ? q : lo;
    q = q < hi ? q : hi;
    return (int32_t)((q + ROUND) - ROUND);
}

CLONES void quantize_block(const float *v, int64_t n, float scale, bool is_unsigned,
                           void *dst)
{
    uint8_t *restrict u = dst;
    int8_t *restrict i = dst;

    for (int64_t k = 0; k < n && is_unsigned; k++)
        u[k] = (uint8_t)rounded(v[k], scale, 0, QUANTIZE_MAX_U8);
    for (int64_t k = 0; k < n && !is_unsigned; k++)
        i[k] = (int8_t)rounded(v[k], scale, QUANTIZE_MIN_I8, QUANTIZE_MAX_I8);
}

static const char *quantize_claim(struct region *r, struct graph *g, struct node *n,
                                  struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_quantize)
        return "no quantize";
    if (n->in[QUANTIZE_X]->dtype != DTYPE_F32)
        return "fp32 only";
    region_claim_node(r, n);
    return NULL;
}

struct job {
    const float *x;
    char *y;
    float scale;
    bool is_unsigned;
};

static void quantize_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    quantize_block(j->x + lo, hi - lo, j->scale, j->is_unsigned, j->y + lo);
}

static void quantize_run(struct step *s, struct device *dev)
{
    const struct quantize_attrs *a = s->node->attrs;
    struct job j = {.x = s->in[QUANTIZE_X],
                    .y = s->out[0],
                    .scale = *(const float *)s->in[QUANTIZE_SCALE],
                    .is_unsigned = a->is_unsigned};

    cpu_for(dev, tensor_len(s->out_tensor[0]), QUANTIZE_BLOCK, quantize_part, &j);
}

const struct kernel cpu_quantize = {
    .name = "cpu quantize",
    .claim = quantize_claim,
    .run = quantize_run,
};
