/*
 * Transposed convolutions without overlap and with few channels (ERFNet's last layer) by
 * our own loops, including the bias. oneDNN computes them as data gradients with odd
 * channel counts, at a twentieth of its usual speed.
 */
#include <string.h>

#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/weights.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"

struct up_state {
    struct conv_up shape; /* without the pointers to weights */
    int64_t rows, width;  /* of x */
    int64_t kernel_h, kernel_w;
    int bias; /* index of a read, or -1 */
};

static const char *up_shape(struct up_state *st, const struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *x = n->in[CONV2D_DATA_GRAD_DY], *y = n->out[0];

    if (!cpu_dtype(x) || x->dtype != y->dtype)
        return "fp32 and bf16 only, and one of them for all";
    if (a->kernel_h != a->stride_h || a->kernel_w != a->stride_w || a->stride_h < 2 ||
        a->pad_h || a->pad_w || a->extra_h || a->extra_w || a->dilation_h != 1 ||
        a->dilation_w != 1 || a->groups != 1)
        return "the windows overlap";
    if (y->dim[IMAGE_H] != x->dim[IMAGE_H] * a->stride_h ||
        y->dim[IMAGE_W] != x->dim[IMAGE_W] * a->stride_w)
        return "rows or columns that no window reaches";
    *st = (struct up_state){
        .shape = {.t = x->dtype,
                  .in = x->dim[IMAGE_C],
                  .row = a->kernel_w * y->dim[IMAGE_C]},
        .rows = x->dim[IMAGE_N] * x->dim[IMAGE_H],
        .width = x->dim[IMAGE_W],
        .kernel_h = a->kernel_h,
        .kernel_w = a->kernel_w,
    };
    st->shape.padded = (st->shape.row + 31) / 32 * 32; /* two vectors of 16 */
    return st->shape.in <= UP_INPUTS && st->shape.padded <= UP_ROW
               ? NULL
               : "oneDNN is faster with this number of channels";
}

/* Packs [in][kernel_h][kernel_w][out] to [kernel_h][in][padded], rounded to bf16 for bf16. */
static void pack(void *dst, const float *w, const void *state)
{
    const struct up_state *st = state;
    float *out = dst;

    for (int64_t r = 0; r < st->kernel_h; r++)
        for (int64_t c = 0; c < st->shape.in; c++, out += st->shape.padded) {
            const float *row = w + (c * st->kernel_h + r) * st->shape.row;

            memset(out, 0, (size_t)st->shape.padded * sizeof(*out));
            for (int64_t k = 0; k < st->shape.row; k++)
                out[k] = st->shape.t == DTYPE_F32
                             ? row[k]
                             : bf16_to_float(bf16_from_float(row[k]));
        }
}

static void derive(struct region *r, const struct up_state *st, struct tensor *w)
{
    int64_t key[] = {st->shape.t, st->shape.in, st->shape.row, st->kernel_h};

    (void)weights_pack(
        r, w, NULL,
        &(const struct weights_packing){
            .size =
                (size_t)(st->kernel_h * st->shape.in * st->shape.padded) * sizeof(float),
            .pack = pack,
            .state = st,
            .state_size = sizeof(*st),
            .key = key,
            .key_len = sizeof(key),
        });
}

static const char *up_claim(struct region *r, struct graph *g, struct node *n,
                            struct device *dev)
{
    struct up_state *st = region_state(r);
    const char *why;

    (void)g, (void)dev;
    if (n->op != &op_conv2d_data_grad)
        return "not a transposed convolution, nor a data gradient";
    if (!weights_master(n->in[CONV2D_DATA_GRAD_WEIGHT]))
        return "the weights are computed";
    why = up_shape(st, n);
    if (why)
        return why;

    region_claim(r, n);
    derive(r, st, n->in[CONV2D_DATA_GRAD_WEIGHT]);
    (void)region_read(r, n->in[CONV2D_DATA_GRAD_DY]);
    st->bias = n->nin > CONV2D_DATA_GRAD_BIAS
                   ? region_read(r, n->in[CONV2D_DATA_GRAD_BIAS])
                   : -1;
    (void)region_write(r, n->out[0]);
    return NULL;
}

struct job {
    const struct up_state *st;
    const struct step *s;
    const struct device *dev;
    float bias[UP_ROW];
};

/* Rows [lo, hi) of x. */
static void up_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct up_state *st = j->st;
    struct conv_up p = st->shape;
    int64_t xrow = st->width * p.in, yrow = st->width * p.row;

    p.bias = j->bias;
    for (int64_t i = lo; i < hi; i++)
        for (int64_t r = 0; r < st->kernel_h; r++) {
            p.weights = (const float *)j->s->derived[0] + r * p.in * p.padded;
            j->dev->loops->conv.up(
                &p, cpu_at(j->s->in[0], p.t, i * xrow),
                cpu_out(j->s->out[0], p.t, (i * st->kernel_h + r) * yrow), st->width);
        }
}

static void up_run(struct step *s, struct device *dev)
{
    const struct up_state *st = s->state;
    const float *bias = st->bias >= 0 ? s->in[st->bias] : NULL;
    int64_t out = st->shape.row / st->kernel_w;
    struct job j = {.st = st, .s = s, .dev = dev};

    for (int64_t k = 0; bias && k < st->shape.row; k++)
        j.bias[k] = bias[k % out];
    cpu_for(dev, st->rows, 1, up_part, &j);
}

const struct kernel cpu_conv_transpose2d = {
    .name = "cpu conv_transpose2d",
    .claim = up_claim,
    .run = up_run,
    .state_size = sizeof(struct up_state),
};
