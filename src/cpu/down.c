/*
 * ERFNet's downsampling block: a convolution and a max pool, written into one tensor.
 *
 *   conv2d maxpool2d concat
 *
 * If it costs nothing (down.h), the convolution computes all channels of the joined
 * tensor, and the pool overwrites its own. Otherwise it computes a few images at a time,
 * whose channels are copied while they are in the cache.
 */
#include "cpu/down.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/conv2d.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/onednn.h"
#include "cpu/pool2d.h"
#include "cpu/weights.h"
#include "graph/kernel.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/maxpool2d.h"

struct tensor *down_joined(const struct tensor *dy)
{
    int64_t start;
    struct tensor *whole = channel_slice_of(dy, &start);

    return whole && start == 0 && down_padded(dy->dim[IMAGE_C], whole->dim[IMAGE_C])
               ? whole
               : NULL;
}

struct down_state {
    struct onednn_prim *prim;
    struct pool pool;
    bool padded;
    int bias;       /* index of a read, or derived if padded; or -1 */
    int64_t images; /* images per call of the convolution */
    size_t x, y;    /* bytes of `images` images */
};

struct match {
    struct node *conv, *pool;
};

static bool find_parts(struct match *f, const struct graph *g, const struct node *n)
{
    if (n->op != &op_concat || n->nin != 2)
        return false;
    f->conv = sole_producer(g, n->in[0], &op_conv2d);
    f->pool = sole_producer(g, n->in[1], &op_maxpool2d);
    return f->conv && f->pool && ((const struct pool2d_attrs *)f->pool->attrs)->kernel;
}

static bool one_type(const struct match *f, const struct node *n)
{
    enum dtype t = n->out[0]->dtype;

    return onednn_has_dtype(t) && f->conv->in[CONV2D_X]->dtype == t &&
           f->conv->out[0]->dtype == t && f->pool->in[MAXPOOL2D_X]->dtype == t;
}

enum { ROWS = 4 }; /* minimum rows of the result per thread */

/* Returns the smallest number of images, a divisor of the batch, that keeps all threads
 * busy; their channels are copied while they are in the cache. */
static int64_t images_at_once(const struct tensor *y, const struct device *dev)
{
    int64_t all = y->dim[IMAGE_N], n = 1;

    while (n < all && (all % n || n * y->dim[IMAGE_H] < (int64_t)ROWS * dev->threads))
        n++;
    return n;
}

static struct onednn_prim *prim_new(struct down_state *st, const struct match *f,
                                    const struct tensor *y, const struct device *dev)
{
    const struct tensor *x = f->conv->in[CONV2D_X], *used = f->conv->out[0];
    struct onednn_conv c = conv2d_geometry(f->conv, x, used, ONEDNN_FORWARD);

    c.bias = f->conv->nin > CONV2D_BIAS;
    st->padded = c.groups == 1 &&
                 (!c.bias || f->conv->in[CONV2D_BIAS]->memory == MEMORY_WEIGHTS) &&
                 down_padded(used->dim[IMAGE_C], y->dim[IMAGE_C]);
    if (st->padded)
        c.out = y->dim[IMAGE_C];
    c.batch = st->images = st->padded ? c.batch : images_at_once(used, dev);
    st->x = tensor_size(x) / (size_t)x->dim[IMAGE_N] * (size_t)c.batch;
    st->y = tensor_size(used) / (size_t)x->dim[IMAGE_N] * (size_t)c.batch;
    return onednn_conv_new(dev->onednn, &c);
}

struct pad_state {
    size_t conv_bytes, bytes; /* bytes */
};

static void bias_pad(void *dst, void *const *src, void *state)
{
    const struct pad_state *st = state;

    memset(dst, 0, st->bytes);
    memcpy(dst, src[0], st->conv_bytes);
}

/* The bias padded with zeros. */
static int bias_derive(struct region *r, struct tensor *bias, int64_t channels)
{
    struct pad_state st = {tensor_size(bias), (size_t)channels * sizeof(float)};

    return region_derive(r, &(const struct derive){
                                .size = st.bytes,
                                .source = {bias},
                                .nsource = 1,
                                .key = "padded",
                                .key_len = 6,
                                .pack = bias_pad,
                                .state = xmemdup(&st, sizeof(st)),
                                .release = free,
                            });
}

