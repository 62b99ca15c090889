#include "tests/graph/toy_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "graph/autodiff.h"
#include "graph/precision.h"
#include "tests/test.h"

static const char *like_first(struct node *n)
{
    for (int i = 1; i < n->nin; i++)
        if (!tensor_same(n->in[0], n->in[i]))
            return "shapes differ";
    tensor_like(n->out[0], n->in[0]);
    n->out[0]->dtype = DTYPE_F32;
    return NULL;
}

static const char *like_state(struct node *n)
{
    (void)n;
    return NULL;
}

static void add_ref(const struct step *s)
{
    float *y = s->out[0];

    for (int i = 0; i < TOY_LEN; i++) {
        float sum = 0; /* y may share memory with in[0] */

        for (int k = 0; k < s->nin; k++)
            sum += ((const float *)s->in[k])[i];
        y[i] = sum;
    }
}

static void copy_ref(const struct step *s)
{
    memcpy(s->out[0], s->in[0], TOY_LEN * sizeof(float));
}

static void mul_ref(const struct step *s)
{
    const float *a = s->in[0], *b = s->in[1];
    float *y = s->out[0];

    for (int i = 0; i < TOY_LEN; i++)
        y[i] = a[i] * b[i];
}

static void decay_ref(const struct step *s)
{
    const float *g = s->in[0];
    float *w = s->out[0];

    for (int i = 0; i < TOY_LEN; i++)
        w[i] -= 0.5f * g[i];
}

static void add_grad(struct builder *b, const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        grad_add(b, n->in[i], grad_of(b, n->out[0]));
}

static void mul_grad(struct builder *b, const struct node *n);

const struct op toy_add = {
    .name = "add", .nout = 1, .shape = like_first, .grad = add_grad, .ref = add_ref};
const struct op toy_cast = {.name = "cast",
                            .nout = 1,
                            .attrs_size = sizeof(struct cast_attrs),
                            .shape = like_first,
                            .ref = copy_ref};
const struct op toy_mul = {.name = "mul",
                           .nout = 1,
                           .precision = PRECISION_HALF,
                           .shape = like_first,
                           .grad = mul_grad,
                           .ref = mul_ref};
const struct op toy_decay = {.name = "decay",
                             .nout = 0,
                             .precision = PRECISION_F32,
                             .shape = like_state,
                             .ref = decay_ref};

static void mul_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    for (int i = 0; i < 2; i++)
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i],
                     node(b, &toy_mul, n->layer, NULL,
                          (struct tensor *[]){n->in[1 - i], dy}, 2));
}

const struct graph_ops toy_ops = {.add = &toy_add, .cast = &toy_cast};

/* Kernels: one for single nodes; and one that claims "mul then add" as a whole. */
const char *toy_single_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    (void)g, (void)dev;
    region_claim(r, n);
    for (int i = 0; i < n->nin; i++)
        region_read(r, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        region_write(r, n->out[i]);
    if (n->op == &toy_add)
        region_inplace(r, 0, 0);
    return NULL;
}

static void single_run(struct step *s, struct device *dev)
{
    (void)dev;
    s->node->op->ref(s);
}

static const char *muladd_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct node *mul = n->op == &toy_add ? n->in[0]->producer : NULL;

    (void)dev;
    if (!mul || mul->op != &toy_mul || n->nin != 2 || n->in[1] == n->in[0])
        return "not an add after a mul";
    region_claim(r, n);
    if (tensor_stored(g, mul->out[0], r) || !node_free(mul))
        region_duplicate(r, mul);
    else
        region_claim(r, mul);
    region_read(r, mul->in[0]);
    region_read(r, mul->in[1]);
    region_read(r, n->in[1]);
    region_write(r, n->out[0]);
    return NULL;
}

static void muladd_run(struct step *s, struct device *dev)
{
    const float *a = s->in[0], *b = s->in[1], *c = s->in[2];
    float *y = s->out[0];

    (void)dev;
    for (int i = 0; i < TOY_LEN; i++)
        y[i] = a[i] * b[i] + c[i];
}

static const struct kernel single = {
    .name = "single", .claim = toy_single_claim, .run = single_run};
static const struct kernel muladd = {
    .name = "muladd", .claim = muladd_claim, .run = muladd_run};

static const char *claim_nothing(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    (void)r, (void)g, (void)n, (void)dev;
    return "claims nothing";
}

static const struct kernel refuser = {
    .name = "refuser", .claim = claim_nothing, .run = single_run};

const struct backend toy_plain = {
    .name = "plain", .kernels = (const struct kernel *const[]){&single, NULL}};
const struct backend toy_fusing = {
    .name = "fusing", .kernels = (const struct kernel *const[]){&muladd, &single, NULL}};
const struct backend toy_refusing = {
    .name = "refusing", .kernels = (const struct kernel *const[]){&refuser, NULL}};

struct tensor *toy_vec(struct builder *b, const char *name)
{
    return graph_input(b, name, DTYPE_F32, LAYOUT_PLAIN, 1, (const int64_t[]){TOY_LEN});
}

struct tensor *toy_weight(struct builder *b, const char *layer)
{
    return graph_param(b, layer, "weight", LAYOUT_PLAIN, 1, (const int64_t[]){TOY_LEN},
                       (struct init){.kind = INIT_ZERO});
}

struct tensor *toy_two(struct builder *b, const struct op *op, struct tensor *x,
                       struct tensor *y)
{
    return node(b, op, op->name, NULL, (struct tensor *[]){x, y}, 2);
}

/* Memory for a program, filled with a value that must not appear in results. */
void **toy_bind(struct program *p)
{
    void **base = xcalloc(MEMORY_COUNT, sizeof(void *));

    for (int m = 1; m < MEMORY_COUNT; m++) {
        base[m] = xalloc_aligned(program_need(p, (enum memory)m) + 64);
        if (m == MEMORY_ARENA || m == MEMORY_WORKSPACE)
            memset(base[m], 0xff, program_need(p, (enum memory)m));
    }
    program_bind(p, base);
    return base;
}

void toy_unbind(void **base)
{
    for (int m = 0; m < MEMORY_COUNT; m++)
        free(base[m]);
    free(base);
}

void toy_fill(const struct program *p, const struct tensor *t, uint64_t seed)
{
    float *x = program_data(p, t);

    for (int i = 0; i < TOY_LEN; i++)
        x[i] = philox_uniform(philox(seed, PHILOX_TEST, 0, (uint64_t)i).v[0]) - 0.5f;
}

void toy_expect(const float *got, const float *want)
{
    for (int i = 0; i < TOY_LEN; i++)
        if (!(got[i] >= want[i] - 1e-6f && got[i] <= want[i] + 1e-6f))
            fail_msg("[%d]: %g, not %g", i, (double)got[i], (double)want[i]);
}
