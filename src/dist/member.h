/*
 * A member of a group that does not talk by MPI: a thread of this process, or a process
 * with a GPU. Private to src/dist/; group.c asks member_now() before it uses MPI.
 */
#ifndef DIST_MEMBER_H
#define DIST_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/collective.h"

enum member_type { MEMBER_INT64, MEMBER_DOUBLE };

struct member {
    int world, rank;
    int thread; /* of this process, from 0 */
    /* x[i] becomes the sum of all members' x[i], or the largest, in each of them. */
    void (*reduce)(void *x, int64_t n, enum member_type type, bool largest);
    void (*tell)(void *x, int64_t n); /* n bytes become those of rank 0 */
    void (*close)(void);              /* leaves the group */
    struct collective collective;     /* of all members */
};

/* The member that this thread is, or else its process; NULL: none. */
const struct member *member_now(void);
/* Sets the member that this thread is or, if not `thread`, this process. NULL: none. */
void member_set(const struct member *m, bool thread);

/* collective.gather of members, by reduce(). */
void member_gather(const struct collective *c, float *x, const int64_t *begin);

/* Before (`on`) and after each call that waits for the others, for DIST.TIMEOUT. */
void member_waits(int thread, bool on);

#endif
