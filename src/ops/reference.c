#include "ops/reference.h"

#include <string.h>

#include "base/half.h"

enum { SLOTS = 256, ALIGN = 64 };

/* The pointers that op->ref uses instead of the step's own. */
struct reference_state {
    void *in[SLOTS], *out[SLOTS];
};

/* Bytes of a tensor whose floats are stored as float. */
static size_t wide_size(const struct tensor *t)
{
    size_t size =
        tensor_is_float(t) ? (size_t)tensor_len(t) * sizeof(float) : tensor_size(t);

    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t scratch_needed(const struct node *n)
{
    size_t size = 0;

    for (int i = 0; i < n->nin; i++)
        if (dtype_is_half(n->in[i]->dtype))
            size += wide_size(n->in[i]);
    for (int i = 0; i < n->nout; i++) /* one of several outputs may be unused */
        if (dtype_is_half(n->out[i]->dtype) || n->op->nout > 1)
            size += wide_size(n->out[i]);
    return size + (n->op->ref_scratch ? n->op->ref_scratch(n) : 0);
}

static const char *reference_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    (void)g, (void)dev;
    if (!n->op->ref)
        return "the op has no reference";
    if (n->nin > SLOTS || n->nout > SLOTS)
        return "more than 256 inputs or outputs";

    region_claim(r, n);
    for (int i = 0; i < n->nin; i++)
        region_read(r, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        region_write(r, n->out[i]);
    region_workspace(r, scratch_needed(n));
    return NULL;
}

static void widen(float *dst, const uint16_t *src, const struct tensor *t)
{
    int64_t len = tensor_len(t);

    if (t->dtype == DTYPE_F16)
        for (int64_t i = 0; i < len; i++)
            dst[i] = fp16_to_float(src[i]);
    else
        for (int64_t i = 0; i < len; i++)
            dst[i] = bf16_to_float(src[i]);
}

static void narrow(uint16_t *dst, const float *src, const struct tensor *t)
{
    int64_t len = tensor_len(t);

    if (t->dtype == DTYPE_F16)
        for (int64_t i = 0; i < len; i++)
            dst[i] = fp16_from_float(src[i]);
    else
        for (int64_t i = 0; i < len; i++)
            dst[i] = bf16_from_float(src[i]);
}

/* Returns the next piece of the workspace, with the size of `t` in floats. */
static void *scratch(char **ptr, const struct tensor *t)
{
    void *p = *ptr;

    *ptr += wide_size(t);
    return p;
}

static void reference_run(struct step *s, struct device *dev)
{
    struct reference_state *st = s->state;
    const struct node *n = s->node;
    struct step view = *s;
    char *cursor = s->workspace;

    (void)dev;
    for (int i = 0; i < n->nin; i++) {
        bool half = dtype_is_half(n->in[i]->dtype);

        st->in[i] = half ? scratch(&cursor, n->in[i]) : s->in[i];
        if (half)
            widen(st->in[i], s->in[i], n->in[i]);
    }
    for (int i = 0; i < n->nout; i++) {
        bool half = dtype_is_half(n->out[i]->dtype);

        st->out[i] = half || !s->out[i] ? scratch(&cursor, n->out[i]) : s->out[i];
        if (half && i >= n->op->nout)
            widen(st->out[i], s->out[i], n->out[i]);
    }
    view.in = st->in;
    view.out = st->out;
    view.workspace = cursor;
    n->op->ref(&view);
    for (int i = 0; i < n->nout; i++)
        if (s->out[i] && dtype_is_half(n->out[i]->dtype))
            narrow(s->out[i], st->out[i], n->out[i]);
}

const struct kernel kernel_reference = {
    .name = "reference",
    .claim = reference_claim,
    .run = reference_run,
    .state_size = sizeof(struct reference_state),
};
