/* strided_copy and its gradient: elements are bytes. */
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

enum { RUN = 8 }; /* rows that are worth a loop of their own */

struct loop {
    int64_t len, src, dst;
};

struct job {
    const struct device *dev;
    const char *src;
    char *dst;
    int64_t each;
    struct loop row, rows; /* the innermost loop, and one over such rows */
    int n;                 /* of the other loops */
    int64_t len[STRIDED_COPY_DIMS], in_src[STRIDED_COPY_DIMS], in_dst[STRIDED_COPY_DIMS];
};

/* Copies n elements that are dst_step and src_step apart, one of which is 1. */
#define COPY(T)                                                                          \
    static void copy_##T(T *dst, int64_t dst_step, const T *src, int64_t src_step,       \
                         int64_t n)                                                      \
    {                                                                                    \
        if (dst_step == 1)                                                               \
            for (int64_t i = 0; i < n; i++)                                              \
                dst[i] = src[i * src_step];                                              \
        else                                                                             \
            for (int64_t i = 0; i < n; i++)                                              \
                dst[i * dst_step] = src[i];                                              \
    }
COPY(uint16_t)
COPY(uint32_t)

static void copy_run(const struct job *j, char *dst, const char *src, int64_t rows)
{
    const struct loop *row = &j->row;
    int64_t dst_next = j->rows.dst * j->each, src_next = j->rows.src * j->each;

    if (row->src == 1 && row->dst == 1) {
        j->dev->loops->copy_rows(dst, dst_next, src, src_next, row->len * j->each, rows);
        return;
    }
    for (int64_t i = 0; i < rows; i++, dst += dst_next, src += src_next)
        if (j->each == 4)
            copy_uint32_t((uint32_t *)dst, row->dst, (const uint32_t *)src, row->src,
                          row->len);
        else
            copy_uint16_t((uint16_t *)dst, row->dst, (const uint16_t *)src, row->src,
                          row->len);
}

/* Rows [lo, hi). */
static void copy_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo, run; i < hi; i += run) {
        int64_t outer = i / j->rows.len, first = i % j->rows.len;
        int64_t src = strided_copy_place(j->len, j->in_src, j->n, outer);
        int64_t dst = strided_copy_place(j->len, j->in_dst, j->n, outer);

        run = j->rows.len - first < hi - i ? j->rows.len - first : hi - i;
        copy_run(j, j->dst + (dst + first * j->rows.dst) * j->each,
                 j->src + (src + first * j->rows.src) * j->each, run);
    }
}

/* Sets the loops: the gradient writes where the other one reads. Returns the number of rows. */
static int64_t set_loops(struct job *j, const struct strided_copy_attrs *a, bool back)
{
    int64_t len[STRIDED_COPY_DIMS], stride[STRIDED_COPY_DIMS], in_y = 1, rows = 1;
    struct loop loop[STRIDED_COPY_DIMS] = {{1, 1, 1}}; /* a single element */
    int n = strided_copy_loops(a, len, stride), inner = 0;

    for (int d = n - 1; d >= 0; d--) {
        loop[d] = back ? (struct loop){len[d], in_y, stride[d]}
                       : (struct loop){len[d], stride[d], in_y};
        in_y *= len[d];
    }
    j->row = loop[n ? n - 1 : 0];
    for (int d = 0; d < n - 1; d++) {
        rows *= len[d];
        inner = len[d] >= RUN || len[d] >= len[inner] ? d : inner;
    }
    j->rows = n > 1 ? loop[inner] : (struct loop){1, 0, 0};
    for (int d = 0; d < n - 1; d++)
        if (d != inner) {
            j->len[j->n] = len[d];
            j->in_src[j->n] = loop[d].src;
            j->in_dst[j->n++] = loop[d].dst;
        }
    return rows;
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
    int64_t each = (int64_t)dtype_size(s->out_tensor[0]->dtype), skip = a->offset * each;
    bool back = s->node->op == &op_strided_copy_grad;
    struct job j = {.dev = dev, .each = each};

    if (back && !strided_copy_is_unique(a)) {
        run_sums(s, dev);
        return;
    }
    j.src = (const char *)s->in[0] + (back ? 0 : skip);
    j.dst = (char *)s->out[0] + (back ? skip : 0);
    if (back && tensor_len(s->in_tensor[0]) != tensor_len(s->out_tensor[0]))
        memset(s->out[0], 0, tensor_size(s->out_tensor[0]));
    cpu_for(dev, set_loops(&j, a, back), 1, copy_part, &j);
}

const struct kernel cpu_strided_copy = {
    .name = "cpu strided_copy",
    .claim = strided_copy_claim,
    .run = strided_copy_run,
};
