/*
 * Linear layers and their gradients by cuBLASLt, rows of x times the weights O x F:
 *
 *   y = x W^T [+ bias] [gelu]      dx = dy W [times the slope of gelu]
 *   dW = dy^T x [with db, the sums of dy]
 *
 * dW and db have the same type: fp32, or the type of the data (ops/half_grads.h). ReLU is
 * not fused, because cuBLASLt does not document how it treats NaN. In 16 bits, the tanh form
 * of GELU (MODEL.GELU_TANH) is fused; the library has no other. A computed bias is fp32; it
 * is cast to the type of the data in the workspace, because the library requires that.
 */
#include "ops/linear.h"

#include "cuda/cast.h"
#include "cuda/cublaslt.h"
#include "cuda/kernels.h"
#include "cuda/weights.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/bias_grad.h"
#include "ops/expr.h"
#include "ops/image.h"

enum { A, B, VECTOR, MATRICES };

struct linear_state {
    struct cublaslt_plan *plan;
    struct {
        bool derived;
        int index;
        size_t offset; /* bytes */
    } operand[MATRICES];
    int d, vector_out; /* indices of writes; vector_out may be -1 */
    int z_in, z_out;   /* indices of gelu's input among reads or writes, or -1 */
    bool bias;
    size_t cast; /* bytes at the start of the workspace, for a bias of another type */
};

/* Reads a matrix; with 16-bit data, parameters come from their 16-bit copy. */
static void read_matrix(struct region *r, struct graph *g, struct device *dev, int i,
                        struct tensor *t, enum dtype type)
{
    struct linear_state *st = region_state(r);
    struct tensor *master = dtype_is_half(type) ? cuda_weights_master(t) : NULL;

    if (!master) {
        st->operand[i].index = region_read(r, t);
        return;
    }
    if (t->producer)
        region_duplicate(r, t->producer);
    st->operand[i].derived = true;
    st->operand[i].index = cuda_half_weights(r, g, dev, type);
    st->operand[i].offset = master->offset / sizeof(float) * dtype_size(type);
}

enum { ALIGN = 256 }; /* bytes: alignment that the library may expect of its workspace */

