/* Graphs: operations with dependencies. They run one by one, in any legal order. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/work.h"

struct node {
    struct operation *operation;
    struct nodes after;
};

struct CUgraph_st {
    int references;
    struct node *node;
    int n, cap;
};

/* An executable graph. It owns copies, as the graph may be freed earlier. */
struct CUgraphExec_st {
    struct CUgraph_st *graph;
};

struct CUgraph_st *emulated_graph_new(void)
{
    struct CUgraph_st *g = xcalloc(1, sizeof(*g));

    g->references = 1;
    return g;
}

void emulated_graph_free(struct CUgraph_st *g)
{
    if (--g->references)
        return;
    for (int i = 0; i < g->n; i++) {
        operation_drop(g->node[i].operation);
        nodes_release(&g->node[i].after);
    }
    free(g->node);
    free(g);
}

int emulated_graph_add(struct CUgraph_st *g, struct operation *o,
                       const struct nodes *after)
{
    struct node *node;

    GROW(g->node, g->n, g->cap);
    node = &g->node[g->n];
    memset(node, 0, sizeof(*node));
    node->operation = o;
    nodes_merge(&node->after, after);
    return g->n++;
}

bool emulated_graph_joined(const struct CUgraph_st *g, const struct nodes *last)
{
    bool *before = xcalloc((size_t)g->n + 1, sizeof(*before)), all = true;

    for (int i = 0; i < last->n; i++)
        before[last->index[i]] = true;
    for (int i = g->n - 1; i >= 0; i--) {
        const struct nodes *after = &g->node[i].after;

        for (int k = 0; before[i] && k < after->n; k++)
            before[after->index[k]] = true;
        all = all && before[i];
    }
    free(before);
    return all;
}

static bool is_ready(const struct node *node, const bool *done)
{
    for (int i = 0; i < node->after.n; i++)
        if (!done[node->after.index[i]])
            return false;
    return true;
}

/* Runs every node once: of the nodes that may run next, the first in the configured
 * order. */
static void run_graph(void *arg)
{
    struct CUgraph_st *g = *(struct CUgraph_st **)arg;
    bool *done = xcalloc((size_t)g->n + 1, sizeof(*done));

    for (int ran = 0; ran < g->n; ran++) {
        struct permutation p = permutation((unsigned)g->n, (uint64_t)ran);
        unsigned i = 0;

        while (done[permuted(&p, i)] || !is_ready(&g->node[permuted(&p, i)], done))
            i++;
        i = permuted(&p, i);
        operation_run(g->node[i].operation);
        done[i] = true;
    }
    emulator_counters.graph_nodes += g->n;
    free(done);
}

static void release_graph(void *arg)
{
    emulated_graph_free(*(struct CUgraph_st **)arg);
}

/* ---- the runtime's calls ---- */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g,
                                 unsigned long long flags)
{
    (void)flags;
    emulator_lock();
    if (emulator_fails("instantiate"))
        return emulator_return(cudaErrorMemoryAllocation);
    emulator_counters.allocations++;
    *e = xcalloc(1, sizeof(**e));
    (*e)->graph = g;
    g->references++;
    return emulator_return(cudaSuccess);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *e, cudaGraph_t g,
                                          unsigned long long flags)
{
    return cudaGraphInstantiate(e, g, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t e, cudaStream_t s)
{
    (void)e;
    emulator_lock();
    if (emulator_fails("upload"))
        return emulator_return(cudaErrorMemoryAllocation);
    return emulator_return(stream_valid(s) ? cudaSuccess
                                           : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s)
{
    struct operation *o;

    emulator_lock();
    if (!stream_valid(s))
        return emulator_return(cudaErrorInvalidResourceHandle);
    o = operation_new("graph", run_graph, &e->graph, sizeof(e->graph));
    o->release = release_graph;
    o->host = true; /* its nodes check access themselves */
    e->graph->references++;
    emulator_counters.graph_launches++;
    return emulator_return(stream_submit(s, o));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e)
{
    emulator_lock();
    emulated_graph_free(e->graph);
    free(e);
    return emulator_return(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    emulator_lock();
    emulated_graph_free(g);
    return emulator_return(cudaSuccess);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *node, size_t *n)
{
    emulator_lock();
    if (node)
        emulator_abort("cudaGraphGetNodes only counts");
    *n = (size_t)g->n;
    return emulator_return(cudaSuccess);
}
