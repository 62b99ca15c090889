#include "cpu/onednn.h"

#include <oneapi/dnnl/dnnl.h>

#include "base/alloc.h"
#include "base/error.h"

struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

/* A memory descriptor: a struct in 2.x, a handle that must be destroyed in 3.x. */
struct md {
    dnnl_memory_desc_t d;
    bool made;
};

#if DNNL_VERSION_MAJOR >= 3
#define MD(m) ((m)->made ? (m)->d : NULL)
#else
#define MD(m) ((m)->made ? &(m)->d : NULL)
#endif

enum { ARG_SRC, ARG_WEIGHTS, ARG_BIAS, ARG_DST, ARG_ADD, ARG_SCRATCH, ARG_COUNT };

struct onednn_prim {
    struct onednn *o;
    dnnl_primitive_t prim;
    char *name;
    dnnl_memory_t memory[ARG_COUNT];
    void *pointer[ARG_COUNT]; /* what memory[] points to now */
    dnnl_exec_arg_t arg[ARG_COUNT];
    int slot[ARG_COUNT]; /* which ARG_ arg[i] is */
    int narg;
    size_t scratch;
    struct md packed, plain; /* the weights in both formats */
};

struct onednn_pack {
    struct onednn *o;
    dnnl_primitive_t prim;
    dnnl_memory_t packed, plain;
    void *packed_at, *plain_at;
    dnnl_exec_arg_t arg[2];
};

static void check(dnnl_status_t s, const char *file, int line, const char *call)
{
    if (s == dnnl_out_of_memory)
        die("oneDNN is out of memory in %s", call);
    if (s != dnnl_success)
        bug_at(file, line, "%s: oneDNN status %d", call, (int)s);
}

#define ONEDNN_CHECK(call) check((call), __FILE__, __LINE__, #call)

struct onednn *onednn_open(void)
{
    struct onednn *o = xcalloc(1, sizeof(*o));

    ONEDNN_CHECK(dnnl_engine_create(&o->engine, dnnl_cpu, 0));
    ONEDNN_CHECK(dnnl_stream_create(&o->stream, o->engine, dnnl_stream_default_flags));
    return o;
}

void onednn_close(struct onednn *o)
{
    if (!o)
        return;
    ONEDNN_CHECK(dnnl_stream_destroy(o->stream));
    ONEDNN_CHECK(dnnl_engine_destroy(o->engine));
    free(o);
}

const char *onednn_version(void)
{
    static char text[32];
    const dnnl_version_t *v = dnnl_version();

    (void)snprintf(text, sizeof(text), "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

bool onednn_has_native_dtype(enum dtype d)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    if (d == DTYPE_BF16) /* each instruction set contains the bits of those below it */
        return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
    return d == DTYPE_F32;
}

bool onednn_has_vnni(void)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    return (isa & dnnl_cpu_isa_avx512_core_vnni) == dnnl_cpu_isa_avx512_core_vnni ||
           (isa & dnnl_cpu_isa_avx2_vnni) == dnnl_cpu_isa_avx2_vnni;
}

bool onednn_has_dtype(enum dtype d)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    if (d == DTYPE_BF16)
        return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
    return d == DTYPE_F32;
}

/* Tensors have bytes only; here some of them have signs. */
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

static void md_release(struct md *m)
{
#if DNNL_VERSION_MAJOR >= 3
    if (m->made)
        (void)dnnl_memory_desc_destroy(m->d);
#endif
    m->made = false;
}

static bool md_equal(const struct md *a, const struct md *b)
{
    return dnnl_memory_desc_equal(MD(a), MD(b));
}

static size_t md_size(const struct md *m)
{
    return dnnl_memory_desc_get_size(MD(m));
}

/* A copy of what the primitive chose for one of its tensors. */
static struct md md_query(dnnl_primitive_desc_t pd, dnnl_query_t what)
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

/* oneDNN reads twelve integers wherever it takes dims. */
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

/* The four tensors of a job; bias.made says whether there is one. */
struct shapes {
    struct md src, weights, bias, dst, plain;
};

static void shapes_release(struct shapes *s)
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

static struct shapes conv_shapes(const struct onednn_conv *c)
{
    enum dtype w = weights_type(c->direction, c->type);
    enum dtype to = c->type == DTYPE_U8 ? DTYPE_I32 : c->type;
    int64_t g = c->groups, x[] = {c->batch, c->in, c->height, c->width};
    int64_t y[] = {c->batch, c->out, c->out_height, c->out_width};
    int64_t k[] = {g, c->out / g, c->in / g, c->kernel[0], c->kernel[1]};
    int one = g == 1, nk = 5 - one;
    dnnl_format_tag_t tag = one ? dnnl_acdb : dnnl_abdec;

