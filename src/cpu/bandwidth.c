#include "cpu/bandwidth.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/median.h"
#include "cpu/backend.h"
#include "cpu/device.h"

enum { COPY_BYTES = 128 << 20, COPY_RUNS = 7, PREFETCH = 8192 };

struct copy {
    const struct loops *loops;
    const char *src;
    char *dst;
    bool streamed;
};

static void copy_part(void *arg, int64_t lo, int64_t hi)
{
    const struct copy *c = arg;

    c->loops->copy(c->dst + lo, c->src + lo, hi - lo, c->streamed);
}

void cpu_copy(const struct device *dev, void *dst, const void *src, size_t size,
              bool streamed)
{
    struct copy c = {dev->loops, src, dst, streamed};

    cpu_for(dev, (int64_t)size, 4096, copy_part, &c);
}

/* Reads two cache lines at a time, with a prefetch distance of PREFETCH bytes. */
static void read_part(void *arg, int64_t lo, int64_t hi)
{
    typedef uint64_t line __attribute__((vector_size(64)));

    const char *src = arg;
    line sum = {0}, more = {0};
    volatile uint64_t sink;

    for (int64_t i = lo; i + 128 <= hi; i += 128) {
        line a, b;

        __builtin_prefetch(src + i + PREFETCH);
        __builtin_prefetch(src + i + PREFETCH + 64);
        memcpy(&a, src + i, sizeof(a));
        memcpy(&b, src + i + 64, sizeof(b));
        sum ^= a;
        more ^= b;
    }
    sum ^= more;
    sink = sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
    (void)sink;
}

void cpu_read(const struct device *dev, const void *src, size_t size)
{
    cpu_for(dev, (int64_t)size, 4096, read_part, (void *)(uintptr_t)src);
}

/* Writes from a page that stays in the L1 cache. */
static void fill_part(void *arg, int64_t lo, int64_t hi)
{
    char page[4096] __attribute__((aligned(64)));
    const struct copy *c = arg;

    memset(page, CPU_FILL, sizeof(page));
    for (int64_t i = lo; i < hi; i += (int64_t)sizeof(page)) {
        int64_t n = hi - i < (int64_t)sizeof(page) ? hi - i : (int64_t)sizeof(page);

        c->loops->copy(c->dst + i, page, n, c->streamed);
    }
}

void cpu_fill(const struct device *dev, void *dst, size_t size, bool streamed)
{
    struct copy c = {dev->loops, NULL, dst, streamed};

    cpu_for(dev, (int64_t)size, 4096, fill_part, &c);
}

double cpu_copy_bandwidth(struct device *dev)
{
    void *src = backend_cpu.alloc(dev, COPY_BYTES),
         *dst = backend_cpu.alloc(dev, COPY_BYTES);
    double seconds[2][COPY_RUNS], cached, streamed;

    /* untouched memory would map to a single page of zeros, which stays in the cache */
    cpu_fill(dev, src, COPY_BYTES, false);
    cpu_fill(dev, dst, COPY_BYTES, false);
    for (int kind = 0; kind < 2; kind++) { /* each leaves the same data in the cache */
        for (int i = 0; i < COPY_RUNS; i++) {
            double began = clock_now();

            cpu_copy(dev, dst, src, COPY_BYTES, kind);
            seconds[kind][i] = clock_now() - began;
        }
    }
    cached = median(seconds[0], COPY_RUNS);
    streamed = median(seconds[1], COPY_RUNS);
    backend_cpu.free(dev, src);
    backend_cpu.free(dev, dst);
    return 2.0 * COPY_BYTES / (cached < streamed ? cached : streamed);
}
