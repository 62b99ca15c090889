/* gather, its gradient, and constants: elements are bytes, except in sums. */
#include "ops/gather.h"

#include <string.h>

#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/constant.h"

static const char *gather_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct gather_lists *lists = region_state(r);

    (void)g, (void)dev;
    if (n->op != &op_gather && n->op != &op_gather_grad)
        return "no gather";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "types differ";
    if (n->op == &op_gather_grad && !cpu_dtype(n->out[0]))
        return "sums are of fp32 and bf16 only";

    region_claim_node(r, n);
    if (n->op == &op_gather_grad)
        *lists = gather_lists(n->attrs);
    return NULL;
}

struct job {
    const struct gather_attrs *a;
    const struct gather_lists *lists;
    const struct step *s;
    size_t row; /* bytes */
};

/* Rows [lo, hi) of y. */
static void gather_rows(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const char *x = j->s->in[GATHER_X];
    char *y = j->s->out[0];

    for (int64_t i = lo; i < hi; i++) {
        int64_t begin = j->a->index[i % j->a->n], block = i / j->a->n * j->a->extent;

        if (begin < 0)
            memset(y + (size_t)i * j->row, 0, j->row);
        else
            memcpy(y + (size_t)i * j->row, x + (size_t)(block + begin) * j->row, j->row);
    }
}

#define SUM_ROW(T, get, put)                                                             \
    static void sum_row_##T(const struct gather_attrs *a, const int32_t *item, int n,    \
                            const T *dy, T *dx)                                          \
    {                                                                                    \
        for (int64_t k = 0; k < a->inner; k++) {                                         \
            float sum = 0;                                                               \
                                                                                         \
            for (int i = 0; i < n; i++)                                                  \
                sum += get(dy[item[i] * a->inner + k]);                                  \
            dx[k] = put(sum);                                                            \
        }                                                                                \
    }
SUM_ROW(float, (float), (float))
SUM_ROW(uint16_t, bf16_to_float, bf16_from_float)

/* Rows [lo, hi) of dx. */
static void sum_rows(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct gather_attrs *a = j->a;
    bool f32 = j->s->out_tensor[0]->dtype == DTYPE_F32;

    for (int64_t i = lo; i < hi; i++) {
        int64_t r = i % a->extent, block = i / a->extent * a->n * a->inner;
        const int32_t *item = j->lists->item + j->lists->first[r];
        int n = j->lists->first[r + 1] - j->lists->first[r];

        if (f32)
            sum_row_float(a, item, n, (const float *)j->s->in[0] + block,
                          (float *)j->s->out[0] + i * a->inner);
        else
            sum_row_uint16_t(a, item, n, (const uint16_t *)j->s->in[0] + block,
                             (uint16_t *)j->s->out[0] + i * a->inner);
    }
}

static void gather_run(struct step *s, struct device *dev)
{
    const struct gather_attrs *a = s->node->attrs;
    struct job j = {.a = a,
                    .lists = s->state,
                    .s = s,
                    .row = (size_t)a->inner * dtype_size(s->out_tensor[0]->dtype)};

    if (s->node->op == &op_gather)
        cpu_for(dev, a->outer * a->n, 1, gather_rows, &j);
    else
        cpu_for(dev, a->outer * a->extent, 1, sum_rows, &j);
}

static void gather_release(struct step *s)
{
    gather_lists_release(s->state);
}

const struct kernel cpu_gather = {
    .name = "cpu gather",
    .claim = gather_claim,
    .run = gather_run,
    .release = gather_release,
    .state_size = sizeof(struct gather_lists),
};

static const char *constant_claim(struct region *r, struct graph *g, struct node *n,
                                  struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_constant)
        return "no constant";
    if (n->out[0]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    return NULL;
}

static void constant_run(struct step *s, struct device *dev)
{
    const struct constant_attrs *a = s->node->attrs;

    (void)dev;
    memcpy(s->out[0], a->data, tensor_size(s->out_tensor[0]));
}

const struct kernel cpu_constant = {
    .name = "cpu constant",
    .claim = constant_claim,
    .run = constant_run,
};
