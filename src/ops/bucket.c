#include "ops/bucket.h"

#include <string.h>

#include "base/half.h"
#include "graph/kernel.h"

int64_t bucket_bytes(const struct bucket_attrs *a, int64_t len)
{
    return 4 * len - 2 * a->nhalf;
}

static const char *bucket_shape(struct node *n)
{
    const struct bucket_attrs *a = n->attrs;
    const struct tensor *x = n->out[0];

    if (!a->group || x->dtype != DTYPE_F32)
        return "no processes, or no floats";
    return !a->run || n->nout + n->nin > 1 ? NULL : "no room for 16 bits";
}

static int64_t bucket_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void narrow(const struct bucket_attrs *a, const float *x, int64_t n, uint16_t *to)
{
    float share = 1 / (float)a->group->world;

    for (int64_t i = 0; i < n; i++)
        to[i] = a->dtype == DTYPE_F16 ? fp16_from_float(x[i] * share)
                                      : bf16_from_float(x[i] * share);
}

static void widen(const struct bucket_attrs *a, const uint16_t *from, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = a->dtype == DTYPE_F16 ? fp16_to_float(from[i]) : bf16_to_float(from[i]);
}

/* What travels: first the 16-bit floats, then the others, from a multiple of 64 bytes. */
static float *wide_part(const struct bucket_attrs *a, void *travels)
{
    return (float *)(void *)((char *)travels + (a->nhalf * 2 + 63) / 64 * 64);
}

static void pack(const struct bucket_attrs *a, const float *x, void *travels)
{
    uint16_t *half = travels;
    float *wide = wide_part(a, travels);

    for (int i = 0; i < a->nrun; i++) {
        const struct bucket_run *r = &a->run[i];

        if (r->half) {
            narrow(a, x + r->offset, r->len, half);
            half += r->len;
        } else {
            memcpy(wide, x + r->offset, (size_t)r->len * sizeof(float));
            wide += r->len;
        }
    }
}

static void bucket_start_ref(const struct step *s)
{
    const struct bucket_attrs *a = s->node->attrs;
    int64_t len = tensor_len(s->node->out[0]);

    if (!a->run) {
        a->group->start(a->group, s->out[0], len, DTYPE_F32);
        return;
    }
    pack(a, s->out[0], s->out[1]);
    a->group->start(a->group, s->out[1], a->nhalf, (enum dtype)a->dtype);
    if (a->nhalf < len)
        a->group->start(a->group, wide_part(a, s->out[1]), len - a->nhalf, DTYPE_F32);
}

static void scale(const struct bucket_attrs *a, const float *from, int64_t n, float *x)
{
    float share = 1 / (float)a->group->world;

    for (int64_t i = 0; i < n; i++)
        x[i] = from[i] * share;
}

static void bucket_join_ref(const struct step *s)
{
    const struct bucket_attrs *a = s->node->attrs;
    float *x = s->out[0], *wide;
    const uint16_t *half;

    a->group->finish(a->group);
    if (!a->run) {
        scale(a, x, tensor_len(s->node->out[0]), x);
        return;
    }
    half = s->in[0];
    wide = wide_part(a, s->in[0]);
    for (int i = 0; i < a->nrun; i++) {
        const struct bucket_run *r = &a->run[i];

        if (r->half) {
            widen(a, half, r->len, x + r->offset);
            half += r->len;
        } else {
            scale(a, wide, r->len, x + r->offset);
            wide += r->len;
        }
    }
}

const struct op op_bucket_start = {
    .name = "bucket_start",
    .attrs_size = sizeof(struct bucket_attrs),
    .precision = PRECISION_F32,
    .shape = bucket_shape,
    .flops = bucket_flops,
    .ref = bucket_start_ref,
};

const struct op op_bucket_join = {
    .name = "bucket_join",
    .attrs_size = sizeof(struct bucket_attrs),
    .precision = PRECISION_F32,
    .shape = bucket_shape,
    .flops = bucket_flops,
    .ref = bucket_join_ref,
};
