#include "cmd/bench_side.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/philox.h"
#include "ops/conv2d.h"
#include "ops/linear.h"

void bench_side_compile(struct bench_side *d, struct session *s,
                        const struct backend *backend, enum build_kind kind)
{
    *d = (struct bench_side){.program = NULL};
    build_init(&d->build, &s->plan, kind, false);
    d->program = program_compile(d->build.graph, backend, s->device, NULL);
}

/*
 * Fills memory with random values of magnitude 1 to 1.5, valid as fp32 and as bf16. Linux
 * maps memory that was never written to one page of zeros, which stays in the cache and
 * would make the timing too fast.
 */
static void fill(struct device *dev, const struct backend *backend, char *dst,
                 size_t size)
{
    enum { WORDS = 1 << 19 };
    uint16_t *word = xcalloc(WORDS, sizeof(*word));

    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t random = philox(0, PHILOX_TEST, 0, i).v[0];

        word[i] = (uint16_t)(0x3f80 | (random & 0x803f));
    }
    for (size_t offset = 0; offset < size; offset += WORDS * sizeof(*word)) {
        size_t left = size - offset, n = WORDS * sizeof(*word);

        backend->copy_in(dev, dst + offset, word, left < n ? left : n);
    }
    if (backend->sync)
        backend->sync(dev);
    free(word);
}

/* Returns filled memory m for n sides. */
static void *alloc(const struct bench_side *d, int n, enum memory m,
                   const struct session *s)
{
    size_t size = 0;
    void *p;

    for (int i = 0; i < n; i++) {
        size_t need = program_need(d[i].program, m);

        size = need > size ? need : size;
    }
    p = s->backend->alloc(s->device, size);
    fill(s->device, s->backend, p, size);
    return p;
}

void bench_sides_bind(struct bench_side *d, int n, const struct session *s)
{
    void *base[MEMORY_COUNT] = {NULL};

    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++)
        if (m != MEMORY_DERIVED)
            base[m] = alloc(d, n, (enum memory)m, s);
    for (int i = 0; i < n; i++) {
        base[MEMORY_DERIVED] = alloc(&d[i], 1, MEMORY_DERIVED, s);
        program_bind(d[i].program, base);
        program_refresh(d[i].program);
    }
}

void bench_sides_release(struct bench_side *d, int n, const struct session *s)
{
    for (int i = 0; i < n; i++) {
        void *base[MEMORY_COUNT];

        memcpy(base, d[i].program->base, sizeof(base));
        for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++)
            if (base[m] && (i == n - 1 || m == MEMORY_DERIVED))
                s->backend->free(s->device, base[m]);
        program_free(d[i].program);
        build_release(&d[i].build);
    }
}

enum conv_direction bench_direction(const struct node *n)
{
    if (n->op == &op_conv2d || n->op == &op_linear)
        return CONV_FORWARD;
    if (n->op == &op_conv2d_data_grad || n->op == &op_linear_data_grad)
        return CONV_DATA;
    if (n->op == &op_conv2d_weight_grad || n->op == &op_linear_weight_grad)
        return CONV_WEIGHT;
    return CONV_DIRECTIONS;
}

const struct node *bench_conv_of(const struct region *r)
{
    for (int i = 0; i < r->nnode; i++)
        if (bench_direction(r->node[i]) < CONV_DIRECTIONS)
            return r->node[i];
    return NULL;
}

int bench_side_step(const struct bench_side *d, const struct node *n)
{
    const struct program *p = d->program;

    for (int i = 0; i < p->nregion; i++)
        for (int k = 0; k < p->region[i]->nnode; k++) {
            const struct node *other = p->region[i]->node[k];

            if (other->op == n->op && strcmp(other->layer, n->layer) == 0)
                return i;
        }
    return -1;
}

double bench_side_run(const struct bench_side *d, int step)
{
    struct program *p = d->program;
    double began = clock_now();

    p->step[step].kernel->run(&p->step[step], p->device);
    if (p->backend->sync)
        p->backend->sync(p->device);
    return clock_now() - began;
}
