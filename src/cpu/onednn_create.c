#include "base/alloc.h"
#include "cpu/onednn_internal.h"

/* The caller provides scratch memory; `add` (may be NULL): tensor added to the result. */
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

/* "gemm:ref" is a GEMM of plain C, blocked and with threads: the best that oneDNN has on
 * processors for which it generates no code. */
#ifdef __x86_64__
#define GEMM_REF_IS_FIT false
#else
#define GEMM_REF_IS_FIT true
#endif

/*
 * True for code that must not be used: reference code is far too slow; and in 2.6, with
 * channels last, a convolution as a GEMM adds the wrong elements of `add`.
 */
static bool is_unfit(const char *name, bool add)
{
    if (add && strstr(name, "gemm"))
        return true;
    if (GEMM_REF_IS_FIT && !strcmp(name, "gemm:ref"))
        return false;
    return strncmp(name, "ref", 3) == 0 || strstr(name, ":ref") != NULL;
}

/* Takes ownership of `pd` and of the plain descriptor of `s`. */
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

/* Returns the primitive of `pd`, whose creation returned `status`; frees all its arguments. */
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

/* oneDNN counts positions in int; beyond that, 2.6 generates code forever. */
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
 * False for shapes with wrong results: the 1 x 1 code of 2.6 processes 16-bit floats in
 * pairs. If the number of channels to sum over is odd and the number of pixels a multiple
 * of 30, some results of data gradients and of sums are wrong.
 */
static bool pairs_up(const struct onednn_conv *c)
{
    bool forward = c->direction == ONEDNN_FORWARD && !c->add;
    int64_t sum = (c->direction == ONEDNN_FORWARD ? c->in : c->out) / c->groups;

    return c->type != DTYPE_BF16 || c->kernel[0] * c->kernel[1] != 1 || forward ||
           c->direction == ONEDNN_BACKWARD_WEIGHTS || sum % 2 == 0;
}

/*
 * False for a data race in the weight gradient of a strided 1 x 1 convolution: in 2.6
 * (jit_1x1:avx2) each thread copies the pixels that are read together, eight channels at
 * a time. If the channels are not a multiple of eight, the last pixel's copy overwrites
 * part of the next thread's, which may be reading it: some sums are occasionally wrong.
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
 * True for long sums with few columns, which 2.6 splits among threads. In fp32 it crashes
 * with up to 32 columns and multiples of 64 from 1,088 on; in bf16 it adds the old contents
 * of the result with up to 16 columns and some lengths (700, 1000), and with more from 2,048
 * on if the length is not a multiple of 64.
 */
static bool is_shared_sum(const struct onednn_linear *l)
{
    return l->direction == ONEDNN_BACKWARD_DATA && l->in <= 64 && l->out > 512;
}

/* Creates the same GEMM as a convolution over images of one pixel. */
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

    /* one pixel, so pairs_up() does not matter */
    return countable(&c) ? conv_new(o, &c) : NULL;
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
