/*
 * The graph and its passes on a toy: four ops on plain vectors and kernels made for the
 * test. What the real ops compute is tests/test_ops.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "graph/autodiff.h"
#include "graph/checkpoint.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "graph/program.h"

enum { LEN = 8 };

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

    for (int i = 0; i < LEN; i++) {
        float sum = 0; /* y may lie on in[0] */

        for (int k = 0; k < s->nin; k++)
            sum += ((const float *)s->in[k])[i];
        y[i] = sum;
    }
}

static void copy_ref(const struct step *s)
{
    memcpy(s->out[0], s->in[0], LEN * sizeof(float));
}

static void mul_ref(const struct step *s)
{
    const float *a = s->in[0], *b = s->in[1];
    float *y = s->out[0];

    for (int i = 0; i < LEN; i++)
        y[i] = a[i] * b[i];
}

static void decay_ref(const struct step *s)
{
    const float *g = s->in[0];
    float *w = s->out[0];

    for (int i = 0; i < LEN; i++)
        w[i] -= 0.5f * g[i];
}

static void add_grad(struct builder *b, const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        grad_add(b, n->in[i], grad_of(b, n->out[0]));
}

static void mul_grad(struct builder *b, const struct node *n);

static const struct op op_toy_add = {
    .name = "add", .nout = 1, .shape = like_first, .grad = add_grad, .ref = add_ref};
static const struct op op_toy_cast = {.name = "cast",
                                      .nout = 1,
                                      .attrs_size = sizeof(struct cast_attrs),
                                      .shape = like_first,
                                      .ref = copy_ref};
static const struct op op_toy_mul = {.name = "mul",
                                     .nout = 1,
                                     .precision = PRECISION_HALF,
                                     .shape = like_first,
                                     .grad = mul_grad,
                                     .ref = mul_ref};
static const struct op op_toy_decay = {.name = "decay",
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
                     node(b, &op_toy_mul, n->layer, NULL,
                          (struct tensor *[]){n->in[1 - i], dy}, 2));
}

static const struct graph_ops toy_ops = {.add = &op_toy_add, .cast = &op_toy_cast};

/* Kernels: one node at a time; and one that takes "mul then add" as a whole. */
static const char *single_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)g, (void)dev;
    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        region_read(r, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        region_write(r, n->out[i]);
    if (n->op == &op_toy_add)
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
    struct node *mul = n->op == &op_toy_add ? n->in[0]->producer : NULL;

    (void)dev;
    if (!mul || mul->op != &op_toy_mul || n->nin != 2 || n->in[1] == n->in[0])
        return "not an add behind a mul";
    region_take(r, n);
    if (tensor_stored(g, mul->out[0], r) || !node_free(mul))
        region_duplicate(r, mul);
    else
        region_take(r, mul);
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
    for (int i = 0; i < LEN; i++)
        y[i] = a[i] * b[i] + c[i];
}

static const struct kernel single = {
    .name = "single", .claim = single_claim, .run = single_run};
static const struct kernel muladd = {
    .name = "muladd", .claim = muladd_claim, .run = muladd_run};
static const char *never(struct region *r, struct graph *g, struct node *n,
                         struct device *dev)
{
    (void)r, (void)g, (void)n, (void)dev;
    return "never does";
}
static const struct kernel refuser = {
    .name = "refuser", .claim = never, .run = single_run};

static const struct backend plain = {
    .name = "plain", .kernels = (const struct kernel *const[]){&single, NULL}};
static const struct backend fusing = {
    .name = "fusing", .kernels = (const struct kernel *const[]){&muladd, &single, NULL}};
static const struct backend refusing = {
    .name = "refusing", .kernels = (const struct kernel *const[]){&refuser, NULL}};

static struct tensor *vec(struct builder *b, const char *name)
{
    return graph_input(b, name, DTYPE_F32, LAYOUT_PLAIN, 1, (const int64_t[]){LEN});
}

static struct tensor *weight(struct builder *b, const char *layer)
{
    return graph_param(b, layer, "weight", LAYOUT_PLAIN, 1, (const int64_t[]){LEN},
                       (struct init){.kind = INIT_ZERO});
}

