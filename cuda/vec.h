/*
 * Elements and 16-byte vectors of them. A kernel is a template over the stored type:
 * float, f16 or bf16; arithmetic is in float.
 *
 *   vec<T> a = vec_load(x + i);            16 bytes; x + i must be aligned to them
 *   for (int k = 0; k < vec<T>::N; k++) a.set(k, a.get(k) * 2);
 *   vec_store(y + i, a);
 *   WITH_DTYPE(t->dtype, T, LAUNCH(dev, relu<T>, ...));
 */
#ifndef CUDA_VEC_H
#define CUDA_VEC_H

#include "base/half.h"
#include "graph/tensor.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

struct f16 {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};

HOST_DEVICE static inline float to_float(float x)
{
    return x;
}

HOST_DEVICE static inline float to_float(f16 x)
{
#ifdef __CUDA_ARCH__
    return __half2float(__ushort_as_half(x.bits));
#else
    return fp16_to_float(x.bits);
#endif
}

HOST_DEVICE static inline float to_float(bf16 x)
{
    return bf16_to_float(x.bits);
}

template <class T> HOST_DEVICE static inline T from_float(float x);

template <> HOST_DEVICE inline float from_float<float>(float x)
{
    return x;
}

template <> HOST_DEVICE inline f16 from_float<f16>(float x)
{
#ifdef __CUDA_ARCH__
    return f16{__half_as_ushort(__float2half_rn(x))};
#else
    return f16{fp16_from_float(x)};
#endif
}

template <> HOST_DEVICE inline bf16 from_float<bf16>(float x)
{
#ifdef __CUDA_ARCH__
    return bf16{__bfloat16_as_ushort(__float2bfloat16_rn(x))};
#else
    return bf16{bf16_from_float(x)};
#endif
}

template <class T> struct alignas(16) vec {
    static constexpr int N = 16 / (int)sizeof(T);
    T v[N];

    HOST_DEVICE float get(int k) const { return to_float(v[k]); }
    HOST_DEVICE void set(int k, float x) { v[k] = from_float<T>(x); }
};

template <class T> HOST_DEVICE static inline vec<T> vec_load(const T *p)
{
    return *reinterpret_cast<const vec<T> *>(p);
}

template <class T> HOST_DEVICE static inline void vec_store(T *p, vec<T> a)
{
    *reinterpret_cast<vec<T> *>(p) = a;
}

/*
 * N elements as they lie in memory, in registers of 32 bits. If a condition decides whether
 * elements are loaded, the compiler would cut an array of 16-bit ones into a register each
 * as soon as it arrives, and so wait for one load at a time.
 */
template <class T, int N>
struct [[gnu::may_alias]] alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) words {
    static constexpr int EACH = 4 / (int)sizeof(T);
    uint32_t word[N / EACH];

    HOST_DEVICE float get(int k) const
    {
        T x;

        if constexpr (EACH == 1)
            __builtin_memcpy(&x, &word[k], sizeof(x));
        else
            x.bits = (uint16_t)(word[k / EACH] >> 16 * (k % EACH));
        return to_float(x);
    }
};

template <int N, class T> HOST_DEVICE static inline words<T, N> words_load(const T *p)
{
    return *reinterpret_cast<const words<T, N> *>(p);
}

template <class T, int N> HOST_DEVICE static inline void words_store(T *p, words<T, N> a)
{
    *reinterpret_cast<words<T, N> *>(p) = a;
}

/* Runs one statement with T the 16-bit type of `dtype`. */
#define WITH_HALF(dtype, T, ...)                                                         \
    do {                                                                                 \
        if ((dtype) == DTYPE_F16) {                                                      \
            using T = f16;                                                               \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            using T = bf16;                                                              \
            __VA_ARGS__;                                                                 \
        }                                                                                \
    } while (0)

/* The same for any type. */
#define WITH_DTYPE(dtype, T, ...)                                                        \
    do {                                                                                 \
        if ((dtype) == DTYPE_F32) {                                                      \
            using T = float;                                                             \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            WITH_HALF(dtype, T, __VA_ARGS__);                                            \
        }                                                                                \
    } while (0)

#endif
