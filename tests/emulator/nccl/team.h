/*
 * The ranks of one communicator, threads of this process or processes of this machine,
 * and the memory that they share. As on GPUs all have to make the same calls in the same
 * order; a call that differs ends the program with both.
 *
 *   team = team_make(world, path)     by one of them; path NULL: for threads alone
 *   team = team_join(path)            by the others
 *   team_meet(team)                   waits for all
 *   part = team_split(team, rank, colour, &number)   those of a colour, in order of rank
 *   team_reduce(team, rank, call, x)  x becomes the result
 */
#ifndef EMULATOR_NCCL_TEAM_H
#define EMULATOR_NCCL_TEAM_H

#include <nccl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEAM_MOST = 16 };

/* What a rank asks for: equal in all, but for what it has. */
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

/* Notes where a rank is; false: another has that GPU already. */
bool team_place(struct team *t, int rank, const char *gpu);

void team_meet(struct team *t);
/* By all of a team. `path`: of a file that does not exist, for the first of a part. */
struct team *team_split(struct team *t, int rank, int colour, const char *path,
                        int *number);
/* from and to may be the same; all ranks get the result, summed in the order of ranks. */
void team_run(struct team *t, int rank, const struct team_call *call, const void *from,
              void *to);

#endif
