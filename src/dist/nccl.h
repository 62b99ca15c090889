/*
 * The group of processes that torchrun, or a launcher like it, has started: WORLD_SIZE,
 * RANK, MASTER_ADDR and MASTER_PORT say who they are and where they meet. They talk by
 * their devices' library (struct backend_link).
 */
#ifndef DIST_NCCL_H
#define DIST_NCCL_H

#include "graph/backend.h"

/* Before dist_open: the library by which processes with such devices talk (NULL: none),
 * and the number of this process's device. */
void dist_nccl(const struct backend_link *link, int device);

/* Meets the others, and is their member then. False: dist_nccl() was given NULL. */
bool dist_nccl_open(int world, int rank);

#endif
