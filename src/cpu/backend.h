/* The CPU backend: see graph/backend.h. Its kernels are listed in cpu/kernels.h. */
#ifndef CPU_BACKEND_H
#define CPU_BACKEND_H

#include "graph/backend.h"

extern const struct backend backend_cpu;

#endif
