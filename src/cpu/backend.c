#include "cpu/backend.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/log.h"
#include "cpu/amx.h"
#include "cpu/bandwidth.h"
#include "cpu/device.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels.h"
#include "cpu/onednn.h"
#include "ops/activation.h"

/* Large blocks come from mmap, with huge pages where available. */
enum { HUGE_PAGE = 2 << 20 };

/* CACHE_SIZE: bytes of the last-level cache if the system does not report it. CORE_CACHE:
 * maximum per core. */
enum { CACHE_SIZE = 32 << 20, CORE_CACHE = 16 << 20 };

struct block {
    struct block *next;
    void *base; /* address from mmap; NULL: aligned heap memory */
    size_t mapped, size;
    void *p;
};

static void nothing(void *arg, int thread)
{
    (void)arg, (void)thread;
}

/*
 * Asks Linux directly: glibc counts a socket's caches as one, and guesses under KVM. A
 * guest with a few cores may see the whole socket's cache, which it shares with other
 * guests.
 */
static size_t cache_size(void)
{
    size_t max = (size_t)sysconf(_SC_NPROCESSORS_ONLN) * CORE_CACHE;
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
    char line[32] = ""; /* "36608K" */
    size_t kib, size;

    if (f) {
        (void)fgets(line, sizeof(line), f);
        (void)fclose(f);
    }
    kib = strtoul(line, NULL, 10);
    size = kib ? kib << 10 : CACHE_SIZE;
    return size < max ? size : max;
}

static int choose_threads(int asked)
{
    int cores = usable_cores(), threads = asked;

    if (asked <= 0)
        threads = getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : cores;
    if (threads > cores)
        log_once(
            "%d threads on %d core%s: they wait for each other; --threads %d is faster",
            threads, cores, cores == 1 ? "" : "s", cores);
    return threads;
}

static struct device *cpu_open(const struct device_options *o)
{
    struct device *dev = xcalloc(1, sizeof(*dev));

    if (o && o->description)
        die("the cpu backend takes no device description ('%s')", o->description);
    dev->threads = choose_threads(o ? o->threads : 0);
    omp_set_num_threads(dev->threads); /* oneDNN asks OpenMP */
    /* OpenMP creates its threads now rather than in a step */
    cpu_parallel(dev, nothing, NULL);
    dev->onednn = onednn_open();
    dev->loops = loops_best();
    dev->amx = amx_usable();
    dev->widen = !dev->amx && !loops_dot_is_fast(dev->loops);
    dev->cache = cache_size();
    (void)snprintf(dev->text, sizeof(dev->text), "%d thread%s, %s%s, oneDNN %s",
                   dev->threads, dev->threads == 1 ? "" : "s", dev->loops->isa,
                   dev->amx ? " and AMX" : "", onednn_version());
    dev->table = kernel_table_open(dev->text, o);
    if (kernel_table_size(dev->table))
        (void)snprintf(dev->text + strlen(dev->text),
                       sizeof(dev->text) - strlen(dev->text), ", tuned for %d shapes",
                       kernel_table_size(dev->table));
    return dev;
}

static void cpu_free(struct device *dev, void *p);

static void cpu_close(struct device *dev)
{
    if (!dev)
        return;
    while (dev->block)
        cpu_free(dev, dev->block->p);
    onednn_close(dev->onednn);
    kernel_table_close(dev->table);
    free(dev);
}

static bool cpu_has_dtype(struct device *dev, enum dtype d)
{
    (void)dev;
    return onednn_has_native_dtype(d);
}

static const char *cpu_describe(struct device *dev)
{
    return dev->text;
}

static char *cpu_choices(const struct device *dev)
{
    return kernel_table_text(dev->table);
}

