#include "pt2/import.h"

#include <string.h>

#include "base/error.h"
#include "ops/image.h"
#include "pt2/blocks.h"
#include "pt2/fold.h"
#include "pt2/outputs.h"
#include "pt2/place.h"
#include "pt2/table.h"
#include "pt2/weights.h"

/* ---- which values are read ---- */

static void note_read(struct pt2_import *c, const char *value, int pos)
{
    int *last = strmap_get(&c->reads, value);

    if (!last) {
        last = arena_new(&c->b->g->arena, sizeof(*last));
        strmap_put(&c->reads, value, last);
    }
    *last = pos;
}

/* Notes the last node that reads each value; outputs are read after all. */
void pt2_note_reads(struct pt2_import *c)
{
    strmap_release(&c->reads);
    for (int i = 0; i < c->p->nnode; i++)
        for (int k = 0; k < c->p->node[i].nin; k++) {
            const struct pt2_arg *a = &c->p->node[i].in[k].arg;

            if (a->kind == PT2_TENSOR)
                note_read(c, a->name, i);
            for (int j = 0; a->kind == PT2_TENSORS && j < a->n; j++)
                if (a->names[j])
                    note_read(c, a->names[j], i);
        }
    note_read(c, c->p->output.value, c->p->nnode);
    for (int i = 0; i < c->naux; i++)
        note_read(c, c->p->aux[i].value, c->p->nnode);
}

bool pt2_is_read(const struct pt2_import *c, const char *value)
{
    return strmap_has(&c->reads, value);
}

bool pt2_is_read_later(const struct pt2_import *c, const char *value)
{
    const int *last = strmap_get(&c->reads, value);

    return last && *last > c->index;
}

/* True if nothing reads the results of the current node, tensors, and it writes nothing. */
static bool is_dead(const struct pt2_import *c)
{
    const struct pt2_node *n = c->node;
    const char *dot = strrchr(n->target, '.');

    if ((dot && dot > n->target && dot[-1] == '_') || n->nout < 1 ||
        !strncmp(n->target, "aten.batch_norm", 15))
        return false;
    for (int i = 0; i < n->nout; i++) {
        const struct pt2_arg *out = &n->out[i];

        if (out->kind != PT2_TENSOR && out->kind != PT2_TENSORS)
            return false;
        if (out->kind == PT2_TENSOR && pt2_is_read(c, out->name))
            return false;
        for (int k = 0; out->kind == PT2_TENSORS && k < out->n; k++)
            if (out->names[k] && pt2_is_read(c, out->names[k]))
                return false;
    }
    return true;
}

/* ---- results ---- */

struct pt2_value *pt2_keep(struct pt2_import *c, const char *name, struct pt2_value v)
{
    struct pt2_value *dst = arena_new(&c->b->g->arena, sizeof(*dst));

    *dst = v;
    strmap_put(&c->value, name, dst);
    return dst;
}

/* Compares the dims with those that the exporter saw. The batch, and the classes of
 * another head, may differ. */
static void check_dims(struct pt2_import *c, const char *name, const struct pt2_value *v)
{
    const struct pt2_meta *m = pt2_program_meta(c->p, name);

    if (!m || (v->kind != PT2_VALUE_TENSOR && v->kind != PT2_VALUE_CONSTANT) ||
        c->why->len)
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
    for (int k = 1; k < c->node->nout; k++)
        if (out[k].kind != PT2_TENSOR || pt2_is_read_later(c, out[k].name))
            pt2_refuse(c, "its result %d, which is read, is not supported", k + 1);
    if (c->node->nout < 1 || (out->kind != PT2_TENSOR && out->kind != PT2_INT) ||
        !out->name) {
        pt2_refuse(c, "it has other results than one tensor");
        return;
    }
    check_dims(c, out->kind == PT2_INT ? out->ints->name : out->name, &v);
    (void)pt2_keep(c, out->kind == PT2_INT ? out->ints->name : out->name, v);
}

