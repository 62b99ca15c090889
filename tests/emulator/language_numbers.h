/* CUDA for the host compiler (launch.h): bits, and functions of numbers. */
#ifndef EMULATOR_LANGUAGE_NUMBERS_H
#define EMULATOR_LANGUAGE_NUMBERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

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
#define __expf(x) expf(x) /* glibc has functions with these names */
#define __logf(x) logf(x)
static inline float __fdividef(float a, float b)
{
    return a / b;
}
/* The compiler cannot see that an addend is a product. */
static inline float __fadd_rn(float a, float b)
{
    __asm__("" : "+x"(a), "+x"(b));
    return a + b;
}
/* Like a GPU's instruction: the compiler cannot see that the result is a product. */
static inline float emulator_mul(float a, float b)
{
    float product = a * b;

    __asm__("" : "+x"(product));
    return product;
}
/* a macro, because shared formulas test for it */
#define __fmul_rn(a, b) emulator_mul(a, b)
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