    struct shapes s = {
        .src = md_new(4, x, input_type(c->type, c->is_signed), dnnl_acdb),
        .weights = md_new(nk, k + one, w, dnnl_format_tag_any),
        .dst = md_new(4, y, to, dnnl_acdb),
        .plain = md_new(nk, k + one, DTYPE_F32, tag),
    };

    if (c->bias && c->direction != ONEDNN_BACKWARD_DATA)
        s.bias = md_new(1, &c->out, DTYPE_F32, dnnl_a);
    return s;
}

static struct shapes linear_shapes(const struct onednn_linear *l)
{
    enum dtype w = weights_type(l->direction, l->type);
    enum dtype to = l->type == DTYPE_U8 ? DTYPE_I32 : l->type;
    int64_t x[] = {l->rows, l->in}, y[] = {l->rows, l->out}, k[] = {l->out, l->in};
    struct shapes s = {
        .src = md_new(2, x, input_type(l->type, l->is_signed), dnnl_ab),
        .weights = md_new(2, k, w, dnnl_format_tag_any),
        .dst = md_new(2, y, to, dnnl_ab),
        .plain = md_new(2, k, DTYPE_F32, dnnl_ab),
    };

    if (l->bias && l->direction != ONEDNN_BACKWARD_DATA)
        s.bias = md_new(1, &l->out, DTYPE_F32, dnnl_a);
    return s;
}

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
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

static dnnl_status_t linear_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
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

static dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
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

static dnnl_status_t linear_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
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

/* Scratch memory is ours; `add` (may be NULL) is the tensor added to the result. */
static dnnl_primitive_attr_t attr_new(const struct md *add)
{
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t ops;

    ONEDNN_CHECK(dnnl_primitive_attr_create(&attr));
    ONEDNN_CHECK(
        dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    if (!add)
        return attr;
    ONEDNN_CHECK(dnnl_post_ops_create(&ops));
    ONEDNN_CHECK(dnnl_post_ops_append_binary(ops, dnnl_binary_add, MD(add)));
    ONEDNN_CHECK(dnnl_primitive_attr_set_post_ops(attr, ops));
    ONEDNN_CHECK(dnnl_post_ops_destroy(ops));
    return attr;
}

static void prim_arg(struct onednn_prim *p, int slot, int arg, const struct md *m)
{
    if (!m->made)
        return;
    ONEDNN_CHECK(
        dnnl_memory_create(&p->memory[slot], MD(m), p->o->engine, DNNL_MEMORY_NONE));
    p->slot[p->narg] = slot;
    p->arg[p->narg++] = (dnnl_exec_arg_t){arg, p->memory[slot]};
}

/*
 * Code that nobody wants to wait for; and in 2.6 a convolution as a GEMM adds
 * elements of other places, channels last.
 */
static bool is_unfit(const char *name, bool add)
{
    return strncmp(name, "ref", 3) == 0 || strstr(name, ":ref") != NULL ||
           (add && strstr(name, "gemm") != NULL);
}

/* Takes `pd` and the plain descriptor of `s`. */
static struct onednn_prim *prim_new(struct onednn *o, dnnl_primitive_desc_t pd,
                                    enum onednn_direction direction, struct shapes *s,
                                    bool add)
{
    static const int weights_arg[] = {DNNL_ARG_WEIGHTS, DNNL_ARG_WEIGHTS,
                                      DNNL_ARG_DIFF_WEIGHTS};
    static const int src_arg[] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_SRC, DNNL_ARG_SRC};
    static const int dst_arg[] = {DNNL_ARG_DST, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_DST};
    struct onednn_prim *p = xcalloc(1, sizeof(*p));
    const char *name = NULL;
    struct md scratch = md_query(pd, dnnl_query_scratchpad_md);
    bool weights = direction == ONEDNN_BACKWARD_WEIGHTS;

    p->o = o;
    ONEDNN_CHECK(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name));
    p->name = xstrdup(name);
    ONEDNN_CHECK(dnnl_primitive_create(&p->prim, pd));
    p->scratch = md_size(&scratch);
    p->packed =
        md_query(pd, weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
    p->plain = s->plain;
    s->plain.made = false;
    prim_arg(p, ARG_SRC, src_arg[direction], &s->src);
    prim_arg(p, ARG_WEIGHTS, weights_arg[direction], &p->packed);
    prim_arg(p, ARG_BIAS, weights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, &s->bias);
    prim_arg(p, ARG_DST, dst_arg[direction], &s->dst);
    if (add)
        prim_arg(p, ARG_ADD, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, &s->dst);
    prim_arg(p, ARG_SCRATCH, DNNL_ARG_SCRATCHPAD, &scratch);
    md_release(&scratch);
    ONEDNN_CHECK(dnnl_primitive_desc_destroy(pd));
    return p;
}

