#include "tests/models/golden_train.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "io/json.h"
#include "io/weights_file.h"
#include "models/stages.h"
#include "ops/control.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/grad_stats.h"
#include "ops/image.h"
#include "ops/loss_scale.h"
#include "ops/loss_sum.h"
#include "ops/optimizer.h"
#include "ops/running_stats.h"
#include "ops/state.h"
#include "ops/table.h"
#include "ops/update_control.h"
#include "session/devices.h"
#include "session/simmim.h"
#include "tests/models/golden_net.h"
#include "tests/ops/backends.h"
#include "tests/test.h"
#include "train/statedict.h"

enum { STEPS = 3 };

/* Same as in the scripts. Decay is much larger than in a recipe, so that three steps show
 * it. */
static const struct {
    const char *key, *name;
    double lr, decay, layer_decay;
} optimizers[] = {[GOLDEN_SGD] = {"sgd", "sgd", 0.02, 0.5, 1},
                  [GOLDEN_ADAMW] = {"adamw", "adamw", 1e-3, 5, 1},
                  [GOLDEN_LAYERS] = {"layers", "adamw", 1e-3, 5, 0.6},
                  [GOLDEN_SLOW] = {"sgd", "sgd", 1e-4, 0.05, 1}};
static const struct hyperparameters hyperparameters = {
    .momentum = 0.9, .nesterov = true, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-4};

/* A run: a whole training step, or the forward phase for inference. */
struct run {
    const struct model *m;
    const struct backend *backend;
    const json_t *golden;
    enum golden_optimizer optimizer;
    bool inference;
    bool archive;        /* compared as golden_train_archive() does */
    const char *weights; /* the file that has them; NULL: golden_formula() */
};

static struct update segments(struct graph *g, const struct run *r)
{
    const struct flat *f = g->flat;
    struct update_segment *s = arena_new(&g->arena, (size_t)f->nparam * sizeof(*s));
    float *scale = arena_new(&g->arena, (size_t)f->nparam * sizeof(*scale));

    layer_scales(r->m->family->layers, NULL, f, optimizers[r->optimizer].layer_decay,
                 scale);
    for (int i = 0; i < f->nparam; i++)
        s[i] = (struct update_segment){
            .offset = f->segment[i].offset,
            .len = f->segment[i].len,
            .lr_scale = scale[i],
            .weight_decay = model_decays(r->m->family, f->segment[i].tensor, false)
                                ? (float)optimizers[r->optimizer].decay
                                : 0,
        };
    return (struct update){.segment = s, .nsegment = f->nparam};
}

static struct tensor *flat_state(struct builder *b, const char *name, enum memory m)
{
    return graph_state(b, name, m, DTYPE_F32, 0, b->g->flat->param_len);
}

/* The update phase of a training step, at a constant rate. */
static void build_update(struct builder *b, const struct run *r)
{
    struct tensor *control = control_tensor(b);
    struct tensor *grads = flat_state(b, "grads", MEMORY_GRADS);
    struct tensor *state[] = {flat_state(b, "weights", MEMORY_WEIGHTS),
                              flat_state(b, "moment1", MEMORY_MOMENT1),
                              flat_state(b, "moment2", MEMORY_MOMENT2)};
    struct control_prepare_attrs prepare = {
        .layer = "prepare",
        .schedule = {.kind = SCHEDULE_STEP, .total = STEPS, .every = STEPS, .rate = 1}};
    struct update u = segments(b->g, r);
    const json_t *rate = json_object_get(r->golden, "rate");

    prepare.schedule.base = rate ? json_real_value(rate) : optimizers[r->optimizer].lr;
    grad_stats(b, grads, control);
    control_prepare_node(b, control, &prepare);
    optimizer_node(b, optimizer_find(optimizers[r->optimizer].name), &u, &hyperparameters,
                   grads, control, state);
    running_stats(b, control, (struct accumulation){.group = 1}, true);
    control_finish_node(b, control, &(struct scaler){.dynamic = false}, false);
}

static int64_t classes_of(const struct run *r)
{
    return json_object_get(r->golden, "classes") ? golden_int(r->golden, "classes") : 10;
}

/* A file with cells is of SimMIM's pre-training, whose cells replace the labels. */
static void build_masked(struct trial *t, const struct run *r, struct builder *b)
{
    int64_t batch = golden_int(r->golden, "batch"), side = golden_int(r->golden, "cells");
    int window = (int)golden_int(r->golden, "window");
    struct model_options o = {.classes = 1};
    struct tensor *mask, *target = t->x;

    o.cells = t->labels = graph_input(b, "cells", DTYPE_F32, LAYOUT_PLAIN, 2,
                                      (const int64_t[]){batch, side * side});
    mask = masking_pixels(b, o.cells, t->x->dim[IMAGE_H]);
    if (window)
        target = simmim_norm(b, t->x, mask, window);
    t->logits = simmim_net(b, r->m, &o, t->x);
    t->loss = simmim_loss(b, t->logits, target, mask);
}

