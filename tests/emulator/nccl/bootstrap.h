/*
 * How the ranks of different processes find each other: the unique id names a file of the
 * first rank, or with NCCL_COMM_ID=HOST:PORT, as in NCCL, all connect to rank 0 there.
 */
#ifndef EMULATOR_NCCL_BOOTSTRAP_H
#define EMULATOR_NCCL_BOOTSTRAP_H

#include "tests/emulator/nccl/team.h"

/* bootstrap_path: returns the path of a new unique file. */
enum { BOOTSTRAP_PATH = 128 };
void bootstrap_path(char *path);
void bootstrap_id(char *id, size_t size);
/* Returns NULL with the reason in *why on failure. */
struct team *bootstrap_find(const char *id, int world, int rank, const char **why);

#endif
