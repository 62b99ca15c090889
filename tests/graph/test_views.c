/*
 * Views: every pass that counts bytes or readers counts them as the base, and they are
 * copied only if a second place is requested. On toy ops and kernels.
 */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "graph/recompute.h"
#include "ops/view.h"
#include "tests/graph/toy_graph.h"
#include "tests/test.h"

/* Views as [TOY_LEN / 2, 2] and back. */
static struct tensor *square(struct builder *b, struct tensor *x)
{
    return view_plain(b, x, "square", 2, (const int64_t[]){TOY_LEN / 2, 2});
}

static struct tensor *flat(struct builder *b, struct tensor *x)
{
    return view_plain(b, x, "flat", 1, (const int64_t[]){TOY_LEN});
}

static int copies(const struct program *p)
{
    int n = 0;

    for (int i = 0; i < p->nregion; i++)
        n += p->region[i]->anchor->op == &op_view;
    return n;
}

struct run {
    struct graph *g;
    struct builder b;
    struct program *p;
    void **base;
};

static void run_init(struct run *r, bool training)
{
    memset(r, 0, sizeof(*r));
    r->b.g = r->g = graph_new(&toy_ops, training);
}

static void run_compile(struct run *r, const struct backend *backend)
{
    if (r->base)
        toy_unbind(r->base);
    program_free(r->p);
    r->p = program_compile(r->g, backend, NULL, NULL);
    r->base = toy_bind(r->p);
}

static void run_release(struct run *r)
{
    toy_unbind(r->base);
    program_free(r->p);
    graph_free(r->g);
}

static const float *data(const struct run *r, const struct tensor *t)
{
    return program_data(r->p, t);
}

static void nothing_runs_for_a_view(void **unused)
{
    struct run r;
    float want[TOY_LEN];

    (void)unused;
    run_init(&r, false);

    struct tensor *x = toy_vec(&r.b, "x"), *m = toy_two(&r.b, &toy_mul, x, x);
    struct tensor *v = square(&r.b, m), *w = flat(&r.b, v), *dead = square(&r.b, x);
    struct tensor *y = toy_two(&r.b, &toy_mul, w, x), *z = square(&r.b, y);

    assert_ptr_equal(flat(&r.b, x), x);
    graph_flatten(r.g);
    graph_output(r.g, z);
    for (int again = 0; again < 2; again++) {
        run_compile(&r, &toy_plain);
        assert_int_equal(r.p->nregion, 2);
        assert_int_equal(dead->producer->dead, 1);
        assert_ptr_equal(data(&r, w), data(&r, m));
        assert_ptr_equal(data(&r, v), data(&r, m));
        assert_ptr_equal(data(&r, z), data(&r, y));
        assert_int_equal(y->memory, MEMORY_OUTPUT);
        toy_fill(r.p, x, 1);
        program_run(r.p);
        for (int i = 0; i < TOY_LEN; i++)
            want[i] = data(&r, x)[i] * data(&r, x)[i] * data(&r, x)[i];
        toy_expect(data(&r, z), want);
    }
    run_release(&r);
}

/* The add may overwrite its first input, but not before the last read of its view. */
static void nothing_is_written_over_a_view(void **unused)
{
    (void)unused;
    for (int late = 0; late < 2; late++) {
        struct run r;
        float want[TOY_LEN];

        run_init(&r, false);

        struct tensor *x = toy_vec(&r.b, "x"), *m = toy_two(&r.b, &toy_mul, x, x);
        struct tensor *v = flat(&r.b, square(&r.b, m));
        struct tensor *s = toy_two(&r.b, &toy_add, late ? m : v, x);
        struct tensor *y = late ? toy_two(&r.b, &toy_mul, s, v) : s;

        graph_flatten(r.g);
        graph_output(r.g, toy_two(&r.b, &toy_mul, y, x));
        run_compile(&r, &toy_plain);
        assert_int_equal(data(&r, s) == data(&r, m), !late);
        toy_fill(r.p, x, 1);
        program_run(r.p);
        for (int i = 0; i < TOY_LEN; i++) {
            float a = data(&r, x)[i], sum = a * a + a;

            want[i] = late ? sum * a * a * a : sum * a;
        }
        toy_expect(data(&r, r.g->tensor[r.g->ntensor - 1]), want);
        run_release(&r);
    }
}

