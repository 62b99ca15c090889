/*
 * Exported networks as a family of models (models/table.h): MODEL.NAME is the path of an
 * archive of torch.export.save. An archive is read once per process. A checkpoint carries
 * the graph of its network (struct model: graph), which then takes the place of the archive.
 * A network that computes something else in eval mode has two archives (MODEL.EVAL).
 * MODEL.HEAD names the layers that depend on the classes, if their use does not show them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "models/stages.h"
#include "models/table.h"
#include "ops/image.h"
#include "ops/resample.h"
#include "ops/table.h"
#include "pt2/depth.h"
#include "pt2/import.h"
#include "pt2/outputs.h"
#include "pt2/pair.h"

enum { TRY_BATCH = 2 }; /* of the graph that check() builds */

struct imported {
    struct model model;
    struct model_family family; /* its own: task and head differ */
    struct pt2_program *program;
    struct pt2_program *eval; /* its evaluation graph; of a pair, otherwise `program` */
    const struct pt2_head *named; /* MODEL.HEAD, or NULL */
    int nnamed;
    const char **heads; /* layers that compute the logits; owned */
    const char **aux;   /* layers that only auxiliary outputs read; owned */
    char *name;
};

static struct strmap known; /* path -> struct imported, until the process ends */
/* Two paths, and then the names in MODEL.HEAD, a line each -> struct imported, likewise. */
static struct strmap variants;

/* The weights of the losses on auxiliary outputs, as in torchvision's references for
 * classification and segmentation. */
static double aux_weight(const struct imported *m)
{
    return m->family.task == MODEL_SEGMENT ? 0.5 : 0.4;
}

/* Adds a copy of a name to a list ended by NULL that has room for it, once. */
static void add_layer(const char **list, const char *name, size_t len)
{
    int n = 0;

    while (list[n] && (strlen(list[n]) != len || memcmp(list[n], name, len) != 0))
        n++;
    if (!list[n])
        list[n] = xstrndup(name, len);
}

static void list_heads(struct imported *m)
{
    const struct pt2_program *p = m->program;

    m->heads = xcalloc((size_t)m->nnamed + MODEL_AUX + 2, sizeof(*m->heads));
    m->family.heads = m->heads;
    for (int i = 0; i < m->nnamed; i++)
        add_layer(m->heads, m->named[i].layer, (size_t)m->named[i].layer_len);
    if (m->named)
        return;
    for (int i = -1; i < p->naux && i < MODEL_AUX; i++) {
        struct pt2_head h = pt2_head_of(p, i < 0 ? &p->output : &p->aux[i]);

        if (i < 0 || h.weight)
            add_layer(m->heads, h.weight ? h.layer : "", (size_t)h.layer_len);
    }
}

/* Adds the names of the weights from which a program computes its logits. */
static void note_main(const struct pt2_program *p, struct strmap *names)
{
    struct strmap main = {0};

    pt2_outputs_reach(p, p->output.value, &main);
    for (int i = 0; i < p->nweight; i++)
        if (strmap_has(&main, p->weight[i].value))
            strmap_put(names, p->weight[i].name, names);
    strmap_release(&main);
}

/* Lists the layers whose parameters only auxiliary outputs read. */
static void list_aux(struct imported *m)
{
    const struct pt2_program *p = m->program;
    struct strmap main = {0};

    note_main(p, &main);
    if (m->eval != p)
        note_main(m->eval, &main);
    m->aux = xcalloc((size_t)p->nweight + 1, sizeof(*m->aux));
    for (int i = 0; i < p->nweight; i++) {
        const struct pt2_weight *w = &p->weight[i];
        const char *dot = strrchr(w->name, '.');

        if (w->kind != PT2_CONSTANT && dot && !strmap_has(&main, w->name))
            add_layer(m->aux, w->name, (size_t)(dot - w->name));
    }
    strmap_release(&main);
    m->family.aux = m->aux;
}

/* Fills the row of a program. Returns NULL, or why it is no model. */
static const char *describe(struct imported *m)
{
    const struct pt2_meta *in = m->program->input_meta, *out = m->program->output.meta;

    if (in->ndim != 4 || in->dim[1] < 1)
        return "its input is not a batch of images [N, C, H, W]";
    if (in->dim[0] >= 0)
        return "its batch has a fixed size: export it with dynamic_shapes=({0: "
               "torch.export.Dim(\"batch\")},)";
    if ((out->ndim != 2 && out->ndim != 4) || out->dim[1] < 1)
        return "its output is not [N, classes] or [N, classes, H, W]";
    m->model.classes = (int)out->dim[1];
    m->model.channels = (int)in->dim[1];
    if (in->dim[2] > 0 && in->dim[3] > 0) {
        m->model.size = (int)in->dim[3];
        m->model.height = in->dim[2] == in->dim[3] ? 0 : (int)in->dim[2];
    }
    m->model.label_divisor = 1;
    if (out->ndim == 4) {
        m->family.task = MODEL_SEGMENT;
        if (out->dim[3] > 0 && in->dim[3] > 0)
            m->model.label_divisor = (int)(in->dim[3] / out->dim[3]);
    }
    list_heads(m);
    if (*m->heads[0])
        m->family.layers = pt2_depth_rules(m->program, m->heads);
    if (m->program->naux)
        list_aux(m);
    return NULL;
}

