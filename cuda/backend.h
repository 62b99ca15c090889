/* The CUDA backend: an NVIDIA GPU, or the description of one that is not present. */
#ifndef CUDA_BACKEND_H
#define CUDA_BACKEND_H

#include "graph/backend.h"

extern const struct backend backend_cuda;

#endif
