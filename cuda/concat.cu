/*
 * concat and channel_slice: copy channels between rows of different width. Bytes: the
 * copied channels, read and written once, 16 bytes at a time if all widths and offsets
 * allow it.
 *
 * Inputs that can be produced in place are not copied: a max pool that is not the first
 * input, and a convolution that is (cuda/pad.h); the convolution runs first and fills the
 * tensor.
 */
#include "ops/concat.h"

#include "cuda/cudnn_region.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/maxpool2d.h"
#include "cuda/pad.h"
#include "cuda/vec.h"
#include "cuda/weights.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"

enum { BLOCK = 256, ROUNDS = 4 };

struct alignas(16) unit16 {
    uint64_t v[2];
};

/*
 * Copies `len` units of each of `pixels` rows, between rows of from_c and to_c units. A
 * thread copies one unit per row for ROUNDS rows; `wide` threads share a row.
 */
template <class U>
__global__ void __launch_bounds__(BLOCK)
    copy_channels(const U *from, int from_c, U *to, int to_c, int len, int wide,
                  int64_t pixels)
{
    int high = BLOCK / wide, row = (int)threadIdx.x / wide;
    int first = (int)threadIdx.x % wide;
    int64_t at = (int64_t)blockIdx.x * high * ROUNDS + row;

    if (row >= high)
        return;
    for (int c = first; c < len; c += wide) {
        U v[ROUNDS] = {};

        for (int u = 0; u < ROUNDS; u++)
            if (at + u * high < pixels)
                v[u] = from[(at + u * high) * from_c + c];
        for (int u = 0; u < ROUNDS; u++)
            if (at + u * high < pixels)
                to[(at + u * high) * to_c + c] = v[u];
    }
}

template <class U>
static void copy_as(struct device *dev, const void *from, int64_t from_c, void *to,
                    int64_t to_c, int64_t len, int64_t pixels, int64_t each)
{
    int units = (int)(len / each), wide = units < BLOCK ? units : (int)BLOCK;

    LAUNCH(dev, copy_channels<U>, cuda_blocks(pixels, BLOCK / wide, ROUNDS), BLOCK, 0,
           (const U *)from, (int)(from_c / each), (U *)to, (int)(to_c / each), units,
           wide, pixels);
}

/* Lengths and offsets in elements of `size` bytes. */
static void copy(struct device *dev, const void *from, int64_t from_c, int64_t from_at,
                 void *to, int64_t to_c, int64_t to_at, int64_t len, int64_t pixels,
                 int64_t size)
{
    const char *src = (const char *)from + from_at * size;
    char *dst = (char *)to + to_at * size;
    int64_t each = 16 / size, all = from_c | from_at | to_c | to_at | len;

    if (all % each == 0)
        copy_as<unit16>(dev, src, from_c, dst, to_c, len, pixels, each);
    else if (size == 4)
        copy_as<uint32_t>(dev, src, from_c, dst, to_c, len, pixels, 1);
    else
        copy_as<uint16_t>(dev, src, from_c, dst, to_c, len, pixels, 1);
}

enum { PARTS = 8 };

struct part {
    struct tensor *in; /* of the concat node */
    struct node *pool; /* the pool that produces it, if in place */
    struct maxpool p;
    int read;
    int64_t from; /* first channel */
};

struct concat_state {
    struct cudnn_state conv; /* first: run and release of cudnn_region.h expect it here */
    bool fills;              /* conv produces part 0 */
    struct part part[PARTS];
};

static struct concat_state *state_of(struct region *r)
{
    return (struct concat_state *)region_state(r);
}

/* Returns the node with this op that produces t if the concat is t's only reader, or
 * nullptr. */
static struct node *maker(const struct graph *g, const struct tensor *t,
                          const struct op *op)
{
    struct node *n = sole_producer(g, t, op);

    return n && n->in[0]->dtype == t->dtype ? n : nullptr;
}

/* Lets cuDNN write all channels of y, of which part 0 is the first. Takes its nodes;
 * returns false if that is not possible. */
