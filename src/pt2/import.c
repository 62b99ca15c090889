#include "pt2/import.h"

#include <string.h>

#include "base/error.h"
#include "ops/image.h"
#include "ops/init.h"
#include "pt2/place.h"
#include "pt2/table.h"

/* ---- results ---- */

static struct pt2_value *keep(struct pt2_import *c, const char *name, struct pt2_value v)
{
    struct pt2_value *to = arena_new(&c->b->g->arena, sizeof(*to));

    *to = v;
    strmap_put(&c->value, name, to);
    return to;
}

/* Compares the dims with those that the exporter saw. The batch, and the classes of
 * another head, may differ. */
static void check_dims(struct pt2_import *c, const char *name, const struct pt2_value *v)
{
    const struct pt2_meta *m = pt2_program_meta(c->p, name);

    if (!m || v->kind != PT2_VALUE_TENSOR || c->why->len)
        return;
    if (m->ndim != v->ndim)
        pt2_refuse(c, "its result has %d dims, and %d in PyTorch", v->ndim, m->ndim);
    for (int d = 0; d < m->ndim && !c->why->len; d++)
        if (m->dim[d] >= 0 && m->dim[d] != v->dim[d] &&
            !(m->dim[d] == c->head.classes && v->dim[d] == c->classes))
            pt2_refuse(c, "dim %d of its result is %lld, and %lld in PyTorch", d,
                       (long long)v->dim[d], (long long)m->dim[d]);
}

static void result(struct pt2_import *c, struct pt2_value v)
{
    const struct pt2_arg *out = c->node->out;

    if (c->why->len)
        return;
    if (v.kind == PT2_VALUE_TENSOR && !pt2_value_fits(&v)) {
        pt2_refuse(c, "its result is empty or too large");
        return;
    }
    if (c->node->nout != 1 || (out->kind != PT2_TENSOR && out->kind != PT2_INT) ||
        !out->name) {
        pt2_refuse(c, "it has other results than one tensor");
        return;
    }
    check_dims(c, out->kind == PT2_INT ? out->ints->name : out->name, &v);
    (void)keep(c, out->kind == PT2_INT ? out->ints->name : out->name, v);
}

void pt2_result(struct pt2_import *c, struct pt2_value v)
{
    if (v.kind == PT2_VALUE_TENSOR && v.ndim == 4 && tensor_is_image(v.t) &&
        v.t->dim[IMAGE_H] * v.t->dim[IMAGE_W] > 1 &&
        !memcmp(v.dim, v.t->dim, 4 * sizeof(*v.dim)))
        c->features = v.t;
    v.memory = ++c->memories;
    result(c, v);
}

void pt2_result_view(struct pt2_import *c, const struct pt2_value *of, struct pt2_value v)
{
    v.memory = of->memory;
    result(c, v);
}

void pt2_result_tensor(struct pt2_import *c, struct tensor *t)
{
    if (t && !c->why->len)
        pt2_result(c, pt2_value_of(t));
}

void pt2_result_number(struct pt2_import *c, int64_t number)
{
    pt2_result(c, (struct pt2_value){.kind = PT2_VALUE_NUMBER, .number = number});
}

void pt2_result_list(struct pt2_import *c, const struct pt2_value *of,
                     const struct pt2_value *item, int n)
{
    const struct pt2_arg *out = c->node->out;

    if (c->why->len)
        return;
    if (c->node->nout != 1 || out->kind != PT2_TENSORS || out->n != n) {
        pt2_refuse(c, "it has other results than %d tensors", n);
        return;
    }
    for (int i = 0; i < n; i++) {
        struct pt2_value v = item[i];

        v.memory = of->memory;
        check_dims(c, out->names[i], &v);
        (void)keep(c, out->names[i], v);
    }
}

/* ---- layers ---- */

const char *pt2_layer(struct pt2_import *c)
{
    const struct pt2_node *n = c->node;
    const char *name = *n->module ? n->module : n->name;

    if (strmap_has(&c->layers, name))
        name = arena_printf(&c->b->g->arena, "%s.%s", n->module, n->name);
    strmap_put(&c->layers, name, c);
    return name;
}

/* ---- weights ---- */

/* True if a convolution reads the value as its weight, so that it is stored as one. */
static bool is_kernel(const struct pt2_program *p, const char *value)
{
    for (int i = 0; i < p->nnode; i++) {
        const struct pt2_node *n = &p->node[i];

        if (strncmp(n->target, "aten.conv", 9) != 0)
            continue;
        for (int k = 0; k < n->nin; k++)
            if (n->in[k].arg.kind == PT2_TENSOR && !strcmp(n->in[k].name, "weight") &&
                !strcmp(n->in[k].arg.name, value))
                return true;
    }
    return false;
}

