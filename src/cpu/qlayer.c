/*
 * 8-bit layers by oneDNN: exact int32 sums of a few images at a time, then one pass of
 * our own that scales them, adds bias and shortcut, and writes the inputs of the next
 * layers: floats, 8-bit values, or both.
 *
 * Without VNNI, products of uint8 and int8 are added in pairs in int16, which saturates
 * (vpmaddubsw), so weights have 7 bits there. For int8 inputs oneDNN converts them to
 * uint8; it halves the weights of convolutions itself, but not those of linear layers.
 */
#include "ops/qlayer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clones.h"
#include "cpu/conv2d.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/linear.h"
#include "cpu/quantize.h"
#include "ops/image.h"
#include "ops/qchain.h"
#include "ops/quantize.h"

#if !defined(__clang__)
#pragma GCC optimize("O3") /* loops for the auto-vectorizer */
#endif

enum { SUMS = 1 << 20 }; /* bytes of sums that should fit the cache */

struct qlayer_state {
    struct onednn_prim *prim;
    int64_t chunk, batch;        /* images per call, and in total */
    int64_t channels, positions; /* of the result; positions: per image */
    size_t x_bytes;              /* per chunk */
    struct qchain_slots chain;
};

/* ---- packed weights, and factor and offset per channel ---- */

struct pack_state {
    struct onednn_pack *pack;
    float *copy; /* NULL: used unchanged */
    int64_t len;
};

static void pack_run(void *dst, void *const *src, void *state)
{
    const struct pack_state *st = state;
    float *w = src[0];

    if (st->copy) {
        for (int64_t i = 0; i < st->len; i++)
            st->copy[i] = rintf(w[i] / 2);
        w = st->copy;
    }
    onednn_pack_run(st->pack, dst, w);
}

static void pack_release(void *state)
{
    struct pack_state *st = state;

    onednn_pack_free(st->pack);
    free(st->copy);
    free(st);
}

static void derive_weights(struct region *r, struct device *dev,
                           const struct onednn_prim *p, struct tensor *w, bool halved)
{
    struct pack_state *st = xcalloc(1, sizeof(*st));
    int key[] = {halved ? 'h' : 'q', onednn_prim_packing(p)};

    st->pack = onednn_pack_new(dev->onednn, p, ONEDNN_PACK);
    st->len = tensor_len(w);
    st->copy = halved ? xmalloc((size_t)st->len * sizeof(float)) : NULL;
    (void)region_derive(r, &(struct derive){
                               .size = onednn_prim_weights_size(p),
                               .source = {w},
                               .nsource = 1,
                               .key = key,
                               .key_len = sizeof(key),
                               .pack = pack_run,
                               .state = st,
                               .release = pack_release,
                           });
}

/* Two rows of channels: factors, then offsets. */
struct channel_state {
    int64_t channels;
    float factor;
};

static void channel_run(void *dst, void *const *src, void *state)
{
    const struct channel_state *st = state;
    const float *scale = src[0], *input = src[1], *bias = src[2];
    float *out = dst;

    for (int64_t c = 0; c < st->channels; c++) {
        out[c] = *input * scale[c] * st->factor;
        out[st->channels + c] = bias ? bias[c] : 0;
    }
}

static void derive_channels(struct region *r, const struct node *n, bool halved)
{
    struct channel_state *st = xcalloc(1, sizeof(*st));
    struct derive d = {
        .source = {n->in[QLAYER_WEIGHT_SCALE], n->in[QLAYER_INPUT_SCALE]},
        .nsource = 2,
        .key = halved ? "qlayer 7 bits" : "qlayer 8 bits",
        .key_len = 13,
        .pack = channel_run,
        .state = st,
        .release = free,
    };

    st->channels = n->in[QLAYER_WEIGHT_SCALE]->dim[0];
    st->factor = halved ? 2 : 1;
    d.size = (size_t)(2 * st->channels) * sizeof(float);
    if (n->nin > QLAYER_BIAS)
        d.source[d.nsource++] = n->in[QLAYER_BIAS];
    (void)region_derive(r, &d);
}

/* ---- the claim ---- */

/* Returns the largest divisor of the batch whose sums fit. */
static int64_t chunk_of(int64_t batch, int64_t each)
{
    int64_t chunk = batch;

    while (chunk > 1 && (batch % chunk || chunk * each * 4 > SUMS))
        chunk--;
    return chunk;
}

static struct onednn_prim *prim_new(struct qlayer_state *st, const struct node *n,
                                    struct device *dev)
{
    const struct tensor *x = n->in[QLAYER_X], *y = n->out[0];
    struct onednn_conv c;
    struct onednn_linear l;

    st->channels = tensor_channels(y);
    if (n->op == &op_qlinear) {
        l = linear_geometry(x, y, ONEDNN_FORWARD);
        l.is_signed = !qlayer_is_unsigned(n);
        st->batch = l.rows;
        st->positions = 1;
        st->chunk = l.rows = chunk_of(st->batch, st->channels);
        st->x_bytes = (size_t)(st->chunk * l.in);
        return onednn_linear_new(dev->onednn, &l);
    }
    c = conv2d_geometry(n, x, y, ONEDNN_FORWARD);
    c.is_signed = !qlayer_is_unsigned(n);
    st->batch = c.batch;
    st->positions = c.out_height * c.out_width;
    st->chunk = c.batch = chunk_of(st->batch, st->channels * st->positions);
    st->x_bytes = (size_t)(st->chunk * c.in * c.height * c.width);
    return onednn_conv_new(dev->onednn, &c);
}

