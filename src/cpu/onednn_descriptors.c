#include "base/error.h"
#include "cpu/onednn_internal.h"

/* int8 is not in enum dtype, because tensors of graphs never use it. */
static const enum dtype type_s8 = (enum dtype)(DTYPE_U8 + 1);

static dnnl_data_type_t data_type(enum dtype d)
{
    if (d == type_s8)
        return dnnl_s8;
    switch (d) {
    case DTYPE_F32:
        return dnnl_f32;
    case DTYPE_BF16:
        return dnnl_bf16;
    case DTYPE_U8:
        return dnnl_u8;
    case DTYPE_I32:
        return dnnl_s32;
    default:
        BUG("oneDNN does not compute in %s", dtype_name(d));
    }
}

static struct md md_new(int ndim, const int64_t *dim, enum dtype type,
                        dnnl_format_tag_t tag)
{
    struct md m = {.made = true};
    dnnl_dims_t d = {0};

    for (int i = 0; i < ndim; i++)
        d[i] = dim[i];
#if DNNL_VERSION_MAJOR >= 3
    ONEDNN_CHECK(dnnl_memory_desc_create_with_tag(&m.d, ndim, d, data_type(type), tag));
#else
    ONEDNN_CHECK(dnnl_memory_desc_init_by_tag(&m.d, ndim, d, data_type(type), tag));
#endif
    return m;
}

void md_release(struct md *m)
{
#if DNNL_VERSION_MAJOR >= 3
    if (m->made)
        (void)dnnl_memory_desc_destroy(m->d);
#endif
    m->made = false;
}

bool md_equal(const struct md *a, const struct md *b)
{
    return dnnl_memory_desc_equal(MD(a), MD(b));
}

size_t md_size(const struct md *m)
{
    return dnnl_memory_desc_get_size(MD(m));
}

struct md md_copy(const struct md *m)
{
    struct md copy = *m;

#if DNNL_VERSION_MAJOR >= 3
    ONEDNN_CHECK(dnnl_memory_desc_clone(&copy.d, m->d));
#endif
    return copy;
}

struct md md_query(dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    struct md m = {.made = true};

#if DNNL_VERSION_MAJOR >= 3
    ONEDNN_CHECK(dnnl_memory_desc_clone(&m.d, dnnl_primitive_desc_query_md(pd, what, 0)));
#else
    const dnnl_memory_desc_t *d = dnnl_primitive_desc_query_md(pd, what, 0);

    if (!d)
        BUG("oneDNN does not know its own tensor %d", (int)what);
    m.d = *d;
#endif
    return m;
}

/* oneDNN always reads twelve integers for dims. */
struct window {
    dnnl_dims_t stride, dilation, pad, pad_end;
};

static struct window conv_window(const struct onednn_conv *c)
{
    return (struct window){
        .stride = {c->stride[0], c->stride[1]},
        .dilation = {c->dilation[0] - 1, c->dilation[1] - 1},
        .pad = {c->pad[0], c->pad[1]},
        .pad_end = {c->pad_end[0], c->pad_end[1]},
    };
}

void shapes_release(struct shapes *s)
{
    md_release(&s->src);
    md_release(&s->weights);
    md_release(&s->bias);
    md_release(&s->dst);
    md_release(&s->plain);
}

static enum dtype input_type(enum dtype type, bool is_signed)
{
    return type == DTYPE_U8 && is_signed ? type_s8 : type;
}

static enum dtype weights_type(enum onednn_direction direction, enum dtype type)
{
    if (type == DTYPE_U8)
        return type_s8;
    return direction == ONEDNN_BACKWARD_WEIGHTS ? DTYPE_F32 : type;
}

struct shapes conv_shapes(const struct onednn_conv *c)
{
    enum dtype w = weights_type(c->direction, c->type);
    enum dtype dst = c->type == DTYPE_U8 ? DTYPE_I32 : c->type;
    int64_t g = c->groups, x[] = {c->batch, c->in, c->height, c->width};
    int64_t y[] = {c->batch, c->out, c->out_height, c->out_width};
    int64_t k[] = {g, c->out / g, c->in / g, c->kernel[0], c->kernel[1]};
    int one = g == 1, nk = 5 - one;
    dnnl_format_tag_t tag = one ? dnnl_acdb : dnnl_abdec;

    struct shapes s = {
        .src = md_new(4, x, input_type(c->type, c->is_signed), dnnl_acdb),
        .weights = md_new(nk, k + one, w, dnnl_format_tag_any),
        .dst = md_new(4, y, dst, dnnl_acdb),
        .plain = md_new(nk, k + one, DTYPE_F32, tag),
    };

    if (c->bias && c->direction != ONEDNN_BACKWARD_DATA)
        s.bias = md_new(1, &c->out, DTYPE_F32, dnnl_a);
    return s;
}

struct shapes linear_shapes(const struct onednn_linear *l)
{
    enum dtype w = weights_type(l->direction, l->type);
    enum dtype dst = l->type == DTYPE_U8 ? DTYPE_I32 : l->type;
    int64_t x[] = {l->rows, l->in}, y[] = {l->rows, l->out}, k[] = {l->out, l->in};
    struct shapes s = {
        .src = md_new(2, x, input_type(l->type, l->is_signed), dnnl_ab),
        .weights = md_new(2, k, w, dnnl_format_tag_any),
        .dst = md_new(2, y, dst, dnnl_ab),
        .plain = md_new(2, k, DTYPE_F32, dnnl_ab),
    };

    if (l->bias && l->direction != ONEDNN_BACKWARD_DATA)
        s.bias = md_new(1, &l->out, DTYPE_F32, dnnl_a);
    return s;
}