static struct tensor *loss_of(const struct trial *t, struct builder *b, struct tensor *x,
                              const char *layer)
{
    return tensor_is_image(x) ? cross_entropy2d(b, x, t->labels, layer, .ignore = -1)
                              : cross_entropy(b, x, t->labels, NULL, layer);
}

/* Returns the loss with those of auxiliary heads. */
static struct tensor *with_aux(struct trial *t, struct builder *b, struct tensor *loss,
                               const struct model_stages *s)
{
    struct tensor *part[1 + MODEL_AUX] = {loss};
    struct loss_sum_attrs sum = {.layer = "sum", .weight = {1}};

    for (int i = 0; i < s->naux; i++) {
        sum.weight[1 + i] = (float)s->aux[i].weight;
        part[1 + i] = loss_of(t, b, s->aux[i].x, arena_printf(&b->g->arena, "aux%d", i));
    }
    return s->naux ? loss_sum(b, part, 1 + s->naux, &sum) : loss;
}

static void build_classes(struct trial *t, const struct run *r, struct builder *b)
{
    int64_t batch = golden_int(r->golden, "batch");
    struct model_stages heads = {.last = MODEL_STAGES};
    struct model_options o = {.classes = classes_of(r)};

    o.stages = r->m->family->aux || r->m->family->balances ? &heads : NULL;
    t->logits = model_build(b, r->m, &o, t->x);
    if (tensor_is_image(t->logits))
        t->labels = graph_input(
            b, "labels", DTYPE_U8, LAYOUT_PLAIN, 3,
            (const int64_t[]){batch, t->logits->dim[IMAGE_H], t->logits->dim[IMAGE_W]});
    else
        t->labels = graph_input(b, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, &batch);
    t->loss = with_aux(t, b, loss_of(t, b, t->logits, "loss"), &heads);
    if (heads.balance)
        t->loss =
            loss_sum(b, (struct tensor *[]){t->loss, heads.balance}, 2,
                     &(struct loss_sum_attrs){"loss", {1, (float)heads.balance_weight}});
}

static void build(struct trial *t, const struct run *r)
{
    struct builder b = {.g = graph_new(&graph_ops_default, !r->inference)};
    int64_t batch = golden_int(r->golden, "batch"), side = golden_int(r->golden, "side");
    int64_t channels = golden_int(r->golden, "channels");
    int64_t width = golden_int(r->golden, "width"); /* 0: square */

    t->g = b.g;
    t->x = graph_input(
        &b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
        (const int64_t[]){batch, channels ? channels : 3, side, width ? width : side});
    if (json_object_get(r->golden, "cells"))
        build_masked(t, r, &b);
    else
        build_classes(t, r, &b);
    graph_output(b.g, t->logits);
    graph_output(b.g, t->loss);
    graph_flatten(b.g);
    if (r->inference)
        return;
    autodiff(&b, t->loss, loss_scale(&b, "loss_scale"));
    b.phase = PHASE_UPDATE;
    build_update(&b, r);
}

/* Masks a share of 0.6. */
static void fill_cells(struct trial *t)
{
    int64_t n = tensor_len(t->labels);
    float *cells = xmalloc((size_t)n * sizeof(*cells));

    for (int64_t i = 0; i < n; i++)
        cells[i] = golden_hash((uint32_t)i) * 0x1p-32 < 0.6;
    golden_write(t, t->labels, cells);
    free(cells);
}

static void fill_labels(struct trial *t, int64_t classes)
{
    int64_t n = tensor_len(t->labels);
    int32_t *labels = xmalloc((size_t)n * sizeof(*labels));
    uint8_t *bytes = xmalloc((size_t)n);
    bool pixels = t->labels->dtype == DTYPE_U8;

    for (int64_t i = 0; i < n; i++) {
        labels[i] = (int32_t)(golden_hash((uint32_t)i) % (uint32_t)classes);
        bytes[i] = (uint8_t)labels[i];
    }
    golden_write(t, t->labels, pixels ? (void *)bytes : labels);
    free(labels);
    free(bytes);
}

/* True for a tensor of another size than in the archive: of a head for other classes. */
static bool is_replaced(const struct run *r, const struct tensor *t)
{
    const json_t *list = json_object_get(r->golden, "formula"), *name;
    bool found = false;
    size_t i;

    json_array_foreach(list, i, name)
    {
        found = found || !strcmp(json_string_value(name), t->name);
    }
    return found;
}

