/*
 * For the emulated libraries (cuDNN, cuBLASLt): work on "device" memory by a function on
 * the host, in the order of a stream. `arg` is copied; fn(copy) runs at once, or when a
 * lazy stream is drained, or at each launch of the graph that captures the stream. It
 * runs on one thread and may not call the runtime.
 */
#ifndef EMULATOR_HOST_NODE_H
#define EMULATOR_HOST_NODE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* Gives a cudaError_t: 0, or why the stream takes nothing (a capture that failed). */
int emulator_enqueue(struct CUstream_st *stream, const char *name, void (*fn)(void *arg),
                     const void *arg, size_t size);

/*
 * Dies unless the `size` bytes at p are live device memory (or pinned host memory): to be
 * called where a kernel would read or write them, with what they are: "conv x".
 */
void emulator_expect_memory(const void *p, size_t size, const char *what);

/*
 * For a function of a stream that waits for another thread or process: fn(arg) runs while
 * others may call the runtime. It may not call it, and nothing of the stream runs
 * meanwhile.
 */
void emulator_unlocked(void (*fn)(void *arg), void *arg);

/* Whether this call has to fail on purpose: EMULATOR_FAIL=WHAT:N, the N-th call of WHAT
 * (launch, malloc, cudnn, cublaslt, nccl, capture: a node of a graph); WHAT:N-, that and
 * all later ones. */
int emulator_fails(const char *what);

/* Device memory that a library takes for itself and keeps; EMULATOR_TAKES times that. */
void emulator_take_memory(size_t size);

#ifdef __cplusplus
}
#endif

#endif