static struct onednn_prim *prim_if_fit(struct onednn *o, dnnl_primitive_desc_t pd,
                                       enum onednn_direction direction, struct shapes *s,
                                       bool add)
{
    struct onednn_prim *p = prim_new(o, pd, direction, s, add);

    if (!is_unfit(p->name, add))
        return p;
    onednn_prim_free(p);
    return NULL;
}

/* The primitive from what its two descriptors said; takes all that it is given. */
static struct onednn_prim *prim_finish(struct onednn *o, enum onednn_direction direction,
                                       dnnl_status_t status, dnnl_primitive_desc_t pd,
                                       dnnl_primitive_desc_t hint,
                                       dnnl_primitive_attr_t attr, struct shapes *s,
                                       bool add)
{
    struct onednn_prim *p = NULL;

    if (status == dnnl_success)
        p = prim_if_fit(o, pd, direction, s, add);
    else if (status != dnnl_unimplemented)
        ONEDNN_CHECK(status);
    if (hint)
        ONEDNN_CHECK(dnnl_primitive_desc_destroy(hint));
    ONEDNN_CHECK(dnnl_primitive_attr_destroy(attr));
    shapes_release(s);
    return p;
}

/* oneDNN counts positions in int, and makes code without end beyond it (2.6). */
static bool countable(const struct onednn_conv *c)
{
    return c->batch * c->height * c->width <= INT32_MAX &&
           c->batch * c->out_height * c->out_width <= INT32_MAX;
}

static struct onednn_prim *conv_new(struct onednn *o, const struct onednn_conv *c)
{
    struct onednn_conv forward = *c;
    struct shapes s = conv_shapes(c);
    bool add = c->add && c->direction == ONEDNN_FORWARD;
    dnnl_primitive_attr_t attr = attr_new(add ? &s.dst : NULL);
    dnnl_primitive_desc_t pd = NULL, hint = NULL;
    dnnl_status_t status = dnnl_success;

    forward.direction = ONEDNN_FORWARD;
    if (c->direction != ONEDNN_FORWARD) {
        struct shapes f = conv_shapes(&forward);

        status = conv_desc(&hint, o, &forward, &f, NULL, NULL);
        shapes_release(&f);
    }
    if (status == dnnl_success)
        status = conv_desc(&pd, o, c, &s, attr, hint);
    return prim_finish(o, c->direction, status, pd, hint, attr, &s, add);
}

/*
 * The 1 x 1 code of 2.6 takes 16-bit floats in pairs. Where the channels to sum over are
 * odd and the pixels a multiple of 30, some results of data gradients and of sums are
 * wrong.
 */
static bool pairs_up(const struct onednn_conv *c)
{
    bool forward = c->direction == ONEDNN_FORWARD && !c->add;
    int64_t sum = (c->direction == ONEDNN_FORWARD ? c->in : c->out) / c->groups;

    return c->type != DTYPE_BF16 || c->kernel[0] * c->kernel[1] != 1 || forward ||
           c->direction == ONEDNN_BACKWARD_WEIGHTS || sum % 2 == 0;
}

/*
 * For the weight gradient of a 1 x 1 convolution with a stride, 2.6 (jit_1x1:avx2) has
 * each thread copy the pixels that are read side by side, eight channels at a time. If
 * eight does not divide them, the last pixel's copy ends in that of the next thread,
 * which may be reading it: now and then some sums are wrong.
 */
static bool copies_apart(const struct onednn_conv *c)
{
    return c->direction != ONEDNN_BACKWARD_WEIGHTS || c->kernel[0] * c->kernel[1] != 1 ||
           c->stride[0] * c->stride[1] == 1 || c->in / c->groups % 8 == 0;
}

struct onednn_prim *onednn_conv_new(struct onednn *o, const struct onednn_conv *c)
{
    return countable(c) && pairs_up(c) && copies_apart(c) ? conv_new(o, c) : NULL;
}

