#include "cmd/bench_copy.h"

#include "base/clock.h"
#include "cpu/backend.h"

/* 512 MiB is ten times the L2 cache of the largest GPU. */
enum { MIB = 1 << 20, EACH = 512, COPIES = 4, ROUNDS = 5 };

static double one_round(const struct backend *backend, struct device *dev, void *dst,
                        const void *src, size_t size)
{
    double began = clock_now();

    for (int i = 0; i < COPIES; i++)
        backend->async->copy(dev, LANE_RUN, dst, src, size);
    backend->sync(dev);
    return 2.0 * COPIES * (double)size / (clock_now() - began);
}

/* The reference backend uses the CPU's memory. */
static double host_copy(void)
{
    struct device *cpu = backend_cpu.open(&(struct device_options){0});
    double rate = backend_cpu.moves->bandwidth(cpu);

    backend_cpu.close(cpu);
    return rate;
}

double bench_copy(const struct backend *backend, struct device *dev)
{
    size_t size = (size_t)EACH * MIB;
    double best = 0;
    void *src, *dst;

    if (backend->moves)
        return backend->moves->bandwidth(dev);
    if (!backend->async)
        return host_copy();
    src = backend->alloc(dev, size);
    dst = backend->alloc(dev, size);
    for (int i = 0; i < ROUNDS; i++) {
        double rate = one_round(backend, dev, dst, src, size);

        best = rate > best ? rate : best;
    }
    backend->free(dev, src);
    backend->free(dev, dst);
    return best;
}