/* Two outputs with one tensor: the second place is a copy; so is an output that is an
 * input. */
static void two_places_are_a_copy(void **unused)
{
    struct run r;

    (void)unused;
    run_init(&r, false);

    struct tensor *x = toy_vec(&r.b, "x"), *m = toy_two(&r.b, &toy_mul, x, x);
    struct tensor *a = square(&r.b, m), *c = square(&r.b, m), *d = square(&r.b, x);

    graph_flatten(r.g);
    graph_output(r.g, a);
    graph_output(r.g, c);
    graph_output(r.g, d);
    run_compile(&r, &toy_plain);
    assert_int_equal(copies(r.p), 2);
    toy_fill(r.p, x, 1);
    program_run(r.p);
    assert_ptr_equal(data(&r, a), data(&r, m));
    assert_ptr_not_equal(data(&r, a), data(&r, c));
    toy_expect(data(&r, c), data(&r, m));
    toy_expect(data(&r, d), data(&r, x));
    run_release(&r);
}

/* y = view(x) view(w): the gradient of w is written to its place through the view. */
static void gradients_are_views(void **unused)
{
    struct run r;
    float want[TOY_LEN];

    (void)unused;
    run_init(&r, true);

    struct tensor *x = toy_vec(&r.b, "x"), *w = toy_weight(&r.b, "layer"),
                  *u = toy_weight(&r.b, "other");
    int64_t dim[] = {TOY_LEN / 2, 2};
    struct tensor *seed = graph_input(&r.b, "seed", DTYPE_F32, LAYOUT_PLAIN, 2, dim);
    struct tensor *y =
        toy_two(&r.b, &toy_add, toy_two(&r.b, &toy_mul, square(&r.b, x), square(&r.b, w)),
                square(&r.b, u));

    graph_flatten(r.g);
    autodiff(&r.b, y, seed);
    run_compile(&r, &toy_plain);
    assert_int_equal(copies(r.p), 1); /* du is the seed itself */
    assert_int_equal(w->grad->memory, MEMORY_GRADS);
    toy_fill(r.p, x, 1), toy_fill(r.p, w, 2), toy_fill(r.p, seed, 3);
    program_run(r.p);
    for (int i = 0; i < TOY_LEN; i++)
        want[i] = data(&r, x)[i] * data(&r, seed)[i];
    toy_expect((const float *)r.base[MEMORY_GRADS] + w->offset / sizeof(float), want);
    toy_expect((const float *)r.base[MEMORY_GRADS] + u->offset / sizeof(float),
               data(&r, seed));
    run_release(&r);
}

/* "mul then add" with views between them, which the claim ignores. */
static const char *through_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    struct node *mul = n->op == &toy_add ? tensor_base(n->in[0])->producer : NULL;

    (void)dev;
    if (!mul || mul->op != &toy_mul)
        return "not an add after a mul";
    region_claim(r, n);
    (void)region_read(r, mul->in[0]);
    (void)region_read(r, mul->in[1]);
    (void)region_read(r, n->in[1]);
    (void)region_write(r, n->out[0]);
    if (tensor_stored(g, mul->out[0], r)) {
        region_duplicate(r, mul);
    } else {
        region_claim(r, mul);
    }
    return NULL;
}

static const struct kernel through = {.name = "through", .claim = through_claim};

static void claims_look_through_views(void **unused)
{
    static const struct kernel *list[] = {&through, NULL, NULL};
    static const struct backend backend = {.name = "through", .kernels = list};

    (void)unused;
    list[1] = toy_plain.kernels[0];
    for (int stored = 0; stored < 2; stored++) {
        struct run r;

        run_init(&r, false);

        struct tensor *x = toy_vec(&r.b, "x"), *m = toy_two(&r.b, &toy_mul, x, x);
        struct tensor *v = flat(&r.b, square(&r.b, m));
        struct tensor *y = toy_two(&r.b, &toy_add, v, x);

        graph_flatten(r.g);
        graph_output(r.g, stored ? toy_two(&r.b, &toy_mul, y, v) : y);
        r.p = program_compile(r.g, &backend, NULL, NULL);
        assert_int_equal(r.p->nregion, stored ? 3 : 1);
        assert_int_equal(m->memory, stored ? MEMORY_ARENA : MEMORY_NONE);
        assert_int_equal(v->memory, m->memory);
        assert_int_equal(y->producer->region->nnode, stored ? 1 : 2);
        program_free(r.p);
        graph_free(r.g);
    }
}

