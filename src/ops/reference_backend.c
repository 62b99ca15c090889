/* A device in plain host memory with only the reference kernel. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/reference.h"

enum { HEADER = 64 }; /* stored before each block: its size; preserves alignment */

struct device {
    size_t used, peak;
};

static struct device *ref_open(const struct device_options *o)
{
    (void)o;
    return xcalloc(1, sizeof(struct device));
}

static void ref_close(struct device *dev)
{
    free(dev);
}

static bool ref_has_dtype(struct device *dev, enum dtype d)
{
    (void)dev, (void)d;
    return true;
}

static const char *ref_describe(struct device *dev)
{
    (void)dev;
    return "reference kernels in plain C, 1 thread";
}

static void *ref_alloc(struct device *dev, size_t size)
{
    char *p = xalloc_aligned(size + HEADER);

    memcpy(p, &size, sizeof(size));
    dev->used += size;
    if (dev->used > dev->peak)
        dev->peak = dev->used;
    return p + HEADER;
}

static void ref_free(struct device *dev, void *p)
{
    size_t size;
    char *block = p;

    if (!p)
        return;
    block -= HEADER;
    memcpy(&size, block, sizeof(size));
    dev->used -= size;
    free(block);
}

static void ref_copy_in(struct device *dev, void *dst, const void *host, size_t size)
{
    (void)dev;
    memcpy(dst, host, size);
}

static void ref_copy_out(struct device *dev, void *host, const void *src, size_t size)
{
    (void)dev;
    memcpy(host, src, size);
}

static void ref_sync(struct device *dev)
{
    (void)dev;
}

static size_t ref_peak_memory(struct device *dev)
{
    return dev->peak;
}

static const struct kernel *const ref_kernels[] = {&kernel_reference, NULL};

const struct backend backend_ref = {
    .name = "ref",
    .help = "reference kernels in plain C: slow, exact, every dtype",
    .open = ref_open,
    .close = ref_close,
    .has_dtype = ref_has_dtype,
    .preferred_half = DTYPE_BF16,
    .describe = ref_describe,
    .alloc = ref_alloc,
    .free = ref_free,
    .copy_in = ref_copy_in,
    .copy_out = ref_copy_out,
    .sync = ref_sync,
    .peak_memory = ref_peak_memory,
    .kernels = ref_kernels,
};
