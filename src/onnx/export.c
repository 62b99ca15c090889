#include "onnx/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "onnx/convert.h"

static bool is_weight(const struct tensor *t)
{
    return !t->producer && t->memory == MEMORY_WEIGHTS;
}

float *convert_weights(struct convert *c, const struct tensor *t)
{
    const float *src = c->flat + t->offset / sizeof(float);
    int64_t len = tensor_len(t), stride[TENSOR_DIMS];
    float *dst = arena_new(c->mem, (size_t)len * sizeof(*dst));

    tensor_strides(t, stride);
    for (int64_t i = 0; i < len; i++) {
        int64_t pos = 0, rest = i;

        for (int d = t->ndim; d-- > 0; rest /= t->dim[d])
            pos += rest % t->dim[d] * stride[d];
        dst[i] = src[pos];
    }
    return dst;
}

const char *convert_value(struct convert *c, const struct tensor *t)
{
    if (!c->value[t->id]) {
        if (!is_weight(t))
            BUG("'%s' has no value yet", t->name);
        c->value[t->id] = onnx_tensor(c->x, t->name, ONNX_FLOAT, t->ndim, t->dim,
                                      convert_weights(c, t));
    }
    return c->value[t->id];
}

static convert_fn *find(const struct node *n)
{
    for (const struct convert_row *r = convert_table; r->op; r++)
        if (r->op == n->op)
            return r->convert;
    die("layer '%s': %s cannot be exported to ONNX yet", n->layer, node_title(n));
}

/* Marks, by id, the tensors on which the logits depend. One pass from the last node to
 * the first suffices, because producers precede consumers. Stops at `in`. */
static bool *needed(const struct graph *g, const struct tensor *in,
                    const struct tensor *logits)
{
    bool *need = xcalloc((size_t)g->ntensor, sizeof(*need));

    need[logits->id] = true;
    for (int i = g->nnode; i-- > 0;) {
        const struct node *n = g->node[i];

        if (!need[n->out[0]->id] || n->out[0] == in)
            continue;
        for (int k = 0; k < n->nin; k++)
            need[n->in[k]->id] = true;
    }
    return need;
}

struct onnx *onnx_export(const struct graph *g, const struct tensor *in,
                         const struct tensor *logits, const float *flat, const char *name,
                         const struct onnx_options *o)
{
    struct convert c = {.x = onnx_new(name), .g = g, .flat = flat, .fold_bn = o->fold_bn};
    bool *need = needed(g, in, logits);

    c.mem = onnx_arena(c.x);
    c.value = xcalloc((size_t)g->ntensor, sizeof(*c.value));
    onnx_input(c.x, "input", in->ndim, in->dim);
    c.value[in->id] = "input";
    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i];

        if (!need[n->out[0]->id] || n->out[0] == in ||
            (in->producer && n->index < in->producer->index))
            continue;
        onnx_layer(c.x, n->layer);
        c.value[n->out[0]->id] = find(n)(&c, n);
    }
    onnx_output(c.x, c.value[logits->id], "logits", logits->ndim, logits->dim);
    free(c.value);
    free(need);
    return c.x;
}
