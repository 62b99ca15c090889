/*
 * running_stats: moves the running statistics of all batch norms towards those of the
 * batch, in one pass over the flat buffers.
 *
 *   in     stats (this batch's, MEMORY_STATS), running (the buffers), control
 *   state  target
 *
 * All three vectors hold the buffers of the model at the same offsets. Without gradient
 * accumulation, `target` is the running buffers themselves, and an update that overflowed
 * changes nothing. With accumulation (accumulation.group > 1), `target` is
 * MEMORY_PENDING: the first micro-batch of an update starts from `running`, the others
 * from `target`, and stats_commit copies the segments of target to running at the end of
 * an update that did not overflow:
 *
 *   in     pending, control
 *   state  running
 *
 * For each segment: target = (1 - momentum) base + momentum scale batch. `scale` is n /
 * (n - 1) for variances, which turns the biased variance that normalized the batch into
 * the unbiased one that PyTorch keeps. A `count` segment (num_batches_tracked) gets + 1.
 */
#ifndef OPS_RUNNING_STATS_H
#define OPS_RUNNING_STATS_H

#include "graph/graph.h"
#include "ops/accumulation_formula.h"

struct stats_segment {
    int64_t offset, len; /* elements from the first buffer */
    float momentum, scale;
    bool count;
};

struct running_stats_attrs {
    const char *layer;
    struct accumulation accumulation;
    const struct stats_segment *segment; /* lives as long as the graph */
    int nsegment;
};

extern const struct op op_running_stats, op_stats_commit;

enum { RUNNING_STATS_BATCH, RUNNING_STATS_RUNNING, RUNNING_STATS_CONTROL };
enum { STATS_COMMIT_PENDING, STATS_COMMIT_CONTROL };

/* Returns the segments of every op_batchnorm of the graph, in its arena; call after
 * graph_flatten. */
const struct stats_segment *running_stats_segments(struct graph *g, int *n);

/*
 * Appends the nodes for every op_batchnorm of the graph, after graph_flatten. `last`:
 * this program ends an update instead of only accumulating. Does nothing without batch
 * norms.
 */
void running_stats(struct builder *b, struct tensor *control,
                   struct accumulation accumulation, bool last);

#endif