static void *map_huge(struct block *b, size_t size)
{
    uintptr_t pos;

    b->mapped = size + HUGE_PAGE;
    b->base =
        mmap(NULL, b->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->base == MAP_FAILED)
        die("out of memory: cannot map %zu bytes on the host", size);
    pos = ((uintptr_t)b->base + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    (void)madvise((void *)pos, size, MADV_HUGEPAGE); /* only a hint */
    return (void *)pos;
}

static void *cpu_alloc(struct device *dev, size_t size)
{
    struct block *b = xcalloc(1, sizeof(*b));

    b->size = size;
    b->p = size >= HUGE_PAGE ? map_huge(b, size) : xalloc_aligned(size);
    b->next = dev->block;
    dev->block = b;
    dev->bytes += size;
    if (dev->bytes > dev->peak)
        dev->peak = dev->bytes;
    return b->p;
}

static void cpu_free(struct device *dev, void *p)
{
    struct block **ptr = &dev->block, *b;

    if (!p)
        return;
    while (*ptr && (*ptr)->p != p)
        ptr = &(*ptr)->next;
    if (!*ptr)
        BUG("%p is not memory of this device", p);
    b = *ptr;
    *ptr = b->next;
    dev->bytes -= b->size;
    if (b->base)
        (void)munmap(b->base, b->mapped);
    else
        free(b->p);
    free(b);
}

static void cpu_copy_in(struct device *dev, void *dst, const void *host, size_t size)
{
    (void)dev;
    memcpy(dst, host, size);
}

static void cpu_copy_out(struct device *dev, void *host, const void *src, size_t size)
{
    (void)dev;
    memcpy(host, src, size);
}

static void cpu_sync(struct device *dev)
{
    (void)dev;
}

static size_t cpu_peak_memory(struct device *dev)
{
    return dev->peak;
}

void cpu_parallel(const struct device *dev, void (*fn)(void *arg, int thread), void *arg)
{
    bool forbid = alloc_forbid(true);

    (void)alloc_forbid(forbid);
#pragma omp parallel num_threads(dev->threads)
    {
        bool before = alloc_forbid(forbid);

        if (omp_get_num_threads() != dev->threads)
            BUG("%d threads, not %d: called from a thread of OpenMP's?",
                omp_get_num_threads(), dev->threads);
        fn(arg, omp_get_thread_num());
        (void)alloc_forbid(before);
    }
}

void cpu_barrier(void)
{
#pragma omp barrier
}

struct range_job {
    int64_t n, unit;
    int threads;
    void (*fn)(void *arg, int64_t lo, int64_t hi);
    void *arg;
};

static void range_thread(void *arg, int thread)
{
    const struct range_job *j = arg;
    int64_t lo, hi;

    cpu_part(j->n, j->unit, thread, j->threads, &lo, &hi);
    if (lo < hi)
        j->fn(j->arg, lo, hi);
}

void cpu_for(const struct device *dev, int64_t n, int64_t unit,
             void (*fn)(void *arg, int64_t lo, int64_t hi), void *arg)
{
    struct range_job j = {n, unit, dev->threads, fn, arg};

    cpu_parallel(dev, range_thread, &j);
}

static const struct backend_moves cpu_moves = {
    .copy = cpu_copy,
    .read = cpu_read,
    .fill = cpu_fill,
    .bandwidth = cpu_copy_bandwidth,
};

static void cpu_lower(struct graph *g, struct device *dev)
{
    (void)dev;
    activation_lower(g);
}

const struct backend backend_cpu = {
    .name = "cpu",
    .help = "this machine's processor: oneDNN and our own loops, fp32 and bf16",
    .open = cpu_open,
    .close = cpu_close,
    .has_dtype = cpu_has_dtype,
    .preferred_half = DTYPE_BF16,
    .describe = cpu_describe,
    .choices = cpu_choices,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy_in = cpu_copy_in,
    .copy_out = cpu_copy_out,
    .sync = cpu_sync,
    .peak_memory = cpu_peak_memory,
    .lower = cpu_lower,
    .kernels = cpu_kernels,
    .mark = cpu_progress,
    .moves = &cpu_moves,
};
