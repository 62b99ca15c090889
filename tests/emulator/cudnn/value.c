#include "tests/emulator/cudnn/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/half.h"

static const size_t reserved = (size_t)1 << 36;
static unsigned char *memory;
static size_t used;

/* Reserved once, without malloc, because this may run in a step that is checked for
 * allocations. */
void *value_memory(size_t size)
{
    size_t pos = (used + 63) & ~(size_t)63;

    if (!memory) {
        void *p = mmap(NULL, reserved, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED)
            abort();
        memory = p;
    }
    if (size > reserved - pos)
        abort();
    used = pos + size;
    return memory + pos;
}

void value_reset(void)
{
    used = 0;
}

/* Order of dimensions from innermost: channels, then the last ones. */
static void order_of(int rank, int *order)
{
    int n = 0;

    if (rank >= 4)
        order[n++] = 1;
    for (int i = rank - 1; i >= 0; i--)
        if (rank < 4 || i != 1)
            order[n++] = i;
}

void value_shape(struct value *x, const struct tensor *t)
{
    int order[CUDNN_DIM_MAX];

    memset(x, 0, sizeof(*x));
    x->rank = t->rank;
    x->count = 1;
    order_of(t->rank, order);
    for (int n = 0; n < t->rank; n++) {
        x->dims[order[n]] = t->dims[order[n]];
        x->step[order[n]] = x->count;
        x->count *= t->dims[order[n]];
    }
}

/* Returns the mask of boolean i within its byte. NVIDIA does not document the order; this
 * one differs from that of our kernels, which must not depend on it. */
static unsigned bit_of(int64_t i)
{
    return 0x80u >> i % 8;
}

static float load(const void *p, int64_t i, int type)
{
    switch (type) {
    case CUDNN_DATA_FLOAT:
        return ((const float *)p)[i];
    case CUDNN_DATA_DOUBLE:
        return (float)((const double *)p)[i];
    case CUDNN_DATA_HALF:
        return fp16_to_float(((const uint16_t *)p)[i]);
    case CUDNN_DATA_BFLOAT16:
        return bf16_to_float(((const uint16_t *)p)[i]);
    case CUDNN_DATA_INT8:
        return (float)((const int8_t *)p)[i];
    case CUDNN_DATA_INT32:
        return (float)((const int32_t *)p)[i];
    case CUDNN_DATA_INT64:
        return (float)((const int64_t *)p)[i];
    case CUDNN_DATA_BOOLEAN:
        return (((const uint8_t *)p)[i / 8] & bit_of(i)) != 0;
    default: /* uint8 */
        return (float)((const uint8_t *)p)[i];
    }
}

static float clamp_round(float f, float low, float high)
{
    return f < low ? low : f > high ? high : rintf(f);
}

/* Stores f; returns the value that would be read back. */
static float store(void *p, int64_t i, int type, float f)
{
    uint8_t *byte;

    switch (type) {
    case CUDNN_DATA_FLOAT:
        ((float *)p)[i] = f;
        break;
    case CUDNN_DATA_DOUBLE:
        ((double *)p)[i] = (double)f;
        break;
    case CUDNN_DATA_HALF:
        ((uint16_t *)p)[i] = fp16_from_float(f);
        break;
    case CUDNN_DATA_BFLOAT16:
        ((uint16_t *)p)[i] = bf16_from_float(f);
        break;
    case CUDNN_DATA_INT8:
        ((int8_t *)p)[i] = (int8_t)clamp_round(f, -128, 127);
        break;
    case CUDNN_DATA_INT32:
        ((int32_t *)p)[i] = (int32_t)clamp_round(f, -2147483648.f, 2147483520.f);
        break;
    case CUDNN_DATA_INT64:
        ((int64_t *)p)[i] = (int64_t)f;
        break;
    case CUDNN_DATA_BOOLEAN:
        byte = (uint8_t *)p + i / 8;
        *byte = (uint8_t)(f != 0 ? *byte | bit_of(i) : *byte & ~bit_of(i));
        break;
    default:
        ((uint8_t *)p)[i] = (uint8_t)clamp_round(f, 0, 255);
    }
    return load(p, i, type);
}

/* A value whose steps are the tensor's strides, to walk over its memory. */
static struct value in_memory(const struct value *x, const struct tensor *t)
{
    struct value m = *x;

    memcpy(m.step, t->strides, sizeof(m.step[0]) * (size_t)t->rank);
    return m;
}

void value_load(struct value *x, const struct tensor *t, const void *p)
{
    struct value m;
    struct walk w;

    value_shape(x, t);
    m = in_memory(x, t);
    x->v = value_memory(sizeof(float) * (size_t)x->count);
    walk_start(&w, x, &m, NULL, NULL);
    do
        x->v[w.i] = load(p, w.offset[0], t->type);
    while (walk_next(&w));
}

void value_store(struct value *x, const struct tensor *t, void *p)
{
    struct value m = in_memory(x, t);
    struct walk w;

    walk_start(&w, x, &m, NULL, NULL);
    do
        x->v[w.i] = store(p, w.offset[0], t->type, x->v[w.i]);
    while (walk_next(&w));
}

void value_round(struct value *x, int type)
{
    uint64_t one = 0;

    for (int64_t i = 0; type != CUDNN_DATA_FLOAT && i < x->count; i++)
        x->v[i] = store(&one, 0, type, x->v[i]);
}

/* Rounds to nearest, ties away from zero; infinity and NaN stay. */
float value_tf32(float f)
{
    uint32_t u = float_bits(f);

    if ((u & 0x7f800000u) == 0x7f800000u)
        return f;
    return float_from_bits((u + 0x1000u) & ~0x1fffu);
}

void walk_start(struct walk *w, const struct value *shape, const struct value *a,
                const struct value *b, const struct value *c)
{
    const struct value *operand[3] = {a, b, c};

    memset(w, 0, sizeof(*w));
    w->shape = shape;
    order_of(shape->rank, w->order);
    for (int k = 0; k < 3; k++)
        for (int i = 0; operand[k] && i < shape->rank; i++)
            w->step[k][i] = operand[k]->dims[i] == 1 ? 0 : operand[k]->step[i];
}

bool walk_next(struct walk *w)
{
    w->i++;
    for (int n = 0; n < w->shape->rank; n++) {
        int d = w->order[n];
        int64_t back = w->shape->dims[d] - 1;

        if (++w->index[d] <= back) {
            for (int k = 0; k < 3; k++)
                w->offset[k] += w->step[k][d];
            return true;
        }
        w->index[d] = 0;
        for (int k = 0; k < 3; k++)
            w->offset[k] -= w->step[k][d] * back;
    }
    return false;
}
