#include "graph/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

int64_t tensor_len(const struct tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->ndim; i++)
        n *= t->dim[i];
    return n;
}

size_t tensor_size(const struct tensor *t)
{
    return (size_t)tensor_len(t) * dtype_size(t->dtype);
}

size_t tensor_room(const struct tensor *t)
{
    size_t size = tensor_size(t);

    return t->room > size ? t->room : size;
}

struct tensor *tensor_base(struct tensor *t)
{
    return t->alias_of ? t->alias_of : t;
}

bool tensor_same(const struct tensor *a, const struct tensor *b)
{
    return a->layout == b->layout && a->ndim == b->ndim &&
           !memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof(a->dim[0]));
}

bool tensor_is_float(const struct tensor *t)
{
    return t->dtype == DTYPE_F32 || dtype_is_half(t->dtype);
}

void tensor_strides(const struct tensor *t, int64_t stride[TENSOR_DIMS])
{
    int64_t step = 1;

    if (t->layout == LAYOUT_IMAGE) {
        stride[1] = 1;
        stride[3] = t->dim[1];
        stride[2] = t->dim[1] * t->dim[3];
        stride[0] = t->dim[1] * t->dim[3] * t->dim[2];
        return;
    }
    for (int i = t->ndim; i-- > 0; step *= t->dim[i])
        stride[i] = step;
}

void tensor_like(struct tensor *t, const struct tensor *src)
{
    t->dtype = src->dtype;
    t->layout = src->layout;
    t->ndim = src->ndim;
    memcpy(t->dim, src->dim, sizeof(t->dim));
}

void tensor_plain(struct tensor *t, enum dtype dtype, int ndim, const int64_t *dim)
{
    if (ndim < 0 || ndim > TENSOR_DIMS)
        BUG("%d dims", ndim);
    t->dtype = dtype;
    t->layout = LAYOUT_PLAIN;
    t->ndim = ndim;
    for (int i = 0; i < ndim; i++)
        t->dim[i] = dim[i];
}

void tensor_image(struct tensor *t, enum dtype dtype, int64_t n, int64_t c, int64_t h,
                  int64_t w)
{
    tensor_plain(t, dtype, 4, (const int64_t[]){n, c, h, w});
    t->layout = LAYOUT_IMAGE;
}

size_t dtype_size(enum dtype d)
{
    switch (d) {
    case DTYPE_F32:
    case DTYPE_I32:
        return 4;
    case DTYPE_F16:
    case DTYPE_BF16:
        return 2;
    case DTYPE_U8:
        return 1;
    }
    BUG("dtype %d", (int)d);
}

const char *dtype_name(enum dtype d)
{
    static const char *const name[] = {"fp32", "fp16", "bf16", "int32", "uint8"};

    return name[d];
}

bool dtype_is_half(enum dtype d)
{
    return d == DTYPE_F16 || d == DTYPE_BF16;
}

const char *memory_name(enum memory m)
{
    static const char *const name[MEMORY_COUNT] = {
        "none",          "arena",      "input",
        "weights",       "gradients",  "gradients on their way",
        "gradient sums", "moment1",    "moment2",
        "ema",           "statistics", "pending statistics",
        "control",       "metrics",    "output",
        "derived",       "workspace",
    };

    return name[m];
}

const char *tensor_text(const struct tensor *t, char buf[TENSOR_TEXT])
{
    size_t pos = 0;

    for (int i = 0; i < t->ndim && pos < TENSOR_TEXT; i++)
        pos += (size_t)snprintf(buf + pos, TENSOR_TEXT - pos, "%s%lld", i ? "x" : "",
                                (long long)t->dim[i]);
    if (pos < TENSOR_TEXT)
        (void)snprintf(buf + pos, TENSOR_TEXT - pos, "%s%s", pos ? " " : "",
                       dtype_name(t->dtype));
    return buf;
}
