#include "cpu/bandwidth.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/device.h"

enum { COPY_BYTES = 128 << 20, COPY_RUNS = 12 };

struct copy {
    const char *from;
    char *to;
};

static void copy_part(void *arg, int64_t lo, int64_t hi)
{
    const struct copy *c = arg;

    memcpy(c->to + lo, c->from + lo, (size_t)(hi - lo));
}

double cpu_copy_bandwidth(const struct device *dev)
{
    char *from = xalloc_aligned(COPY_BYTES), *to = xalloc_aligned(COPY_BYTES);
    struct copy c = {from, to};
    double best = 0;

    for (int i = 0; i < COPY_RUNS; i++) {
        double began = clock_now(), rate;

        cpu_for(dev, COPY_BYTES, 4096, copy_part, &c);
        rate = 2.0 * COPY_BYTES / (clock_now() - began);
        best = rate > best ? rate : best;
    }
    free(from);
    free(to);
    return best;
}