static void fill_formula(struct trial *t, const struct segment *s, float *w)
{
    for (int64_t i = 0; i < s->len; i++)
        w[s->offset + golden_stored(s->tensor, i)] = golden_formula(t, s->tensor, i);
}

/* Reads the weights of an archive by their names, but for those that are replaced. */
static void load_archive(struct trial *t, const struct run *r, const char *path)
{
    const struct flat *f = t->g->flat;
    float *w = golden_memory(t, MEMORY_WEIGHTS);
    struct strbuf why = STRBUF_INIT;
    struct weights_file file;
    size_t names = 0;

    if (weights_file_open(&file, path, true, &why))
        fail_msg("%s", why.buf);
    for (int i = 0; i < f->nsegment; i++) {
        const struct segment *s = &f->segment[i];
        const struct safetensors_tensor *src = weights_file_find(&file, s->tensor->name);
        void *data = xmalloc(src ? (size_t)src->size + 1 : 1);

        if (is_replaced(r, s->tensor))
            fill_formula(t, s, w);
        else if (!src || !statedict_fits(s->tensor, src) ||
                 weights_file_read(&file, src, data, &why) ||
                 !statedict_unpack(s, w, data, src->dtype))
            fail_msg("'%s' of '%s' does not fit: %s", s->tensor->name, path, why.buf);
        free(data);
        names += 1 + (size_t)s->tensor->nalso;
    }
    assert_int_equal(file.n, names);
    t->backend->copy_in(t->dev, t->base[MEMORY_WEIGHTS], w,
                        program_need(t->program, MEMORY_WEIGHTS));
    program_refresh(t->program);
    weights_file_close(&file);
    free(w);
}

static void open_trial(struct trial *t, const struct run *r)
{
    *t = (struct trial){.backend = r->backend};
    t->dev = r->backend->open(&(struct device_options){0});
    build(t, r);
    golden_open(t, r->golden);
    if (t->labels->dtype == DTYPE_F32)
        fill_cells(t);
    else
        fill_labels(t, classes_of(r));
    if (r->weights)
        load_archive(t, r, r->weights);
}

/* Copies every 37th row and 31st column of logits that are images, in logical order, to the
 * start of z. Returns how many. */
static size_t pick_pixels(const struct tensor *t, float *z)
{
    float *all = xmemdup(z, tensor_size(t));
    size_t n = 0;

    for (int64_t i = 0; i < tensor_len(t); i++)
        if (i % t->dim[3] % 31 == 0 && i / t->dim[3] % t->dim[2] % 37 == 0)
            z[n++] = all[golden_stored(t, i)];
    free(all);
    return n;
}

static void check_logits(struct trial *t, const char *what, const json_t *want,
                         double tol)
{
    float *z = golden_logits(t);
    size_t n = tensor_is_image(t->logits) ? pick_pixels(t->logits, z)
                                          : (size_t)tensor_len(t->logits);

    assert_int_equal(json_array_size(want), n);
    golden_check_numbers(what, z, want, tol);
    free(z);
}

static void check_memory(struct trial *t, const char *what, enum memory m, int n,
                         const json_t *want, double tol)
{
    float *data = golden_memory(t, m);

    golden_check_flat(t, what, data, n, want, (struct tolerance){tol, 1e-7});
    free(data);
}

/* True for an archive or a net in which rounding grows. */
static bool is_noisy(const struct run *r)
{
    return r->archive || json_object_get(r->golden, "noise");
}

/* Returns a tolerance: `least`, or more if PyTorch's fp32 is far from its fp64. */
static double tolerance_of(const struct run *r, const char *key, double least)
{
    const json_t *noise = json_object_get(r->golden, "noise");

    return fmax(least, 10 * json_number_value(json_object_get(noise, key)));
}

static double loss_tolerance(const struct run *r, size_t step)
{
    const json_t *noise = json_object_get(json_object_get(r->golden, "noise"), "loss");

    if (!r->archive)
        return step ? 1e-3 : 1e-5;
    return fmax(1e-5, 10 * json_number_value(json_array_get(noise, step)));
}

/* Returns the floor for gradients: a small part of the largest one. */
static double rounding(const json_t *j)
{
    const char *name;
    json_t *digest;
    double max = 0;

    json_object_foreach(json_object_get(j, "grad"), name, digest)
    {
        max = fmax(max, json_number_value(json_array_get(digest, 0)));
    }
    return 1e-6 * max;
}

/* Checks the first step, whose gradients are still in memory. Some are zero except for
 * rounding: of a bias that a later norm subtracts. */
