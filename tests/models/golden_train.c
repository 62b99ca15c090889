#include "tests/models/golden_train.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "io/json.h"
#include "ops/control.h"
#include "ops/cross_entropy.h"
#include "ops/grad_stats.h"
#include "ops/loss_scale.h"
#include "ops/optimizer.h"
#include "ops/running_stats.h"
#include "ops/state.h"
#include "ops/table.h"
#include "ops/update_control.h"
#include "session/devices.h"
#include "tests/models/golden_net.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

enum { STEPS = 3 };

/* Same as in the scripts. Decay is much larger than in a recipe, so that three steps show
 * it. */
static const struct {
    const char *key, *name;
    double lr, decay, layer_decay;
} optimizers[] = {[GOLDEN_SGD] = {"sgd", "sgd", 0.02, 0.5, 1},
                  [GOLDEN_ADAMW] = {"adamw", "adamw", 1e-3, 5, 1},
                  [GOLDEN_LAYERS] = {"layers", "adamw", 1e-3, 5, 0.6}};
static const struct hyperparameters hyperparameters = {
    .momentum = 0.9, .nesterov = true, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-4};

/* A run: a whole training step, or the forward phase for inference. */
struct run {
    const struct model *m;
    const struct backend *backend;
    const json_t *golden;
    enum golden_optimizer optimizer;
    bool inference;
};

static struct update segments(struct graph *g, const struct run *r)
{
    const struct flat *f = g->flat;
    struct update_segment *s = arena_new(&g->arena, (size_t)f->nparam * sizeof(*s));
    float *scale = arena_new(&g->arena, (size_t)f->nparam * sizeof(*scale));

    layer_scales(r->m->family->layers, f, optimizers[r->optimizer].layer_decay, scale);
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

    prepare.schedule.base = optimizers[r->optimizer].lr;
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

static void build(struct trial *t, const struct run *r)
{
    struct builder b = {.g = graph_new(&graph_ops_default, !r->inference)};
    int64_t batch = golden_int(r->golden, "batch"), side = golden_int(r->golden, "side");

    t->g = b.g;
    t->x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                       (const int64_t[]){batch, 3, side, side});
    t->labels = graph_input(&b, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, &batch);
    t->logits =
        model_build(&b, r->m, &(struct model_options){.classes = classes_of(r)}, t->x);
    graph_output(b.g, t->logits);
    t->loss = cross_entropy(&b, t->logits, t->labels, NULL, "loss");
    graph_output(b.g, t->loss);
    graph_flatten(b.g);
    if (r->inference)
        return;
    autodiff(&b, t->loss, loss_scale(&b, "loss_scale"));
    b.phase = PHASE_UPDATE;
    build_update(&b, r);
}

static void fill_labels(struct trial *t, int64_t classes)
{
    int64_t batch = t->x->dim[0];
    int32_t *labels = xmalloc((size_t)batch * sizeof(*labels));

    for (int64_t i = 0; i < batch; i++)
        labels[i] = (int32_t)(golden_hash((uint32_t)i) % (uint32_t)classes);
    golden_write(t, t->labels, labels);
    free(labels);
}

static void open_trial(struct trial *t, const struct run *r)
{
    *t = (struct trial){.backend = r->backend};
    t->dev = r->backend->open(&(struct device_options){0});
    build(t, r);
    golden_open(t, r->golden);
    fill_labels(t, classes_of(r));
}

static void check_logits(struct trial *t, const json_t *want, double tol)
{
    float *z = golden_logits(t);

    assert_int_equal(json_array_size(want), tensor_len(t->logits));
    golden_check_numbers("logits", z, want, tol);
    free(z);
}

static void check_memory(struct trial *t, const char *what, enum memory m, int n,
                         const json_t *want, double tol)
{
    float *data = golden_memory(t, m);

    golden_check_flat(t, what, data, n, want, (struct tolerance){tol, 0});
    free(data);
}

/* Checks the first step, whose gradients are still in memory. Some are zero except for
 * rounding: of a bias that a later norm subtracts. */
static void check_first(struct trial *t, const json_t *j)
{
    float *grads = golden_memory(t, MEMORY_GRADS);

    check_logits(t, json_object_get(j, "logits"), 1e-5);
    golden_check_flat(t, "gradient", grads, t->g->flat->nparam,
                      json_object_get(j, "grad"), (struct tolerance){1e-4, 1e-6});
    free(grads);
}

/* Checks the weights of `from` in the inference net. */
static void check_eval(struct trial *from, const struct run *r, const json_t *want)
{
    struct run inference = *r;
    struct trial t;
    float *w = golden_memory(from, MEMORY_WEIGHTS);

    inference.inference = true;
    open_trial(&t, &inference);
    t.backend->copy_in(t.dev, t.base[MEMORY_WEIGHTS], w,
                       program_need(t.program, MEMORY_WEIGHTS));
    program_refresh(t.program);
    golden_run(&t);
    check_logits(&t, want, 1e-2);
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
    for (size_t s = 0; s < STEPS; s++) {
        golden_check_loss(&t, what, golden_run(&t), json_array_get(losses, s),
                          s ? 1e-3 : 1e-5);
        if (s == 0 && first)
            check_first(&t, r->golden);
    }
    check_memory(&t, what, MEMORY_WEIGHTS, t.g->flat->nsegment,
                 json_object_get(r->golden, what), 2e-4);
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
