/*
 * A member of a group that MPI does not tie together: a thread of this process, or a
 * process with a GPU. Private to src/dist/; group.c asks member_now() before MPI.
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
    /* In place, in each of them: the sum, or the largest. */
    void (*reduce)(void *x, int64_t n, enum member_type type, bool largest);
    void (*tell)(void *x, int64_t n); /* n bytes become those of rank 0 */
    void (*close)(void);
    struct collective collective;
};

/* Of this thread; NULL: none. */
const struct member *member_now(void);
/* Of this thread, or if not `thread`, of all of this process. */
void member_set(const struct member *m, bool thread);

/* For collectives: as collective.gather. */
void member_gather(const struct collective *c, float *x, const int64_t *begin);

/* Around what waits for the others; see DIST.TIMEOUT. */
void member_waits(int thread, bool on);

#endif
