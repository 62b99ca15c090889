#include "cpu/bandwidth.h"

#include <stdlib.h>

#include "base/clock.h"
#include "cpu/backend.h"
#include "cpu/device.h"

enum { COPY_BYTES = 128 << 20, COPY_RUNS = 7 };

struct copy {
    const struct loops *loops;
    const char *from;
    char *to;
    bool past_cache;
};

static void copy_part(void *arg, int64_t lo, int64_t hi)
{
    const struct copy *c = arg;

    c->loops->copy(c->to + lo, c->from + lo, hi - lo, c->past_cache);
}

void cpu_copy(const struct device *dev, void *to, const void *from, size_t size,
              bool past_cache)
{
    struct copy c = {dev->loops, from, to, past_cache};

    cpu_for(dev, (int64_t)size, 4096, copy_part, &c);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double cpu_copy_bandwidth(struct device *dev)
{
    void *from = backend_cpu.alloc(dev, COPY_BYTES),
         *to = backend_cpu.alloc(dev, COPY_BYTES);
    double seconds[2][COPY_RUNS], cached, past;

    cpu_copy(dev, from, to, COPY_BYTES, false);
    for (int kind = 0; kind < 2; kind++) { /* each finds in the cache what it leaves */
        for (int i = 0; i < COPY_RUNS; i++) {
            double began = clock_now();

            cpu_copy(dev, to, from, COPY_BYTES, kind);
            seconds[kind][i] = clock_now() - began;
        }
        qsort(seconds[kind], COPY_RUNS, sizeof(double), ascending);
    }
    cached = seconds[0][COPY_RUNS / 2];
    past = seconds[1][COPY_RUNS / 2];
    backend_cpu.free(dev, from);
    backend_cpu.free(dev, to);
    return 2.0 * COPY_BYTES / (cached < past ? cached : past);
}
