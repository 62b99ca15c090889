/*
 * The inside of program_compile(): its passes, one file each, in the order in which they
 * run. Nobody else includes this.
 */
#ifndef GRAPH_COMPILE_H
#define GRAPH_COMPILE_H

#include "graph/program.h"

struct derived {
    struct derive what;
    void *key;     /* our copy, what.key points to it */
    bool read;     /* a region asked that does not write it; else it has no memory */
    size_t offset; /* in MEMORY_DERIVED */
    void *dst;     /* after program_bind */
    void *from[5];
};

/*
 * views.c: finds the tensor whose bytes each view shows, and places that tensor where a
 * view of it must lie.
 */
void compile_views(struct graph *g);

/* The node only shows its input in other dims: no kernel runs for it. */
static inline bool node_is_alias(const struct node *n)
{
    return n->op->view && n->out[0]->alias_of;
}

/*
 * claim.c: walks the nodes from last to first; marks what nobody needs dead, asks the
 * kernels for everything else, checks that regions write what others read.
 */
void compile_claim(struct program *p, bool keep_declines);

/*
 * schedule.c: orders the regions: each after what it reads, otherwise as the graph has
 * them; update regions last and in graph order.
 */
void compile_schedule(struct program *p);

/*
 * memory.c: gives every stored activation an offset in one arena from its lifetime, and
 * adds up what the other memories need.
 */
void compile_memory(struct program *p);

/*
 * redzone.c: the arena begins with REDZONE bytes of the pattern, which redzones_bound()
 * writes and the device copies from. redzones_before() puts it around each tensor that
 * step i makes, redzones_after() checks it around those that step i was the last to use.
 */
void redzone_add(struct program *p, const struct tensor *t, size_t at, int first,
                 int last);
void redzones_bound(const struct program *p);
void redzones_before(const struct program *p, int i);
void redzones_after(const struct program *p, int i);

struct region *region_new(struct program *p, struct node *anchor);
void region_free(struct region *r);
bool region_has_write(const struct region *r, const struct tensor *t);

#endif
