/*
 * Whole nets against PyTorch, fp32: loss, logits, every gradient, and all weights and
 * running statistics after three steps of SGD and of AdamW. Weights and input are an
 * integer hash that scripts/golden/model_resnet.py computes too.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "io/json.h"
#include "models/resnet.h"
#include "models/table.h"
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

enum { CLASSES = 10, STEPS = 3 };

/*
 * As in the script. Decay applies to parameters of two dims or more; it is much larger
 * than in a recipe, so that three steps show it.
 */
static const double sgd_lr = 0.02, sgd_decay = 0.5, adamw_lr = 1e-3, adamw_decay = 5;
static const struct hyperparameters hyperparameters = {
    .momentum = 0.9, .nesterov = true, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-4};

/* The nets that the table has not. */
static const struct model nets[] = {
    {.name = "resnext",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "NNNN",
                                    .depth = {1, 2, 1, 1},
                                    .planes = {64, 24, 32, 32},
                                    .groups = 4,
                                    .base = 32}},
    {.name = "se_tiered",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "BBBB",
                                    .depth = {1, 1, 1, 1},
                                    .planes = {16, 16, 32, 48},
                                    .stem = RESNET_STEM_TIERED,
                                    .shortcut = RESNET_SHORTCUT_AVG,
                                    .se = true}},
};

static const struct model *net_find(const char *name)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m;

    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++)
        if (!strcmp(nets[i].name, name))
            return &nets[i];
    m = model_find("resnet", name, &why);
    if (!m)
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    return m;
}

/* The forward phase for inference, or a whole training step. */
enum kind { KIND_EVAL, KIND_SGD, KIND_ADAMW };

static struct update segments(struct graph *g, double decay)
{
    const struct flat *f = g->flat;
    struct update_segment *s = arena_new(&g->arena, (size_t)f->nparam * sizeof(*s));

    for (int i = 0; i < f->nparam; i++)
        s[i] = (struct update_segment){
            .offset = f->segment[i].offset,
            .len = f->segment[i].len,
            .lr_scale = 1,
            .weight_decay = f->segment[i].tensor->ndim > 1 ? (float)decay : 0,
        };
    return (struct update){.segment = s, .nsegment = f->nparam};
}

static struct tensor *flat_state(struct builder *b, const char *name, enum memory m)
{
    return graph_state(b, name, m, DTYPE_F32, 0, b->g->flat->param_len);
}

/* The update phase of a training step, at a constant rate. */
static void build_update(struct builder *b, enum kind kind)
{
    struct tensor *control = control_tensor(b);
    struct tensor *grads = flat_state(b, "grads", MEMORY_GRADS);
    struct tensor *state[] = {flat_state(b, "weights", MEMORY_WEIGHTS),
                              flat_state(b, "moment1", MEMORY_MOMENT1),
                              flat_state(b, "moment2", MEMORY_MOMENT2)};
    struct control_prepare_attrs prepare = {
        .layer = "prepare",
        .schedule = {.kind = SCHEDULE_STEP, .total = STEPS, .every = STEPS, .rate = 1}};
    bool sgd = kind == KIND_SGD;
    struct update u = segments(b->g, sgd ? sgd_decay : adamw_decay);

    prepare.schedule.base = sgd ? sgd_lr : adamw_lr;
    grad_stats(b, grads, control);
    control_prepare_node(b, control, &prepare);
    optimizer_node(b, optimizer_find(sgd ? "sgd" : "adamw"), &u, &hyperparameters, grads,
                   control, state);
    running_stats(b, control, (struct accumulation){.group = 1}, true);
    control_finish_node(b, control, &(struct scaler){.dynamic = false});
}

static void build(struct trial *t, const char *name, int64_t batch, int64_t side,
                  enum kind kind)
{
    struct builder b = {.g = graph_new(&graph_ops_default, kind != KIND_EVAL)};