/* True if the logits depend on what the current node computes. */
static bool is_main(const struct pt2_import *c)
{
    const struct pt2_arg *out = c->node->out;

    return !c->main.n ||
           (c->node->nout && out->kind == PT2_TENSOR && strmap_has(&c->main, out->name));
}

void pt2_result(struct pt2_import *c, struct pt2_value v)
{
    if (is_main(c) && v.kind == PT2_VALUE_TENSOR && v.ndim == 4 && tensor_is_image(v.t) &&
        v.t->dim[IMAGE_H] * v.t->dim[IMAGE_W] > 1 &&
        !memcmp(v.dim, v.t->dim, 4 * sizeof(*v.dim)))
        c->features = v.t;
    v.memory = ++c->memories;
    result(c, v);
}

void pt2_result_view(struct pt2_import *c, const struct pt2_value *src,
                     struct pt2_value v)
{
    v.memory = src->memory;
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

void pt2_result_list(struct pt2_import *c, const struct pt2_value *src,
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

        v.memory = src->memory;
        check_dims(c, out->names[i], &v);
        (void)pt2_keep(c, out->names[i], v);
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

/* ---- nodes ---- */

static void check_arguments(struct pt2_import *c)
{
    for (int i = 0; i < c->node->nin && !c->why->len; i++)
        if (!(c->used >> i & 1) && c->node->in[i].arg.kind != PT2_NONE)
            pt2_refuse(c, "the argument '%s' is not supported", c->node->in[i].name);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
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

    if (is_counter(c) || is_dead(c))
        return;
    c->used = 0;
    if (n->nin > 64) {
        pt2_refuse(c, "it has %d arguments", n->nin);
        return;
    }
    if (pt2_fold(c)) {
        check_arguments(c);
        return;
    }
    if (!row) {
        pt2_refuse(c, "this operator is not supported");
        return;
    }
    if (in_place) {
        c->used = 0;
        before = *pt2_any_or_mask(c, n->nin ? n->in[0].name : "self");
        if (before.kind == PT2_VALUE_CONSTANT)
            pt2_refuse(c, "it writes something computed to a constant");
        if (before.memory <= c->weights)
            pt2_refuse(c, "it writes a parameter or buffer in place");
    }
    c->used = 0;
    if (!c->why->len)
        row->map(c);
    check_arguments(c);
    if (in_place && !c->why->len)
        pt2_written(c, &before);
}

/* ---- the program ---- */

const char *pt2_name_heads(struct pt2_import *c)
{
    struct strbuf list = STRBUF_INIT;
    const char *text = "";

    if (pt2_heads_list(c->p, &list))
        text = arena_printf(&c->b->g->arena,
                            ": name the layers to replace with MODEL.HEAD "
                            "(layers with %lld outputs: %s)",
                            (long long)c->head.classes, list.buf);
    strbuf_release(&list);
    return text;
}

/* Refuses an output without logits, or whose layer cannot be replaced for other classes.
 * `what`: of it, for the message. */
static void check_head(struct pt2_import *c, const struct pt2_head *h, const char *what)
{
    if (c->classes != h->classes && !h->weight && !c->named)
        pt2_refuse(c,
                   "%s computes %lld logits, and its last layer is not a linear layer or "
                   "convolution that can be replaced for %lld classes%s",
                   what, (long long)h->classes, (long long)c->classes, pt2_name_heads(c));
}

/* An auxiliary output has the dims of the logits, but for the size of images. */
static void check_aux(struct pt2_import *c, const struct pt2_output *out,
                      const struct pt2_head *h)
{
    const struct pt2_meta *m = out->meta, *logits = c->p->output.meta;
    char *what = arena_printf(&c->b->g->arena, "its output '%s'", out->name);
    struct strbuf dims = STRBUF_INIT;

    if (m->ndim != logits->ndim || m->dim[1] != logits->dim[1]) {
        pt2_add_dims(&dims, m);
        strbuf_addstr(&dims, ", but logits are ");
        pt2_add_dims(&dims, logits);
        pt2_refuse(c,
                   "%s is %s: export the model without it, or set MODEL.AUX_WEIGHT 0, "
                   "which ignores auxiliary outputs",
                   what, dims.buf);
    }
    strbuf_release(&dims);
    check_head(c, h, what);
}

static bool start(struct pt2_import *c, struct tensor *x)
{
    struct pt2_value v = pt2_value_of(x);

    if (c->why->len)
        return false;
    check_head(c, &c->head, "it");
    for (int i = 0; i < c->naux; i++)
        check_aux(c, &c->p->aux[i], &c->aux[i]);
    if (c->p->input_meta->dtype != PT2_F32)
        pt2_refuse(c, "its input is not of 32-bit floats");
    v.memory = ++c->memories;
    check_dims(c, c->p->input, &v);
    (void)pt2_keep(c, c->p->input, v);
    return !c->why->len;
}

static struct tensor *logits(struct pt2_import *c, const struct pt2_output *out)
{
    struct pt2_value *v = strmap_get(&c->value, out->value);
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
        pt2_refuse(c, "its output '%s' has %lld logits instead of %lld", out->name,
                   (long long)t->dim[1], (long long)c->classes);
    return c->why->len ? NULL : t;
}

/* Finds the layers that depend on the number of classes. */
static void find_heads(struct pt2_import *c, bool aux)
{
    const struct pt2_program *p = c->p;

    c->head = pt2_head_of(p, &p->output);
    if (aux && p->naux > MODEL_AUX)
        pt2_refuse(c, "it has %d auxiliary outputs, and at most %d are supported",
                   p->naux, MODEL_AUX);
    for (int i = 0; aux && i < p->naux && !c->why->len; i++)
        c->aux[c->naux++] = pt2_head_of(p, &p->aux[i]);
}

/* Ends the block of the previous node and begins that of the current one, unless they are
 * the same. */
static void enter_block(struct pt2_import *c, const struct pt2_blocks *blocks,
                        const char *previous)
{
    size_t len = pt2_blocks_find(blocks, c->node->module),
           last = pt2_blocks_find(blocks, previous);

    if (len == last && !memcmp(c->node->module, previous, len))
        return;
    scope_end(c->b);
    if (len)
        scope_begin(c->b);
}

static void map_nodes(struct pt2_import *c, struct pt2_results *r)
{
    struct pt2_blocks blocks;

    pt2_blocks_init(&blocks, c->p);
    for (c->index = 0; c->index < c->p->nnode && !c->why->len; c->index++) {
        c->node = &c->p->node[c->index];
        enter_block(c, &blocks, c->index ? c->node[-1].module : "");
        map_node(c);
    }
    scope_end(c->b);
    pt2_blocks_release(&blocks);
    if (!c->why->len)
        r->logits = logits(c, &c->p->output);
    for (int i = 0; i < c->naux && !c->why->len; i++)
        r->aux[r->naux++] = logits(c, &c->p->aux[i]);
    r->features = c->features == r->logits ? NULL : c->features;
}

bool pt2_import(struct builder *b, const struct pt2_job *job, struct tensor *x,
                struct pt2_results *r, struct strbuf *why)
{
    struct strbuf reason = STRBUF_INIT;
    struct pt2_import c = {.b = b,
                           .p = job->training,
                           .classes = job->classes,
                           .why = &reason,
                           .named = job->named,
                           .nnamed = job->nnamed};
    bool ok;

    *r = (struct pt2_results){0};
    find_heads(&c, job->aux);
    pt2_note_reads(&c);
    pt2_weights_make(&c);
    if (job->program != job->training)
        pt2_weights_adopt(&c, job->program);
    c.weights = c.memories;
    if (c.p->naux)
        pt2_outputs_reach(c.p, c.p->output.value, &c.main);
    if (start(&c, x))
        map_nodes(&c, r);
    ok = !reason.len;
    strbuf_addstr(why, reason.buf);
    if (!ok && c.named && c.classes != c.head.classes)
        strbuf_addf(why, ", with %lld outputs of the layers in MODEL.HEAD",
                    (long long)c.classes);
    strbuf_release(&reason);
    strmap_release(&c.value);
    strmap_release(&c.reads);
    strmap_release(&c.layers);
    strmap_release(&c.main);
    return ok;
}
