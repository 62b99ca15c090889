/*
 * Captured programs: when a program is recorded and what the recording contains, on a toy
 * backend whose kernel can note what it would do instead of doing it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "tests/test.h"

enum { LEN = 4, MOST = 64 };

/* y = x + 1 three times in a row; the last one writes to the weights. */
static const char *next_shape(struct node *n)
{
    if (n->nout)
        tensor_like(n->out[0], n->in[0]);
    return NULL;
}

static const struct op op_next = {.name = "next", .nout = 1, .shape = next_shape};
static const struct op op_keep = {.name = "keep", .nout = 0, .shape = next_shape};
static const struct graph_ops ops = {.add = &op_next, .cast = &op_next};

struct note {
    const float *x;
    float *y;
};

struct record {
    struct note note[MOST];
    int n;
};

struct device {
    bool eager, recording;
    struct record *now;
    int runs, begun, replayed, freed, alive;
};

static void next(const struct note *n)
{
    for (int i = 0; i < LEN; i++)
        n->y[i] = n->x[i] + 1;
}

static void kernel_run(struct step *s, struct device *dev)
{
    struct note n = {s->in[0], s->out[0]};

    dev->runs++;
    if (dev->recording)
        dev->now->note[dev->now->n++] = n;
    else
        next(&n);
}

static const char *kernel_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)g, (void)dev;
    region_claim(r, n);
    (void)region_read(r, n->in[0]);
    (void)region_write(r, n->out[0]);
    return NULL;
}

static const struct kernel kernel = {
    .name = "toy", .claim = kernel_claim, .run = kernel_run};
static const struct kernel *const kernels[] = {&kernel, NULL};

static bool begin(struct device *dev)
{
    if (dev->eager)
        return false;
    dev->begun++;
    dev->alive++;
    dev->recording = true;
    dev->now = calloc(1, sizeof(*dev->now));
    return true;
}

static void *end(struct device *dev)
{
    dev->recording = false;
    return dev->now;
}

static void replay(struct device *dev, void *captured)
{
    const struct record *r = captured;

    dev->replayed++;
    for (int i = 0; i < r->n; i++)
        next(&r->note[i]);
}

static void drop(struct device *dev, void *captured)
{
    dev->freed++;
    dev->alive--;
    free(captured);
}

static const struct backend backend = {
    .name = "toy",
    .kernels = kernels,
    .capture_begin = begin,
    .capture_end = end,
    .replay = replay,
    .capture_free = drop,
};

struct trial {
    struct device dev;
    struct graph *graph;
    struct program *program;
    float x[LEN], weights[8][LEN];
    char arena[1024];
};

/* `share`: program of another trial whose weights are shared, or NULL. */
static void trial_init(struct trial *t, struct program *share)
{
    const struct compile_options o = {.share = share};
    struct builder b = {0};
    int64_t dim = LEN;
    struct tensor *x, *w;

    *t = (struct trial){0};
    t->graph = b.g = graph_new(&ops, true);
    x = graph_input(&b, "x", DTYPE_F32, LAYOUT_PLAIN, 1, &dim);
    w = graph_param(&b, "w", "weight", LAYOUT_PLAIN, 1, &dim, (struct init){0});
    graph_flatten(t->graph);
    b.phase = PHASE_UPDATE;
    for (int i = 0; i < 2; i++)
        x = node(&b, &op_next, "next", NULL, &x, 1);
    (void)node_update(&b, &op_keep, "keep", NULL, &x, 1, &w, 1);
    t->program = program_compile(t->graph, &backend, &t->dev, &o);
    assert_int_equal(t->program->nregion, 3);
}

static void trial_bind(struct trial *t, int weights)
{
    void *base[MEMORY_COUNT] = {0};

    base[MEMORY_ARENA] = t->arena;
    base[MEMORY_INPUT] = t->x;
    base[MEMORY_WEIGHTS] = t->weights[weights];
    program_bind(t->program, base);
}

/* Runs with a new input and checks that only these weights have changed. */
static void trial_run(struct trial *t, int weights)
{
    float before[8][LEN];

    memcpy(before, t->weights, sizeof(before));
    for (int i = 0; i < LEN; i++)
        t->x[i] += 10;
    program_run(t->program);
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < LEN; i++)
            assert_true(t->weights[k][i] == (k == weights ? t->x[i] + 3 : before[k][i]));
}