static bool claim_filling_conv(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    struct node *conv = maker(g, n->in[0], &op_conv2d);
    struct cudnn_claim c;

    if (!conv ||
        !cuda_pays_to_fill(n->out[0]->dtype, n->in[0]->dim[1], n->out[0]->dim[1]) ||
        ((const struct conv2d_attrs *)conv->attrs)->groups != 1 ||
        !cuda_weights_master(conv->in[CONV2D_WEIGHT]) ||
        (conv->nin > CONV2D_BIAS && !cuda_weights_master(conv->in[CONV2D_BIAS])) ||
        !cudnn_chain(&c, g, conv, dev, &op_conv2d))
        return false;
    c.joined = n->out[0];
    return cudnn_claim(&c, r) == nullptr;
}

static void concat_parts(struct region *r, struct graph *g, struct node *n)
{
    struct concat_state *st = state_of(r);
    int64_t from = 0;

    for (int i = 0; i < n->nin; i++) {
        struct part *p = &st->part[i];

        p->in = n->in[i];
        p->from = from;
        from += n->in[i]->dim[IMAGE_C];
        if (i == 0 && st->fills)
            continue;
        p->pool = maker(g, p->in, &op_maxpool2d);
        if (p->pool) {
            region_claim(r, p->pool);
            p->p = maxpool_of((const struct maxpool2d_attrs *)p->pool->attrs,
                              p->pool->in[MAXPOOL2D_X], p->in, n->out[0], p->from);
        }
        p->read = region_read(r, p->pool ? p->pool->in[MAXPOOL2D_X] : p->in);
    }
}

static const char *concat_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    bool slice = n->op == &op_channel_slice;

    if (n->op != &op_concat && !slice)
        return "neither concat nor channel_slice";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";
    if (n->nin > PARTS)
        return "too many parts";

    state_of(r)->fills = !slice && claim_filling_conv(r, g, n, dev);
    region_claim(r, n);
    if (slice)
        (void)region_read(r, n->in[0]);
    else
        concat_parts(r, g, n);
    if (!state_of(r)->fills)
        (void)region_write(r, n->out[0]);
    return nullptr;
}

static void slice_run(struct step *s, struct device *dev)
{
    const struct channel_slice_attrs *a =
        (const struct channel_slice_attrs *)s->node->attrs;
    const struct tensor *y = s->out_tensor[0];
    int64_t c = y->dim[IMAGE_C];

    copy(dev, s->in[0], s->in_tensor[0]->dim[IMAGE_C], a->from, s->out[0], c, 0, a->len,
         tensor_len(y) / c, (int64_t)dtype_size(y->dtype));
}

static void concat_run(struct step *s, struct device *dev)
{
    const struct concat_state *st = (const struct concat_state *)s->state;
    const struct tensor *y = s->out_tensor[0];
    int64_t c = y->dim[IMAGE_C], pixels = tensor_len(y) / c;

    if (s->node->op == &op_channel_slice) {
        slice_run(s, dev);
        return;
    }
    if (st->fills)
        cudnn_region_run(s, dev);
    for (int i = st->fills ? 1 : 0; i < s->node->nin; i++) {
        const struct part *p = &st->part[i];
        int64_t len = p->in->dim[IMAGE_C];

        if (p->pool)
            cuda_maxpool(dev, &p->p, y->dtype, s->in[p->read], s->out[0]);
        else
            copy(dev, s->in[p->read], len, 0, s->out[0], c, p->from, len, pixels,
                 (int64_t)dtype_size(y->dtype));
    }
}

static void concat_describe(const struct step *s, struct strbuf *text)
{
    if (((const struct concat_state *)s->state)->fills)
        cudnn_region_describe(s, text);
}

extern const struct kernel cuda_concat = {
    .name = "cuda concat",
    .claim = concat_claim,
    .run = concat_run,
    .release = cudnn_region_release,
    .state_size = sizeof(struct concat_state),
    .describe = concat_describe,
};
