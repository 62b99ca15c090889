/* Access to one fp32 or bf16 element, for code that does not need a vector loop. */
#ifndef CPU_SCALAR_H
#define CPU_SCALAR_H

#include "base/half.h"
#include "graph/tensor.h"

static inline float scalar_get(const void *p, enum dtype t, int64_t i)
{
    return t == DTYPE_F32 ? ((const float *)p)[i]
                          : bf16_to_float(((const uint16_t *)p)[i]);
}

static inline void scalar_put(void *p, enum dtype t, int64_t i, float v)
{
    if (t == DTYPE_F32)
        ((float *)p)[i] = v;
    else
        ((uint16_t *)p)[i] = bf16_from_float(v);
}

#endif
