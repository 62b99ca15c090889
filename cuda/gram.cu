/*
 * Moments of channels and their gradient by cuBLASLt, with x as rows of channels:
 *
 *   gram        x^T x with the sums of x       gram_grad   x (dgram + dgram^T) + dsum
 *
 * The weight gradient of a convolution that a batch norm is folded into is dy^T x with the
 * sums of dy, its bias's gradient. All three results of sums over positions are fp32:
 * norm_fold_grad subtracts numbers of similar size from the weight gradient.
 *
 * gram_grad adds to the other gradient of x in place, if there is one. Its matrix is
 * converted into the workspace; fp16 has it times GRAM_GRAD_SCALE.
 */
#include "ops/gram.h"

#include "cuda/cublaslt.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "ops/add.h"
#include "ops/bias_grad.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/norm_fold.h"

enum { ALIGN = 256, BLOCK = 256 };

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t rows_of(const struct tensor *t)
{
    return tensor_len(t) / tensor_channels(t);
}

struct gram_state {
    struct cublaslt_plan *plan;
    int a, b, d, vector; /* indices of reads and writes; vector -1: none */
};

/* ---- sums over positions: D = a^T b, and the sums of a ---- */

struct products {
    struct tensor *a, *b, *d, *sums; /* sums may be NULL */
    struct node *node[2];
    int nnode;
};

/* True if the batch norm that follows is folded, and t is its weights' gradient. */
static bool is_folded_grad(const struct graph *g, const struct tensor *t, int slot)
{
    const struct node *n = tensor_only_reader(g, t);

    return n && n->op == &op_norm_fold_grad && n->in[slot] == t;
}

/* Returns the weight gradient that the folded bias gradient `n` goes with, or NULL. */
static struct node *weight_grad_of(const struct graph *g, const struct node *n)
{
    const struct tensor *dy = n->in[BIAS_GRAD_DY];
    struct node *r;

    if (!is_folded_grad(g, n->out[0], NORM_FOLD_GRAD_DSHIFT))
        return nullptr;
    for (int i = 0; (r = tensor_reader(g, dy, i)) != nullptr; i++)
        if (r->op == &op_conv2d_weight_grad && r->in[CONV2D_WEIGHT_GRAD_DY] == dy &&
            node_free(r) && is_folded_grad(g, r->out[0], NORM_FOLD_GRAD_DFOLDED) &&
            tensor_only_reader(g, r->out[0]) == tensor_only_reader(g, n->out[0]))
            return r;
    return nullptr;
}

static bool find_products(struct products *p, const struct graph *g, struct node *n)
{
    struct node *w = n;

    *p = {};
    if (n->op == &op_gram) {
        p->a = p->b = n->in[GRAM_X];
        p->d = n->out[GRAM_GRAM];
        p->sums = n->out[GRAM_SUM];
        p->node[p->nnode++] = n;
        return true;
    }
    if (n->op == &op_bias_grad) {
        w = weight_grad_of(g, n);
        p->sums = n->out[0];
        p->node[p->nnode++] = n;
    }
    if (!w || w->op != &op_conv2d_weight_grad ||
        !is_folded_grad(g, w->out[0], NORM_FOLD_GRAD_DFOLDED))
        return false;
    p->a = w->in[CONV2D_WEIGHT_GRAD_DY];
    p->b = w->in[CONV2D_WEIGHT_GRAD_X];
    p->d = w->out[0];
    p->node[p->nnode++] = w;
    return true;
}

static const char *gram_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    gram_state *st = (gram_state *)region_state(r);
    struct cublaslt_matmul m = {};
    struct products p;
    const char *why;

    if (!find_products(&p, g, n))
        return "no moments, nor the weight gradient of a folded convolution";
    if (p.a->dtype != p.b->dtype || p.d->dtype != DTYPE_F32)
        return "one type for data, fp32 for sums";
    m.m = tensor_channels(p.a);
    m.n = tensor_channels(p.b);
    m.k = rows_of(p.a);
    m.transposed_a = true;
    m.type = p.a->dtype;
    m.out = DTYPE_F32;
    m.vector = p.sums ? CUBLASLT_BIAS_GRAD : CUBLASLT_NONE;
    st->plan = cublaslt_plan_new(dev, &m, &why);
    if (!st->plan)
        return why;

    for (int i = 0; i < p.nnode; i++)
        region_claim(r, p.node[i]);
    st->a = region_read(r, p.a);
    st->b = p.b == p.a ? st->a : region_read(r, p.b);
    st->d = region_write(r, p.d);
    st->vector = p.sums ? region_write(r, p.sums) : -1;
    region_workspace(r, cublaslt_workspace(st->plan));
    return nullptr;
}

static void gram_run(struct step *s, struct device *dev)
{
    const gram_state *st = (const gram_state *)s->state;

    cublaslt_run(dev, st->plan, s->in[st->a], s->in[st->b], s->out[st->d],
                 st->vector >= 0 ? s->out[st->vector] : nullptr, s->workspace);
}

static void gram_release(struct step *s)
{
    cublaslt_plan_free(((const gram_state *)s->state)->plan);
}

static void gram_describe(const struct step *s, struct strbuf *text)
{
    cublaslt_describe(((const gram_state *)s->state)->plan, text);
}

