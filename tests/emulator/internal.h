/*
 * What the parts of the emulated runtime share; streams, captures and graphs are in
 * work.h:
 *
 *   block.c    runs a launch              fiber.c   its threads
 *   shared.c   shared memory              memory.c  device and pinned memory, copies
 *   stream.c   streams and events         capture.c captures of streams
 *   graph.c    graphs                     copy.c    copies and fills
 *   device.c   what the device is         error.c   error codes, settings, counters
 *   launch.c   launches                   libraries.c which cuDNN is opened
 *
 * Calls of the runtime hold one lock; what they run, they run on the calling thread.
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
    bool ahead;    /* a warp goes on as far as it can before another one does */
    bool lazy;     /* streams run when somebody waits */
    bool busy;     /* asking whether work is done does none of it, however often */
    bool protect;  /* host code that touches device memory crashes */
    size_t memory; /* of the device, bytes */
    size_t others; /* what another program takes of it after `launched` graphs */
    int64_t launched;
    size_t cache;  /* L2, bytes */
    int multiprocessors;
};

extern struct settings emulator_settings; /* after emulator_lock */
extern struct emulator_counters emulator_counters;

void emulator_lock(void); /* as often as one likes */
void emulator_unlock(void);

/* For what the emulator does not allow: one line on stderr, then abort. */
__attribute__((format(printf, 1, 2), noreturn)) void emulator_abort(const char *fmt, ...);

/* Unlocks, remembers the error for cudaGetLastError, and gives it. */
cudaError_t emulator_return(cudaError_t e);

/* Element i of 0..n-1 in the order that is set; `salt` varies what shuffle does. */
struct permutation {
    unsigned n, step, first;
};
struct permutation permutation(unsigned n, uint64_t salt);
static inline unsigned permuted(const struct permutation *p, unsigned i)
{
    return (unsigned)(((uint64_t)p->step * i + p->first) % p->n);
}

/* ---- device.c ---- */

int device_current(void); /* of this thread, as the program numbers them */

/* ---- libraries.c ---- */

void libraries_choose(void);

/* ---- shared.c ---- */

void *shared_dynamic(size_t size); /* that many bytes, 16-byte aligned, poisoned after */
void shared_poison(void);          /* before a block */
void shared_select(const void *function); /* the kernel whose static memory is meant */
size_t shared_static(void);               /* bytes of it */
const char *shared_kernel_symbol(void);   /* its mangled name, or "" */

/* ---- block.c ---- */

void block_run_launch(const emulator_launch_t *l, const void *closure);
void block_check_pointers(const emulator_launch_t *l);
const char *block_kernel(void); /* the one that runs, or NULL */

/* ---- memory.c ---- */

/* The live device or pinned memory around p: its bytes from p on; 0: there is none. */
size_t memory_device(const void *p);
size_t memory_pinned(const void *p);
bool memory_freed(const void *p);     /* was device memory once */
int memory_device_of(const void *p); /* whose memory it is; -1: nobody's */
void memory_open(void);           /* device memory may be touched, until ... */
void memory_close(void);

#endif
