#include "session/vote.h"

#include "ops/bucket.h"

/* A bucket with one float. */
static void exchange(struct builder *b, const struct op *op, struct tensor *vote,
                     const struct collective *group)
{
    struct bucket_attrs a = {.layer = "vote", .group = group};

    (void)node_update(b, op, a.layer, &a, NULL, 0, &vote, 1);
}

struct tensor *vote_start(struct builder *b, const struct collective *group)
{
    struct tensor *vote = graph_state(b, "vote", MEMORY_TRAVELS, DTYPE_F32, 0, 1);

    exchange(b, &op_bucket_start, vote, group);
    return vote;
}

void vote_join(struct builder *b, struct tensor *vote, const struct collective *group)
{
    b->phase = PHASE_UPDATE;
    exchange(b, &op_bucket_join, vote, group);
}
