/*
 * From a graph to a running program: claims, order, derived buffers, the plan of the
 * arena, and the error if no kernel claims a node, on toy ops and kernels.
 */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "tests/child.h"
#include "tests/graph/toy_graph.h"
#include "tests/test.h"

static void claims_fuse_duplicate_and_drop(void **unused)
{
    for (int stored = 0; stored < 2; stored++) {
        struct graph *g = graph_new(&toy_ops, false);
        struct builder b = {.g = g};
        struct tensor *x = toy_vec(&b, "x"), *u = toy_vec(&b, "u");
        struct tensor *m = toy_two(&b, &toy_mul, x, u);
        struct tensor *y = toy_two(&b, &toy_add, m, u), *z = toy_two(&b, &toy_add, m, x);
        struct tensor *dead = toy_two(&b, &toy_mul, u, u);
        float want[TOY_LEN];

        (void)unused;
        graph_flatten(g);
        graph_output(g, y);
        graph_output(g, z);
        if (stored)
            graph_output(g, m);

        struct program *p = program_compile(g, &toy_fusing, NULL, NULL);
        void **base = toy_bind(p);

        assert_int_equal(p->nregion, stored ? 3 : 2);
        assert_true(dead->producer->dead);
        assert_int_equal(m->producer->dead, 0);
        toy_fill(p, x, 1), toy_fill(p, u, 2);
        program_run(p);
        for (int i = 0; i < TOY_LEN; i++) {
            const float *xs = program_data(p, x), *us = program_data(p, u);

            want[i] = xs[i] * us[i] + us[i];
        }
        toy_expect(program_data(p, y), want);
        toy_unbind(base);
        program_free(p);
        graph_free(g);
    }
}

static void updates_come_last_and_refresh_follows(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x"), *seed = toy_vec(&b, "seed"),
                  *w = toy_weight(&b, "layer");
    struct tensor *y = toy_two(&b, &toy_mul, x, w);
    float want[TOY_LEN];

    (void)unused;
    graph_flatten(g);
    b.phase = PHASE_UPDATE;
    struct tensor *grads = graph_state(&b, "grads", MEMORY_GRADS, DTYPE_F32, 0, TOY_LEN);
    struct tensor *flat =
        graph_state(&b, "weights", MEMORY_WEIGHTS, DTYPE_F32, 0, TOY_LEN);

    node_update(&b, &toy_decay, "decay", NULL, &grads, 1, &flat, 1);
    autodiff(&b, y, seed);

    struct program *p = program_compile(g, &toy_plain, NULL, NULL);
    void **base = toy_bind(p);

    assert_ptr_equal(p->region[p->nregion - 1]->anchor->op, &toy_decay);
    assert_int_equal(p->refresh_at, p->nregion);
    toy_fill(p, x, 1), toy_fill(p, w, 2), toy_fill(p, seed, 3);
    for (int i = 0; i < TOY_LEN; i++) {
        const float *xs = program_data(p, x), *ws = program_data(p, w),
                    *dy = program_data(p, seed);

        want[i] = ws[i] - 0.5f * xs[i] * dy[i];
    }
    program_run(p);
    toy_expect(program_data(p, w), want);
    toy_unbind(base);
    program_free(p);
    graph_free(g);
}

/*
 * Derived buffers: products read the doubled weight and a constant vector; the update
 * writes the doubled weight itself, unless `packed`.
 */
struct packs {
    int twice, table;
};

static const float derived_table[TOY_LEN] = {1, 2, 3, 4, 5, 6, 7, 8};

static void pack_twice(void *dst, void *const *src, void *state)
{
    ((struct packs *)state)->twice++;
    for (int i = 0; i < TOY_LEN; i++)
        ((float *)dst)[i] = 2 * ((const float *)src[0])[i];
}

static void pack_table(void *dst, void *const *src, void *state)
{
    (void)src;
    ((struct packs *)state)->table++;
    memcpy(dst, derived_table, sizeof(derived_table));
}

static struct packs derived_packs;
static bool derived_packed;

static int derive_twice(struct region *r, struct tensor *w, bool written)
{
    return region_derive(r, &(const struct derive){.size = TOY_LEN * sizeof(float),
                                                   .source = {w},
                                                   .nsource = 1,
                                                   .written = written,
                                                   .pack = pack_twice,
                                                   .state = &derived_packs});
}

static const char *derived_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    bool decay = n->op == &toy_decay;

    (void)toy_single_claim(r, g, n, dev);
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
    if (s->node->op == &toy_decay && s->derived[0] && !derived_packed)
        for (int i = 0; i < TOY_LEN; i++)
            ((float *)s->derived[0])[i] = 2 * ((const float *)s->out[0])[i];
    for (int i = 0; i < TOY_LEN && s->node->op != &toy_decay && s->derived[0]; i++)
        ((float *)s->out[0])[i] =
            ((const float *)s->derived[0])[i] + ((const float *)s->derived[1])[i];
}

static const struct kernel deriving = {
    .name = "deriving", .claim = derived_claim, .run = derived_run};
static const struct backend derived_backend = {
    .name = "derived", .kernels = (const struct kernel *const[]){&deriving, NULL}};

