/*
 * CUDA's language for the host compiler: the features named in cuda/launch.h, so that our
 * kernels run without a GPU; emulator.mk includes this before them (-include). One host
 * thread runs all threads of all blocks, one block after the other; a thread that waits
 * at a barrier or for its warp is a fiber that is replaced by another
 * (tests/emulator/block.c). Launches are here; barriers and warps, loads and atomics, and
 * arithmetic are in language_*.h.
 *
 * The emulator aborts with the kernel's name where a GPU would hang or return garbage: a
 * barrier or a warp operation that not all threads reach, too many threads, too much
 * shared memory, pointers to freed or to host memory. Shared memory is NaN before each
 * block. EMULATOR_ORDER (forward, reverse, ahead, shuffle:SEED) sets the order in which
 * threads and blocks run: results must not depend on it.
 *
 * Products and sums are contracted, as on a GPU, if this CPU can do that (emulator.mk).
 */
#ifndef EMULATOR_LAUNCH_H
#define EMULATOR_LAUNCH_H

#include <cuda_runtime_api.h>
#include <type_traits>

#include "tests/emulator/block.h"
#include "tests/emulator/language_memory.h"
#include "tests/emulator/language_numbers.h"
#include "tests/emulator/language_tensor.h"
#include "tests/emulator/language_threads.h"

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)
#define __noinline__ __attribute__((noinline))

/* Records the pointers in a launch's closure, to check them. */
template <class P> static void emulator_note(emulator_launch_t *l, int i, const P &p)
{
    if constexpr (std::is_pointer_v<P>) {
        if (l->npointer < EMULATOR_POINTERS) {
            l->pointer[l->npointer] = (const void *)p;
            l->argument[l->npointer++] = i;
        }
    }
}

template <class... P>
static void emulator_call(cudaStream_t stream, const char *name, dim3 grid, dim3 block,
                          size_t shared, void (*kernel)(P...),
                          typename emulator_same<P>::type... arg)
{
    auto closure = [kernel, arg...]() { kernel(arg...); };
    emulator_launch_t l = {};
    int i = 0;

    static_assert(std::is_trivially_copyable_v<decltype(closure)>,
                  "a kernel's parameters are copied as bytes");
    static_assert((0 + ... + sizeof(P)) <= 4096, "CUDA's limit on parameters");
    (emulator_note(&l, ++i, arg), ...);
    l.name = name;
    l.function = reinterpret_cast<const void *>(kernel);
    l.grid = grid;
    l.block = block;
    l.shared = shared;
    l.call = [](const void *c) { (*static_cast<const decltype(closure) *>(c))(); };
    l.closure_size = sizeof(closure);
    emulator_launch(stream, &l, &closure);
}

#define LAUNCH(dev, kernel, grid, block, shared, ...)                                    \
    do {                                                                                 \
        bool was_ = alloc_forbid(false);                                                 \
                                                                                         \
        emulator_call((dev)->stream, #kernel, (grid), (block), (shared),                 \
                      (kernel)__VA_OPT__(, ) __VA_ARGS__);                               \
        (void)alloc_forbid(was_);                                                        \
        cuda_launched((dev), #kernel);                                                   \
    } while (0)

#define SHARED_BYTES(name) unsigned char *const name = emulator_shared()
#define UNROLL_WHOLE
#define ROLLED

template <class F>
static inline cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute a, int value)
{
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), a, value);
}

#endif