static size_t sums_size(const struct qlayer_state *st)
{
    size_t size = (size_t)(st->chunk * st->positions * st->channels) * sizeof(int32_t);

    return (size + 63) / 64 * 64;
}

static const char *qlayer_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct qlayer_state *st = region_state(r);
    struct qchain c;
    const char *why;
    bool halved;

    if (!qchain_find(&c, g, n))
        return "no layer in 8 bits, nor what may follow one";
    why = qchain_decline(&c);
    if (why)
        return why;
    st->prim = prim_new(st, c.layer, dev);
    if (!st->prim)
        return "oneDNN has no fast code for it";
    halved =
        !onednn_has_vnni() && (qlayer_is_unsigned(c.layer) || c.layer->op == &op_qlinear);
    qchain_claim(r, &c);
    (void)region_read(r, c.layer->in[QLAYER_X]);
    st->chain = qchain_slots(r, g, &c);
    derive_weights(r, dev, st->prim, c.layer->in[QLAYER_WEIGHT], halved);
    derive_channels(r, c.layer, halved);
    region_workspace(r, sums_size(st) + onednn_prim_scratch(st->prim));
    return NULL;
}

/* ---- the pass over the sums ---- */

struct finish {
    const struct qlayer_state *st;
    const float *channel, *other;
    const int32_t *sum;
    float *floats;
    void *bytes;
    float scale;
};

/* Converts len channels of sums to floats; `other` and `relu` are compile-time constants
 * when inlined. */
static inline __attribute__((always_inline)) void
results(float *v, const int32_t *sum, const float *factor, const float *shift,
        const float *other, bool relu, int64_t len)
{
    for (int64_t c = 0; c < len; c++) {
        float x = (float)sum[c] * factor[c] + shift[c];

        if (other)
            x += other[c];
        v[c] = relu && x < 0 ? 0 : x;
    }
}

CLONES static void result_block(float *restrict v, const int32_t *restrict sum,
                                const float *restrict factor, const float *restrict shift,
                                const float *restrict other, bool relu, int64_t len)
{
    if (other && relu)
        results(v, sum, factor, shift, other, true, len);
    else if (other)
        results(v, sum, factor, shift, other, false, len);
    else if (relu)
        results(v, sum, factor, shift, NULL, true, len);
    else
        results(v, sum, factor, shift, NULL, false, len);
}

static void finish_row(const struct finish *f, int64_t row)
{
    int64_t n = f->st->channels, pos = row * n;
    const float *factor = f->channel, *shift = f->channel + n;

    for (int64_t lo = 0; lo < n; lo += QUANTIZE_BLOCK) {
        int64_t len = n - lo < QUANTIZE_BLOCK ? n - lo : QUANTIZE_BLOCK;
        float block[QUANTIZE_BLOCK], *v = f->floats ? f->floats + pos + lo : block;

        result_block(v, f->sum + pos + lo, factor + lo, shift + lo,
                     f->other ? f->other + pos + lo : NULL, f->st->chain.relu, len);
        if (f->bytes)
            quantize_block(v, len, f->scale, f->st->chain.is_unsigned,
                           (char *)f->bytes + pos + lo);
    }
}

static void finish_part(void *arg, int64_t lo, int64_t hi)
{
    for (int64_t row = lo; row < hi; row++)
        finish_row(arg, row);
}

static void qlayer_run(struct step *s, struct device *dev)
{
    const struct qlayer_state *st = s->state;
    int64_t rows = st->chunk * st->positions;
    struct onednn_args a = {.weights = s->derived[0],
                            .dst = s->workspace,
                            .scratch = (char *)s->workspace + sums_size(st)};

    for (int64_t i = 0; i < st->batch / st->chunk; i++) {
        int64_t done = i * rows * st->channels;
        struct finish f = {
            .st = st,
            .channel = s->derived[1],
            .other =
                st->chain.add >= 0 ? (const float *)s->in[st->chain.add] + done : NULL,
            .sum = s->workspace,
            .floats =
                st->chain.floats >= 0 ? (float *)s->out[st->chain.floats] + done : NULL,
            .bytes = st->chain.bytes >= 0 ? (char *)s->out[st->chain.bytes] + done : NULL,
            .scale = st->chain.scale >= 0 ? *(const float *)s->in[st->chain.scale] : 1,
        };

        a.src = (char *)s->in[0] + (size_t)i * st->x_bytes;
        onednn_prim_run(st->prim, &a);
        cpu_for(dev, rows, 1, finish_part, &f);
    }
}

static void qlayer_end(struct step *s)
{
    struct qlayer_state *st = s->state;

    onednn_prim_free(st->prim);
}

const struct kernel cpu_qlayer = {
    .name = "cpu qlayer",
    .claim = qlayer_claim,
    .run = qlayer_run,
    .release = qlayer_end,
    .state_size = sizeof(struct qlayer_state),
};
