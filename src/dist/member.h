/*
 * A member of a group that does not use MPI: a thread of this process, or a process with
 * a GPU. Private to src/dist/; group.c calls member_now() before it uses MPI.
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
    /* Replaces x[i] by the sum or the maximum of all members' x[i]. */
    void (*reduce)(void *x, int64_t n, enum member_type type, bool largest);
    void (*broadcast)(void *x, int64_t n); /* broadcasts n bytes from rank 0 */
    void (*close)(void);              /* leaves the group */
    bool by_device; /* reduce and broadcast wait for this process's device */
    struct collective collective;     /* of all members */
};

/* Returns this thread's or else this process's member, or NULL if there is none. */
const struct member *member_now(void);
/* Sets the member of this thread or, if not `thread`, of this process. NULL: removes it. */
void member_set(const struct member *m, bool thread);

/* collective.gather for members, by reduce(). */
void member_gather(const struct collective *c, float *x, const int64_t *begin);

/* Call before (`waiting`) and after each call that waits for the others, for DIST.TIMEOUT. */
void member_waits(int thread, bool waiting);
/* collective.watch for all transports. */
void member_watch(const char *(*failed)(void *arg), void *arg);

#endif
