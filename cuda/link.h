/* Processes with a GPU each, tied together by NCCL alone (graph/backend.h). */
#ifndef CUDA_LINK_H
#define CUDA_LINK_H

#include "graph/backend.h"

extern const struct backend_link cuda_link;

#endif
