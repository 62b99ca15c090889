/*
 * The ranks of one communicator, threads of this process or processes of this machine,
 * and their shared memory. As on GPUs, all ranks must make the same calls in the same
 * order; a call that differs ends the program with a message that names both.
 *
 *   team = team_make(world, path)     by one rank; path NULL: for threads only
 *   team = team_join(path)            by the others
 *   team_meet(team)                   waits for all
 *   part = team_split(team, rank, color, &number)   the ranks of a color, in order
 *   team_reduce(team, rank, call, x)  replaces x by the result
 */
#ifndef EMULATOR_NCCL_TEAM_H
#define EMULATOR_NCCL_TEAM_H

#include <nccl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEAM_MAX = 16 };

/* The parameters of a rank's call, which must be equal for all ranks. */
struct team_call {
    char name[16]; /* "AllReduce" */
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root;
};

struct team;

struct team *team_make(int world, const char *path);
struct team *team_join(const char *path);
void team_leave(struct team *t);
int team_world(const struct team *t);

/* Registers a rank's GPU; returns false if another rank has it. */
bool team_place(struct team *t, int rank, const char *gpu);

void team_meet(struct team *t);
/* Called by all ranks of a team. `path`: a file that does not exist, for the first rank
 * of a part. */
struct team *team_split(struct team *t, int rank, int color, const char *path,
                        int *number);
/* from and to may be equal; all ranks get the result, summed in the order of ranks. */
void team_run(struct team *t, int rank, const struct team_call *call, const void *src,
              void *dst);

/* The messages of a rank in one group call: all of equal length, and equally many, to each
 * peer and from each peer, as in an exchange between all. The k-th to a peer is the k-th that
 * it receives from this rank. */
enum { TEAM_MESSAGES = 32 };
struct team_messages {
    const void *src[TEAM_MAX][TEAM_MESSAGES];
    void *dst[TEAM_MAX][TEAM_MESSAGES];
    int nsrc[TEAM_MAX], ndst[TEAM_MAX];
};
/* call->count elements per message. Fails if the messages are not an exchange. */
void team_exchange(struct team *t, int rank, const struct team_call *call,
                   const struct team_messages *m);

#endif