/*
 * Long sums that make few columns are shared among the threads in 2.6. In bf16 it adds
 * what lay in the result if their length is no multiple of 64; in fp32 it crashes at
 * 2,048.
 */
static bool is_shared_sum(const struct onednn_linear *l)
{
    return l->direction == ONEDNN_BACKWARD_DATA && l->in <= 64 && l->out >= 2048;
}

/* The same GEMM as a convolution over images of one pixel. */
static struct onednn_prim *linear_as_conv(struct onednn *o, const struct onednn_linear *l)
{
    const struct onednn_conv c = {
        .direction = l->direction,
        .type = l->type,
        .groups = 1,
        .batch = l->rows,
        .in = l->in,
        .height = 1,
        .width = 1,
        .out = l->out,
        .out_height = 1,
        .out_width = 1,
        .kernel = {1, 1},
        .stride = {1, 1},
        .dilation = {1, 1},
    };

    return countable(&c) ? conv_new(o, &c) : NULL; /* one pixel: pairs_up() or not */
}

static struct onednn_prim *linear_new(struct onednn *o, const struct onednn_linear *l)
{
    struct onednn_linear forward = *l;
    struct shapes s = linear_shapes(l);
    dnnl_primitive_attr_t attr = attr_new(NULL);
    dnnl_primitive_desc_t pd = NULL, hint = NULL;
    dnnl_status_t status = dnnl_success;

    forward.direction = ONEDNN_FORWARD;
    if (l->direction != ONEDNN_FORWARD) {
        struct shapes f = linear_shapes(&forward);

        status = linear_desc(&hint, o, &forward, &f, NULL, NULL);
        shapes_release(&f);
    }
    if (status == dnnl_success)
        status = linear_desc(&pd, o, l, &s, attr, hint);
    return prim_finish(o, l->direction, status, pd, hint, attr, &s, false);
}

struct onednn_prim *onednn_linear_new(struct onednn *o, const struct onednn_linear *l)
{
    return is_shared_sum(l) ? linear_as_conv(o, l) : linear_new(o, l);
}

void onednn_prim_free(struct onednn_prim *p)
{
    if (!p)
        return;
    for (int i = 0; i < ARG_COUNT; i++)
        if (p->memory[i])
            ONEDNN_CHECK(dnnl_memory_destroy(p->memory[i]));
    ONEDNN_CHECK(dnnl_primitive_destroy(p->prim));
    md_release(&p->packed);
    md_release(&p->plain);
    free(p->name);
    free(p);
}

size_t onednn_prim_scratch(const struct onednn_prim *p)
{
    return p->scratch;
}

size_t onednn_prim_weights_size(const struct onednn_prim *p)
{
    return md_size(&p->packed);
}

size_t onednn_prim_plain_size(const struct onednn_prim *p)
{
    return md_size(&p->plain);
}

const char *onednn_prim_name(const struct onednn_prim *p)
{
    return p->name;
}

bool onednn_prim_plain(const struct onednn_prim *p)
{
    return md_equal(&p->packed, &p->plain);
}

size_t onednn_prim_key(const struct onednn_prim *p, void *key, size_t size)
{
#if DNNL_VERSION_MAJOR >= 3
    size_t len = 0;

    ONEDNN_CHECK(dnnl_memory_desc_get_blob(NULL, &len, MD(&p->packed)));
    if (len > size)
        BUG("%zu bytes for a packing of %zu", size, len);
    ONEDNN_CHECK(dnnl_memory_desc_get_blob(key, &len, MD(&p->packed)));
    return len;
#else
    size_t len = sizeof(p->packed.d);

    if (len > size)
        BUG("%zu bytes for a packing of %zu", size, len);
    memcpy(key, &p->packed.d, len);
    return len;
#endif
}

/* What a blocked descriptor says. */
struct blocking {
    int ndim, count;
    const dnnl_dim_t *padded, *stride, *size, *index;
};

#if DNNL_VERSION_MAJOR >= 3

static bool md_blocking(const struct md *m, struct blocking *b)
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

static bool md_blocking(const struct md *m, struct blocking *b)
{
    const dnnl_blocking_desc_t *d = &m->d.format_desc.blocking;

    if (m->d.format_kind != dnnl_blocked)
        return false;
    *b = (struct blocking){m->d.ndims, d->inner_nblks, m->d.padded_dims,
                           d->strides, d->inner_blks,  d->inner_idxs};
    return true;
}

#endif