static struct tensor *two(struct builder *b, const struct op *op, struct tensor *x,
                          struct tensor *y)
{
    return node(b, op, op->name, NULL, (struct tensor *[]){x, y}, 2);
}

static int count(const struct graph *g, const struct op *op, enum phase phase)
{
    int n = 0;

    for (int i = 0; i < g->nnode; i++)
        n += g->node[i]->op == op && g->node[i]->phase == phase;
    return n;
}

/* Memory for a program, filled with a value that must not leak into results. */
static void **bind(struct program *p)
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

static void unbind(void **base)
{
    for (int m = 0; m < MEMORY_COUNT; m++)
        free(base[m]);
    free(base);
}

static void fill(const struct program *p, const struct tensor *t, uint64_t seed)
{
    float *x = program_data(p, t);

    for (int i = 0; i < LEN; i++)
        x[i] = philox_uniform(philox(seed, PHILOX_TEST, 0, (uint64_t)i).v[0]) - 0.5f;
}

static void expect(const float *got, const float *want)
{
    for (int i = 0; i < LEN; i++)
        if (!(got[i] >= want[i] - 1e-6f && got[i] <= want[i] + 1e-6f))
            fail_msg("[%d]: %g, not %g", i, (double)got[i], (double)want[i]);
}

/* y = (x w) (x w) + u with w trained: dw = 2 x (x w) dy, summed from two branches. */
static void gradients_are_summed(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = vec(&b, "x"), *seed = vec(&b, "seed"), *u = weight(&b, "unused");
    struct tensor *w = weight(&b, "layer");
    struct tensor *h = two(&b, &op_toy_mul, x, w), *y = two(&b, &op_toy_mul, h, h);
    float want[LEN];

    (void)unused;
    graph_flatten(g);
    autodiff(&b, y, seed);
    assert_int_equal(count(g, &op_toy_add, PHASE_BACKWARD), 1);
    assert_null(u->grad);
    assert_int_equal(w->grad->memory, MEMORY_GRADS);
    assert_int_equal(w->grad->offset, w->offset);
    assert_null(x->grad); /* nobody trains the input */

    struct program *p = program_compile(g, &plain, NULL, NULL);
    void **base = bind(p);

    fill(p, x, 1), fill(p, w, 2), fill(p, seed, 3);
    program_run(p);
    for (int i = 0; i < LEN; i++) {
        const float *xs = program_data(p, x), *ws = program_data(p, w),
                    *dy = program_data(p, seed);

        want[i] = 2 * xs[i] * xs[i] * ws[i] * dy[i];
    }
    expect(program_data(p, w->grad), want);
    unbind(base);
    program_free(p);
    graph_free(g);
}

static void frozen_layers_cost_nothing(void **unused)
{
    char first[] = "first.*", nothing[] = "nothing", *pattern[] = {first, nothing};
    int nodes[2];

    (void)unused;
    for (int frozen = 0; frozen < 2; frozen++) {
        struct graph *g = graph_new(&toy_ops, true);
        struct builder b = {.g = g};

        graph_freeze(g, pattern, frozen ? 2 : 0);

        struct tensor *x = vec(&b, "x"), *seed = vec(&b, "seed");
        struct tensor *w1 = weight(&b, "first"), *w2 = weight(&b, "second");
        struct tensor *h = two(&b, &op_toy_mul, x, w1), *y = two(&b, &op_toy_mul, h, w2);

        graph_flatten(g);
        autodiff(&b, y, seed);
        nodes[frozen] = count(g, &op_toy_mul, PHASE_BACKWARD);
        assert_true(w2->grad != NULL);
        assert_int_equal(w1->grad == NULL, frozen);
        if (frozen) {
            assert_int_equal(g->freeze_hits[0], 1);
            assert_int_equal(g->freeze_hits[1], 0);
        }
        graph_free(g);
    }
    assert_int_equal(nodes[0], 3); /* dw2, dh, dw1 */
    assert_int_equal(nodes[1], 1); /* dw2 alone */
}

