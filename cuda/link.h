/* Processes with a GPU each, connected only by NCCL (graph/backend.h). */
#ifndef CUDA_LINK_H
#define CUDA_LINK_H

#include "graph/backend.h"

extern const struct backend_link cuda_link;

#endif
