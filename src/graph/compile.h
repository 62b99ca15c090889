/*
 * The passes of program_compile(), one file each, in the order in which they run. Private
 * to src/graph.
 */
#ifndef GRAPH_COMPILE_H
#define GRAPH_COMPILE_H

#include "graph/program.h"

struct derived {
    struct derive what;
    void *key;     /* our copy; what.key points to it */
    bool read;     /* read by a region that does not write it; otherwise it has no
                    * memory */
    size_t offset; /* in MEMORY_DERIVED */
    void *dst;     /* after program_bind */
    void *src[5];
};

/*
 * views.c: finds the tensor whose bytes each view shows, and places that tensor where a
 * view of it must be.
 */
void compile_views(struct graph *g);

/* True if the node only shows its input with other dims: no kernel runs for it. */
static inline bool node_is_alias(const struct node *n)
{
    return n->op->view && n->out[0]->alias_of;
}

/*
 * claim.c: walks the nodes from last to first, marks unneeded ones dead, offers all
 * others to the kernels, and checks that regions write what others read.
 */
void compile_claim(struct program *p, bool keep_declines);

/*
 * schedule.c: orders the regions: each after its inputs, otherwise in graph order; update
 * regions last and in graph order.
 */
void compile_schedule(struct program *p);

/*
 * memory.c: places every stored activation in one arena by its lifetime, and adds up the
 * needs of the other memories.
 */
void compile_memory(struct program *p);

/*
 * redzone.c: the arena begins with REDZONE bytes of the pattern, which redzones_bound()
 * writes and the device copies from. redzones_before() surrounds each tensor that step i
 * makes; redzones_after() checks those whose last use is step i.
 */
void redzone_add(struct program *p, const struct tensor *t, size_t pos, int first,
                 int last);
void redzones_bound(const struct program *p);
void redzones_before(const struct program *p, int i);
void redzones_after(const struct program *p, int i);

struct region *region_new(struct program *p, struct node *anchor);
void region_free(struct region *r);
bool region_has_write(const struct region *r, const struct tensor *t);

#endif