/* Registers a program under a name. Returns NULL with a reason if it is no model. */
static const struct model *add(const char *name, struct pt2_program *p,
                               struct strbuf *why)
{
    struct imported *m = xcalloc(1, sizeof(*m));
    const char *wrong;

    m->program = m->eval = p;
    m->name = xstrdup(name);
    m->family = pt2_family;
    m->model = (struct model){.name = m->name,
                              .family = &m->family,
                              .tags = "",
                              .crop_pct = p->images.crop_pct,
                              .bilinear = p->images.bilinear,
                              .graph = p->text,
                              .arch = m};
    for (int i = 0; i < 3; i++) {
        m->model.mean[i] = p->images.mean[i];
        m->model.std[i] = p->images.std[i];
    }
    wrong = describe(m);
    if (!wrong) {
        strmap_put(&known, name, m);
        return &m->model;
    }
    strbuf_addf(why, "'%s': %s", name, wrong);
    pt2_program_free(p);
    free(m->name);
    free(m);
    return NULL;
}

static const struct model *find(const char *name, struct strbuf *why)
{
    const struct imported *m = strmap_get(&known, name);
    struct pt2_program *p;

    if (m)
        return &m->model;
    p = pt2_program_read(name, why);
    return p ? add(name, p, why) : NULL;
}

static bool provide(const char *graph, struct strbuf *why)
{
    struct pt2_program *p = pt2_program_parse(graph, strlen(graph), why);

    if (p && strmap_has(&known, p->path)) {
        pt2_program_free(p);
        return true;
    }
    return p && add(p->path, p, why);
}

/* Registers a variant of a network under its key. */
static struct imported *add_variant(const struct imported *base, const char *key)
{
    struct imported *m = xmemdup(base, sizeof(*base));

    m->model.family = &m->family;
    m->model.arch = m;
    strmap_put(&variants, key, m);
    return m;
}

static const struct model *pair(const struct model *m, const char *eval,
                                struct strbuf *why)
{
    const struct imported *training = m->arch, *other;
    const struct model *found = find(eval, why);
    struct strbuf key = STRBUF_INIT;
    struct imported *both;

    if (found == m)
        strbuf_addf(why, "'%s' is MODEL.NAME itself: export it in eval mode", eval);
    if (!found || found == m)
        return NULL;
    other = found->arch;
    strbuf_addf(&key, "%s\n%s", m->name, eval);
    both = strmap_get(&variants, key.buf);
    if (!both && pt2_pair_check(training->program, other->program, why)) {
        both = add_variant(training, key.buf);
        both->eval = other->program;
        both->model.graph_eval = other->program->text;
        if (both->program->naux)
            list_aux(both);
    }
    strbuf_release(&key);
    return both ? &both->model : NULL;
}

static const struct model *choose_heads(const struct model *m,
                                        const struct str_list *names, struct strbuf *why)
{
    const struct imported *found = m->arch;
    const struct pt2_head *named;
    struct strbuf key = STRBUF_INIT;
    struct imported *v;

    strbuf_addf(&key, "%s\n%s", m->name,
                found->eval != found->program ? found->eval->path : "");
    for (int i = 0; i < names->n; i++)
        strbuf_addf(&key, "\n%s", names->item[i]);
    v = strmap_get(&variants, key.buf);
    named = v ? NULL : pt2_heads_named(found->program, found->eval, names, why);
    if (named) {
        v = add_variant(found, key.buf);
        v->named = named;
        v->nnamed = names->n;
        list_heads(v);
        v->family.layers = pt2_depth_rules(v->program, v->heads);
    }
    strbuf_release(&key);
    return v ? &v->model : NULL;
}

/* Ends the only stage, what the classifier pools, for Grad-CAM and features. Returns true
 * if the net ends with it. */
static bool end_stage(const struct model_options *o, const struct tensor *images,
                      struct tensor *features)
{
    int reduction = features ? (int)(images->dim[IMAGE_H] / features->dim[IMAGE_H]) : 1;

    return features && model_stage(o, "features", reduction ? reduction : 1, features);
}

static struct pt2_job job_of(const struct imported *m, bool training,
                             const struct model_options *o)
{
    return (struct pt2_job){
        .program = training ? m->program : m->eval,
        .training = m->program,
        .classes = o->classes,
        .named = m->named,
        .nnamed = m->nnamed,
        .aux = model_aux_weight(o, aux_weight(m)) != 0,
    };
}

