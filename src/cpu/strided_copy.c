/* strided_copy and its gradient: elements are bytes; runs without gaps are copied whole. */
#include "ops/strided_copy.h"

#include <string.h>

#include "base/half.h"
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
    if (n->op == &op_strided_copy_grad && !strided_copy_is_unique(n->attrs) &&
        !cpu_dtype(n->out[0]))
        return "sums are of fp32 and bf16 only";

    region_claim_node(r, n);
    return NULL;
}

struct job {
    const char *src;
    char *dst;
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

static void copy_row(const struct job *j, char *dst, const char *src)
{
    int64_t n = j->len[j->n], step = j->stride[j->n];

    if (step == 1)
        memcpy(dst, src, (size_t)n * j->each);
    else if (j->each == 4)
        (j->back ? scatter_uint32_t : gather_uint32_t)((uint32_t *)dst,
                                                       (const uint32_t *)src, n, step);
    else
        (j->back ? scatter_uint16_t : gather_uint16_t)((uint16_t *)dst,
                                                       (const uint16_t *)src, n, step);
}

/* Rows [lo, hi): values of the outer loops. */
static void copy_rows(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++) {
        size_t place = (size_t)strided_copy_place(j->len, j->stride, j->n, i) * j->each;
        size_t row = (size_t)(i * j->len[j->n]) * j->each;

        copy_row(j, j->dst + (j->back ? place : row), j->src + (j->back ? row : place));
    }
}

/* The gradient of repeated elements: loops over the elements of x, and over the repeats of
 * each. Strides in y. */
struct sums {
    const struct step *s;
    int n, nrepeat;
    int64_t len[STRIDED_COPY_DIMS], in_x[STRIDED_COPY_DIMS], in_y[STRIDED_COPY_DIMS];
    int64_t repeat_len[STRIDED_COPY_DIMS], repeat[STRIDED_COPY_DIMS];
    int64_t count, repeats, offset;
};

static void sum_part(void *arg, int64_t lo, int64_t hi)
{
    const struct sums *j = arg;
    const void *dy = j->s->in[STRIDED_COPY_GRAD_DY];
    void *dx = j->s->out[0];
    bool f32 = j->s->out_tensor[0]->dtype == DTYPE_F32;

    for (int64_t i = lo; i < hi; i++) {
        int64_t dst = j->offset + strided_copy_place(j->len, j->in_x, j->n, i),
                begin = strided_copy_place(j->len, j->in_y, j->n, i);
        float sum = 0;

        for (int64_t r = 0; r < j->repeats; r++) {
            int64_t pos =
                begin + strided_copy_place(j->repeat_len, j->repeat, j->nrepeat, r);

            sum += f32 ? ((const float *)dy)[pos]
                       : bf16_to_float(((const uint16_t *)dy)[pos]);
        }
        if (f32)
            ((float *)dx)[dst] = sum;
        else
            ((uint16_t *)dx)[dst] = bf16_from_float(sum);
    }
}

static void run_sums(const struct step *s, struct device *dev)
{
    const struct strided_copy_attrs *a = s->node->attrs;
    struct sums j = {.s = s, .count = 1, .repeats = 1, .offset = a->offset};
    int64_t step = 1, in_y[STRIDED_COPY_DIMS];

    for (int d = a->n - 1; d >= 0; d--) {
        in_y[d] = step;
        step *= a->len[d];
    }
    for (int d = 0; d < a->n; d++) {
        if (a->stride[d]) {
            j.len[j.n] = a->len[d];
            j.in_x[j.n] = a->stride[d];
            j.in_y[j.n++] = in_y[d];
            j.count *= a->len[d];
        } else {
            j.repeat_len[j.nrepeat] = a->len[d];
            j.repeat[j.nrepeat++] = in_y[d];
            j.repeats *= a->len[d];
        }
    }
    memset(s->out[0], 0, tensor_size(s->out_tensor[0]));
    cpu_for(dev, j.count, 64, sum_part, &j);
}

static void strided_copy_run(struct step *s, struct device *dev)
{
    const struct strided_copy_attrs *a = s->node->attrs;
    size_t each = dtype_size(s->out_tensor[0]->dtype), skip = (size_t)a->offset * each;
    struct job j = {.each = each, .back = s->node->op == &op_strided_copy_grad};
    int64_t rows = 1;

    if (j.back && !strided_copy_is_unique(a)) {
        run_sums(s, dev);
        return;
    }
    j.n = strided_copy_loops(a, j.len, j.stride) - 1;
    if (j.n < 0) { /* one element */
        j.n = 0;
        j.len[0] = j.stride[0] = 1;
    }
    for (int d = 0; d < j.n; d++)
        rows *= j.len[d];
    j.src = (const char *)s->in[0] + (j.back ? 0 : skip);
    j.dst = (char *)s->out[0] + (j.back ? skip : 0);
    if (j.back)
        memset(s->out[0], 0, tensor_size(s->out_tensor[0]));
    cpu_for(dev, rows, 1, copy_rows, &j);
}

const struct kernel cpu_strided_copy = {
    .name = "cpu strided_copy",
    .claim = strided_copy_claim,
    .run = strided_copy_run,
};
