/* strided_copy and its gradient: elements are bytes; runs without gaps are copied whole. */
#include "ops/strided_copy.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

static const char *strided_copy_claim(struct region *r, struct graph *g, struct node *n,
                                      struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_strided_copy && n->op != &op_strided_copy_grad)
        return "no strided_copy";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "types differ";
    if (n->op == &op_strided_copy_grad && !strided_copy_is_unique(n->attrs))
        return "the gradient is a sum";

    region_claim_node(r, n);
    return NULL;
}

struct job {
    const char *from;
    char *to;
    size_t each;
    int n; /* outer loops */
    int64_t len[STRIDED_COPY_DIMS], stride[STRIDED_COPY_DIMS];
    bool back; /* of the gradient: writes where the other one reads */
};

/* Copies n elements to consecutive places from places that are `step` apart, or back. */
#define COPY(T)                                                                          \
    static void gather_##T(T *to, const T *from, int64_t n, int64_t step)                \
    {                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                  \
            to[i] = from[i * step];                                                      \
    }                                                                                    \
    static void scatter_##T(T *to, const T *from, int64_t n, int64_t step)               \
    {                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                  \
            to[i * step] = from[i];                                                      \
    }
COPY(uint16_t)
COPY(uint32_t)

static void copy_row(const struct job *j, char *to, const char *from)
{
    int64_t n = j->len[j->n], step = j->stride[j->n];

    if (step == 1)
        memcpy(to, from, (size_t)n * j->each);
    else if (j->each == 4)
        (j->back ? scatter_uint32_t : gather_uint32_t)((uint32_t *)to,
                                                       (const uint32_t *)from, n, step);
    else
        (j->back ? scatter_uint16_t : gather_uint16_t)((uint16_t *)to,
                                                       (const uint16_t *)from, n, step);
}

/* Rows [lo, hi): values of the outer loops. */
static void copy_rows(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++) {
        size_t place = (size_t)strided_copy_place(j->len, j->stride, j->n, i) * j->each;
        size_t row = (size_t)(i * j->len[j->n]) * j->each;

        copy_row(j, j->to + (j->back ? place : row), j->from + (j->back ? row : place));
    }
}

static void strided_copy_run(struct step *s, struct device *dev)
{
    const struct strided_copy_attrs *a = s->node->attrs;
    size_t each = dtype_size(s->out_tensor[0]->dtype), skip = (size_t)a->offset * each;
    struct job j = {.each = each, .back = s->node->op == &op_strided_copy_grad};
    int64_t rows = 1;

    j.n = strided_copy_loops(a, j.len, j.stride) - 1;
    if (j.n < 0) { /* one element */
        j.n = 0;
        j.len[0] = j.stride[0] = 1;
    }
    for (int d = 0; d < j.n; d++)
        rows *= j.len[d];
    j.from = (const char *)s->in[0] + (j.back ? 0 : skip);
    j.to = (char *)s->out[0] + (j.back ? skip : 0);
    if (j.back)
        memset(s->out[0], 0, tensor_size(s->out_tensor[0]));
    cpu_for(dev, rows, 1, copy_rows, &j);
}

const struct kernel cpu_strided_copy = {
    .name = "cpu strided_copy",
    .claim = strided_copy_claim,
    .run = strided_copy_run,
};