static void flat_layout_is_reversed_and_aligned(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *a = weight(&b, "a"), *z = weight(&b, "z");
    struct tensor *m = graph_buffer(&b, "a", "mean", 1, (const int64_t[]){3},
                                    (struct init){.kind = INIT_ZERO});
    struct tensor *stat = node(&b, &op_toy_add, "a", NULL, (struct tensor *[]){a, z}, 2);

    (void)unused;
    stat->statistic_of = m;
    graph_flatten(g);
    assert_int_equal(z->offset, 0);
    assert_int_equal(a->offset, 64);
    assert_int_equal(m->offset, 128);
    assert_int_equal(g->flat->param_len, 32);
    assert_int_equal(g->flat->weights_len, 48);
    assert_int_equal(stat->memory, MEMORY_STATS);
    assert_int_equal(stat->offset, 0);
    assert_true(stat->root);
    graph_free(g);
}

static void what_is_frozen_lies_behind_what_is_trained(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    char last[] = "z.*", *pattern[] = {last};
    struct tensor *a, *z;

    (void)unused;
    graph_freeze(g, pattern, 1);
    a = weight(&b, "a");
    z = weight(&b, "z");
    graph_flatten(g);
    assert_int_equal(a->offset, 0);
    assert_int_equal(z->offset, 64);
    assert_int_equal(g->flat->ntrained, 1);
    assert_int_equal(g->flat->trained_len, 16);
    assert_int_equal(g->flat->nparam, 2);
    assert_int_equal(g->flat->param_len, 32);
    graph_free(g);
}

static void casts_are_shared_and_gradients_stay_wide(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = vec(&b, "x"), *seed = vec(&b, "seed"), *w = weight(&b, "layer");
    struct tensor *h = two(&b, &op_toy_mul, x, w), *y = two(&b, &op_toy_mul, h, x);

    (void)unused;
    graph_flatten(g);
    autodiff(&b, y, seed);
    precision(g, AMP_O1, DTYPE_F16);
    assert_int_equal(h->dtype, DTYPE_F16);
    assert_int_equal(y->dtype, DTYPE_F16);
    /* x, w and seed once each; and the gradient of w back to fp32 */
    assert_int_equal(count(g, &op_toy_cast, PHASE_FORWARD), 2);
    assert_int_equal(count(g, &op_toy_cast, PHASE_BACKWARD), 2);
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->memory == MEMORY_GRADS) {
            assert_int_equal(g->tensor[i]->dtype, DTYPE_F32);
            assert_int_equal(g->tensor[i]->offset, w->offset);
        }
    for (int i = 0; i < g->nnode; i++) { /* inputs have smaller indices */
        assert_int_equal(g->node[i]->index, i);
        for (int k = 0; k < g->node[i]->nin; k++)
            if (g->node[i]->in[k]->producer)
                assert_true(g->node[i]->in[k]->producer->index < i);
    }
    graph_free(g);
}

/* A chain of blocks h = h h + h, each a scope. Returns the gradient of the weight. */
static void chain(int use_checkpoint, float dw[LEN], size_t *lower, size_t *arena)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = vec(&b, "x"), *seed = vec(&b, "seed"), *w = weight(&b, "layer");
    struct tensor *h = two(&b, &op_toy_mul, x, w);

    for (int i = 0; i < 12; i++) {
        struct tensor *in = h;

        scope_begin(&b);
        for (int k = 0; k < 4; k++)
            h = two(&b, &op_toy_mul, h, h);
        h = two(&b, &op_toy_add, h, in);
        scope_end(&b);
    }
    graph_flatten(g);
    autodiff(&b, h, seed);
    if (use_checkpoint)
        assert_int_equal(checkpoint(g), 12 * 3);

    struct program *p = program_compile(g, &plain, NULL, NULL);
    void **base = bind(p);

    fill(p, x, 1), fill(p, w, 2), fill(p, seed, 3);
    program_run(p);
    memcpy(dw, program_data(p, w->grad), LEN * sizeof(float));
    *lower = p->lower_bound;
    *arena = program_need(p, MEMORY_ARENA);
    unbind(base);
    program_free(p);
    graph_free(g);
}