/* Returns the bytes of a copy of the bias in the data's type, or 0 if none is needed. */
static size_t cast_size(struct tensor *bias, enum dtype type)
{
    if (!dtype_is_half(type) || cuda_weights_master(bias))
        return 0;
    return ((size_t)tensor_len(bias) * dtype_size(type) + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t rows_of(const struct tensor *t)
{
    return tensor_len(t) / tensor_channels(t);
}

/* ---- gelu ---- */

/* True if the GEMM that makes `src` may apply n, an op on it. */
static bool may_fuse(const struct node *n, const struct tensor *src,
                     const struct device *dev)
{
    return !dev->options.apart && dtype_is_half(src->dtype) &&
           n->out[0]->dtype == src->dtype && tensor_channels(src) % 8 == 0 &&
           src->memory == MEMORY_NONE &&
           tensor_channels(n->out[0]) == tensor_channels(src);
}

/* If n is a gelu of a linear layer's result, returns that layer; or NULL. */
static struct node *layer_of_gelu(const struct node *n, const struct device *dev)
{
    struct node *p = n->nin ? n->in[ACTIVATION_X]->producer : NULL;

    return p && p->op == &op_linear && node_free(p) && p->phase == n->phase &&
                   expr_is(n, EXPR_GELU_TANH) && may_fuse(n, p->out[0], dev)
               ? p
               : NULL;
}

/* If n is the gradient of a gelu and dy the data gradient of a linear layer that only n
 * reads, returns that; or NULL. */
static struct node *data_grad_before(const struct graph *g, const struct node *n,
                                     const struct device *dev)
{
    struct node *p;

    if (!expr_is(n, EXPR_GELU_TANH_GRAD))
        return NULL;
    p = sole_producer(g, n->in[ACTIVATION_GRAD_DY], &op_linear_data_grad);
    return p && p->phase == n->phase && may_fuse(n, p->out[0], dev) &&
                   n->in[ACTIVATION_GRAD_Y]->dtype == p->out[0]->dtype
               ? p
               : NULL;
}

/* True if anything but n needs t. */
static bool has_other_reader(const struct graph *g, const struct tensor *t,
                             const struct node *n)
{
    const struct node *r;

    for (int i = 0; (r = tensor_reader(g, t, i)); i++)
        if (r != n && !r->dead)
            return true;
    return t->root;
}

static const char *linear_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct linear_state *st = region_state(r);
    struct node *gelu = NULL, *layer = layer_of_gelu(n, dev);
    struct cublaslt_matmul p;
    struct tensor *x;
    const char *why;

    if (layer) {
        gelu = n;
        n = layer;
    }
    if (n->op != &op_linear)
        return "not a linear layer";
    x = n->in[LINEAR_X];
    if (n->out[0]->dtype != x->dtype || n->in[LINEAR_WEIGHT]->dtype != x->dtype)
        return "one type for data and weights";
    st->bias = n->nin > LINEAR_BIAS;
    st->cast = st->bias ? cast_size(n->in[LINEAR_BIAS], x->dtype) : 0;
    p = (struct cublaslt_matmul){
        .m = rows_of(x),
        .n = tensor_channels(n->out[0]),
        .k = tensor_channels(x),
        .transposed_b = true,
        .type = x->dtype,
        .out = x->dtype,
        .vector = st->bias ? CUBLASLT_BIAS : CUBLASLT_NONE,
    };
    if (gelu)
        p.gelu =
            has_other_reader(g, n->out[0], gelu) ? CUBLASLT_GELU_STORED : CUBLASLT_GELU;
    st->plan = cublaslt_plan_new(dev, &p, &why);
    if (!st->plan)
        return why;

    if (gelu)
        region_claim(r, gelu);
    region_claim(r, n);
    st->operand[A].index = region_read(r, x);
    read_matrix(r, g, dev, B, n->in[LINEAR_WEIGHT], x->dtype);
    if (st->bias)
        read_matrix(r, g, dev, VECTOR, n->in[LINEAR_BIAS], x->dtype);
    st->d = region_write(r, gelu ? gelu->out[0] : n->out[0]);
    st->vector_out = st->z_in = -1;
    st->z_out = p.gelu == CUBLASLT_GELU_STORED ? region_write(r, n->out[0]) : -1;
    region_workspace(r, st->cast + cublaslt_workspace(st->plan));
    return NULL;
}

static const char *data_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct linear_state *st = region_state(r);
    struct node *gelu = NULL, *before = data_grad_before(g, n, dev);
    struct cublaslt_matmul p;
    struct tensor *dy, *w;
    const char *why;

    if (before) {
        gelu = n;
        n = before;
    }
    if (n->op != &op_linear_data_grad)
        return "not the data gradient of a linear layer";
    dy = n->in[LINEAR_DATA_GRAD_DY];
    w = n->in[LINEAR_DATA_GRAD_WEIGHT];
    if (n->out[0]->dtype != dy->dtype || w->dtype != dy->dtype)
        return "one type for data and weights";
    p = (struct cublaslt_matmul){
        .m = rows_of(dy),
        .n = tensor_channels(n->out[0]),
        .k = tensor_channels(dy),
        .type = dy->dtype,
        .out = dy->dtype,
        .gelu = gelu ? CUBLASLT_GELU_GRAD : CUBLASLT_NO_GELU,
    };
    st->plan = cublaslt_plan_new(dev, &p, &why);
    if (!st->plan)
        return why;

    if (gelu)
        region_claim(r, gelu);
    region_claim(r, n);
    st->operand[A].index = region_read(r, dy);
    read_matrix(r, g, dev, B, w, dy->dtype);
    st->d = region_write(r, gelu ? gelu->out[0] : n->out[0]);
    st->vector_out = st->z_out = -1;
    st->z_in = gelu ? region_read(r, gelu->in[ACTIVATION_GRAD_Y]) : -1;
    region_workspace(r, cublaslt_workspace(st->plan));
    return NULL;
}

/* Returns the unclaimed weight gradient that sums the same dy as bias gradient n. */
static struct node *free_weight_grad(const struct graph *g, const struct node *n)
{
    const struct tensor *dy = n->in[BIAS_GRAD_DY];
    struct node *r;