/* Adds the auxiliary outputs. Images of another size than the logits are resized to it. */
static void add_aux(struct builder *b, const struct imported *m,
                    const struct model_options *o, const struct pt2_results *r)
{
    const int64_t *dim = r->logits->dim;

    for (int i = 0; i < r->naux; i++) {
        struct tensor *x = r->aux[i];

        if (tensor_is_image(x) &&
            (x->dim[IMAGE_H] != dim[IMAGE_H] || x->dim[IMAGE_W] != dim[IMAGE_W]))
            x = resample(
                b, x,
                arena_printf(&b->g->arena, "outputs.%s.resize", m->program->aux[i].name),
                .mode = RESAMPLE_BILINEAR, .out_h = (int)dim[IMAGE_H],
                .out_w = (int)dim[IMAGE_W]);
        model_aux(o, x, aux_weight(m));
    }
}

static struct tensor *build(struct builder *b, const void *arch,
                            const struct model_options *o, struct tensor *x)
{
    const struct imported *m = arch;
    int64_t channels = m->program->input_meta->dim[1];
    struct pt2_job job = job_of(m, b->g->training, o);
    struct strbuf why = STRBUF_INIT;
    struct pt2_results r;

    if (x->dim[IMAGE_C] != channels)
        usage("--in-chans: '%s' was exported for images of %lld channels, not %lld",
              m->model.name, (long long)channels, (long long)x->dim[IMAGE_C]);
    if (!pt2_import(b, &job, x, &r, &why))
        die("'%s': %s", job.program->path, why.buf);
    strbuf_release(&why);
    add_aux(b, m, o, &r);
    return end_stage(o, x, r.features) ? NULL : r.logits;
}

/* True if a program of the network can be imported. */
static bool try_import(const struct imported *m, bool training,
                       const struct model_options *o, int height, int width,
                       struct strbuf *why)
{
    int64_t dim[] = {TRY_BATCH, m->model.channels, height, width};
    struct builder b = {.g = graph_new(&graph_ops_default, training)};
    struct pt2_job job = job_of(m, training, o);
    struct pt2_results r;
    struct strbuf reason = STRBUF_INIT;
    bool ok =
        pt2_import(&b, &job, graph_input(&b, "images", DTYPE_F32, LAYOUT_IMAGE, 4, dim),
                   &r, &reason);

    if (!ok)
        strbuf_addf(why, "'%s': %s", job.program->path, reason.buf);
    strbuf_release(&reason);
    graph_free(b.g);
    return ok;
}

/* Returns the keys to blame for a network that cannot be imported: MODEL.HEAD, if it can
 * with the archive's own classes. */
static const char *const *blame(const struct imported *m, const struct model_options *o,
                                int height, int width)
{
    static const char *const name[] = {"MODEL.NAME", NULL}, *const head[] = {"MODEL.HEAD",
                                                                             NULL};
    struct model_options same = *o;
    struct strbuf unused = STRBUF_INIT;
    bool ok;

    same.classes = m->model.classes;
    ok = m->named && try_import(m, true, &same, height, width, &unused);
    strbuf_release(&unused);
    return ok ? head : name;
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    static const char *const eval[] = {"MODEL.EVAL", NULL},
                             *const weight[] = {"MODEL.AUX_WEIGHT", NULL},
                             *const size[] = {"DATA.IMG_SIZE", "MODEL.NAME", NULL};
    const struct imported *net = m->arch;
    int high = m->height ? m->height : m->size;

    if (m->size && (width != m->size || height != high)) {
        strbuf_addf(why,
                    "'%s' was exported for images of %d x %d, not %d x %d: export it "
                    "again for another size",
                    m->name, m->size, high, width, height);
        return size;
    }
    if (!net->program->naux && o->aux_weight.has && o->aux_weight.value != 0) {
        strbuf_addf(why, "'%s' has no auxiliary outputs: MODEL.AUX_WEIGHT has no effect",
                    m->name);
        return weight;
    }
    if (!try_import(net, true, o, height, width, why))
        return blame(net, o, height, width);
    if (net->eval != net->program && !try_import(net, false, o, height, width, why))
        return eval;
    return NULL;
}

static const struct model models[] = {{.name = NULL}};
static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.AUX_WEIGHT", NULL};
static const char *const no_decay[] = {"pos_embed", "cls_token", "dist_token", NULL};

const struct model_family pt2_family = {
    .type = "pt2",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .no_decay = no_decay,
    .layer_norm = false,
    .ending = ".pt2",
    .find = find,
    .provide = provide,
    .pair = pair,
    .choose_heads = choose_heads,
    .build = build,
    .check = check,
};