bool onednn_prim_blocks(const struct onednn_prim *p, struct onednn_blocks *b)
{
    struct blocking d;

    if (!md_blocking(&p->packed, &d) || (d.ndim != 4 && d.ndim != 2) || d.count > 4)
        return false;
    *b = (struct onednn_blocks){
        .out_padded = d.padded[0],
        .in_padded = d.padded[1],
        .stride_o = d.stride[0],
        .stride_i = d.stride[1],
        .stride_h = d.ndim == 4 ? d.stride[2] : 0,
        .stride_w = d.ndim == 4 ? d.stride[3] : 0,
        .count = d.count,
    };
    for (int i = 0; i < d.count; i++) {
        if (d.index[i] > 1)
            return false;
        b->size[i] = d.size[i];
        b->of_in[i] = d.index[i] == 1;
    }
    return true;
}

/* oneDNN puts the arguments into a small table of its own on every call. */
static void execute(struct onednn *o, dnnl_primitive_t prim, int n,
                    const dnnl_exec_arg_t *arg)
{
    bool forbidden = alloc_forbid(false);

    ONEDNN_CHECK(dnnl_primitive_execute(prim, o->stream, n, arg));
    ONEDNN_CHECK(dnnl_stream_wait(o->stream));
    (void)alloc_forbid(forbidden);
}

static void memory_point(dnnl_memory_t m, void **at, void *p)
{
    bool forbidden;

    if (*at == p)
        return;
    forbidden = alloc_forbid(false); /* the first run of a step */
    ONEDNN_CHECK(dnnl_memory_set_data_handle(m, p));
    (void)alloc_forbid(forbidden);
    *at = p;
}

void onednn_prim_run(struct onednn_prim *p, const struct onednn_args *a)
{
    void *pointer[ARG_COUNT] = {
        [ARG_SRC] = a->src,
        [ARG_WEIGHTS] = a->weights,
        [ARG_BIAS] = a->bias,
        [ARG_DST] = a->dst,
        [ARG_ADD] = (void *)(uintptr_t)a->add, /* read only, but oneDNN wants void * */
        [ARG_SCRATCH] = a->scratch,
    };

    for (int i = 0; i < p->narg; i++)
        memory_point(p->memory[p->slot[i]], &p->pointer[p->slot[i]], pointer[p->slot[i]]);
    execute(p->o, p->prim, p->narg, p->arg);
}

struct onednn_pack *onednn_pack_new(struct onednn *o, const struct onednn_prim *p,
                                    enum onednn_packing d)
{
    struct onednn_pack *pack = xcalloc(1, sizeof(*pack));
    const struct md *from = d == ONEDNN_PACK ? &p->plain : &p->packed;
    const struct md *to = d == ONEDNN_PACK ? &p->packed : &p->plain;
    dnnl_primitive_desc_t pd;

    pack->o = o;
    ONEDNN_CHECK(dnnl_memory_create(&pack->plain, MD(&p->plain), o->engine, NULL));
    ONEDNN_CHECK(dnnl_memory_create(&pack->packed, MD(&p->packed), o->engine, NULL));
    ONEDNN_CHECK(dnnl_reorder_primitive_desc_create(&pd, MD(from), o->engine, MD(to),
                                                    o->engine, NULL));
    ONEDNN_CHECK(dnnl_primitive_create(&pack->prim, pd));
    ONEDNN_CHECK(dnnl_primitive_desc_destroy(pd));
    pack->arg[0] =
        (dnnl_exec_arg_t){d == ONEDNN_PACK ? DNNL_ARG_FROM : DNNL_ARG_TO, pack->plain};
    pack->arg[1] =
        (dnnl_exec_arg_t){d == ONEDNN_PACK ? DNNL_ARG_TO : DNNL_ARG_FROM, pack->packed};
    return pack;
}

void onednn_pack_run(struct onednn_pack *pack, void *packed, void *plain)
{
    memory_point(pack->packed, &pack->packed_at, packed);
    memory_point(pack->plain, &pack->plain_at, plain);
    execute(pack->o, pack->prim, 2, pack->arg);
}

void onednn_pack_free(struct onednn_pack *pack)
{
    if (!pack)
        return;
    if (pack->plain)
        ONEDNN_CHECK(dnnl_memory_destroy(pack->plain));
    if (pack->packed)
        ONEDNN_CHECK(dnnl_memory_destroy(pack->packed));
    if (pack->prim)
        ONEDNN_CHECK(dnnl_primitive_destroy(pack->prim));
    free(pack);
}