const struct kernel cuda_gram = {
    .name = "cuda gram",
    .claim = gram_claim,
    .run = gram_run,
    .release = gram_release,
    .state_size = sizeof(gram_state),
    .tensor_cores = true,
    .describe = gram_describe,
};

/* ---- the gradient ---- */

/* Row i of (dgram + dgram^T) scale, and dsum[i]. */
template <class T>
__global__ void gram_matrix(const float *dgram, const float *dsum, T *matrix, T *vector,
                            int channels, float scale)
{
    int i = (int)blockIdx.x;

    for (int j = (int)threadIdx.x; j < channels; j += BLOCK)
        matrix[(int64_t)i * channels + j] =
            from_float<T>((dgram[(int64_t)i * channels + j] +
                           dgram[(int64_t)j * channels + i]) *
                          scale);
    if (threadIdx.x == 0)
        vector[i] = from_float<T>(dsum[i]);
}

struct gram_grad_state {
    struct cublaslt_plan *plan;
    int x, dgram, dsum, d;
    float scale;
};

/* Bytes of the matrix and the vector in the workspace. */
static size_t matrix_bytes(int64_t channels, enum dtype type)
{
    return aligned((size_t)(channels * channels) * dtype_size(type));
}

static size_t vector_bytes(int64_t channels, enum dtype type)
{
    return aligned((size_t)channels * dtype_size(type));
}

/* Returns the gram_grad at or before n; *other is the gradient it is added to, or NULL. */
static struct node *find_grad(const struct graph *g, struct node *n, struct tensor **other)
{
    *other = nullptr;
    if (n->op == &op_gram_grad)
        return n;
    for (int i = 0; n->op == &op_add && n->nin == 2 && i < 2; i++) {
        struct node *p = sole_producer(g, n->in[i], &op_gram_grad);

        if (p && n->in[1 - i] != n->in[i] && n->in[1 - i]->dtype == n->out[0]->dtype) {
            *other = n->in[1 - i];
            return p;
        }
    }
    return nullptr;
}

static const char *gram_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    gram_grad_state *st = (gram_grad_state *)region_state(r);
    struct cublaslt_matmul m = {};
    struct tensor *other, *x;
    struct node *grad = find_grad(g, n, &other);
    const char *why;

    if (!grad)
        return "not the gradient of moments";
    x = grad->in[GRAM_GRAD_X];
    if (grad->out[0]->dtype != x->dtype || n->out[0]->dtype != x->dtype)
        return "one type for data";
    st->scale = x->dtype == DTYPE_F16 ? GRAM_GRAD_SCALE : 1;
    m.m = rows_of(x);
    m.n = m.k = tensor_channels(x);
    m.type = m.out = x->dtype;
    m.vector = CUBLASLT_BIAS;
    m.add = other != nullptr;
    m.alpha = 1 / st->scale;
    st->plan = cublaslt_plan_new(dev, &m, &why);
    if (!st->plan)
        return why;

    region_claim(r, n);
    if (grad != n)
        region_claim(r, grad);
    st->x = region_read(r, x);
    st->dgram = region_read(r, grad->in[GRAM_GRAD_DGRAM]);
    st->dsum = region_read(r, grad->in[GRAM_GRAD_DSUM]);
    st->d = region_write(r, n->out[0]);
    if (other)
        region_inplace(r, st->d, region_read(r, other));
    region_workspace(r, matrix_bytes(m.n, m.type) + vector_bytes(m.n, m.type) +
                            cublaslt_workspace(st->plan));
    return nullptr;
}

/* What is added to may not be in place: then it is copied. */
static void take_other(struct step *s, struct device *dev, int d)
{
    const struct tensor *t = s->out_tensor[d];
    int other = s->nin - 1;

    if (s->in[other] != s->out[d])
        CUDA_CHECK(dev, cudaMemcpyAsync(s->out[d], s->in[other],
                                        (size_t)tensor_len(t) * dtype_size(t->dtype),
                                        cudaMemcpyDeviceToDevice, dev->stream));
}

static void gram_grad_run(struct step *s, struct device *dev)
{
    const gram_grad_state *st = (const gram_grad_state *)s->state;
    const struct tensor *t = s->out_tensor[st->d];
    int64_t channels = tensor_channels(t);
    char *matrix = (char *)s->workspace, *vector = matrix + matrix_bytes(channels, t->dtype);

    if (s->nin > 3)
        take_other(s, dev, st->d);
    WITH_DTYPE(t->dtype, T,
               LAUNCH(dev, gram_matrix<T>, (unsigned)channels, BLOCK, 0,
                      (const float *)s->in[st->dgram], (const float *)s->in[st->dsum],
                      (T *)matrix, (T *)vector, (int)channels, st->scale));
    cublaslt_run(dev, st->plan, s->in[st->x], matrix, s->out[st->d], vector,
                 vector + vector_bytes(channels, t->dtype));
}

static void gram_grad_release(struct step *s)
{
    cublaslt_plan_free(((const gram_grad_state *)s->state)->plan);
}

static void gram_grad_describe(const struct step *s, struct strbuf *text)
{
    cublaslt_describe(((const gram_grad_state *)s->state)->plan, text);
}

const struct kernel cuda_gram_grad = {
    .name = "cuda gram_grad",
    .claim = gram_grad_claim,
    .run = gram_grad_run,
    .release = gram_grad_release,
    .state_size = sizeof(gram_grad_state),
    .tensor_cores = true,
    .describe = gram_grad_describe,
};
