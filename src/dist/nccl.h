/*
 * The group of processes started by torchrun or a similar launcher: WORLD_SIZE, RANK,
 * MASTER_ADDR, and MASTER_PORT give their numbers and meeting point. They communicate by
 * their devices' library (struct backend_link).
 */
#ifndef DIST_NCCL_H
#define DIST_NCCL_H

#include "graph/backend.h"

/* Call before dist_open: sets the library by which processes with such devices
 * communicate (may be NULL) and the number of this process's device. */
void dist_nccl(const struct backend_link *link, int device);

/* Connects to the others and becomes their member. Returns false if dist_nccl() was given
 * NULL. */
bool dist_nccl_open(int world, int rank);

#endif
