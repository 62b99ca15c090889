/*
 * concat and channel_slice: channels copied between rows of different width. Bytes: what
 * is copied, once each way. 16 bytes at a time where all widths and offsets allow it.
 */
#include "ops/concat.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/image.h"

enum { BLOCK = 256, ROUNDS = 4 };

struct alignas(16) unit16 {
    uint64_t v[2];
};

/*
 * `len` units of each of `pixels` rows, between rows of from_c and to_c units. A thread
 * has a unit of a row, `wide` of them side by side, and goes down ROUNDS rows.
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

static const char *concat_claim(struct region *r, struct graph *, struct node *n,
                                struct device *)
{
    if (n->op != &op_concat && n->op != &op_channel_slice)
        return "neither concat nor channel_slice";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[0]);
    return nullptr;
}

static void concat_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    int64_t c = y->dim[IMAGE_C], pixels = tensor_len(y) / c, at = 0;
    int64_t size = (int64_t)dtype_size(y->dtype);

    if (s->node->op == &op_channel_slice) {
        const struct channel_slice_attrs *a =
            (const struct channel_slice_attrs *)s->node->attrs;

        copy(dev, s->in[0], s->in_tensor[0]->dim[IMAGE_C], a->from, s->out[0], c, 0,
             a->len, pixels, size);
        return;
    }
    for (int i = 0; i < s->nin; i++) {
        int64_t len = s->in_tensor[i]->dim[IMAGE_C];

        copy(dev, s->in[i], len, 0, s->out[0], c, at, len, pixels, size);
        at += len;
    }
}

extern const struct kernel cuda_concat = {
    .name = "cuda concat",
    .claim = concat_claim,
    .run = concat_run,
};
