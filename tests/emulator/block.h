/*
 * One launch of a kernel: its blocks run one after the other, with threads as fibers that
 * meet at barriers and in warps. Used by the macros of launch.h.
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
    const char *name;     /* as spelled in the source */
    const void *function; /* the kernel's address */
    dim3 grid, block;
    size_t shared;                     /* dynamic shared memory, bytes */
    void (*call)(const void *closure); /* runs the kernel for the current thread */
    size_t closure_size;
    const void *pointer[EMULATOR_POINTERS]; /* arguments that are pointers */
    int argument[EMULATOR_POINTERS];        /* and their positions, from 1 */
    int npointer;
    int device; /* device of its stream; used by launch.c */
} emulator_launch_t;

/* Checks the launch and submits it to the stream; copies the closure. */
void emulator_launch(cudaStream_t stream, const emulator_launch_t *l,
                     const void *closure);

/* Variables of the running thread; they change when another thread runs. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

unsigned char *emulator_shared(void); /* dynamic shared memory */

/*
 * Waits for all threads of the block; returns how many passed a nonzero predicate.
 * `line`: line of the call; all threads must wait at the same one.
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

/* Type of EMULATOR_TOGETHER's value: run() gets the values of all 32 lanes. */
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
