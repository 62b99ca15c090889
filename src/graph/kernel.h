/*
 * Kernels claim nodes. A backend has a list of kernels, best first; the claim pass walks
 * the nodes from last to first and the first kernel that claims a node wins. A claim may
 * grow: take neighbouring nodes into its region, or duplicate cheap producers (their
 * stored result is then not read; if nobody else reads it, it is never computed).
 *
 * Order of business in claim(): decide first, say no by returning a static reason, and
 * only then call the region_* functions. It sees shapes and no memory.
 *
 * run() may not allocate and may not ask the host. What it needs is in the step:
 *   in[i], out[i]   the tensors of region_read(i) / region_write(i) in call order;
 *                   out[i] is NULL where nobody wants an optional output
 *   derived[i]      what region_derive returned; NULL: nobody reads it
 *   workspace       as large as the largest region_workspace() of the program
 *   state           state_size zeroed bytes, the kernel's own since claim
 */
#ifndef GRAPH_KERNEL_H
#define GRAPH_KERNEL_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;
struct region;
struct strbuf;

struct step {
    const struct kernel *kernel;
    const struct node *node; /* the node that the claim started from */
    void **in, **out;
    int nin, nout;
    struct tensor **in_tensor, **out_tensor;
    void **derived;
    void *workspace;
    void *state;
};

struct kernel {
    const char *name;
    /* Grow a region around node n. NULL: claimed. Else a static reason why not. */
    const char *(*claim)(struct region *r, struct graph *g, struct node *n,
                         struct device *dev);
    void (*run)(struct step *s, struct device *dev);
    void (*release)(struct step *s); /* accepts half-built state; may be NULL */
    size_t state_size;
    bool tensor_cores; /* its GEMMs run on them where there are any for their type */
    /* For summary: "engine 62, workspace 4.0 MiB"; may be NULL. */
    void (*describe)(const struct step *s, struct strbuf *text);
};

/*
 * What claim() may ask. tensor_stored: must region r write t if it takes t's producer,
 * because it is a root or somebody outside of r reads it? Ask after region_take of the
 * readers that r takes. tensor_only_reader: its one reader, if it is no root; or NULL.
 * sole_producer: the node that produces t, if it runs `op` (NULL: any op), may be taken,
 * and t has one reader and is no root; or NULL. It is the step from a node to a producer
 * that a region may take without storing the tensor between the two.
 *
 * Views are no obstacle: tensor_base() of an input is the tensor that they show, whose
 * producer may be taken, and tensor_stored() of it counts the readers of its views, too. A
 * region may read a view or its base, but it writes only the base.
 */
bool tensor_stored(const struct graph *g, const struct tensor *t, const struct region *r);
struct node *tensor_only_reader(const struct graph *g, const struct tensor *t);
struct node *sole_producer(const struct graph *g, const struct tensor *t,
                           const struct op *op);
bool node_free(const struct node *n); /* nobody has claimed it yet */

/* What claim() may do once it has decided. */
void *region_state(struct region *r);
void region_take(struct region *r, struct node *n);
/* With its reads and writes: read i is n->in[i], write i is n->out[i]. */
void region_take_alone(struct region *r, struct node *n);
void region_duplicate(struct region *r, struct node *n);
int region_read(struct region *r, struct tensor *t);
int region_write(struct region *r, struct tensor *t);
/* out[o] may lie on in[i]: the kernel reads each element before it writes it. */
void region_inplace(struct region *r, int o, int i);
/* Write o is stored in `bytes` if that is more than its size, as with channels padded by
 * zeros. Only for a tensor of the arena, all of whose readers expect it. */
void region_room(struct region *r, int o, size_t bytes);
void region_workspace(struct region *r, size_t bytes);

/*
 * A buffer made from weights: packed as a library likes it, cast, scaled. Regions whose
 * key (pack, sources, size, key bytes) is equal share one. It is refreshed by one pack
 * step after the optimizer and by program_refresh().
 *
 * `written`: the region that asks changes those weights, and this buffer with them, in
 * its own run(); then only program_refresh() packs. If no other region asks for the
 * buffer, it does not exist, and its pointer is NULL.
 *
 * What is made from no weight at all is constant: only program_refresh() packs it.
 */
struct derive {
    size_t size; /* bytes */
    struct tensor *from[5];
    int nfrom;
    bool written;
    const void *key;
    size_t key_len;
    void (*pack)(void *dst, void *const *from, void *state);
    void *state; /* made by claim; released once, even if an equal buffer exists */
    void (*release)(void *state);
};
int region_derive(struct region *r, const struct derive *want);

#ifdef __cplusplus
}
#endif

#endif