static void checkpointing_saves_memory_and_changes_no_bit(void **unused)
{
    float dw[2][LEN];
    size_t lower[2], arena[2];

    (void)unused;
    for (int i = 0; i < 2; i++)
        chain(i, dw[i], &lower[i], &arena[i]);
    assert_memory_equal(dw[0], dw[1], sizeof(dw[0]));
    assert_true(lower[1] * 2 < lower[0]);
    assert_true(arena[1] * 2 < arena[0]);
    assert_true(arena[0] >= lower[0] && arena[1] >= lower[1]);
}

static void claims_fuse_duplicate_and_drop(void **unused)
{
    for (int stored = 0; stored < 2; stored++) {
        struct graph *g = graph_new(&toy_ops, false);
        struct builder b = {.g = g};
        struct tensor *x = vec(&b, "x"), *u = vec(&b, "u");
        struct tensor *m = two(&b, &op_toy_mul, x, u);
        struct tensor *y = two(&b, &op_toy_add, m, u), *z = two(&b, &op_toy_add, m, x);
        struct tensor *dead = two(&b, &op_toy_mul, u, u);
        float want[LEN];

        (void)unused;
        graph_flatten(g);
        graph_output(g, y);
        graph_output(g, z);
        if (stored)
            graph_output(g, m);

        struct program *p = program_compile(g, &fusing, NULL, NULL);
        void **base = bind(p);

        assert_int_equal(p->nregion, stored ? 3 : 2);
        assert_true(dead->producer->dead);
        assert_int_equal(m->producer->dead, 0);
        fill(p, x, 1), fill(p, u, 2);
        program_run(p);
        for (int i = 0; i < LEN; i++) {
            const float *xs = program_data(p, x), *us = program_data(p, u);

            want[i] = xs[i] * us[i] + us[i];
        }
        expect(program_data(p, y), want);
        unbind(base);
        program_free(p);
        graph_free(g);
    }
}

static void updates_come_last_and_refresh_follows(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = vec(&b, "x"), *seed = vec(&b, "seed"), *w = weight(&b, "layer");
    struct tensor *y = two(&b, &op_toy_mul, x, w);
    float want[LEN];

    (void)unused;
    graph_flatten(g);
    b.phase = PHASE_UPDATE;
    struct tensor *grads = graph_state(&b, "grads", MEMORY_GRADS, DTYPE_F32, 0, LEN);
    struct tensor *flat = graph_state(&b, "weights", MEMORY_WEIGHTS, DTYPE_F32, 0, LEN);

    node_update(&b, &op_toy_decay, "decay", NULL, &grads, 1, &flat, 1);
    autodiff(&b, y, seed);

    struct program *p = program_compile(g, &plain, NULL, NULL);
    void **base = bind(p);

    assert_ptr_equal(p->region[p->nregion - 1]->anchor->op, &op_toy_decay);
    assert_int_equal(p->refresh_at, p->nregion);
    fill(p, x, 1), fill(p, w, 2), fill(p, seed, 3);
    for (int i = 0; i < LEN; i++) {
        const float *xs = program_data(p, x), *ws = program_data(p, w),
                    *dy = program_data(p, seed);

        want[i] = ws[i] - 0.5f * xs[i] * dy[i];
    }
    program_run(p);
    expect(program_data(p, w), want);
    unbind(base);
    program_free(p);
    graph_free(g);
}

/*
 * Derived buffers: products read twice the weight and a constant vector; the update
 * writes the double itself, unless `packed`.
 */
struct packs {
    int twice, table;
};

static const float derived_table[LEN] = {1, 2, 3, 4, 5, 6, 7, 8};

static void pack_twice(void *dst, void *const *from, void *state)
{
    ((struct packs *)state)->twice++;
    for (int i = 0; i < LEN; i++)
        ((float *)dst)[i] = 2 * ((const float *)from[0])[i];
}

