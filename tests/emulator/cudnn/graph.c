#include "tests/emulator/cudnn/graph.h"

#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cudnn/error.h"

#define KIND(k) ((int)CUDNN_BACKEND_OPERATION_##k##_DESCRIPTOR)

int64_t tensor_size(int type)
{
    switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
        return 4;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
        return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
        return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
        return 1;
    default:
        return 0;
    }
}

int64_t tensor_span(const struct tensor *t)
{
    int64_t last = 0;

    for (int i = 0; i < t->rank; i++)
        last += (t->dims[i] - 1) * t->strides[i];
    return last + 1;
}

int64_t tensor_bytes(const struct tensor *t)
{
    int64_t span = tensor_span(t);

    return t->type == CUDNN_DATA_BOOLEAN ? (span + 7) / 8 : span * tensor_size(t->type);
}

/* Returns the index of the tensor, adding it if its id is new; -1 if two tensors have one
 * id. */
static int add_tensor(struct graph *g, const struct descriptor *d)
{
    struct tensor t;

    graph_read_tensor(d, &t);
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i].uid == t.uid)
            return memcmp(&g->tensor[i], &t, sizeof(t)) ? -1 : i;
    if (g->ntensor == TENSORS_MAX)
        return -1;
    g->tensor[g->ntensor] = t;
    return g->ntensor++;
}

static cudnnStatus_t add_op(struct graph *g, const struct descriptor *d)
{
    int n;
    const struct role *r = graph_roles((int)d->type, &n);
    struct op *op = &g->op[g->nop++];

    graph_read_op(d, op);
    for (int i = 0; i < n; i++) {
        const struct descriptor *t = descriptor_of(d, r[i].name);

        if (!t)
            continue;
        op->slot[r[i].slot] = add_tensor(g, t);
        if (op->slot[r[i].slot] < 0)
            return BAD("two tensors of the graph have the unique id %lld",
                       (long long)descriptor_int(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0));
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Sets writer[tensor] to the operation that writes it, -1 for inputs. */
static cudnnStatus_t find_writers(const struct graph *g, int *writer)
{
    for (int t = 0; t < g->ntensor; t++)
        writer[t] = -1;
    for (int i = 0; i < g->nop; i++)
        for (int s = 0; s < SLOTS_MAX; s++) {
            int t = g->op[i].slot[s];

            if (t < 0 || !graph_writes(&g->op[i], s))
                continue;
            if (writer[t] >= 0)
                return BAD("tensor %lld is written twice", (long long)g->tensor[t].uid);
            writer[t] = i;
        }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_tensors(const struct graph *g, const int *writer)
{
    for (int t = 0; t < g->ntensor; t++) {
        const struct tensor *x = &g->tensor[t];

        if (!x->real && writer[t] < 0)
            return BAD("virtual tensor %lld is written by no operation",
                       (long long)x->uid);
        if (x->by_value && writer[t] >= 0)
            return BAD("tensor %lld is by value, and written", (long long)x->uid);
    }
    for (int i = 0; i < g->nop; i++) {
        int kind = g->op[i].kind;

        if (kind != KIND(POINTWISE) && g->op[i].beta != 0 &&
            !g->tensor[g->op[i].slot[CONV_Y]].real)
            return BAD("beta is set and there is nothing in memory to add to");
    }
    return CUDNN_STATUS_SUCCESS;
}

static bool ready(const struct graph *g, const struct op *op, const int *writer,
                  const bool *done)
{
    for (int s = 0; s < SLOTS_MAX; s++) {
        int t = op->slot[s];

        if (t >= 0 && !graph_writes(op, s) && writer[t] >= 0 && !done[writer[t]])
            return false;
    }
    (void)g;
    return true;
}

/* Operations may come in any order: sorts them topologically. */
static cudnnStatus_t sort(struct graph *g, const int *writer)
{
    bool done[OPS_MAX] = {0};
    static _Thread_local struct op sorted[OPS_MAX];

    for (int n = 0; n < g->nop; n++) {
        int i = 0;

        while (i < g->nop && (done[i] || !ready(g, &g->op[i], writer, done)))
            i++;
        if (i == g->nop)
            return BAD("the operations form a cycle");
        done[i] = true;
        sorted[n] = g->op[i];
    }
    memcpy(g->op, sorted, sizeof(sorted[0]) * (size_t)g->nop);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t graph_build(struct descriptor *d)
{
    const struct attribute *a = descriptor_get(d, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    struct graph *g = calloc(1, sizeof(*g));
    int writer[TENSORS_MAX];
    cudnnStatus_t bad = CUDNN_STATUS_SUCCESS;

    if (!g)
        abort();
    d->graph = g;
    for (int64_t i = 0; !bad && i < a->count; i++)
        bad = add_op(g, ((struct descriptor *const *)a->data)[i]);
    if (!bad)
        bad = find_writers(g, writer);
    if (!bad)
        bad = check_tensors(g, writer);
    if (!bad)
        bad = sort(g, writer);
    return bad;
}

uint64_t graph_hash(const struct graph *g)
{
    const unsigned char *parts[] = {(const void *)g->tensor, (const void *)g->op};
    size_t sizes[] = {sizeof(g->tensor[0]) * (size_t)g->ntensor,
                      sizeof(g->op[0]) * (size_t)g->nop};
    uint64_t h = 0xcbf29ce484222325u;

    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < sizes[p]; i++)
            h = (h ^ parts[p][i]) * 0x100000001b3u;
    return h;
}