static void check_first(struct trial *t, const struct run *r)
{
    const json_t *j = r->golden;
    float *grads = golden_memory(t, MEMORY_GRADS);
    double tol = is_noisy(r) ? tolerance_of(r, "grad", 1e-3) : 1e-4;

    check_logits(t, "logits", json_object_get(j, "logits"),
                 is_noisy(r) ? tolerance_of(r, "logits", 1e-4) : 1e-5);
    golden_check_flat(t, "gradient", grads, t->g->flat->nparam,
                      json_object_get(j, "grad"),
                      (struct tolerance){tol, is_noisy(r) ? rounding(j) : 1e-6});
    free(grads);
}

static void check_statistics(struct trial *t, const struct run *r)
{
    const json_t *want = json_object_get(r->golden, "stats");
    double tol = tolerance_of(r, "stats", 1e-5);
    const struct flat *f = t->g->flat;
    float *w = golden_memory(t, MEMORY_WEIGHTS);

    for (int i = f->nparam; i < f->nsegment; i++) {
        const struct segment *s = &f->segment[i];
        const json_t *digest = json_object_get(want, s->tensor->name);
        struct tolerance here = {tol, golden_floor(want, s->tensor, 1e-7)};

        if (digest)
            golden_check_digest("statistics", s->tensor, w + s->offset, digest, here);
    }
    free(w);
}

/* Checks the weights of `src` in the inference net. */
static void check_eval(struct trial *src, const struct run *r, const json_t *want)
{
    struct run inference = *r;
    struct trial t;
    float *w = golden_memory(src, MEMORY_WEIGHTS);

    inference.inference = true;
    inference.weights = NULL;
    open_trial(&t, &inference);
    t.backend->copy_in(t.dev, t.base[MEMORY_WEIGHTS], w,
                       program_need(t.program, MEMORY_WEIGHTS));
    program_refresh(t.program);
    golden_run(&t);
    check_logits(&t, "logits in evaluation", want,
                 r->archive ? tolerance_of(r, "eval", 1e-4) : 1e-2);
    free(w);
    golden_close(&t);
}

static void check_steps(const struct run *r, bool first)
{
    const char *what = optimizers[r->optimizer].key;
    char *key = xasprintf("loss_%s", what);
    const json_t *losses = json_object_get(r->golden, key);
    const json_t *eval = json_object_get(r->golden, "eval");
    struct trial t;

    print_message("%s on %s: %s\n", r->m->name, r->backend->name, what);
    assert_int_equal(json_array_size(losses), STEPS);
    open_trial(&t, r);
    if (json_object_get(r->golden, "start"))
        check_memory(&t, "the archive", MEMORY_WEIGHTS, t.g->flat->nsegment,
                     json_object_get(r->golden, "start"), 1e-7);
    for (size_t s = 0; s < STEPS; s++) {
        golden_check_loss(&t, what, golden_run(&t), json_array_get(losses, s),
                          loss_tolerance(r, s));
        if (s == 0 && first)
            check_first(&t, r);
    }
    if (r->archive)
        check_statistics(&t, r);
    check_memory(&t, what, MEMORY_WEIGHTS, t.g->flat->nsegment,
                 json_object_get(r->golden, what),
                 is_noisy(r) ? tolerance_of(r, "sgd", 1e-3) : 2e-4);
    if (first && eval)
        check_eval(&t, r, eval);
    golden_close(&t);
    free(key);
}

void golden_train(const struct model *m, enum golden_optimizer o, bool first)
{
    json_t *j = golden_read(m->name);

    for (int i = 0; device_at(i); i++)
        if (backend_wanted(device_at(i)))
            check_steps(
                &(struct run){
                    .m = m, .backend = device_at(i), .golden = j, .optimizer = o},
                first);
    json_decref(j);
}

static void train_file(const struct model *m, const char *golden, const char *weights)
{
    struct strbuf why = STRBUF_INIT;
    json_t *j = json_parse_file(golden, &why);

    if (!j)
        fail_msg("%s", why.buf);
    for (int i = 0; device_at(i); i++)
        if (backend_wanted(device_at(i)))
            check_steps(&(struct run){.m = m,
                                      .backend = device_at(i),
                                      .golden = j,
                                      .optimizer = GOLDEN_SLOW,
                                      .archive = true,
                                      .weights = weights},
                        true);
    json_decref(j);
    strbuf_release(&why);
}

void golden_train_archive(const struct model *m, const char *golden)
{
    train_file(m, golden, m->name);
}

void golden_train_layers(const struct model *m, const char *golden)
{
    train_file(m, golden, NULL);
}

void golden_check(const struct model *nets, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(nets[i].name, name) != 0)
            continue;
        golden_train(&nets[i], GOLDEN_SGD, true);
        golden_train(&nets[i], GOLDEN_ADAMW, false);
        golden_train(&nets[i], GOLDEN_LAYERS, false);
        return;
    }
    fail_msg("no net is called %s", name);
}
