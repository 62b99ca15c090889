/*
 * Device memory: page-aligned pieces of one large reservation, each followed by an
 * inaccessible page, filled with 0xff (NaN). Addresses are not reused, so that freed
 * memory is recognized. Pinned memory comes from the heap, with a list of its blocks.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/work.h"

enum { TAIL = 0xa5 }; /* fills the rest of the last page, to detect writes past the end */

struct block {
    char *start;
    size_t size, mapped; /* bytes requested, and in whole pages */
    int device;
    bool freed;
};

struct blocks {
    struct block *item; /* sorted by address */
    int n, cap;
};

static struct blocks device, pinned;
static char *reserve, *reserve_next, *reserve_end;
static int open_count;
static struct sigaction old_action;

/* ---- finding ---- */

static struct block *find(const struct blocks *b, const void *p)
{
    int low = 0, high = b->n;

    while (low < high) {
        int mid = (low + high) / 2;

        if ((const char *)p < b->item[mid].start)
            high = mid;
        else
            low = mid + 1;
    }
    if (!low || (const char *)p >= b->item[low - 1].start + b->item[low - 1].size)
        return NULL;
    return &b->item[low - 1];
}

static size_t left(const struct blocks *b, const void *p)
{
    const struct block *block = find(b, p);

    return block && !block->freed ? block->size - (size_t)((const char *)p - block->start)
                                  : 0;
}

size_t memory_device(const void *p)
{
    return left(&device, p);
}

size_t memory_pinned(const void *p)
{
    return left(&pinned, p);
}

bool memory_freed(const void *p)
{
    const struct block *block = find(&device, p);

    return block && block->freed;
}

int memory_device_of(const void *p)
{
    const struct block *block = find(&device, p);

    return block ? block->device : -1;
}

static struct block *insert(struct blocks *b, struct block new)
{
    int i;

    GROW(b->item, b->n, b->cap);
    for (i = b->n++; i && b->item[i - 1].start > new.start; i--)
        b->item[i] = b->item[i - 1];
    b->item[i] = new;
    return &b->item[i];
}

static void erase(struct blocks *b, struct block *block)
{
    int i = (int)(block - b->item);

    memmove(block, block + 1, (size_t)(--b->n - i) * sizeof(*block));
}

void emulator_expect_memory(const void *p, size_t size, const char *what)
{
    if (!size || memory_device(p) >= size || memory_pinned(p) >= size)
        return;
    emulator_abort("%s: %zu bytes at %p are %s", what, size, p,
                   memory_freed(p)    ? "freed device memory"
                   : memory_device(p) ? "more than the device memory there"
                                      : "not device memory");
}

/* ---- access: memory_open() and memory_close() enclose work of the device ---- */

/* Explains a fault in the reservation; then the old handler ends the program. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const char *p = info->si_addr;
    char text[256];
    int n;

    (void)context;
    if (p >= reserve && p < reserve_end) {
        n = snprintf(text, sizeof(text), "emulator: %s touched %s at %p\n",
                     block_kernel() ? block_kernel() : "host code",
                     memory_freed(p)    ? "freed device memory"
                     : memory_device(p) ? "device memory"
                                        : "the space between device memory",
                     (const void *)p);
        (void)!write(STDERR_FILENO, text, (size_t)n);
    }
    (void)sigaction(number, &old_action, NULL);
}

static void protect_all(int protection)
{
    for (int i = 0; i < device.n; i++)
        if (!device.item[i].freed &&
            mprotect(device.item[i].start, device.item[i].mapped, protection))
            emulator_abort("cannot protect device memory");
}

void memory_open(void)
{
    if (!open_count++ && emulator_settings.protect)
        protect_all(PROT_READ | PROT_WRITE);
}

void memory_close(void)
{
    if (!--open_count && emulator_settings.protect)
        protect_all(PROT_NONE);
}

/* ---- device memory ---- */

static void make_reserve(void)
{
    size_t size = (size_t)4 << 40;
    struct sigaction a = {.sa_flags = SA_SIGINFO};

    while (!reserve) {
        reserve = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
        if (reserve == MAP_FAILED && size > (size_t)1 << 32)
            reserve = NULL, size /= 2;
    }
    if (reserve == MAP_FAILED)
        emulator_abort("no address space for device memory");
    reserve_next = reserve;
    reserve_end = reserve + size;
    a.sa_sigaction = on_fault;
    (void)sigaction(SIGSEGV, &a, &old_action);
}

/* Bytes per device: allocated by libraries, held by the program. */
static size_t taken[16], held[16];

/* Returns the bytes left on the current device; the context uses 1/64 of all. */
static size_t free_memory(void)
{
    size_t usable = emulator_settings.memory - emulator_settings.memory / 64;
    size_t used = taken[device_current()] + held[device_current()];

    if (emulator_counters.graph_launches >= emulator_settings.launched)
        used += emulator_settings.others;
    return usable > used ? usable - used : 0;
}

void emulator_take_memory(size_t size)
{
    const char *times = getenv("EMULATOR_TAKES");

    emulator_lock();
    taken[device_current()] +=
        size * (times && *times ? (size_t)strtol(times, NULL, 10) : 1);
    emulator_unlock();
}

