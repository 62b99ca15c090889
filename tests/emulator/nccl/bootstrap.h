/*
 * How the ranks of different processes find each other: the unique id names a file of the
 * first rank's, or with NCCL_COMM_ID=HOST:PORT, as in NCCL, everybody asks rank 0 there.
 */
#ifndef EMULATOR_NCCL_BOOTSTRAP_H
#define EMULATOR_NCCL_BOOTSTRAP_H

#include "tests/emulator/nccl/team.h"

/* Of a file that nobody else has. */
enum { BOOTSTRAP_PATH = 128 };
void bootstrap_path(char *path);
void bootstrap_id(char *id, size_t size);
/* NULL, and why. */
struct team *bootstrap_find(const char *id, int world, int rank, const char **why);

#endif
