/*
 * Kernels claim nodes. A backend has a list of kernels, best first; the claim pass walks
 * the nodes from last to first, and the first kernel that claims a node wins. A claim may
 * grow: take neighboring nodes into its region, or duplicate cheap producers (their
 * stored result is then not read; without other readers it is never computed).
 *
 * In claim(), decide first, decline by returning a static reason, and only then call the
 * region_* functions. It sees shapes but no memory.
 *
 * run() may not allocate and may not wait for the host. Its step has all it needs:
 *
 *   in[i], out[i]   the tensors of region_read(i) / region_write(i) in call order;
 *                  out[i] is NULL for an unused optional output
 *   derived[i]      result of region_derive; NULL if unused
 *   workspace       as large as the largest region_workspace() of the program
 *   state           state_size zeroed bytes, private to the kernel since claim
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
    const struct node *node; /* the node at which the claim started */
    void **in, **out;
    int nin, nout;
    struct tensor **in_tensor, **out_tensor;
    void **derived;
    void *workspace;
    void *state;
};

struct kernel {
    const char *name;
    /* Grows a region around node n. Returns NULL if claimed, otherwise a static reason. */
    const char *(*claim)(struct region *r, struct graph *g, struct node *n,
                         struct device *dev);
    void (*run)(struct step *s, struct device *dev);
    void (*release)(struct step *s); /* must accept half-built state; may be NULL */
    size_t state_size;
    bool tensor_cores; /* its GEMMs run on tensor cores if these support their type */
    /* For summary: "engine 62, workspace 4.0 MiB"; may be NULL. */
    void (*describe)(const struct step *s, struct strbuf *text);
};

/*
 * Queries for claim(). tensor_stored: true if region r must write t if it takes t's
 * producer, because t is a root or has a reader outside r; call after region_claim of the
 * readers in r. tensor_only_reader: returns its only reader if it is no root, or NULL.
 * sole_producer: returns the node that produces t if it runs `op` (NULL: any op), may be
 * taken, and t has one reader and is no root; or NULL. A region may take that producer
 * without storing t. last_producer: the same for t that `reader` alone still needs.
 *
 * Views are no obstacle: tensor_base() of an input is the tensor they show, whose
 * producer may be taken, and tensor_stored() of it counts the readers of its views, too.
 * A region may read a view or its base, but writes only the base.
 */
bool tensor_stored(const struct graph *g, const struct tensor *t, const struct region *r);
struct node *tensor_only_reader(const struct graph *g, const struct tensor *t);
struct node *sole_producer(const struct graph *g, const struct tensor *t,
                           const struct op *op);
struct node *last_producer(const struct graph *g, const struct tensor *t,
                           const struct node *reader, const struct op *op);
bool node_free(const struct node *n); /* not claimed yet */

/* Actions for claim() after it has decided. */
void *region_state(struct region *r);
void region_claim(struct region *r, struct node *n);
/* With its reads and writes: read i is n->in[i], write i is n->out[i]. */
void region_claim_node(struct region *r, struct node *n);
void region_duplicate(struct region *r, struct node *n);
int region_read(struct region *r, struct tensor *t);
int region_write(struct region *r, struct tensor *t);
/* out[o] may share memory with in[i]: the kernel reads each element before writing it. */
void region_inplace(struct region *r, int o, int i);
/* Stores write o in `bytes` if that exceeds its size, for example for channels padded by
 * zeros. Only for a tensor of the arena whose readers all expect it. */
void region_room(struct region *r, int o, size_t bytes);
void region_workspace(struct region *r, size_t bytes);

/*
 * A buffer derived from weights: packed for a library, cast, or scaled. Regions with an
 * equal key (pack, sources, size, key bytes) share one. It is refreshed by one pack step
 * after the optimizer and by program_refresh().
 *
 * `written`: the requesting region changes those weights, and updates this buffer in its
 * own run(); then only program_refresh() packs. If no other region requests the buffer,
 * it does not exist, and its pointer is NULL.
 *
 * A buffer without source weights is constant: only program_refresh() packs it.
 */
struct derive {
    size_t size; /* bytes */
    struct tensor *source[5];
    int nsource;
    bool written;
    const void *key;
    size_t key_len;
    void (*pack)(void *dst, void *const *src, void *state);
    void *state; /* created by claim; released once, even if an equal buffer exists */
    void (*release)(void *state);
};
int region_derive(struct region *r, const struct derive *want);

#ifdef __cplusplus
}
#endif

#endif
