/*
 * Batch norms that share their statistics: a batch split over several processes (threads
 * here) gives the results of a single process, forward and backward: on the reference,
 * also lowered into parts (ops/batchnorm_parts.h), and on the CPU.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "cpu/backend.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_parts.h"
#include "ops/reference.h"
#include "ops/table.h"
#include "tests/test.h"

enum { IMAGES = 8, SIDE = 5, CHANNELS = 19, RANKS = 4, MOST = 4 * CHANNELS };
/* Vectors begin at multiples of 64 bytes. GRADS: two weights, two biases; STATS: means,
 * variances and counts. */
enum { PLACE = 32, GRADS = 4 * PLACE, STATS = 4 * PLACE + 16 };
enum { ELEMENTS = IMAGES * SIDE * SIDE * CHANNELS };

/* The group's sum: each thread copies its numbers to `table`, and all add them in the
 * same order. */
static pthread_barrier_t meeting;
static double table[RANKS][MOST];
static _Thread_local int own_rank;

static void meet(const struct collective *c, double *x, int64_t n)
{
    assert_true(n <= MOST);
    memcpy(table[own_rank], x, (size_t)n * sizeof(*x));
    (void)pthread_barrier_wait(&meeting);
    memset(x, 0, (size_t)n * sizeof(*x));
    for (int r = 0; r < c->world; r++)
        for (int64_t i = 0; i < n; i++)
            x[i] += table[r][i];
    (void)pthread_barrier_wait(&meeting);
}

static void meet_mean(const struct collective *c, float *x, int64_t n)
{
    double wide[MOST];

    assert_true(n <= MOST);
    for (int64_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
    meet(c, wide, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(wide[i] / c->world);
}

/* Input of a process, and its results. */
struct part {
    const struct backend *backend;
    const struct collective *group; /* NULL: single process with all images */
    int rank, images;
    float y[ELEMENTS], dx[ELEMENTS], stats[STATS], grads[GRADS];
};

static float drawn(int index, int64_t i)
{
    return (float)(philox(3, PHILOX_TEST, (uint64_t)index, (uint64_t)i).v[0] % 2000) /
               1000 -
           1;
}

/* Two norms, their sum, and a ReLU, which the CPU fuses into one step. */
static struct tensor *net(struct builder *b, struct tensor *x)
{
    struct tensor *y = batchnorm(b, x, "bn1"), *z = batchnorm(b, x, "bn2", .eps = 0.1f);

    return relu(b, add(b, y, z, "add"), "relu");
}

static void fill(struct part *p, const struct program *g, const struct tensor *x,
                 const struct tensor *dy, struct device *dev)
{
    int64_t n = tensor_len(x), start = p->rank * n;
    float *v = xcalloc((size_t)n, sizeof(*v)), w[GRADS];

    for (int64_t i = 0; i < n; i++)
        v[i] = 30 + drawn(1, start + i); /* far from 0: sums of squares lose digits */
    p->backend->copy_in(dev, program_data(g, x), v, tensor_size(x));
    for (int64_t i = 0; i < n; i++)
        v[i] = drawn(2, start + i);
    p->backend->copy_in(dev, program_data(g, dy), v, tensor_size(dy));
    for (int i = 0; i < GRADS; i++)
        w[i] = drawn(3, i) + 1.5f;
    assert_true(program_need(g, MEMORY_WEIGHTS) >= sizeof(w));
    p->backend->copy_in(dev, g->base[MEMORY_WEIGHTS], w, sizeof(w));
    free(v);
}

static void *run(void *arg)
{
    struct part *p = arg;
    int64_t dim[] = {p->images, CHANNELS, SIDE, SIDE};
    struct graph *g = graph_new(&graph_ops_default, true);
    struct builder b = {.g = g};
    struct device *dev = p->backend->open(&(struct device_options){.threads = 2});
    struct tensor *x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4, dim), *dy, *y;
    void *base[MEMORY_COUNT] = {NULL};
    struct program *program;

    own_rank = p->rank;
    graph_share_norms(g, p->group);
    x->trainable = true;
    dy = graph_input(&b, "dy", DTYPE_F32, LAYOUT_IMAGE, 4, dim);
    y = net(&b, x);
    graph_flatten(g);
    b.phase = PHASE_BACKWARD;
    autodiff(&b, y, dy);
    graph_output(g, y);
    program = program_compile(g, p->backend, dev, NULL);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(program, (enum memory)m))
            base[m] = p->backend->alloc(dev, program_need(program, (enum memory)m));
    program_bind(program, base);
    fill(p, program, x, dy, dev);
    program_run(program);
    p->backend->copy_out(dev, p->y, program_data(program, y), tensor_size(y));
    p->backend->copy_out(dev, p->dx, program_data(program, x->grad), tensor_size(x));
    p->backend->copy_out(dev, p->stats, base[MEMORY_STATS], sizeof(p->stats));
    p->backend->copy_out(dev, p->grads, base[MEMORY_GRADS], sizeof(p->grads));
    program_free(program);
    graph_free(g);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (base[m])
            p->backend->free(dev, base[m]);
    p->backend->close(dev);
    return NULL;
}

static void assert_near(const char *what, const float *want, const float *got, int64_t n,
                        double max)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= max))
            fail_msg("%s[%lld]: %.9g, not %.9g", what, (long long)i, (double)got[i],
                     (double)want[i]);
}

/* Compares with the reference in one process, to within `max`. The parts of a lowered
 * norm sum in fp32, which loses digits where the mean is large. */
static void compare(const struct backend *backend, int ranks, double max)
{
    struct collective group = {.world = ranks, .mean = meet_mean, .sum = meet};
    struct part *whole = xcalloc(1, sizeof(*whole)), *p = xcalloc(RANKS, sizeof(*p));
    float grads[GRADS] = {0};
    pthread_t thread[RANKS];
    int64_t n = ELEMENTS / ranks;

    *whole = (struct part){.backend = &backend_ref, .images = IMAGES};
    (void)run(whole);
    (void)pthread_barrier_init(&meeting, NULL, (unsigned)ranks);
    for (int r = 0; r < ranks; r++) {
        p[r] = (struct part){
            .backend = backend, .group = &group, .rank = r, .images = IMAGES / ranks};
        assert_int_equal(pthread_create(&thread[r], NULL, run, &p[r]), 0);
    }
    for (int r = 0; r < ranks; r++) {
        (void)pthread_join(thread[r], NULL);
        assert_near("y", whole->y + r * n, p[r].y, n, max);
        assert_near("dx", whole->dx + r * n, p[r].dx, n, max);
        assert_near("statistics", whole->stats, p[r].stats, STATS, 30 * max);
        assert_memory_equal(p[0].stats, p[r].stats, sizeof(p[r].stats));
        for (int i = 0; i < GRADS; i++)
            grads[i] += p[r].grads[i];
    }
    assert_near("parameters' gradients", whole->grads, grads, GRADS, 100 * max);
    free(whole);
    free(p);
}

static void test_reference(void **state)
{
    (void)state;
    compare(&backend_ref, 2, 1e-6);
    compare(&backend_ref, RANKS, 1e-6);
}

static void test_cpu(void **state)
{
    (void)state;
    compare(&backend_cpu, 2, 3e-6);
    compare(&backend_cpu, RANKS, 3e-6);
}

static void lower(struct graph *g, struct device *dev)
{
    (void)dev;
    batchnorm_lower(g);
}

static void test_parts(void **state)
{
    struct backend parts = backend_ref;

    (void)state;
    parts.lower = lower;
    compare(&parts, 2, 2e-3);
    compare(&parts, RANKS, 2e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