/* Workspace bytes for the convolution's images. */
static size_t space(const struct down_state *st)
{
    return st->padded ? 0 : (st->y + 63) / 64 * 64;
}

static const char *down_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    struct down_state *st = region_state(r);
    struct tensor *y = n->out[0], *bias;
    struct match f;

    if (!find_parts(&f, g, n))
        return "not a convolution and a max pool, joined";
    if (!one_type(&f, n))
        return "fp32 and bf16 only, and one of them for all";
    if (!weights_master(f.conv->in[CONV2D_WEIGHT]))
        return "the weights are computed";
    st->prim = prim_new(st, &f, y, dev);
    if (!st->prim)
        return "oneDNN has no fast code for it";

    region_claim(r, f.conv);
    region_claim(r, f.pool);
    region_claim(r, n);
    weights_read(r, f.conv->in[CONV2D_WEIGHT]);
    (void)weights_derive(r, dev, st->prim, y->dtype,
                         weights_master(f.conv->in[CONV2D_WEIGHT]), NULL);
    (void)region_read(r, f.conv->in[CONV2D_X]);
    (void)region_read(r, f.pool->in[MAXPOOL2D_X]);
    bias = f.conv->nin > CONV2D_BIAS ? f.conv->in[CONV2D_BIAS] : NULL;
    st->bias = !bias        ? -1
               : st->padded ? bias_derive(r, bias, y->dim[IMAGE_C])
                            : region_read(r, bias);
    (void)region_write(r, y);
    st->pool = pool2d_max(f.pool, f.pool->in[MAXPOOL2D_X], y);
    region_workspace(r, space(st) + onednn_prim_scratch(st->prim));
    return NULL;
}

struct job {
    const struct down_state *st;
    const struct device *dev;
    char *src, *dst;   /* an image's first pixel in the workspace, and in the result */
    const void *x;     /* input of the pool */
    size_t pixel, row; /* bytes per pixel of the convolution, and of the result */
};

static void copy_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    j->dev->loops->copy_rows(j->dst + (size_t)lo * j->row, (int64_t)j->row,
                             j->src + (size_t)lo * j->pixel, (int64_t)j->pixel,
                             (int64_t)j->pixel, hi - lo);
}

static void pool_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    j->dev->loops->maxpool(&j->st->pool, j->x, j->dst + j->pixel, lo, hi);
}

static void conv_run(struct step *s, struct device *dev, struct job *j, int64_t n)
{
    const struct down_state *st = j->st;
    int64_t pixels = (int64_t)(st->y / j->pixel);
    struct onednn_args a = {
        .weights = s->derived[0],
        .bias = st->bias < 0 ? NULL
                : st->padded ? s->derived[st->bias]
                             : s->in[st->bias],
        .dst = st->padded ? s->out[0] : s->workspace,
        .scratch = (char *)s->workspace + space(st),
    };

    for (int64_t i = 0; i < n; i += st->images) {
        a.src = (char *)s->in[0] + (size_t)(i / st->images) * st->x;
        onednn_prim_run(st->prim, &a);
        if (st->padded)
            continue;
        cpu_for(dev, pixels, 64, copy_part, j);
        j->dst += (size_t)pixels * j->row;
    }
}

static void down_run(struct step *s, struct device *dev)
{
    const struct down_state *st = s->state;
    const struct tensor *y = s->out_tensor[0];
    size_t row = (size_t)y->dim[IMAGE_C] * dtype_size(y->dtype);
    size_t used = row - (size_t)st->pool.c * dtype_size(y->dtype);
    struct job j = {st, dev, s->workspace, s->out[0], s->in[1], used, row};

    conv_run(s, dev, &j, y->dim[IMAGE_N]);
    j.dst = s->out[0];
    cpu_for(dev, y->dim[IMAGE_N] * y->dim[IMAGE_H], 1, pool_part, &j);
}

static void down_release(struct step *s)
{
    struct down_state *st = s->state;

    onednn_prim_free(st->prim);
}

const struct kernel cpu_down = {
    .name = "cpu down",
    .claim = down_claim,
    .run = down_run,
    .release = down_release,
    .state_size = sizeof(struct down_state),
};