static void pack_table(void *dst, void *const *from, void *state)
{
    (void)from;
    ((struct packs *)state)->table++;
    memcpy(dst, derived_table, sizeof(derived_table));
}

static struct packs derived_packs;
static bool derived_packed;

static int derive_twice(struct region *r, struct tensor *w, bool written)
{
    return region_derive(r, &(const struct derive){.size = LEN * sizeof(float),
                                                   .from = {w},
                                                   .nfrom = 1,
                                                   .written = written,
                                                   .pack = pack_twice,
                                                   .state = &derived_packs});
}

static const char *derived_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    bool decay = n->op == &op_toy_decay;

    (void)single_claim(r, g, n, dev);
    if (!decay && n->in[1]->kind != TENSOR_PARAM)
        return NULL;
    assert_int_equal(
        derive_twice(r, g->flat->segment[0].tensor, decay && !derived_packed), 0);
    if (!decay)
        (void)region_derive(r, &(const struct derive){.size = sizeof(derived_table),
                                                      .key = derived_table,
                                                      .key_len = sizeof(derived_table),
                                                      .pack = pack_table,
                                                      .state = &derived_packs});
    return NULL;
}

static void derived_run(struct step *s, struct device *dev)
{
    (void)dev;
    s->node->op->ref(s);
    if (s->node->op == &op_toy_decay && s->derived[0] && !derived_packed)
        for (int i = 0; i < LEN; i++)
            ((float *)s->derived[0])[i] = 2 * ((const float *)s->out[0])[i];
    for (int i = 0; i < LEN && s->node->op != &op_toy_decay && s->derived[0]; i++)
        ((float *)s->out[0])[i] =
            ((const float *)s->derived[0])[i] + ((const float *)s->derived[1])[i];
}

static const struct kernel deriving = {
    .name = "deriving", .claim = derived_claim, .run = derived_run};
static const struct backend derived_backend = {
    .name = "derived", .kernels = (const struct kernel *const[]){&deriving, NULL}};

/* `readers`: somebody besides the update asks for the buffers. */
static void derived(bool packed, bool readers)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = vec(&b, "x"), *w = weight(&b, "layer");
    struct tensor *y = readers ? two(&b, &op_toy_mul, x, w) : NULL;
    float want[LEN];

    derived_packs = (struct packs){0, 0};
    derived_packed = packed;
    graph_flatten(g);
    if (y)
        graph_output(g, y);
    b.phase = PHASE_UPDATE;
    struct tensor *grads = graph_state(&b, "grads", MEMORY_GRADS, DTYPE_F32, 0, LEN);
    struct tensor *flat = graph_state(&b, "weights", MEMORY_WEIGHTS, DTYPE_F32, 0, LEN);

    node_update(&b, &op_toy_decay, "decay", NULL, &grads, 1, &flat, 1);

    struct program *p = program_compile(g, &derived_backend, NULL, NULL);
    void **base = bind(p);

    fill(p, x, 1), fill(p, w, 2), fill(p, grads, 3);
    program_refresh(p);
    program_run(p);
    for (int i = 0; readers && i < LEN; i++)
        want[i] = 2 * ((const float *)program_data(p, w))[i] + derived_table[i];
    program_run(p);
    if (readers)
        expect(program_data(p, y), want); /* of the weights before the second update */
    assert_int_equal(derived_packs.twice, packed ? 3 : readers);
    assert_int_equal(derived_packs.table, readers);
    assert_int_equal(program_need(p, MEMORY_DERIVED) > 0, readers || packed);
    unbind(base);
    program_free(p);
    graph_free(g);
}

static void derived_buffers_are_packed_or_written(void **unused)
{
    (void)unused;
    derived(true, true);
    derived(false, true);
    derived(false, false);
}