cudaError_t cudaMalloc(void **p, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct block b = {.size = size,
                      .mapped = (size + page - 1) / page * page,
                      .device = device_current()};
    cudaError_t e;

    emulator_lock();
    e = capture_forbids();
    if (e != cudaSuccess)
        return emulator_return(e);
    emulator_counters.allocations++;
    *p = NULL;
    if (!size)
        return emulator_return(cudaSuccess);
    if (size > free_memory() || emulator_fails("malloc"))
        return emulator_return(cudaErrorMemoryAllocation);
    if (!reserve)
        make_reserve();
    b.start = reserve_next;
    reserve_next += b.mapped + page;
    if (reserve_next > reserve_end || mprotect(b.start, b.mapped, PROT_READ | PROT_WRITE))
        emulator_abort("no memory for %zu bytes of device memory", size);
    (void)madvise(b.start, b.mapped, MADV_HUGEPAGE); /* a workspace has 8,192 small pages */
    memset(b.start, 0xff, size);
    memset(b.start + size, TAIL, b.mapped - size);
    (void)insert(&device, b);
    emulator_counters.bytes_held += (int64_t)size;
    held[b.device] += size;
    if (emulator_counters.bytes_held > emulator_counters.bytes_peak)
        emulator_counters.bytes_peak = emulator_counters.bytes_held;
    if (emulator_settings.protect)
        (void)mprotect(b.start, b.mapped, PROT_NONE);
    *p = b.start;
    return emulator_return(cudaSuccess);
}

static void check_tail(const struct block *b)
{
    memory_open();
    for (size_t i = b->size; i < b->mapped; i++)
        if ((unsigned char)b->start[i] != TAIL)
            emulator_abort("byte %zu after %zu bytes of device memory was written",
                           i - b->size, b->size);
    memory_close();
}

cudaError_t cudaFree(void *p)
{
    struct block *b;
    cudaError_t e;

    emulator_lock();
    e = capture_forbids();
    if (e != cudaSuccess || !p)
        return emulator_return(e);
    stream_drain_all();
    emulator_counters.frees++;
    b = find(&device, p);
    if (!b || b->start != p || b->freed)
        return emulator_return(cudaErrorInvalidValue);
    check_tail(b);
    if (mmap(b->start, b->mapped, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != b->start)
        emulator_abort("cannot free device memory");
    b->freed = true;
    emulator_counters.bytes_held -= (int64_t)b->size;
    held[b->device] -= b->size;
    return emulator_return(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    emulator_lock();
    *total = emulator_settings.memory;
    *free_bytes = free_memory();
    return emulator_return(cudaSuccess);
}

/* ---- pinned memory ---- */

cudaError_t cudaHostAlloc(void **p, size_t size, unsigned flags)
{
    cudaError_t e;

    (void)flags;
    emulator_lock();
    e = capture_forbids();
    if (e != cudaSuccess)
        return emulator_return(e);
    emulator_counters.allocations++;
    *p = xalloc_aligned(size);
    memset(*p, 0xff, size);
    (void)insert(&pinned, (struct block){.start = *p, .size = size});
    return emulator_return(cudaSuccess);
}

cudaError_t cudaMallocHost(void **p, size_t size)
{
    return cudaHostAlloc(p, size, 0);
}

static cudaError_t unpin(void *p, cudaError_t none)
{
    struct block *b;
    cudaError_t e = capture_forbids();

    if (e != cudaSuccess)
        return e;
    stream_drain_all();
    emulator_counters.frees++;
    b = find(&pinned, p);
    if (!b || b->start != p)
        return none;
    erase(&pinned, b);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    cudaError_t e;

    if (!p)
        return cudaSuccess;
    emulator_lock();
    e = unpin(p, cudaErrorInvalidValue);
    if (e == cudaSuccess)
        free(p);
    return emulator_return(e);
}

cudaError_t cudaHostRegister(void *p, size_t size, unsigned flags)
{
    cudaError_t e;

    (void)flags;
    emulator_lock();
    e = capture_forbids();
    if (e == cudaSuccess && find(&pinned, p))
        e = cudaErrorHostMemoryAlreadyRegistered;
    if (e != cudaSuccess)
        return emulator_return(e);
    emulator_counters.allocations++;
    (void)insert(&pinned, (struct block){.start = p, .size = size});
    return emulator_return(cudaSuccess);
}

cudaError_t cudaHostUnregister(void *p)
{
    emulator_lock();
    return emulator_return(unpin(p, cudaErrorHostMemoryNotRegistered));
}

/* Pinned memory has the same address on host and device. */
cudaError_t cudaHostGetDevicePointer(void **dst, void *p, unsigned flags)
{
    cudaError_t e;

    (void)flags;
    emulator_lock();
    e = memory_pinned(p) ? cudaSuccess : cudaErrorInvalidValue;
    *dst = p;
    return emulator_return(e);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
    emulator_lock();
    memset(a, 0, sizeof(*a));
    a->type = memory_device(p)   ? cudaMemoryTypeDevice
              : memory_pinned(p) ? cudaMemoryTypeHost
                                 : cudaMemoryTypeUnregistered;
    memcpy(&a->devicePointer, &p, sizeof(p));
    memcpy(&a->hostPointer, &p, sizeof(p));
    return emulator_return(cudaSuccess);
}
