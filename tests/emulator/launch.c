/* Launches: checks that the driver makes, and some that it cannot make. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/work.h"

enum { SHARED_DEFAULT = 48 << 10, SHARED_MAX = 227 << 10 };

/* Kernels that may use more dynamic shared memory. */
static struct allowance {
    const void *function;
    size_t shared;
} * allowance;
static int nallowance, allowance_cap;

static struct allowance *find_allowance(const void *function)
{
    for (int i = 0; i < nallowance; i++)
        if (allowance[i].function == function)
            return &allowance[i];
    return NULL;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute a,
                                 int value)
{
    struct allowance *item;

    emulator_lock();
    if (a != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return emulator_return(cudaSuccess);
    if (value < 0 || value > SHARED_MAX)
        return emulator_return(cudaErrorInvalidValue);
    item = find_allowance(function);
    if (!item) {
        GROW(allowance, nallowance, allowance_cap);
        item = &allowance[nallowance++];
        item->function = function;
    }
    item->shared = (size_t)value;
    return emulator_return(cudaSuccess);
}

static void check_grid(const emulator_launch_t *l)
{
    const dim3 *g = &l->grid, *b = &l->block;

    if (!g->x || !g->y || !g->z || g->x > 2147483647 || g->y > 65535 || g->z > 65535)
        emulator_abort("kernel %s: a grid of (%u,%u,%u) blocks", l->name, g->x, g->y,
                       g->z);
    if (!b->x || !b->y || !b->z || b->x > 1024 || b->y > 1024 || b->z > 64 ||
        (uint64_t)b->x * b->y * b->z > 1024)
        emulator_abort("kernel %s: a block of (%u,%u,%u) threads; 1024 are the limit",
                       l->name, b->x, b->y, b->z);
}

static void check_shared(const emulator_launch_t *l)
{
    const struct allowance *a = find_allowance(l->function);
    size_t allowed = a && a->shared > SHARED_DEFAULT ? a->shared : SHARED_DEFAULT;
    size_t constant;

    shared_select(l->function);
    constant = shared_static();
    if (l->shared > allowed)
        emulator_abort("kernel %s: %zu bytes of dynamic shared memory; it may have %zu "
                       "(cudaFuncSetAttribute asks for more, up to %d)",
                       l->name, l->shared, allowed, SHARED_MAX);
    if (constant > SHARED_DEFAULT || constant + l->shared > SHARED_MAX ||
        (!a && constant + l->shared > SHARED_DEFAULT))
        emulator_abort("kernel %s: %zu bytes of static and %zu of dynamic shared memory",
                       l->name, constant, l->shared);
}

/* The launch and its closure, as one argument. */
struct launched {
    emulator_launch_t l;
    _Alignas(16) unsigned char closure[4096 + 64];
};

static void run_launch(void *arg)
{
    const struct launched *a = arg;

    block_run_launch(&a->l, a->closure);
}

/*
 * EMULATOR_LOADS: the first launch of a kernel on a GPU loads its code. The driver then holds
 * a lock of the process and waits for that GPU, which may be in a collective and wait for
 * the GPU of another thread.
 */
static void load(const void *function)
{
    static pthread_mutex_t driver = PTHREAD_MUTEX_INITIALIZER;
    static struct loaded {
        const void *function;
        int device;
    } * loaded;
    static int n, cap;
    int i = 0;

    (void)pthread_mutex_lock(&driver);
    while (i < n && (loaded[i].function != function || loaded[i].device != device_current()))
        i++;
    if (i == n) {
        emulator_lock();
        stream_drain_all();
        emulator_unlock();
        GROW(loaded, n, cap);
        loaded[n++] = (struct loaded){function, device_current()};
    }
    (void)pthread_mutex_unlock(&driver);
}

void emulator_launch(cudaStream_t s, const emulator_launch_t *l, const void *closure)
{
    struct operation *o;
    struct launched a;

    if (emulator_settings.loads && !stream_captures(s))
        load(l->function);
    emulator_lock();
    check_grid(l);
    check_shared(l);
    if (!stream_valid(s))
        emulator_abort("kernel %s: launched to no stream", l->name);
    if (stream_device(s) != device_current()) {
        (void)emulator_return(cudaErrorInvalidResourceHandle);
        return;
    }
    a.l = *l;
    a.l.device = stream_device(s);
    block_check_pointers(&a.l);
    if (emulator_fails("launch")) {
        (void)emulator_return(cudaErrorIllegalAddress);
        return;
    }
    memcpy(a.closure, closure, l->closure_size);
    o = operation_new(l->name, run_launch, &a,
                      offsetof(struct launched, closure) + l->closure_size);
    o->kernel = true;
    (void)emulator_return(stream_submit(s, o));
}
