#include "cmd/bench_convs.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/bench_program.h"
#include "cpu/backend.h"
#include "cpu/kernels.h"
#include "ops/conv2d.h"
#include "ops/linear.h"
#include "ops/op_bench.h"

enum { KERNELS = 64 };

static bool own_conv(const struct kernel *k)
{
    for (int i = 0; cpu_own_convs[i]; i++)
        if (cpu_own_convs[i] == k)
            return true;
    return false;
}

/* The backend without our own convolutions. */
static struct backend library_only(const struct backend *from,
                                   const struct kernel *kernel[KERNELS])
{
    struct backend b = *from;
    int n = 0;

    for (int i = 0; from->kernels[i] && n < KERNELS - 1; i++)
        if (!own_conv(from->kernels[i]))
            kernel[n++] = from->kernels[i];
    kernel[n] = NULL;
    b.kernels = kernel;
    return b;
}

/* The sum to which region r belongs, or NULL: it holds no convolution. */
static double *sum_of(struct bench_convs *c, const struct region *r)
{
    for (int i = 0; i < r->nnode; i++) {
        const struct op *op = r->node[i]->op;

        if (op == &op_conv2d || op == &op_linear)
            return &c->forward;
        if (op == &op_conv2d_data_grad || op == &op_linear_data_grad)
            return &c->data;
        if (op == &op_conv2d_weight_grad || op == &op_linear_weight_grad)
            return &c->weight;
    }
    return NULL;
}

static struct bench_convs one_round(struct program *p)
{
    struct bench_convs c = {0};

    for (int i = 0; i < p->nregion; i++) {
        double *sum = sum_of(&c, p->region[i]), began = clock_now();

        if (!sum)
            continue;
        p->step[i].kernel->run(&p->step[i], p->device);
        if (p->backend->sync)
            p->backend->sync(p->device);
        *sum += clock_now() - began;
        c.flops += op_region_flops(p->region[i]);
    }
    return c;
}

static int by_total(const void *a, const void *b)
{
    const struct bench_convs *x = a, *y = b;
    double p = x->forward + x->data + x->weight, q = y->forward + y->data + y->weight;

    return (p > q) - (p < q);
}

struct bench_convs bench_convs(struct session *s, int runs)
{
    const struct kernel *kernel[KERNELS];
    struct backend backend = library_only(s->backend, kernel);
    struct bench_convs *round = xcalloc((size_t)runs, sizeof(*round)), median;
    struct build build;
    struct program *p;
    void *base[MEMORY_COUNT] = {0};

    build_init(&build, s->cfg, &s->plan, BUILD_TRAIN, false);
    p = program_compile(build.graph, &backend, s->device, NULL);
    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++)
        base[m] = s->backend->alloc(s->device, program_need(p, (enum memory)m));
    program_bind(p, base);
    program_refresh(p);
    (void)one_round(p);
    for (int i = 0; i < runs; i++)
        round[i] = one_round(p);
    qsort(round, (size_t)runs, sizeof(*round), by_total);
    median = round[runs / 2];
    program_free(p);
    build_release(&build);
    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++)
        s->backend->free(s->device, base[m]);
    free(round);
    return median;
}