    for (int i = 0; (r = tensor_reader(g, dy, i)); i++)
        if (r->op == &op_linear_weight_grad && r->in[LINEAR_WEIGHT_GRAD_DY] == dy &&
            node_free(r))
            return r;
    return NULL;
}

/* Claims from the weight gradient, or from the bias gradient, which is then fused. */
static const char *weight_grad_claim(struct region *r, struct graph *g, struct node *n,
                                     struct device *dev)
{
    struct linear_state *st = region_state(r);
    struct node *bias = n->op == &op_bias_grad ? n : NULL, *w = n;
    struct cublaslt_matmul p;
    struct tensor *x, *dy;
    const char *why;

    if (bias)
        w = dev->described ? NULL : free_weight_grad(g, bias);
    if (!w || w->op != &op_linear_weight_grad)
        return "no weight gradient of a linear layer, nor a bias gradient fused with it";
    x = w->in[LINEAR_WEIGHT_GRAD_X];
    dy = w->in[LINEAR_WEIGHT_GRAD_DY];
    if (x->dtype != dy->dtype)
        return "one type for data";
    if (bias && bias->out[0]->dtype != w->out[0]->dtype)
        return "one type for both gradients";
    p = (struct cublaslt_matmul){
        .m = tensor_channels(dy),
        .n = tensor_channels(x),
        .k = rows_of(x),
        .transposed_a = true,
        .type = x->dtype,
        .out = w->out[0]->dtype,
        .vector = bias ? CUBLASLT_BIAS_GRAD : CUBLASLT_NONE,
    };
    st->plan = cublaslt_plan_new(dev, &p, &why);
    if (!st->plan)
        return why;

    if (bias)
        region_claim(r, bias);
    region_claim(r, w);
    st->operand[A].index = region_read(r, dy);
    st->operand[B].index = region_read(r, x);
    st->d = region_write(r, w->out[0]);
    st->vector_out = bias ? region_write(r, bias->out[0]) : -1;
    st->z_in = st->z_out = -1;
    region_workspace(r, cublaslt_workspace(st->plan));
    return NULL;
}

static void *matrix(const struct step *s, int i)
{
    const struct linear_state *st = s->state;
    int pos = st->operand[i].index;

    return st->operand[i].derived ? (char *)s->derived[pos] + st->operand[i].offset
                                  : s->in[pos];
}

static void linear_run(struct step *s, struct device *dev)
{
    const struct linear_state *st = s->state;
    void *vector = st->bias              ? matrix(s, VECTOR)
                   : st->vector_out >= 0 ? s->out[st->vector_out]
                                         : NULL;

    if (st->cast) {
        const struct tensor *y = s->out_tensor[st->d];

        cuda_cast(dev, s->workspace, y->dtype, vector, DTYPE_F32, tensor_channels(y));
        vector = s->workspace;
    }
    if (st->z_in >= 0)
        cublaslt_set_gelu(dev, st->plan, s->in[st->z_in]);
    else if (st->z_out >= 0)
        cublaslt_set_gelu(dev, st->plan, s->out[st->z_out]);
    cublaslt_run(dev, st->plan, matrix(s, A), matrix(s, B), s->out[st->d], vector,
                 (char *)s->workspace + st->cast);
}

static void linear_release(struct step *s)
{
    struct linear_state *st = s->state;

    cublaslt_plan_free(st->plan);
}

static void linear_describe(const struct step *s, struct strbuf *text)
{
    cublaslt_describe(((const struct linear_state *)s->state)->plan, text);
}

const struct kernel cuda_linear = {
    .name = "cuda linear",
    .claim = linear_claim,
    .run = linear_run,
    .release = linear_release,
    .describe = linear_describe,
    .state_size = sizeof(struct linear_state),
    .tensor_cores = true,
};

const struct kernel cuda_linear_data_grad = {
    .name = "cuda linear_data_grad",
    .claim = data_grad_claim,
    .run = linear_run,
    .release = linear_release,
    .describe = linear_describe,
    .state_size = sizeof(struct linear_state),
    .tensor_cores = true,
};

const struct kernel cuda_linear_weight_grad = {
    .name = "cuda linear_weight_grad",
    .claim = weight_grad_claim,
    .run = linear_run,
    .release = linear_release,
    .describe = linear_describe,
    .state_size = sizeof(struct linear_state),
    .tensor_cores = true,
};
