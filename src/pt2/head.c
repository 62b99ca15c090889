/* The layer that computes the logits. */
#include <string.h>

#include "pt2/import.h"

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

static const struct pt2_node *maker_of(const struct pt2_program *p, const char *value)
{
    for (int i = 0; i < p->nnode; i++)
        for (int k = 0; k < p->node[i].nout; k++)
            if (p->node[i].out[k].kind == PT2_TENSOR &&
                !strcmp(p->node[i].out[k].name, value))
                return &p->node[i];
    return NULL;
}

/* Returns the name of a tensor argument, or NULL. */
static const char *operand(const struct pt2_node *n, const char *name)
{
    for (int i = 0; i < n->nin; i++)
        if (!strcmp(n->in[i].name, name) && n->in[i].arg.kind == PT2_TENSOR)
            return n->in[i].arg.name;
    return NULL;
}

/* True for a node that keeps the channels of its first argument apart, so that the layer
 * before it still computes one logit per channel. */
static bool passes_channels(const struct pt2_node *n)
{
    static const char *const rows[] = {
        "aten.view.default",          "aten.reshape.default",
        "aten.flatten.using_ints",    "aten.squeeze.dim",
        "aten.squeeze.dims",          "aten.mean.dim",
        "aten.relu.default",          "aten.relu_.default",
        "aten.dropout.default",       "aten.adaptive_avg_pool2d.default",
        "aten.avg_pool2d.default",    "aten.upsample_bilinear2d.vec",
        "aten.contiguous.default",    "aten.clone.default",
        "aten.upsample_nearest2d.vec"};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!strcmp(n->target, rows[i]))
            return n->nin > 0 && n->in[0].arg.kind == PT2_TENSOR;
    return false;
}

static const struct pt2_weight *weight_of(const struct pt2_program *p, const char *value)
{
    for (int i = 0; value && i < p->nweight; i++)
        if (!strcmp(p->weight[i].value, value))
            return &p->weight[i];
    return NULL;
}

struct pt2_head pt2_head_of(const struct pt2_program *p, const struct pt2_output *out)
{
    struct pt2_head h = {.classes = out->meta->ndim > 1 ? out->meta->dim[1] : 0};
    const struct pt2_node *n = maker_of(p, out->value);
    const struct pt2_weight *w;

    for (int i = 0; n && passes_channels(n) && i < p->nnode; i++)
        n = maker_of(p, n->in[0].arg.name);
    if (!n || (strcmp(n->target, "aten.linear.default") != 0 &&
               strcmp(n->target, "aten.conv2d.default") != 0))
        return h;
    w = weight_of(p, operand(n, "weight"));
    if (!w || w->meta->ndim < 2 || w->meta->dim[0] != h.classes ||
        !ends_with(w->name, ".weight"))
        return h;
    h.weight = w->value;
    h.bias = operand(n, "bias");
    h.layer = w->name;
    h.layer_len = (int)(strlen(w->name) - strlen(".weight"));
    return h;
}