/* `readers`: nodes outside of the update phase request the buffers. */
static void derived(bool packed, bool readers)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x"), *w = toy_weight(&b, "layer");
    struct tensor *y = readers ? toy_two(&b, &toy_mul, x, w) : NULL;
    float want[TOY_LEN];

    derived_packs = (struct packs){0, 0};
    derived_packed = packed;
    graph_flatten(g);
    if (y)
        graph_output(g, y);
    b.phase = PHASE_UPDATE;
    struct tensor *grads = graph_state(&b, "grads", MEMORY_GRADS, DTYPE_F32, 0, TOY_LEN);
    struct tensor *flat =
        graph_state(&b, "weights", MEMORY_WEIGHTS, DTYPE_F32, 0, TOY_LEN);

    node_update(&b, &toy_decay, "decay", NULL, &grads, 1, &flat, 1);

    struct program *p = program_compile(g, &derived_backend, NULL, NULL);
    void **base = toy_bind(p);

    toy_fill(p, x, 1), toy_fill(p, w, 2), toy_fill(p, grads, 3);
    program_refresh(p);
    program_run(p);
    for (int i = 0; readers && i < TOY_LEN; i++)
        want[i] = 2 * ((const float *)program_data(p, w))[i] + derived_table[i];
    program_run(p);
    if (readers)
        toy_expect(program_data(p, y),
                   want); /* of the weights before the second update */
    assert_int_equal(derived_packs.twice, packed ? 3 : readers);
    assert_int_equal(derived_packs.table, readers);
    assert_int_equal(program_need(p, MEMORY_DERIVED) > 0, readers || packed);
    toy_unbind(base);
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

/* Random graphs: the plan never lets two live tensors overlap, as seen by their
 * values. */
static void random_graphs_equal_without_reuse(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct graph *g = graph_new(&toy_ops, false);
        struct builder b = {.g = g};
        struct tensor *t[40];
        float value[40][TOY_LEN];
        int n = 40;

        t[0] = toy_vec(&b, "x");
        for (int i = 1; i < n; i++) {
            struct philox r = philox(seed, PHILOX_TEST, 1, (uint64_t)i);
            struct tensor *p = t[philox_below(r.v[0], (uint32_t)i)];
            struct tensor *q = t[philox_below(r.v[1], (uint32_t)i)];

            t[i] = toy_two(&b, r.v[2] & 1 ? &toy_add : &toy_mul, p, q);
        }
        graph_flatten(g);
        graph_output(g, t[n - 1]);

        struct program *p = program_compile(g, &toy_fusing, NULL, NULL);
        void **base = toy_bind(p);

        toy_fill(p, t[0], seed);
        memcpy(value[0], program_data(p, t[0]), sizeof(value[0]));
        for (int i = 1; i < n; i++)
            for (int k = 0; k < TOY_LEN; k++) {
                const struct node *src = t[i]->producer;
                int a = 0, c = 0;

                for (int j = 0; j < i; j++) {
                    a = t[j] == src->in[0] ? j : a;
                    c = t[j] == src->in[1] ? j : c;
                }
                value[i][k] = src->op == &toy_add ? value[a][k] + value[c][k]
                                                  : value[a][k] * value[c][k];
            }
        program_run(p);
        program_run(p); /* nothing may survive in the arena that changes the second run */
        toy_expect(program_data(p, t[n - 1]), value[n - 1]);
        assert_true(program_need(p, MEMORY_ARENA) >= p->lower_bound);
        toy_unbind(base);
        program_free(p);
        graph_free(g);
    }
}

/* The add requests `room` times the size of its sum. */
static size_t room;

static const char *roomy_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    (void)toy_single_claim(r, g, n, dev);
    if (n->op == &toy_add)
        region_room(r, 0, room * tensor_size(n->out[0]));
    return NULL;
}

static const struct kernel roomy = {.name = "roomy", .claim = roomy_claim};
static const struct backend roomy_backend = {
    .name = "roomy", .kernels = (const struct kernel *const[]){&roomy, NULL}};

/* A sum is computed in place, unless it needs more room than is available. */
static void room_is_not_found_in_place(void **unused)
{
    (void)unused;
    for (room = 1; room <= 4; room++) {
        struct graph *g = graph_new(&toy_ops, false);
        struct builder b = {.g = g};
        struct tensor *x = toy_vec(&b, "x");
        struct tensor *m = toy_two(&b, &toy_mul, x, x), *y = toy_two(&b, &toy_add, m, x);
        struct program *p;

        graph_output(g, toy_two(&b, &toy_mul, y, x));
        p = program_compile(g, &roomy_backend, NULL, NULL);
        assert_int_equal(m->offset == y->offset, room == 1);
        assert_true(program_need(p, MEMORY_ARENA) >= y->offset + tensor_room(y));
        program_free(p);
        graph_free(g);
    }
}

static void nobody_claims(void *arg)
{
    struct graph *g = graph_new(&toy_ops, false);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x");

    (void)arg;
    graph_output(g, node(&b, &toy_mul, "block.mul", NULL, (struct tensor *[]){x, x}, 2));
    (void)program_compile(g, &toy_refusing, NULL, NULL);
}

static void bad_shapes(void *arg)
{
    struct graph *g = graph_new(&toy_ops, false);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x");
    struct tensor *y =
        graph_input(&b, "y", DTYPE_F32, LAYOUT_PLAIN, 1, (const int64_t[]){3});

    (void)arg;
    (void)node(&b, &toy_mul, "block.mul", NULL, (struct tensor *[]){x, y}, 2);
}

static void errors_name_layer_op_and_shapes(void **unused)
{
    (void)unused;
    check_dies(nobody_claims, NULL,
               "layer 'block.mul': no refusing kernel for mul(8 fp32, 8 fp32): refuser: "
               "claims nothing");
    check_dies(bad_shapes, NULL, "layer 'block.mul': mul(8 fp32, 3 fp32): shapes differ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_fuse_duplicate_and_drop),
        cmocka_unit_test(updates_come_last_and_refresh_follows),
        cmocka_unit_test(derived_buffers_are_packed_or_written),
        cmocka_unit_test(random_graphs_equal_without_reuse),
        cmocka_unit_test(room_is_not_found_in_place),
        cmocka_unit_test(errors_name_layer_op_and_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