static void views_keep_their_type(void **unused)
{
    struct run r;

    (void)unused;
    run_init(&r, true);

    struct tensor *x = toy_vec(&r.b, "x"), *w = toy_weight(&r.b, "layer");
    struct tensor *v = square(&r.b, w), *y = toy_two(&r.b, &toy_mul, x, flat(&r.b, v));
    struct tensor *z = square(&r.b, y);

    graph_flatten(r.g);
    precision(r.g, AMP_O2, DTYPE_BF16);
    assert_int_equal(v->dtype, DTYPE_F32);
    assert_int_equal(z->dtype, DTYPE_BF16);
    graph_free(r.g);
}

/* Values read through a view in the backward phase are recomputed, unless they are
 * kept. */
static void views_are_recomputed(void **unused)
{
    (void)unused;
    for (int kept = 0; kept < 2; kept++) {
        struct run r;

        run_init(&r, true);

        struct tensor *x = toy_vec(&r.b, "x"), *seed = toy_vec(&r.b, "seed"),
                      *w = toy_weight(&r.b, "layer"), *u = toy_weight(&r.b, "next");

        scope_begin(&r.b);

        struct tensor *m = toy_two(&r.b, &toy_mul, x, w), *v = square(&r.b, m);
        struct tensor *y = toy_two(&r.b, &toy_mul, flat(&r.b, v), m);

        scope_end(&r.b);
        y = toy_two(&r.b, &toy_mul, kept ? toy_two(&r.b, &toy_mul, y, flat(&r.b, v)) : y,
                    u);
        graph_flatten(r.g);
        autodiff(&r.b, y, seed);
        assert_int_equal(recompute(r.g), kept ? 1 : 3);
        graph_free(r.g);
    }
}

/* Random graphs with views in all places: the values equal those without an arena. */
static void random_graphs_equal_without_reuse(void **unused)
{
    enum { NODES = 40 };

    (void)unused;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct run r;
        struct tensor *t[NODES];
        int src[NODES][2], kind[NODES];
        float value[NODES][TOY_LEN];

        run_init(&r, false);
        t[0] = toy_vec(&r.b, "x");
        for (int i = 1; i < NODES; i++) {
            struct philox p = philox(seed, PHILOX_TEST, 1, (uint64_t)i);

            src[i][0] = (int)philox_below(p.v[0], (uint32_t)i);
            src[i][1] = (int)philox_below(p.v[1], (uint32_t)i);
            kind[i] = (int)(p.v[2] % 3);
            if (kind[i] == 2)
                t[i] = flat(&r.b, square(&r.b, t[src[i][0]]));
            else
                t[i] = toy_two(&r.b, kind[i] ? &toy_add : &toy_mul, t[src[i][0]],
                               t[src[i][1]]);
            if (p.v[3] % 8 == 0 && t[i]->memory == MEMORY_NONE)
                graph_output(r.g, t[i]);
        }
        if (t[NODES - 1]->memory == MEMORY_NONE)
            graph_output(r.g, t[NODES - 1]);
        graph_flatten(r.g);
        run_compile(&r, seed % 2 ? &toy_plain : &toy_fusing);
        toy_fill(r.p, t[0], seed);
        memcpy(value[0], data(&r, t[0]), sizeof(value[0]));
        for (int i = 1; i < NODES; i++)
            for (int k = 0; k < TOY_LEN; k++) {
                float a = value[src[i][0]][k], c = value[src[i][1]][k];

                value[i][k] = kind[i] == 0 ? a * c : kind[i] == 1 ? a + c : a;
            }
        program_run(r.p);
        program_run(r.p);
        for (int i = 1; i < NODES; i++)
            if (t[i]->memory == MEMORY_OUTPUT)
                toy_expect(data(&r, t[i]), value[i]);
        run_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_runs_for_a_view),
        cmocka_unit_test(nothing_is_written_over_a_view),
        cmocka_unit_test(two_places_are_a_copy),
        cmocka_unit_test(gradients_are_views),
        cmocka_unit_test(claims_look_through_views),
        cmocka_unit_test(views_keep_their_type),
        cmocka_unit_test(views_are_recomputed),
        cmocka_unit_test(random_graphs_equal_without_reuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