/* Random graphs: the plan never lets two live tensors overlap, seen by their values. */
static void random_graphs_equal_without_reuse(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct graph *g = graph_new(&toy_ops, false);
        struct builder b = {.g = g};
        struct tensor *t[40];
        float value[40][LEN];
        int n = 40;

        t[0] = vec(&b, "x");
        for (int i = 1; i < n; i++) {
            struct philox r = philox(seed, PHILOX_TEST, 1, (uint64_t)i);
            struct tensor *p = t[philox_below(r.v[0], (uint32_t)i)];
            struct tensor *q = t[philox_below(r.v[1], (uint32_t)i)];

            t[i] = two(&b, r.v[2] & 1 ? &op_toy_add : &op_toy_mul, p, q);
        }
        graph_flatten(g);
        graph_output(g, t[n - 1]);

        struct program *p = program_compile(g, &fusing, NULL, NULL);
        void **base = bind(p);

        fill(p, t[0], seed);
        memcpy(value[0], program_data(p, t[0]), sizeof(value[0]));
        for (int i = 1; i < n; i++)
            for (int k = 0; k < LEN; k++) {
                const struct node *from = t[i]->producer;
                int a = 0, c = 0;

                for (int j = 0; j < i; j++) {
                    a = t[j] == from->in[0] ? j : a;
                    c = t[j] == from->in[1] ? j : c;
                }
                value[i][k] = from->op == &op_toy_add ? value[a][k] + value[c][k]
                                                      : value[a][k] * value[c][k];
            }
        program_run(p);
        program_run(p); /* nothing may survive in the arena that changes the second run */
        expect(program_data(p, t[n - 1]), value[n - 1]);
        assert_true(program_need(p, MEMORY_ARENA) >= p->lower_bound);
        unbind(base);
        program_free(p);
        graph_free(g);
    }
}

/* Runs fn in a child and returns its exit code; its stderr is in text. */
static int child(void (*fn)(void), char *text, size_t size)
{
    int fd[2], status;
    pid_t pid;
    ssize_t got;

    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (!pid) {
        (void)dup2(fd[1], 2);
        fn();
        _exit(0);
    }
    (void)close(fd[1]);
    got = read(fd[0], text, size - 1);
    text[got > 0 ? got : 0] = '\0';
    (void)close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void nobody_claims(void)
{
    struct graph *g = graph_new(&toy_ops, false);
    struct builder b = {.g = g};
    struct tensor *x = vec(&b, "x");

    graph_output(g,
                 node(&b, &op_toy_mul, "block.mul", NULL, (struct tensor *[]){x, x}, 2));
    (void)program_compile(g, &refusing, NULL, NULL);
}

static void bad_shapes(void)
{
    struct graph *g = graph_new(&toy_ops, false);
    struct builder b = {.g = g};
    struct tensor *x = vec(&b, "x");
    struct tensor *y =
        graph_input(&b, "y", DTYPE_F32, LAYOUT_PLAIN, 1, (const int64_t[]){3});

    (void)node(&b, &op_toy_mul, "block.mul", NULL, (struct tensor *[]){x, y}, 2);
}

static void errors_name_layer_op_and_shapes(void **unused)
{
    char text[1024];

    (void)unused;
    assert_int_equal(child(nobody_claims, text, sizeof(text)), 1);
    assert_non_null(strstr(text,
                           "layer 'block.mul': no refusing kernel for mul(8 fp32, 8 "
                           "fp32): refuser: never does"));
    assert_int_equal(child(bad_shapes, text, sizeof(text)), 1);
    assert_non_null(
        strstr(text, "layer 'block.mul': mul(8 fp32, 3 fp32): shapes differ"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_summed),
        cmocka_unit_test(frozen_layers_cost_nothing),
        cmocka_unit_test(flat_layout_is_reversed_and_aligned),
        cmocka_unit_test(what_is_frozen_lies_behind_what_is_trained),
        cmocka_unit_test(casts_are_shared_and_gradients_stay_wide),
        cmocka_unit_test(checkpointing_saves_memory_and_changes_no_bit),
        cmocka_unit_test(claims_fuse_duplicate_and_drop),
        cmocka_unit_test(updates_come_last_and_refresh_follows),
        cmocka_unit_test(derived_buffers_are_packed_or_written),
        cmocka_unit_test(random_graphs_equal_without_reuse),
        cmocka_unit_test(errors_name_layer_op_and_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