    t->g = b.g;
    t->x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                       (const int64_t[]){batch, 3, side, side});
    t->labels = graph_input(&b, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, &batch);
    t->logits = model_build(&b, net_find(name),
                            &(struct model_options){.classes = CLASSES}, t->x);
    graph_output(b.g, t->logits);
    t->loss = cross_entropy(&b, t->logits, t->labels, NULL, "loss");
    graph_output(b.g, t->loss);
    graph_flatten(b.g);
    if (kind == KIND_EVAL)
        return;
    autodiff(&b, t->loss, loss_scale(&b, "loss_scale"));
    b.phase = PHASE_UPDATE;
    build_update(&b, kind);
}

static void fill_labels(struct trial *t)
{
    int64_t batch = t->x->dim[0];
    int32_t *labels = xmalloc((size_t)batch * sizeof(*labels));

    for (int64_t i = 0; i < batch; i++)
        labels[i] = (int32_t)(golden_hash((uint32_t)i) % CLASSES);
    golden_write(t, t->labels, labels);
    free(labels);
}

/* The net and the input that a golden file is about. */
static void open_trial(struct trial *t, const struct backend *backend, const char *name,
                       const json_t *golden, enum kind kind)
{
    *t = (struct trial){.backend = backend};
    t->dev = backend->open(&(struct device_options){0});
    build(t, name, golden_int(golden, "batch"), golden_int(golden, "side"), kind);
    golden_open(t, golden);
    fill_labels(t);
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

/* What the first step computed: the gradients are still there. */
static void check_first(struct trial *t, const json_t *j)
{
    check_logits(t, json_object_get(j, "logits"), 1e-5);
    check_memory(t, "gradient", MEMORY_GRADS, t->g->flat->nparam,
                 json_object_get(j, "grad"), 1e-4);
}

/* The weights of `from` in the net for inference. */
static void check_eval(struct trial *from, const char *name, const json_t *j)
{
    struct trial t;
    float *w = golden_memory(from, MEMORY_WEIGHTS);

    open_trial(&t, from->backend, name, j, KIND_EVAL);
    t.backend->copy_in(t.dev, t.base[MEMORY_WEIGHTS], w,
                       program_need(t.program, MEMORY_WEIGHTS));
    program_refresh(t.program);
    golden_run(&t);
    check_logits(&t, json_object_get(j, "eval"), 1e-2);
    free(w);
    golden_close(&t);
}

static void check_steps(const char *name, const struct backend *backend, enum kind kind)
{
    const char *what = kind == KIND_SGD ? "sgd" : "adamw";
    json_t *j = golden_read(name), *losses;
    struct trial t;

    print_message("%s on %s: %s\n", name, backend->name, what);
    losses = json_object_get(j, kind == KIND_SGD ? "loss_sgd" : "loss_adamw");
    assert_int_equal(json_array_size(losses), STEPS);
    open_trial(&t, backend, name, j, kind);
    for (size_t s = 0; s < STEPS; s++) {
        golden_check_loss(&t, what, golden_run(&t), json_array_get(losses, s),
                          s ? 1e-3 : 1e-5);
        if (s == 0 && kind == KIND_SGD)
            check_first(&t, j);
    }
    check_memory(&t, what, MEMORY_WEIGHTS, t.g->flat->nsegment, json_object_get(j, what),
                 2e-4);
    if (kind == KIND_SGD)
        check_eval(&t, name, j);
    golden_close(&t);
    json_decref(j);
}

static void check_net(const char *name)
{
    for (int i = 0; device_table[i]; i++) {
        if (!backend_wanted(device_table[i]))
            continue;
        check_steps(name, device_table[i], KIND_SGD);
        check_steps(name, device_table[i], KIND_ADAMW);
    }
}

/* CIFAR's basic blocks and shortcuts without parameters. */
static void test_resnet20(void **state)
{
    (void)state;
    check_net("resnet20");
}

/* Both kinds of blocks, a deep stem, average pools over an odd size. */
static void test_test_resnet(void **state)
{
    (void)state;
    check_net("test_resnet");
}

/* Grouped convolutions, 7x7 stem, convolutions as shortcuts. */
static void test_resnext(void **state)
{
    (void)state;
    check_net("resnext");
}

static void test_se_tiered(void **state)
{
    (void)state;
    check_net("se_tiered");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet20),
        cmocka_unit_test(test_test_resnet),
        cmocka_unit_test(test_resnext),
        cmocka_unit_test(test_se_tiered),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
