/*
 * The group of processes that torchrun, or a script of its kind, has started: WORLD_SIZE,
 * RANK, MASTER_ADDR and MASTER_PORT say who they are and where they meet, and their
 * devices' library ties them together (struct backend_link).
 */
#ifndef DIST_NCCL_H
#define DIST_NCCL_H

#include "graph/backend.h"

/* Before dist_open: what ties processes with such devices together, and the device of this
 * one. NULL: nothing does. */
void dist_nccl(const struct backend_link *link, int device);

/* Meets the others. False: dist_nccl() was given no link. */
bool dist_nccl_open(int world, int rank);

#endif
