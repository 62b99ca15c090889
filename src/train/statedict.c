#include "train/statedict.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "ops/qlayer.h"

#define COUNTER_MAX 9.2e18f /* below 2^63, so that the cast from float is defined */

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len >= n && !strcmp(name + len - n, end);
}

bool statedict_is_counter(const struct tensor *t)
{
    return ends_with(t->name, "num_batches_tracked");
}

bool statedict_is_integer(const struct tensor *t)
{
    return t->integer || statedict_is_counter(t);
}

bool statedict_is_tied(const struct flat *f, const char *name)
{
    for (int i = 0; i < f->nparam; i++)
        for (int k = 0; k < f->segment[i].tensor->nalso; k++)
            if (!strcmp(f->segment[i].tensor->also[k], name))
                return true;
    return false;
}

/* True for an 8-bit weight (ops/qlayer.h). */
static bool is_bytes(const struct tensor *t)
{
    return ends_with(t->name, "." QLAYER_WEIGHT_NAME);
}

struct statedict_shape statedict_shape(const struct tensor *t)
{
    struct statedict_shape s = {.dtype = SAFETENSORS_F32, .ndim = t->ndim};

    if (statedict_is_counter(t))
        return (struct statedict_shape){.dtype = SAFETENSORS_I64};
    if (is_bytes(t))
        s.dtype = SAFETENSORS_I8;
    if (t->integer)
        s.dtype = SAFETENSORS_I64;
    memcpy(s.dims, t->dim, sizeof(s.dims));
    return s;
}

size_t statedict_size(const struct tensor *t)
{
    return (size_t)tensor_len(t) * safetensors_dtype_size(statedict_shape(t).dtype);
}

/* Maps element i in the file's order to its place in memory. */
struct walk {
    int64_t dim[4], stride[4];
};

static struct walk walk_of(const struct tensor *t)
{
    int64_t stride[TENSOR_DIMS] = {0};
    struct walk w = {{1, 1, 1, 1}, {0}};

    if (t->layout != LAYOUT_IMAGE)
        return (struct walk){{1, 1, 1, tensor_len(t)}, {0, 0, 0, 1}};
    tensor_strides(t, stride);
    for (int i = 0; i < 4; i++) {
        w.dim[i] = t->dim[i];
        w.stride[i] = stride[i];
    }
    return w;
}

static int64_t place(const struct walk *w, int64_t i)
{
    int64_t index = 0;

    for (int d = 3; d >= 0; d--) {
        index += i % w->dim[d] * w->stride[d];
        i /= w->dim[d];
    }
    return index;
}

void statedict_pack(const struct segment *s, const float *flat, void *dst)
{
    const float *src = flat + s->offset;
    struct walk w = walk_of(s->tensor);
    float *values = dst;

    if (statedict_is_counter(s->tensor)) {
        int64_t count = *src > 0 ? *src < COUNTER_MAX ? (int64_t)*src : INT64_MAX : 0;

        memcpy(dst, &count, sizeof(count));
        return;
    }
    if (s->tensor->integer) {
        for (int64_t i = 0; i < s->len; i++)
            ((int64_t *)dst)[i] = fabsf(src[i]) < COUNTER_MAX ? (int64_t)src[i] : 0;
        return;
    }
    for (int64_t i = 0; i < s->len && is_bytes(s->tensor); i++)
        ((int8_t *)dst)[i] = (int8_t)src[place(&w, i)];
    for (int64_t i = 0; i < s->len && !is_bytes(s->tensor); i++)
        values[i] = src[place(&w, i)];
}

static float number(const void *src, int64_t i, enum safetensors_dtype dtype)
{
    uint16_t h;
    double d;
    float f;

    switch (dtype) {
    case SAFETENSORS_I8:
        return ((const int8_t *)src)[i];
    case SAFETENSORS_F64:
        memcpy(&d, (const char *)src + i * 8, 8);
        return (float)d;
    case SAFETENSORS_F16:
    case SAFETENSORS_BF16:
        memcpy(&h, (const char *)src + i * 2, 2);
        return dtype == SAFETENSORS_F16 ? fp16_to_float(h) : bf16_to_float(h);
    default:
        memcpy(&f, (const char *)src + i * 4, 4);
        return f;
    }
}

static bool integers(float *values, const void *src, int64_t n,
                     enum safetensors_dtype dtype)
{
    const char *source = src;
    int64_t wide;
    int32_t narrow;

    for (int64_t i = 0; i < n; i++) {
        if (dtype == SAFETENSORS_I64 || dtype == SAFETENSORS_U64) {
            memcpy(&wide, source + i * 8, sizeof(wide));
            values[i] = (float)wide;
        } else if (dtype == SAFETENSORS_I32 || dtype == SAFETENSORS_U32) {
            memcpy(&narrow, source + i * 4, sizeof(narrow));
            values[i] = (float)narrow;
        } else if (dtype == SAFETENSORS_BOOL) {
            values[i] = source[i] != 0;
        } else {
            return false;
        }
    }
    return true;
}

bool statedict_unpack(const struct segment *s, float *flat, const void *src,
                      enum safetensors_dtype dtype)
{
    float *values = flat + s->offset;
    struct walk w = walk_of(s->tensor);

    if (statedict_is_integer(s->tensor) && integers(values, src, s->len, dtype))
        return true;
    if (is_bytes(s->tensor) != (dtype == SAFETENSORS_I8))
        return false;
    if (dtype != SAFETENSORS_I8 && dtype != SAFETENSORS_F32 && dtype != SAFETENSORS_F16 &&
        dtype != SAFETENSORS_BF16 && dtype != SAFETENSORS_F64)
        return false;
    for (int64_t i = 0; i < s->len; i++)
        values[place(&w, i)] = number(src, i, dtype);
    return true;
}

/* True if the file has the weights of a linear layer on a flattened map, and the model a
 * convolution as large as the map (VGG): the same numbers in the same order. */
static bool fits_flat(const struct tensor *t, const struct safetensors_tensor *file)
{
    return t->layout == LAYOUT_IMAGE && t->ndim == 4 && file->ndim == 2 &&
           file->dims[0] == t->dim[0] && file->dims[1] == tensor_len(t) / t->dim[0];
}

bool statedict_fits(const struct tensor *t, const struct safetensors_tensor *file)
{
    struct statedict_shape s = statedict_shape(t);

    if (statedict_is_counter(t))
        return file->ndim == 0 || (file->ndim == 1 && file->dims[0] == 1);
    if (fits_flat(t, file))
        return true;
    if (file->ndim != s.ndim)
        return false;
    for (int i = 0; i < s.ndim; i++)
        if (file->dims[i] != s.dims[i])
            return false;
    return true;
}

static void add_dims(struct strbuf *s, int ndim, const int64_t *dim)
{
    for (int i = 0; i < ndim; i++)
        strbuf_addf(s, "%s%lld", i ? "x" : "", (long long)dim[i]);
    if (!ndim)
        strbuf_addstr(s, "scalar");
}

void statedict_add_shapes(struct strbuf *s, const struct tensor *t,
                          const struct safetensors_tensor *file)
{
    struct statedict_shape shape = statedict_shape(t);

    strbuf_addstr(s, "the file has ");
    add_dims(s, file->ndim, file->dims);
    strbuf_addstr(s, ", the model ");
    add_dims(s, shape.ndim, shape.dims);
}
