/*
 * For the emulated libraries (cuDNN, cuBLASLt): work on "device" memory by a host
 * function, in the order of a stream. `arg` is copied; fn(copy) runs immediately, or when
 * a lazy stream is drained, or at each launch of the graph that captures the stream. It
 * runs on one thread and must not call the runtime.
 */
#ifndef EMULATOR_HOST_NODE_H
#define EMULATOR_HOST_NODE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* Returns a cudaError_t: 0, or why the stream refuses work (a failed capture). */
int emulator_enqueue(struct CUstream_st *stream, const char *name, void (*fn)(void *arg),
                     const void *arg, size_t size);

/*
 * Dies unless the `size` bytes at p are live device memory (or pinned host memory). Call
 * it where a kernel would read or write them; `what` names them: "conv x".
 */
void emulator_expect_memory(const void *p, size_t size, const char *what);

/*
 * For a function of a stream that waits for another thread or process: while fn(arg)
 * runs, others may call the runtime. fn must not call it, and no other work of the stream
 * runs meanwhile.
 */
void emulator_unlocked(void (*fn)(void *arg), void *arg);

/* True if this call must fail on purpose: EMULATOR_FAIL=WHAT:N, the N-th call of WHAT
 * (launch, malloc, cudnn, cublaslt, nccl, capture: a node of a graph); WHAT:N-: that and
 * all later ones. */
int emulator_fails(const char *what);

/* Device memory that a library allocates and keeps; multiplied by EMULATOR_TAKES. */
void emulator_take_memory(size_t size);

#ifdef __cplusplus
}
#endif

#endif
