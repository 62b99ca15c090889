#include "ops/bucket.h"

#include <string.h>

#include "base/half.h"
#include "graph/kernel.h"

int64_t bucket_bytes(const struct bucket_attrs *a, int64_t len)
{
    return 4 * len - 2 * a->nhalf;
}

struct bucket_part bucket_part(const struct bucket_attrs *a, int64_t len, int r)
{
    struct bucket_part p = {0, len};

    if (!a->begin)
        return p;
    p.begin = a->begin[r] - a->offset > 0 ? a->begin[r] - a->offset : 0;
    p.end = a->begin[r + 1] - a->offset < len ? a->begin[r + 1] - a->offset : len;
    if (p.end < p.begin)
        p.end = p.begin;
    return p;
}

int64_t bucket_half(const struct bucket_attrs *a, int64_t n)
{
    int64_t half = 0;

    for (int i = 0; i < a->nrun && a->run[i].offset < n; i++) {
        const struct bucket_run *r = &a->run[i];

        if (r->half)
            half += n - r->offset < r->len ? n - r->offset : r->len;
    }
    return half;
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

static void narrow(const struct bucket_attrs *a, const float *x, int64_t n, uint16_t *dst)
{
    float share = 1 / (float)a->group->world;

    for (int64_t i = 0; i < n; i++)
        dst[i] = a->dtype == DTYPE_F16 ? fp16_from_float(x[i] * share)
                                       : bf16_from_float(x[i] * share);
}

static void widen(const struct bucket_attrs *a, const uint16_t *src, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = a->dtype == DTYPE_F16 ? fp16_to_float(src[i]) : bf16_to_float(src[i]);
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

static void start(const struct bucket_attrs *a, void *x, int64_t n, enum dtype t,
                  int rank)
{
    if (n && a->begin)
        a->group->start_to(a->group, x, n, t, rank);
    else if (n)
        a->group->start(a->group, x, n, t);
}

/* Starts sending floats [p.from, p.to) to a process. */
static void start_part(const struct bucket_attrs *a, const struct step *s,
                       struct bucket_part p, int stop)
{
    int64_t half = bucket_half(a, p.begin), end = bucket_half(a, p.end);

    if (!a->run) {
        start(a, (float *)s->out[0] + p.begin, p.end - p.begin, DTYPE_F32, stop);
        return;
    }
    start(a, (uint16_t *)s->out[1] + half, end - half, (enum dtype)a->dtype, stop);
    start(a, wide_part(a, s->out[1]) + (p.begin - half), p.end - p.begin - (end - half),
          DTYPE_F32, stop);
}

static void bucket_start_ref(const struct step *s)
{
    const struct bucket_attrs *a = s->node->attrs;
    int64_t len = tensor_len(s->node->out[0]);

    if (a->local)
        return;
    if (a->run)
        pack(a, s->out[0], s->out[1]);
    for (int r = 0; r < (a->begin ? a->group->world : 1); r++)
        start_part(a, s, bucket_part(a, len, r), r);
}

static void scale(const struct bucket_attrs *a, const float *src, int64_t n, float *x)
{
    float share = 1 / (float)a->group->world;

    for (int64_t i = 0; i < n; i++)
        x[i] = src[i] * share;
}

static void bucket_join_ref(const struct step *s)
{
    const struct bucket_attrs *a = s->node->attrs;
    struct bucket_part part = bucket_part(a, tensor_len(s->node->out[0]), a->group->rank);
    float *x = s->out[0], *wide;
    const uint16_t *half;

    if (!a->local)
        a->group->finish(a->group);
    if (!a->run) {
        scale(a, x + part.begin, part.end - part.begin, x + part.begin);
        return;
    }
    half = (const uint16_t *)s->in[0] + bucket_half(a, part.begin);
    wide = wide_part(a, s->in[0]) + (part.begin - bucket_half(a, part.begin));
    for (int i = 0; i < a->nrun; i++) {
        const struct bucket_run *r = &a->run[i];
        int64_t begin = r->offset > part.begin ? r->offset : part.begin;
        int64_t end = r->offset + r->len < part.end ? r->offset + r->len : part.end;

        if (begin >= end)
            continue;
        if (r->half) {
            widen(a, half, end - begin, x + begin);
            half += end - begin;
        } else {
            scale(a, wide, end - begin, x + begin);
            wide += end - begin;
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
