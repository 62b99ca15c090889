/*
 * One launch of a kernel: its blocks one after the other, their threads as fibers that
 * meet at barriers and in warps. Used by what launch.h expands to.
 */
#ifndef EMULATOR_BLOCK_H
#define EMULATOR_BLOCK_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EMULATOR_POINTERS = 32, warpSize = 32 };

typedef struct emulator_launch {
    const char *name;     /* as the source spells it */
    const void *function; /* the kernel's address */
    dim3 grid, block;
    size_t shared;                     /* dynamic shared memory, bytes */
    void (*call)(const void *closure); /* the kernel for the current thread */
    size_t closure_size;
    const void *pointer[EMULATOR_POINTERS]; /* arguments that are pointers */
    int argument[EMULATOR_POINTERS];        /* and which they are, from 1 */
    int npointer;
    int device; /* of its stream; launch.c's */
} emulator_launch_t;

/* Checks the launch and hands it to the stream; the closure is copied. */
void emulator_launch(cudaStream_t stream, const emulator_launch_t *l,
                     const void *closure);

/* What the running thread sees; they change when another thread runs. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

unsigned char *emulator_shared(void); /* dynamic shared memory */

/*
 * Waits for all threads of the block; gives how many came with a predicate that is not 0.
 * `line` is that of the call: all threads must wait at the same one.
 */
int emulator_barrier(int predicate, int line);

typedef enum {
    EMULATOR_SYNC,
    EMULATOR_SHUFFLE,
    EMULATOR_UP,
    EMULATOR_DOWN,
    EMULATOR_XOR,
    EMULATOR_BALLOT,
    EMULATOR_TOGETHER
} emulator_warp_t;

/* What EMULATOR_TOGETHER's value points at: run() gets the values of all 32 lanes. */
typedef struct emulator_together {
    void (*run)(const uint64_t *all);
} emulator_together_t;

/* Waits for the lanes in `mask` and exchanges values with them. */
uint64_t emulator_warp(emulator_warp_t op, unsigned mask, uint64_t value, int lane,
                       int width, int line);

/* Ends the program: a row of ldmatrix is not aligned to 16 bytes. */
__attribute__((noreturn)) void emulator_unaligned(int line);

#ifdef __cplusplus
}
#endif

#endif
