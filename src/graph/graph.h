/*
 * The graph: one flat list of nodes in which inputs have smaller indices, so that every
 * pass is a loop; backward and update nodes are in the same list.
 *
 *   struct graph *g = graph_new(&graph_ops_default, training);
 *   struct builder b = {.g = g};
 *   x = graph_input(...), y = conv2d(&b, x, "conv1", ...), ...
 *   graph_flatten(g);                       flat state gets its offsets
 *   autodiff(&b, loss, seed);               backward nodes
 *   ...                                     update nodes
 *   precision(g, ...); recompute(g);        graph edits
 *   program_compile(g, ...)                 graph/program.h
 *   graph_free(g);                          after the programs made from it
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/arena.h"
#include "graph/op.h"
#include "graph/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };

struct collective;
struct region;

struct node {
    const struct op *op;
    int index; /* position in graph->node */
    const char *layer;
    enum phase phase;
    int scope; /* > 0: the checkpointed block of this forward node */
    const void *attrs;
    int nin, nout; /* nout includes written state */
    struct tensor **in, **out;
    struct region *region; /* region that runs it, set by the claim pass */
    bool dead;             /* not needed, set by the claim pass */
};

/* The few ops that passes insert into a graph; supplied by ops/table.c. */
struct graph_ops {
    const struct op *add;  /* out = in[0] + in[1] + ..., two or more */
    const struct op *cast; /* out = in[0] in another dtype, struct cast_attrs */
};

struct cast_attrs {
    const char *layer;
    int dtype; /* enum dtype */
};

struct graph {
    struct arena arena;
    const struct graph_ops *ops;
    bool training;
    bool keeps_zeros; /* adaptive optimizers: a gradient of 0 must stay exactly 0 */
    struct node **node;
    int nnode, node_cap;
    struct tensor **tensor;
    int ntensor, tensor_cap;
    struct flat *flat; /* NULL before graph_flatten */

    const char *const *freeze; /* see graph_freeze */
    int nfreeze, *freeze_hits;
    const char *const *head; /* see graph_hold */
    int nhead, *head_hits;
    const struct collective *norms; /* see graph_share_norms */
    const struct collective *batch; /* see graph_share_batch */
    int batch_half;
    struct reader_index *readers; /* created on demand, dropped when a node is added */
    const struct collective *experts; /* see graph_share_experts */
    struct flat *whole; /* `flat` without shards; flat itself if there are none */
};

struct builder {
    struct graph *g;
    enum phase phase;
    int scope, scopes;         /* the open checkpoint block; number of blocks */
    struct autodiff *autodiff; /* inside autodiff() only */
    /* Prefix of the layer names of a second net (a teacher) that only runs forward and
     * whose weights are constants (graph/flat.h). NULL: the trained net. */
    const char *layer_prefix;
    /* Prefix of the layer names of a part of the trained net, such as "backbone."; after
     * layer_prefix. May be NULL. */
    const char *part_prefix;
};

struct graph *graph_new(const struct graph_ops *ops, bool training);
void graph_free(struct graph *g);

/* Tensors without a producer. Names and structs are copied. */
struct tensor *graph_input(struct builder *b, const char *name, enum dtype dtype,
                           enum layout layout, int ndim, const int64_t *dim);
struct tensor *graph_param(struct builder *b, const char *layer, const char *suffix,
                           enum layout layout, int ndim, const int64_t *dim,
                           struct init init); /* name: layer.suffix */
struct tensor *graph_buffer(struct builder *b, const char *layer, const char *suffix,
                            int ndim, const int64_t *dim, struct init init);
/* State and control: `bytes` of `memory` seen as a plain vector of `dtype`. */
struct tensor *graph_state(struct builder *b, const char *name, enum memory memory,
                           enum dtype dtype, size_t offset, int64_t len);

/*
 * Appends a node and returns its first output. `attrs` (attrs_size bytes, may be NULL if
 * that is 0) is copied; invalid attributes or shapes die with layer, op, and shapes.
 */
struct tensor *node(struct builder *b, const struct op *op, const char *layer,
                    const void *attrs, struct tensor *const *in, int nin);
/* Same for a node that also writes `state` in place: out[op->nout + i] = state[i]. */
struct node *node_update(struct builder *b, const struct op *op, const char *layer,
                         const void *attrs, struct tensor *const *in, int nin,
                         struct tensor *const *state, int nstate);
const char *node_title(const struct node *n); /* what it computes, in a word */
bool node_writes_state(const struct node *n); /* such a node is never dropped */

/* Nodes between begin and end may be recomputed in the backward phase. */
void scope_begin(struct builder *b);
void scope_end(struct builder *b);

/*
 * Call before building: parameters whose name matches one of the shell patterns
 * ("layer1.*") are not trained, and a batch norm with matching buffers runs as in
 * inference. The array must outlive the graph. g->freeze_hits[i] counts the matches of
 * pattern i.
 */
void graph_freeze(struct graph *g, const char *const *pattern, int n);

/*
 * Call before building: everything that matches none of these patterns is frozen as by
 * graph_freeze, but keeps its place among the trained parameters, so that the program
 * shares its flat arrays with one that trains everything. Gradients of held parameters are
 * never written: they stay zero if they are zero when the program first runs.
 * g->head_hits[i] counts the matches of pattern i.
 */
void graph_hold(struct graph *g, const char *const *head, int n);

/* Call before building: batch norms compute statistics over the batches of all processes
 * of `group` (SyncBatchNorm). NULL: over this process's batch. */
void graph_share_norms(struct graph *g, const struct collective *group);

/* Call before building: the batches belong to one of these processes; ops/share.h defines
 * its images in the batch of all, and `half`. NULL: single process. */
void graph_share_batch(struct graph *g, const struct collective *group, int half);

/* Call before building: each process of `group` has a share of the experts (tensor.shards;
 * ops/all_to_all.h). NULL: each has all. */
void graph_share_experts(struct graph *g, const struct collective *group);

/* Keeps a result for the host: a root in MEMORY_OUTPUT. */
void graph_output(struct graph *g, struct tensor *t);

/* Call after editing the node list: drops cached readers. */
void graph_changed(struct graph *g);

/* Returns NULL if there is no such tensor. */
struct tensor *graph_find(const struct graph *g, const char *name);

/* Returns the nodes that read `t`, in order: i = 0, 1, ... until NULL. */
struct node *tensor_reader(const struct graph *g, const struct tensor *t, int i);

/* Prints one line per node: index, layer, op, shapes; for --trace and tests. */
void graph_print(const struct graph *g, void *file);

#ifdef __cplusplus
}
#endif

#endif
