/*
 * Shared by the parts of the emulated runtime; streams, captures, and graphs are in
 * work.h:
 *
 *   block.c    runs a launch              fiber.c   its threads
 *   shared.c   shared memory              memory.c  device and pinned memory, copies
 *   stream.c   streams and events         capture.c captures of streams
 *   graph.c    graphs                     copy.c    copies and fills
 *   device.c   device properties          error.c   error codes, settings, counters
 *   launch.c   launches                   libraries.c selects the libraries to open
 *
 * Calls of the runtime hold one lock and run work on the calling thread.
 */
#ifndef EMULATOR_INTERNAL_H
#define EMULATOR_INTERNAL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/emulator/block.h"
#include "tests/emulator/counters.h"

/* ---- error.c ---- */

enum order { ORDER_FORWARD, ORDER_REVERSE, ORDER_SHUFFLE };

struct settings {
    enum order order;
    uint64_t seed;
    bool ahead;    /* a warp runs as far as it can before another one does */
    bool lazy;     /* streams only run when waited for */
    bool loads;    /* a kernel's first launch waits for the GPU, under a lock */
    bool busy;     /* queries never run work */
    bool protect;  /* host code that touches device memory crashes */
    size_t memory; /* of the device, bytes */
    size_t others; /* bytes allocated by another program after `launched` graphs */
    int64_t launched;
    size_t cache;  /* L2, bytes */
    int multiprocessors;
};

extern struct settings emulator_settings; /* valid after emulator_lock */
extern struct emulator_counters emulator_counters;

void emulator_lock(void); /* recursive */
void emulator_unlock(void);

/* Reports misuse in one line on stderr, then aborts. */
__attribute__((format(printf, 1, 2), noreturn)) void emulator_abort(const char *fmt, ...);

/* Unlocks, stores the error for cudaGetLastError, and returns it. */
cudaError_t emulator_return(cudaError_t e);

/* Element i of 0..n-1 in the configured order; `salt` varies shuffle. */
struct permutation {
    unsigned n, step, first;
};
struct permutation permutation(unsigned n, uint64_t salt);
static inline unsigned permuted(const struct permutation *p, unsigned i)
{
    return (unsigned)(((uint64_t)p->step * i + p->first) % p->n);
}

/* ---- device.c ---- */

int device_current(void); /* of this thread, as the program numbers devices */

/* ---- libraries.c ---- */

void libraries_choose(void);

/* ---- shared.c ---- */

/* `size` bytes, 16-byte aligned, with poison after them */
void *shared_dynamic(size_t size);
void shared_poison(void);                 /* called before a block */
void shared_select(const void *function); /* before a launch: chooses the kernel */
size_t shared_static(void);               /* bytes of its static memory */

/* ---- block.c ---- */

void block_run_launch(const emulator_launch_t *l, const void *closure);
void block_check_pointers(const emulator_launch_t *l);
const char *block_kernel(void); /* the running one, or NULL */

/* ---- memory.c ---- */

/* Returns the bytes from p to the end of its live device or pinned memory; 0 if none. */
size_t memory_device(const void *p);
size_t memory_pinned(const void *p);
bool memory_freed(const void *p);    /* formerly device memory */
int memory_device_of(const void *p); /* device of the memory, or -1 */
void memory_open(void);              /* allows access to device memory until ... */
void memory_close(void);

#endif
