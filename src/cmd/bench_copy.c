#include "cmd/bench_copy.h"

#include "base/clock.h"
#include "cpu/backend.h"
#include "cpu/bandwidth.h"
#include "ops/op_bench.h"

/* 512 MiB: ten times the second-level cache of the largest GPU. */
enum { MIB = 1 << 20, EACH = 512, COPIES = 4, ROUNDS = 5 };

static double one_round(const struct backend *backend, struct device *dev, void *to,
                        const void *from, size_t size)
{
    double began = clock_now();

    for (int i = 0; i < COPIES; i++)
        backend->async->copy(dev, LANE_RUN, to, from, size);
    backend->sync(dev);
    return 2.0 * COPIES * (double)size / (clock_now() - began);
}

double bench_copy(const struct backend *backend, struct device *dev)
{
    size_t size = (size_t)EACH * MIB;
    double best = 0;
    void *from, *to;

    if (!backend->async)
        return backend == &backend_cpu ? cpu_copy_bandwidth(dev) : copy_bandwidth(1);
    from = backend->alloc(dev, size);
    to = backend->alloc(dev, size);
    for (int i = 0; i < ROUNDS; i++) {
        double rate = one_round(backend, dev, to, from, size);

        best = rate > best ? rate : best;
    }
    backend->free(dev, from);
    backend->free(dev, to);
    return best;
}
