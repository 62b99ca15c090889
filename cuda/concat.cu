/*
 * concat and slice: copy runs between rows of different length. Bytes: the copied runs,
 * read and written once, 16 bytes at a time if all lengths and offsets allow it.
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
 * Copies `len` units of each row, between rows of from_row and to_row units. A thread
 * copies one unit per row for ROUNDS rows; `wide` threads share a row, and `columns`
 * blocks share rows that are longer than a block.
 */
template <class U>
__global__ void __launch_bounds__(BLOCK)
    copy_runs(const U *src, int64_t from_row, U *dst, int64_t to_row, int len, int wide,
              unsigned columns, int64_t rows)
{
    int high = BLOCK / wide, row = (int)threadIdx.x / wide;
    int first = (int)(blockIdx.x % columns) * wide + (int)threadIdx.x % wide;
    int64_t pos = (int64_t)(blockIdx.x / columns) * high * ROUNDS + row;

    if (row >= high)
        return;
    for (int c = first; c < len; c += wide * (int)columns) {
        U v[ROUNDS] = {};

        for (int u = 0; u < ROUNDS; u++)
            if (pos + u * high < rows)
                v[u] = src[(pos + u * high) * from_row + c];
        for (int u = 0; u < ROUNDS; u++)
            if (pos + u * high < rows)
                dst[(pos + u * high) * to_row + c] = v[u];
    }
}

/* Rows of `row` elements; the run is `first` elements after the beginning of a row. */
struct run_rows {
    int64_t row, first;
};

template <class U>
static void copy_as(struct device *dev, const char *src, int64_t from_row, char *dst,
                    int64_t to_row, int64_t len, int64_t rows)
{
    int units = (int)len, wide = units < BLOCK ? units : (int)BLOCK;
    unsigned columns = cuda_blocks(units, BLOCK, 4), blocks;

    blocks = cuda_blocks(rows, BLOCK / wide, ROUNDS);
    LAUNCH(dev, copy_runs<U>, blocks * columns, BLOCK, 0, (const U *)src, from_row,
           (U *)dst, to_row, units, wide, columns, rows);
}

/* Lengths in elements of `size` bytes. */
static void copy(struct device *dev, const void *source, run_rows src, void *out,
                 run_rows dst, int64_t len, int64_t rows, int64_t size)
{
    const char *x = (const char *)source + src.first * size;
    char *y = (char *)out + dst.first * size;
    int64_t each = 16 / size, all = src.row | src.first | dst.row | dst.first | len;

    if (all % each == 0)
        copy_as<unit16>(dev, x, src.row / each, y, dst.row / each, len / each, rows);
    else if (size == 4)
        copy_as<uint32_t>(dev, x, src.row, y, dst.row, len, rows);
    else
        copy_as<uint16_t>(dev, x, src.row, y, dst.row, len, rows);
}

enum { PARTS = 8 }; /* inputs that may be produced in place; the others are copied */

struct part {
    struct node *pool; /* the pool that produces it, if in place */
    struct maxpool p;
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

/* Returns the node with this op that produces input i if the concat is the only reader of
 * the result and reads it once, or nullptr. */
static struct node *maker(const struct graph *g, const struct node *n, int i,
                          const struct op *op)
{
    struct node *p = sole_producer(g, n->in[i], op);

    for (int k = 0; k < n->nin; k++)
        if (k != i && n->in[k] == n->in[i])
            return nullptr;
    return p && p->in[0]->dtype == n->in[i]->dtype ? p : nullptr;
}

/* Lets cuDNN write all channels of y, of which part 0 is the first. Takes its nodes;
 * returns false if that is not possible. */
static bool claim_filling_conv(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    struct node *conv = maker(g, n, 0, &op_conv2d);
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

/* Reads each input, or the input of the pool that produces it; skips the one that conv
 * fills. */
static void concat_parts(struct region *r, struct graph *g, struct node *n)
{
    struct concat_state *st = state_of(r);
    int64_t start = 0;

    for (int i = 0; i < n->nin; i++) {
        struct tensor *t = n->in[i];
        struct node *pool = nullptr;

        if (i < PARTS && concat_of_channels(n) && !(i == 0 && st->fills))
            pool = maker(g, n, i, &op_maxpool2d);
        if (pool && !((const struct pool2d_attrs *)pool->attrs)->kernel)
            pool = nullptr;
        if (pool) {
            region_claim(r, pool);
            st->part[i].pool = pool;
            st->part[i].p = maxpool_of((const struct pool2d_attrs *)pool->attrs,
                                       pool->in[MAXPOOL2D_X], t, n->out[0], start);
        }
        if (!(i == 0 && st->fills))
            (void)region_read(r, pool ? pool->in[MAXPOOL2D_X] : t);
        start += t->dim[IMAGE_C];
    }
}

static const char *concat_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    bool slice = n->op == &op_slice;

    if (n->op != &op_concat && !slice)
        return "neither concat nor slice";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    state_of(r)->fills = concat_of_channels(n) && claim_filling_conv(r, g, n, dev);
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
    const struct slice_attrs *a = (const struct slice_attrs *)s->node->attrs;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    int64_t step = concat_step(x, a->axis), len = a->len * step;

    copy(dev, s->in[0], {x->dim[a->axis] * step, a->first * step}, s->out[0], {len, 0},
         len, tensor_len(y) / len, (int64_t)dtype_size(y->dtype));
}

static void concat_run(struct step *s, struct device *dev)
{
    const struct concat_state *st = (const struct concat_state *)s->state;
    const struct tensor *y = s->out_tensor[0];
    int read = st->fills ? (int)s->nin - (s->node->nin - 1) : 0;

    if (s->node->op == &op_slice) {
        slice_run(s, dev);
        return;
    }
    if (st->fills)
        cudnn_region_run(s, dev);

    int axis = ((const struct concat_attrs *)s->node->attrs)->axis;
    int64_t step = concat_step(y, axis), row = y->dim[axis] * step, start = 0;

    for (int i = 0; i < s->node->nin; i++) {
        int64_t len = s->node->in[i]->dim[axis] * step;

        if (i < PARTS && st->part[i].pool)
            cuda_maxpool(dev, &st->part[i].p, y->dtype, s->in[read++], s->out[0]);
        else if (i > 0 || !st->fills)
            copy(dev, s->in[read++], {len, 0}, s->out[0], {row, start}, len,
                 tensor_len(y) / row, (int64_t)dtype_size(y->dtype));
        start += len;
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
