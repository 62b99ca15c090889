/*
 * CUDA's language for the host compiler: what cuda/launch.h names, so that the sources of
 * our kernels run without a GPU; emulator.mk puts it in front of them (-include). One
 * thread of the host plays all threads of all blocks, one block after the other; a thread
 * that has to wait at a barrier or for its warp is a fiber that another one replaces
 * (tests/emulator/block.c).
 *
 * The emulator aborts with the kernel's name where a GPU would hang or give rubbish: a
 * barrier or a warp operation that not all threads reach, too many threads, too much
 * shared memory, pointers to freed or to host memory. Shared memory is NaN before each
 * block. EMULATOR_ORDER (forward, reverse, ahead, shuffle:SEED) sets the order in which
 * threads and blocks run: results must not depend on it.
 *
 * Whether products and sums are contracted, as on a GPU, is the build's choice.
 */
#ifndef EMULATOR_LAUNCH_H
#define EMULATOR_LAUNCH_H

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

#include "tests/emulator/block.h"

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)

/* ---- launches ---- */

template <class T> struct emulator_same {
    using type = T;
};

/* What the closure of a launch holds, and the pointers in it that can be checked. */
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

template <class F>
static inline cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute a, int value)
{
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), a, value);
}

/* ---- barriers ---- */

static inline void __syncthreads(int line = __builtin_LINE())
{
    (void)emulator_barrier(0, line);
}

static inline int __syncthreads_count(int predicate, int line = __builtin_LINE())
{
    return emulator_barrier(predicate, line);
}

static inline int __syncthreads_or(int predicate, int line = __builtin_LINE())
{
    return emulator_barrier(predicate, line) > 0;
}

static inline int __syncthreads_and(int predicate, int line = __builtin_LINE())
{
    int n = (int)(blockDim.x * blockDim.y * blockDim.z);

    return emulator_barrier(predicate, line) == n;
}

static inline void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE())
{
    (void)emulator_warp(EMULATOR_SYNC, mask, 0, 0, warpSize, line);
}

static inline void __threadfence() {}
static inline void __threadfence_block() {}

/* ---- warps ---- */

template <class T>
static inline T emulator_shuffle(emulator_warp_t op, unsigned mask, T v, int lane,
                                 int width, int line)
{
    uint64_t bits = 0;

    static_assert(sizeof(T) <= sizeof(bits) && std::is_arithmetic_v<T>,
                  "shuffles take numbers of up to 8 bytes");
    memcpy(&bits, &v, sizeof(v));
    bits = emulator_warp(op, mask, bits, lane, width, line);
    memcpy(&v, &bits, sizeof(v));
    return v;
}

template <class T>
static inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32,
                            int line = __builtin_LINE())
{
    return emulator_shuffle(EMULATOR_SHUFFLE, mask, v, lane, width, line);
}

template <class T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32,
                               int line = __builtin_LINE())
{
    return emulator_shuffle(EMULATOR_UP, mask, v, (int)delta, width, line);
}

template <class T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32,
                                 int line = __builtin_LINE())
{
    return emulator_shuffle(EMULATOR_DOWN, mask, v, (int)delta, width, line);
}

template <class T>
static inline T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32,
                                int line = __builtin_LINE())
{
    return emulator_shuffle(EMULATOR_XOR, mask, v, lanes, width, line);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate,
                                     int line = __builtin_LINE())
{
    return (unsigned)emulator_warp(EMULATOR_BALLOT, mask, predicate != 0, 0, warpSize,
                                   line);
}

static inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return __ballot_sync(mask, predicate, line) != 0;
}

static inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return __ballot_sync(mask, !predicate, line) == 0;
}

/* ---- memory ---- */

template <class T> static inline T __ldg(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcs(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcg(const T *p)
{
    return *p;
}
template <class T> static inline void __stcs(T *p, typename emulator_same<T>::type v)
{
    *p = v;
}
template <class T> static inline void __stcg(T *p, typename emulator_same<T>::type v)
{
    *p = v;
}

/* Atomics are of integers: sums of floats by them would change from run to run. */
template <class T, class F> static inline T emulator_atomic(T *p, F f)
{
    T old = *p;

    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "atomics are of 4 or 8 byte integers");
    *p = f(old);
    return old;
}

template <class T> static inline T atomicAdd(T *p, typename emulator_same<T>::type v)
{
    return emulator_atomic(p, [v](T old) { return (T)(old + v); });
}
template <class T> static inline T atomicOr(T *p, typename emulator_same<T>::type v)
{
    return emulator_atomic(p, [v](T old) { return (T)(old | v); });
}
template <class T> static inline T atomicAnd(T *p, typename emulator_same<T>::type v)
{
    return emulator_atomic(p, [v](T old) { return (T)(old & v); });
}
template <class T> static inline T atomicMax(T *p, typename emulator_same<T>::type v)
{
    return emulator_atomic(p, [v](T old) { return old > v ? old : v; });
}
template <class T> static inline T atomicMin(T *p, typename emulator_same<T>::type v)
{
    return emulator_atomic(p, [v](T old) { return old < v ? old : v; });
}
template <class T> static inline T atomicExch(T *p, typename emulator_same<T>::type v)
{
    return emulator_atomic(p, [v](T) { return v; });
}
template <class T>
static inline T atomicCAS(T *p, typename emulator_same<T>::type is,
                          typename emulator_same<T>::type v)
{
    return emulator_atomic(p, [is, v](T old) { return old == is ? v : old; });
}

/* ---- numbers ---- */

static inline float __int_as_float(int x)
{
    float f;

    memcpy(&f, &x, sizeof(f));
    return f;
}
static inline int __float_as_int(float f)
{
    int x;

    memcpy(&x, &f, sizeof(x));
    return x;
}
static inline float __uint_as_float(unsigned x)
{
    return __int_as_float((int)x);
}
static inline unsigned __float_as_uint(float f)
{
    return (unsigned)__float_as_int(f);
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
static inline double rsqrt(double x)
{
    return 1 / sqrt(x);
}
#define __expf(x) expf(x) /* glibc has functions of these names */
#define __logf(x) logf(x)
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
/* As a GPU's instruction: no compiler sees that the result is a product. */
static inline float emulator_mul(float a, float b)
{
    float product = a * b;

    __asm__("" : "+x"(product));
    return product;
}
#define __fmul_rn(a, b) emulator_mul(a, b) /* a macro: shared formulas ask for it */
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
static inline float __fsqrt_rn(float a)
{
    return sqrtf(a);
}
template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b)
{
    using T = std::common_type_t<A, B>;

    return (T)b < (T)a ? (T)b : (T)a;
}
template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b)
{
    using T = std::common_type_t<A, B>;

    return (T)a < (T)b ? (T)b : (T)a;
}

#endif
