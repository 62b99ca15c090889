/* Redzones around the tensors of an arena: a stray read returns NaN, a stray write ends
 * the run. */
#include <math.h>
#include <string.h>

#include "graph/compile.h"
#include "tests/child.h"
#include "tests/graph/toy_graph.h"
#include "tests/test.h"

/* y = x[i] y[i], with a stray read or write of the element after x. Only the arena has
 * redzones. */
static int stray_read, stray_write;

static void stray_run(struct step *s, struct device *dev)
{
    float *x = (float *)s->in[0], *y = s->out[0];
    bool start = s->in_tensor[0]->memory == MEMORY_ARENA;
    bool in_arena = s->out_tensor[0]->memory == MEMORY_ARENA;
    float stray = start && stray_read ? x[stray_read] : 0;

    (void)dev;
    for (int i = 0; i < TOY_LEN; i++)
        y[i] = x[i] * x[i] + 0 * stray;
    if (in_arena && stray_write)
        y[stray_write] = 1;
}

static const struct kernel stray = {
    .name = "stray", .claim = toy_single_claim, .run = stray_run};
static const struct backend strays = {
    .name = "strays", .kernels = (const struct kernel *const[]){&stray, NULL}};

/* x^8 in three nodes of an arena; returns the first element of the result after two
 * runs. */
static float run(bool redzones)
{
    struct graph *g = graph_new(&toy_ops, false);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x"), *y = x;
    struct program *p;
    void **base;
    float got;

    for (int i = 0; i < 3; i++)
        y = toy_two(&b, &toy_mul, y, y);
    graph_output(g, y);
    p = program_compile(g, &strays, NULL,
                        &(const struct compile_options){.redzones = redzones});
    base = toy_bind(p);
    for (int i = 0; i < TOY_LEN; i++)
        ((float *)program_data(p, x))[i] = 2;
    program_run(p);
    program_run(p);
    got = *(float *)program_data(p, y);
    toy_unbind(base);
    program_free(p);
    graph_free(g);
    return got;
}

static void reads(void **state)
{
    (void)state;
    stray_read = stray_write = 0;
    assert_true(run(true) == 256);
    assert_true(run(false) == 256);
    stray_read = TOY_LEN;
    assert_true(isnan(run(true)));
    stray_read = -1;
    assert_true(isnan(run(true)));
    stray_read = TOY_LEN + REDZONE / (int)sizeof(float) - 1;
    assert_true(isnan(run(true)));
    stray_read = 0;
}

static void run_strays(void *arg)
{
    stray_write = *(int *)arg;
    (void)run(true);
}

static void writes(void **state)
{
    int after = TOY_LEN, before = -1;

    (void)state;
    check_leaves(run_strays, &after, CHILD_SIGNAL + 6,
                 "the byte 0 after 'mul:mul' was overwritten");
    check_leaves(run_strays, &before, CHILD_SIGNAL + 6,
                 "the byte 4 before 'mul:mul' was overwritten");
}

/* The size of redzones per tensor, and none if they are not enabled. */
static void sizes(void **state)
{
    struct graph *g = graph_new(&toy_ops, false);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x"), *y = toy_two(&b, &toy_mul, x, x);
    struct compile_options options = {.redzones = true};
    struct program *p;

    (void)state;
    graph_output(g, toy_two(&b, &toy_mul, y, x));
    p = program_compile(g, &toy_plain, NULL, &options);
    assert_int_equal(program_need(p, MEMORY_ARENA), 64 + 3 * REDZONE);
    assert_int_equal(p->lower_bound, 64);
    assert_int_equal(y->offset, 2 * REDZONE);
    program_free(p);
    graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(writes),
        cmocka_unit_test(sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