static bool is_read(const struct pt2_program *p, const char *value)
{
    for (int i = 0; i < p->nnode; i++)
        for (int k = 0; k < p->node[i].nin; k++) {
            const struct pt2_arg *a = &p->node[i].in[k].arg;

            if (a->kind == PT2_TENSOR && !strcmp(a->name, value))
                return true;
            for (int j = 0; a->kind == PT2_TENSORS && j < a->n; j++)
                if (a->names[j] && !strcmp(a->names[j], value))
                    return true;
        }
    return !strcmp(p->output, value);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

/* How a parameter starts if no weights are loaded: PyTorch's rules for layers; a norm's
 * weight is 1. An archive has no rules of its own, only weights. */
static struct init init_of(const struct pt2_weight *w, const int64_t *dim)
{
    int64_t fan = 1;

    for (int d = 1; d < w->meta->ndim; d++)
        fan *= dim[d];
    if (w->meta->ndim > 1)
        return init_rule_init(INIT_RULE_PYTORCH, fan, dim[0]);
    return (struct init){ends_with(w->name, "weight") ? INIT_CONSTANT : INIT_ZERO,
                         ends_with(w->name, "weight") ? 1 : 0};
}

static bool is_head(const struct pt2_import *c, const char *value)
{
    return (c->head.weight && !strcmp(c->head.weight, value)) ||
           (c->head.bias && !strcmp(c->head.bias, value));
}

static struct tensor *make_param(struct pt2_import *c, const struct pt2_weight *w,
                                 const char *layer, const char *suffix,
                                 const int64_t *dim)
{
    bool image = w->meta->ndim == 4 && is_kernel(c->p, w->value);
    struct tensor *t =
        graph_param(c->b, layer, suffix, image ? LAYOUT_IMAGE : LAYOUT_PLAIN,
                    w->meta->ndim, dim, init_of(w, dim));

    if (!w->meta->requires_grad || !is_read(c->p, w->value)) {
        t->frozen = true;
        t->trainable = t->held = false;
    }
    return t;
}

static void make_weight(struct pt2_import *c, const struct pt2_weight *w)
{
    const char *dot = strrchr(w->name, '.');
    char *layer =
        arena_printf(&c->b->g->arena, "%.*s", dot ? (int)(dot - w->name) : 0, w->name);
    const char *suffix = dot ? dot + 1 : w->name;
    bool counter = ends_with(w->name, "num_batches_tracked") && !w->meta->ndim;
    int64_t dim[PT2_DIMS] = {1};
    struct pt2_value v;

    memcpy(dim, w->meta->dim, (size_t)w->meta->ndim * sizeof(*dim));
    if (is_head(c, w->value))
        dim[0] = c->classes;
    if (w->meta->ndim > TENSOR_DIMS)
        pt2_refuse(c, "'%s' has %d dims", w->name, w->meta->ndim);
    else if (w->meta->dtype != (counter ? PT2_I64 : PT2_F32))
        pt2_refuse(c, "'%s' is not a tensor of floats, which is not supported yet",
                   w->name);
    for (int d = 0; d < w->meta->ndim; d++)
        if (dim[d] < 1)
            pt2_refuse(c, "'%s' is empty, or has no fixed dims", w->name);
    if (c->why->len)
        return;
    v = pt2_value_of(
        w->kind == PT2_PARAMETER
            ? make_param(c, w, layer, suffix, dim)
            : graph_buffer(c->b, layer, suffix, w->meta->ndim, dim,
                           (struct init){ends_with(w->name, "running_var") ? INIT_CONSTANT
                                                                           : INIT_ZERO,
                                         1}));
    v.memory = ++c->memories;
    (void)keep(c, w->value, v);
}

/* ---- in place ---- */

static bool reads(const struct pt2_node *n, const char *value)
{
    for (int k = 0; k < n->nin; k++) {
        const struct pt2_arg *a = &n->in[k].arg;

        if (a->kind == PT2_TENSOR && !strcmp(a->name, value))
            return true;
        for (int j = 0; a->kind == PT2_TENSORS && j < a->n; j++)
            if (a->names[j] && !strcmp(a->names[j], value))
                return true;
    }
    return false;
}

static bool is_read_later(const struct pt2_import *c, const char *value)
{
    for (int i = c->at + 1; i < c->p->nnode; i++)
        if (reads(&c->p->node[i], value))
            return true;
    return !strcmp(c->p->output, value);
}

/* After a node has written its first argument `before`: names of the same elements get the
 * new value; a name of other elements of that memory must not be read any more. */
static void rename_written(struct pt2_import *c, const struct pt2_value *before)
{
    const struct pt2_value *after = c->node->out[0].kind == PT2_TENSOR
                                        ? strmap_get(&c->value, c->node->out[0].name)
                                        : NULL;

    for (size_t i = 0; i < c->value.n && after && !c->why->len; i++) {
        const char *name = c->value.entry[i].key;
        struct pt2_value *v = c->value.entry[i].value;

        if (v == after || v->memory != before->memory || v->kind == PT2_VALUE_NUMBER)
            continue;
        if (v->kind != before->kind ||
            (v->kind == PT2_VALUE_TENSOR && !pt2_value_same(v, before))) {
            if (is_read_later(c, name))
                pt2_refuse(c,
                           "it writes in place what '%s' shows in another shape, "
                           "which is not supported",
                           name);
            continue;
        }
        *v = *after;
    }
}

/* ---- nodes ---- */

static void check_arguments(struct pt2_import *c)
{
    for (int i = 0; i < c->node->nin && !c->why->len; i++)
        if (!(c->used >> i & 1) && c->node->in[i].arg.kind != PT2_NONE)
            pt2_refuse(c, "the argument '%s' is not supported", c->node->in[i].name);
}

/* The counter of a batch norm, which trainc counts itself. */
static bool is_counter(const struct pt2_import *c)
{
    const struct pt2_input *in = c->node->in;
    const struct pt2_value *v;

    if (strcmp(c->node->target, "aten.add_.Tensor") != 0 || c->node->nin != 2 ||
        in[0].arg.kind != PT2_TENSOR || in[1].arg.kind != PT2_INT ||
        in[1].arg.ints->name || in[1].arg.ints->value != 1)
        return false;
    v = strmap_get(&c->value, in[0].arg.name);
    return v && v->t && ends_with(v->t->name, "num_batches_tracked");
}

static void map_node(struct pt2_import *c)
{
    const struct pt2_node *n = c->node;
    bool in_place;
    const struct pt2_row *row = pt2_row_find(n->target, &in_place);
    struct pt2_value before = {0};

    if (is_counter(c))
        return;
    if (!row) {
        pt2_refuse(c, "this operator is not supported");
        return;
    }
    if (n->nin > 64) {
        pt2_refuse(c, "it has %d arguments", n->nin);
        return;
    }
    if (in_place) {
        c->used = 0;
        before = *pt2_tensor_or_mask(c, n->nin ? n->in[0].name : "self");
        if (before.t && !before.t->producer && before.t->kind != TENSOR_INPUT)
            pt2_refuse(c, "it writes a parameter or buffer in place");
    }
    c->used = 0;
    if (!c->why->len)
        row->map(c);
    check_arguments(c);
    if (in_place && !c->why->len)
        rename_written(c, &before);
}

/* ---- the head ---- */

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

struct pt2_head pt2_head_of(const struct pt2_program *p)
{
    struct pt2_head h = {.classes =
                             p->output_meta->ndim > 1 ? p->output_meta->dim[1] : 0};
    const struct pt2_node *n = maker_of(p, p->output);
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

/* ---- the program ---- */

static bool start(struct pt2_import *c, struct tensor *x)
{
    struct pt2_value v = pt2_value_of(x);

    if (c->classes != c->head.classes && !c->head.weight)
        pt2_refuse(c,
                   "it computes %lld logits, and its last layer is no linear layer or "
                   "convolution that can be replaced for %lld classes",
                   (long long)c->head.classes, (long long)c->classes);
    if (c->p->input_meta->dtype != PT2_F32)
        pt2_refuse(c, "its input is not of 32-bit floats");
    v.memory = ++c->memories;
    check_dims(c, c->p->input, &v);
    (void)keep(c, c->p->input, v);
    return !c->why->len;
}

static struct tensor *logits(struct pt2_import *c)
{
    struct pt2_value *v = strmap_get(&c->value, c->p->output);
    struct tensor *t;

    c->node = NULL;
    if (!v || v->kind != PT2_VALUE_TENSOR || (v->ndim != 2 && v->ndim != 4))
        pt2_refuse(c, "its output is not a tensor [N, classes] or [N, classes, H, W]");
    else if (v->ndim == 2 && !pt2_store(c, v, (const int[]){0, 1}))
        return NULL;
    if (c->why->len)
        return NULL;
    t = v->ndim == 4 ? pt2_image(c, v) : pt2_view_of(c, v->t, LAYOUT_PLAIN, 2, v->dim);
    if (t && t->dim[1] != c->classes)
        pt2_refuse(c, "it computes %lld logits instead of %lld", (long long)t->dim[1],
                   (long long)c->classes);
    return c->why->len ? NULL : t;
}

struct tensor *pt2_import(struct builder *b, const struct pt2_program *p, int64_t classes,
                          struct tensor *x, struct tensor **features, struct strbuf *why)
{
    struct strbuf reason = STRBUF_INIT;
    struct pt2_import c = {
        .b = b, .p = p, .head = pt2_head_of(p), .classes = classes, .why = &reason};
    struct tensor *y = NULL;

    for (int i = 0; i < p->nweight && !reason.len; i++)
        make_weight(&c, &p->weight[i]);
    if (!reason.len && start(&c, x)) {
        for (c.at = 0; c.at < p->nnode && !reason.len; c.at++) {
            c.node = &p->node[c.at];
            map_node(&c);
        }
        if (!reason.len)
            y = logits(&c);
    }
    *features = c.features == y ? NULL : c.features;
    strbuf_addstr(why, reason.buf);
    strbuf_release(&reason);
    strmap_release(&c.value);
    strmap_release(&c.layers);
    return y;
}