#if DNNL_VERSION_MAJOR >= 3

dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
                        const struct onednn_conv *c, const struct shapes *s,
                        dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint)
{
    const dnnl_alg_kind_t alg = dnnl_convolution_direct;
    const struct window w = conv_window(c);

    if (c->direction == ONEDNN_FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(
            pd, o->engine, dnnl_forward_training, alg, MD(&s->src), MD(&s->weights),
            MD(&s->bias), MD(&s->dst), w.stride, w.dilation, w.pad, w.pad_end, attr);
    if (c->direction == ONEDNN_BACKWARD_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(
            pd, o->engine, alg, MD(&s->src), MD(&s->weights), MD(&s->dst), w.stride,
            w.dilation, w.pad, w.pad_end, hint, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        pd, o->engine, alg, MD(&s->src), MD(&s->weights), MD(&s->bias), MD(&s->dst),
        w.stride, w.dilation, w.pad, w.pad_end, hint, attr);
}

dnnl_status_t linear_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
                          const struct onednn_linear *l, const struct shapes *s,
                          dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint)
{
    if (l->direction == ONEDNN_FORWARD)
        return dnnl_inner_product_forward_primitive_desc_create(
            pd, o->engine, dnnl_forward_training, MD(&s->src), MD(&s->weights),
            MD(&s->bias), MD(&s->dst), attr);
    if (l->direction == ONEDNN_BACKWARD_DATA)
        return dnnl_inner_product_backward_data_primitive_desc_create(
            pd, o->engine, MD(&s->src), MD(&s->weights), MD(&s->dst), hint, attr);
    return dnnl_inner_product_backward_weights_primitive_desc_create(
        pd, o->engine, MD(&s->src), MD(&s->weights), MD(&s->bias), MD(&s->dst), hint,
        attr);
}

#else

dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
                        const struct onednn_conv *c, const struct shapes *s,
                        dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint)
{
    const dnnl_alg_kind_t alg = dnnl_convolution_direct;
    const struct window w = conv_window(c);
    dnnl_convolution_desc_t desc;
    dnnl_status_t status;

    if (c->direction == ONEDNN_FORWARD)
        status = dnnl_dilated_convolution_forward_desc_init(
            &desc, dnnl_forward_training, alg, MD(&s->src), MD(&s->weights), MD(&s->bias),
            MD(&s->dst), w.stride, w.dilation, w.pad, w.pad_end);
    else if (c->direction == ONEDNN_BACKWARD_DATA)
        status = dnnl_dilated_convolution_backward_data_desc_init(
            &desc, alg, MD(&s->src), MD(&s->weights), MD(&s->dst), w.stride, w.dilation,
            w.pad, w.pad_end);
    else
        status = dnnl_dilated_convolution_backward_weights_desc_init(
            &desc, alg, MD(&s->src), MD(&s->weights), MD(&s->bias), MD(&s->dst), w.stride,
            w.dilation, w.pad, w.pad_end);
    if (status != dnnl_success)
        return status;
    return dnnl_primitive_desc_create(pd, &desc, attr, o->engine, hint);
}

dnnl_status_t linear_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
                          const struct onednn_linear *l, const struct shapes *s,
                          dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint)
{
    dnnl_inner_product_desc_t desc;
    dnnl_status_t status;

    if (l->direction == ONEDNN_FORWARD)
        status = dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_training,
                                                      MD(&s->src), MD(&s->weights),
                                                      MD(&s->bias), MD(&s->dst));
    else if (l->direction == ONEDNN_BACKWARD_DATA)
        status = dnnl_inner_product_backward_data_desc_init(&desc, MD(&s->src),
                                                            MD(&s->weights), MD(&s->dst));
    else
        status = dnnl_inner_product_backward_weights_desc_init(
            &desc, MD(&s->src), MD(&s->weights), MD(&s->bias), MD(&s->dst));
    if (status != dnnl_success)
        return status;
    return dnnl_primitive_desc_create(pd, &desc, attr, o->engine, hint);
}

#endif

#if DNNL_VERSION_MAJOR >= 3

bool md_blocking(const struct md *m, struct blocking *b)
{
    const dnnl_dims_t *padded, *stride, *size, *index;
    dnnl_format_kind_t kind;

    ONEDNN_CHECK(dnnl_memory_desc_query(m->d, dnnl_query_format_kind, &kind));
    if (kind != dnnl_blocked)
        return false;
    ONEDNN_CHECK(dnnl_memory_desc_query(m->d, dnnl_query_ndims_s32, &b->ndim));
    ONEDNN_CHECK(dnnl_memory_desc_query(m->d, dnnl_query_inner_nblks_s32, &b->count));
    ONEDNN_CHECK(dnnl_memory_desc_query(m->d, dnnl_query_padded_dims, &padded));
    ONEDNN_CHECK(dnnl_memory_desc_query(m->d, dnnl_query_strides, &stride));
    ONEDNN_CHECK(dnnl_memory_desc_query(m->d, dnnl_query_inner_blks, &size));
    ONEDNN_CHECK(dnnl_memory_desc_query(m->d, dnnl_query_inner_idxs, &index));
    b->padded = *padded;
    b->stride = *stride;
    b->size = *size;
    b->index = *index;
    return true;
}

#else

bool md_blocking(const struct md *m, struct blocking *b)
{
    const dnnl_blocking_desc_t *d = &m->d.format_desc.blocking;

    if (m->d.format_kind != dnnl_blocked)
        return false;
    *b = (struct blocking){m->d.ndims, d->inner_nblks, m->d.padded_dims,
                           d->strides, d->inner_blks,  d->inner_idxs};
    return true;
}

#endif
