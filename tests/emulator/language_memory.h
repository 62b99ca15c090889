/* CUDA for the host compiler (launch.h): loads and stores with hints, and atomics. */
#ifndef EMULATOR_LANGUAGE_MEMORY_H
#define EMULATOR_LANGUAGE_MEMORY_H

#include <type_traits>

/* T, not deduced: an argument is converted to it. */
template <class T> struct emulator_same {
    using type = T;
};

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

/* Atomics only support integers: float sums would change from run to run. */
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

#endif