static void trial_release(struct trial *t)
{
    program_free(t->program);
    graph_free(t->graph);
    assert_int_equal(t->dev.alive, 0);
}

static void test_second_run(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t, NULL);
    trial_bind(&t, 0);
    trial_run(&t, 0);
    assert_int_equal(t.dev.begun, 0);
    for (int i = 0; i < 5; i++)
        trial_run(&t, 0);
    assert_int_equal(t.dev.begun, 1);
    assert_int_equal(t.dev.replayed, 5);
    assert_int_equal(t.dev.runs, 3 + 3); /* once eagerly, once to record */
    trial_release(&t);
}

/* Alternating between a few bindings costs one capture each; with many, the oldest is
 * dropped. */
static void test_bindings(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t, NULL);
    trial_bind(&t, 0);
    trial_run(&t, 0);
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < PROGRAM_CAPTURES; k++) {
            trial_bind(&t, k);
            trial_run(&t, k);
            trial_run(&t, k);
        }
    assert_int_equal(t.dev.begun, PROGRAM_CAPTURES);
    assert_int_equal(t.dev.freed, 0);
    trial_bind(&t, 6);
    trial_run(&t, 6);
    assert_int_equal(t.dev.freed, 1);
    for (int k = PROGRAM_CAPTURES - 1; k > 0;
         k--) { /* all but the first are still captured */
        trial_bind(&t, k);
        trial_run(&t, k);
    }
    assert_int_equal(t.dev.begun, PROGRAM_CAPTURES + 1);
    trial_bind(&t, 0);
    trial_run(&t, 0);
    assert_int_equal(t.dev.begun, PROGRAM_CAPTURES + 2);
    trial_release(&t);
}

/* The oldest is the least recently used one, not the first recorded one. */
static void test_oldest(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t, NULL);
    trial_bind(&t, 0);
    trial_run(&t, 0);
    for (int k = 0; k <= PROGRAM_CAPTURES + 1; k++) {
        int next = k == PROGRAM_CAPTURES ? 0 : k; /* all of them, the first one again,
                                                   * then a new one */

        trial_bind(&t, next);
        trial_run(&t, next);
    }
    assert_int_equal(t.dev.begun, PROGRAM_CAPTURES + 1);
    trial_bind(&t, 0);
    trial_run(&t, 0);
    assert_int_equal(t.dev.begun, PROGRAM_CAPTURES + 1);
    trial_bind(&t, 1);
    trial_run(&t, 1);
    assert_int_equal(t.dev.begun, PROGRAM_CAPTURES + 2);
    trial_release(&t);
}

/* The recording also packs the weights that the program shares. */
static void test_shared_bindings(void **state)
{
    static const int binding[] = {0, 0, 1, 1, 0}, begun[] = {0, 1, 2, 2, 2};
    struct trial micro, full;

    (void)state;
    trial_init(&micro, NULL);
    trial_init(&full, micro.program);
    trial_bind(&full, 0);
    for (int i = 0; i < 5; i++) {
        trial_bind(&micro, binding[i]);
        trial_run(&full, 0);
        assert_int_equal(full.dev.begun, begun[i]);
    }
    trial_release(&full);
    trial_release(&micro);
}

static void count(const struct program *p, int step, double seconds, void *arg)
{
    (void)p, (void)step, (void)seconds;
    ++*(int *)arg;
}

static void test_eager(void **state)
{
    struct trial t;
    int steps = 0;

    (void)state;
    trial_init(&t, NULL);
    t.dev.eager = true;
    trial_bind(&t, 0);
    for (int i = 0; i < 3; i++)
        trial_run(&t, 0);
    assert_int_equal(t.dev.replayed, 0);
    t.dev.eager = false;
    program_trace(t.program, count, &steps);
    trial_run(&t, 0);
    assert_int_equal(steps, 3);
    assert_int_equal(t.dev.begun, 0);
    program_trace(t.program, NULL, NULL);
    trial_run(&t, 0);
    assert_int_equal(t.dev.replayed, 1);
    trial_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_second_run), cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_oldest),     cmocka_unit_test(test_shared_bindings),
        cmocka_unit_test(test_eager),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
