#include "models/count.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "models/backbone.h"
#include "ops/table.h"

static void count_tensor(struct model_count *c, const struct tensor *t,
                         const struct model *m, const struct model_options *o)
{
    const struct model_family *f = backbone_owner(m, o, t->name);

    if (t->kind == TENSOR_PARAM) {
        c->params += tensor_len(t);
        c->decayed += model_decays(f, t, false) ? tensor_len(t) : 0;
        c->tensors++;
        c->entries++;
    } else if (t->kind == TENSOR_STATE && t->memory == MEMORY_WEIGHTS) {
        c->entries++;
    }
}

/* Marks the nodes whose results something reads, or that make a result of the graph. */
static void mark_used(const struct graph *g, const struct tensor *logits, bool *used)
{
    for (int i = g->nnode; i-- > 0;) {
        const struct node *n = g->node[i];

        for (int k = 0; k < n->nout && !used[i]; k++) {
            const struct node *reader;

            used[i] = n->out[k] == logits || n->out[k]->root || node_writes_state(n);
            for (int r = 0; !used[i] && (reader = tensor_reader(g, n->out[k], r)); r++)
                used[i] = used[reader->index];
        }
    }
}

struct model_count model_count(const struct graph *g, const struct model *m,
                               const struct model_options *o, const struct tensor *logits)
{
    bool *used = xcalloc((size_t)g->nnode + 1, sizeof(*used));
    struct model_count c = {0};

    for (int i = 0; i < g->ntensor; i++)
        count_tensor(&c, g->tensor[i], m, o);
    mark_used(g, logits, used);
    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i];

        if (n->phase != PHASE_FORWARD || !n->op->macs || !used[i])
            continue;
        c.macs += n->op->macs(n);
        c.acts += n->op->acts ? n->op->acts(n) : tensor_len(n->out[0]);
    }
    free(used);
    return c;
}

struct model_count model_count_image(const struct model *m, const struct model_options *o,
                                     int channels, int height, int width)
{
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){1, channels, height, width});
    struct model_count c;

    c = model_count(b.g, m, o, model_build(&b, m, o, x));
    graph_free(b.g);
    return c;
}

int64_t model_node_params(const struct graph *g, const struct node *n)
{
    int64_t len = 0;

    for (int i = 0; i < n->nin; i++) {
        const struct tensor *t = n->in[i];

        if (t->producer && t->producer->op == g->ops->cast)
            t = t->producer->in[0];
        if (t->kind == TENSOR_PARAM)
            len += tensor_len(t);
    }
    return len;
}
