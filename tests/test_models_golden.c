/*
 * Whole nets against PyTorch, fp32: loss, logits, every gradient, and all weights and
 * running statistics after three steps of SGD and of AdamW. Weights and input are an
 * integer hash that scripts/golden/model_resnet.py computes too.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
#include "train/devices.h"

enum { CLASSES = 10, SAMPLES = 6, STEPS = 3 };

/*
 * As in the script. Decay applies to parameters of two dims or more; it is much larger
 * than in a recipe, so that three steps show it.
 */
static const double sgd_lr = 0.02, sgd_decay = 0.5, adamw_lr = 1e-3, adamw_decay = 5;
static const struct sgd_attrs sgd = {.layer = "sgd", .momentum = 0.9f, .nesterov = 1};
static const struct adam_attrs adamw = {
    .layer = "adamw", .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-4, .decoupled = 1};

static uint32_t hash32(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

static uint32_t name_hash(const char *name)
{
    uint32_t h = 0x811C9DC5u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x01000193u;
    return h;
}

static float uniform(uint32_t name, int64_t i)
{
    return (float)(hash32(name + (uint32_t)i * 0x9E3779B9u) >> 8) * 0x1p-23f - 1;
}

/* Where logical element i of t is stored. */
static int64_t stored(const struct tensor *t, int64_t i)
{
    int64_t stride[TENSOR_DIMS], at = 0;

    tensor_strides(t, stride);
    for (int d = t->ndim; d-- > 0; i /= t->dim[d])
        at += i % t->dim[d] * stride[d];
    return at;
}

static float formula(const struct tensor *t, int64_t i)
{
    float u = uniform(name_hash(t->name), i);
    size_t len = strlen(t->name);

    if (t->kind != TENSOR_PARAM)
        return t->init.value;
    if (t->ndim > 1)
        return u * (float)sqrt(6.0 / (double)(tensor_len(t) / t->dim[0]));
    return len > 7 && !strcmp(t->name + len - 7, ".weight") ? 1 + 0.25f * u : 0.1f * u;
}

static void fill_weights(const struct flat *f, float *w)
{
    memset(w, 0, (size_t)f->weights_len * sizeof(float));
    for (int s = 0; s < f->nsegment; s++)
        for (int64_t i = 0; i < f->segment[s].len; i++)
            w[f->segment[s].offset + stored(f->segment[s].tensor, i)] =
                formula(f->segment[s].tensor, i);
}

/* The nets that the table has not. */
static const struct model nets[] = {
    {.name = "resnext",
     .build = resnet_build,
     .arch = &(const struct resnet){.block = "NNNN",
                                    .depth = {1, 2, 1, 1},
                                    .planes = {64, 24, 32, 32},
                                    .groups = 4,
                                    .base = 32}},
    {.name = "se_tiered",
     .build = resnet_build,
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

/* A net, its program on a device and the memory of both. */
struct trial {
    const struct backend *backend;
    struct device *dev;
    struct graph *g;
    struct tensor *x, *labels, *logits, *loss;
    struct program *program;
    void *base[MEMORY_COUNT];
};

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
    struct sgd_attrs s = sgd;
    struct adam_attrs a = adamw;

    prepare.schedule.base = kind == KIND_SGD ? sgd_lr : adamw_lr;
    grad_stats(b, grads, control);
    control_prepare_node(b, control, &prepare);
    s.update = segments(b->g, sgd_decay);
    a.update = segments(b->g, adamw_decay);
    if (kind == KIND_SGD)
        optimizer(b, &op_sgd, &s, grads, control, state, 2);
    else
        optimizer(b, &op_adam, &a, grads, control, state, 3);
    running_stats(b, control, 1, true);
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

static void write_tensor(struct trial *t, const struct tensor *to, const void *from)
{
    t->backend->copy_in(t->dev, program_data(t->program, to), from, tensor_size(to));
}

static float *read_memory(struct trial *t, enum memory m)
{
    size_t size = program_need(t->program, m);
    float *p = xmalloc(size);

    t->backend->copy_out(t->dev, p, t->base[m], size);
    return p;
}

static void fill_input(struct trial *t, int64_t number)
{
    char *name = xasprintf("input%" PRId64, number);
    uint32_t h = name_hash(name);
    int64_t len = tensor_len(t->x), batch = t->x->dim[0];
    float *x = xmalloc((size_t)len * sizeof(*x));
    int32_t *labels = xmalloc((size_t)batch * sizeof(*labels));

    for (int64_t i = 0; i < len; i++)
        x[stored(t->x, i)] = 2 * uniform(h, i);
    for (int64_t i = 0; i < batch; i++)
        labels[i] = (int32_t)(hash32((uint32_t)i) % CLASSES);
    write_tensor(t, t->x, x);
    write_tensor(t, t->labels, labels);
    free(name);
    free(x);
    free(labels);
}

static int64_t golden_int(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

/* The net and the input that a golden file is about. */
static void open_trial(struct trial *t, const struct backend *backend, const char *name,
                       const json_t *golden, enum kind kind)
{
    float *w;

    *t = (struct trial){.backend = backend};
    t->dev = backend->open(&(struct device_options){0});
    build(t, name, golden_int(golden, "batch"), golden_int(golden, "side"), kind);
    t->program = program_compile(t->g, backend, t->dev, &(struct compile_options){0});
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(t->program, m))
            t->base[m] = backend->alloc(t->dev, program_need(t->program, m));
    program_bind(t->program, t->base);

    w = xcalloc((size_t)t->g->flat->weights_len, sizeof(*w));
    fill_weights(t->g->flat, w);
    backend->copy_in(t->dev, t->base[MEMORY_WEIGHTS], w,
                     (size_t)t->g->flat->weights_len * sizeof(*w));
    free(w);
    if (t->base[MEMORY_CONTROL])
        backend->copy_in(t->dev, t->base[MEMORY_CONTROL],
                         &(struct control){.loss_scale = 1, .grad_multiplier = 1},
                         sizeof(struct control));
    program_refresh(t->program);
    fill_input(t, golden_int(golden, "input"));
}

static void close_trial(struct trial *t)
{
    program_free(t->program);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (t->base[m])
            t->backend->free(t->dev, t->base[m]);
    graph_free(t->g);
    t->backend->close(t->dev);
}

/* |got - want| is at most `tol` of the largest of `want`. */
static void check_numbers(const char *what, const float *got, const json_t *want,
                          double tol)
{
    double scale = 0;
    size_t n = json_array_size(want);

    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(json_number_value(json_array_get(want, i))));
    for (size_t i = 0; i < n; i++) {
        double w = json_number_value(json_array_get(want, i)), g = (double)got[i];

        if (!(fabs(g - w) <= tol * scale))
            fail_msg("%s[%zu] is %.8g, not %.8g", what, i, g, w);
    }
}

/*
 * A digest as the script makes it: the L2 norm, then SAMPLES elements. A single element
 * may be off five times as much as the norm.
 */
static void check_digest(const char *what, const struct tensor *t, const float *data,
                         const json_t *want, double tol)
{
    float got[1 + SAMPLES];
    int64_t len = tensor_len(t);
    double sum = 0;

    for (int64_t i = 0; i < len; i++)
        sum += (double)data[i] * data[i];
    got[0] = (float)sqrt(sum);
    for (uint32_t k = 0; k < SAMPLES; k++)
        got[1 + k] = data[stored(t, hash32(name_hash(t->name) + k) % len)];

    double norm = json_number_value(json_array_get(want, 0));
    double typical = norm / sqrt((double)len); /* of one element */

    assert_int_equal(json_array_size(want), 1 + SAMPLES);
    if (!(fabs((double)got[0] - norm) <= tol * norm))
        fail_msg("%s of %s: norm is %.8g, not %.8g", what, t->name, (double)got[0], norm);
    for (size_t k = 1; k <= SAMPLES; k++) {
        double w = json_number_value(json_array_get(want, k)), g = (double)got[k];

        if (!(fabs(g - w) <= 5 * tol * (fabs(w) + typical)))
            fail_msg("%s of %s: sample %zu is %.8g, not %.8g", what, t->name, k, g, w);
    }
}

/* All segments [0, n) of a flat array that starts at element `from`. */
static void check_flat(struct trial *t, const char *what, enum memory m, int n,
                       const json_t *want, double tol)
{
    const struct flat *f = t->g->flat;
    float *data = read_memory(t, m);
    size_t compared = 0;

    for (int s = 0; s < n; s++) {
        const struct tensor *p = f->segment[s].tensor;
        const json_t *digest = json_object_get(want, p->name);

        if (!digest && strstr(p->name, "num_batches_tracked"))
            continue;
        if (!digest)
            fail_msg("%s of %s is not in the golden file", what, p->name);
        check_digest(what, p, data + f->segment[s].offset, digest, tol);
        compared++;
    }
    assert_int_equal(compared, json_object_size(want));
    free(data);
}

static json_t *golden_read(const char *name)
{
    char *path = xasprintf("tests/golden/models/%s.json", name);
    struct strbuf why = STRBUF_INIT;
    json_t *j = json_parse_file(path, &why);

    if (!j)
        fail_msg("%s: %s", path, why.buf);
    strbuf_release(&why);
    free(path);
    return j;
}

/* One run; its loss. */
static double run(struct trial *t)
{
    float loss;

    program_run(t->program);
    t->backend->copy_out(t->dev, &loss, program_data(t->program, t->loss), sizeof(loss));
    return (double)loss;
}

static void check_loss(const struct trial *t, const char *what, double got,
                       const json_t *want, double tol)
{
    double w = json_number_value(want);

    if (!(fabs(got - w) <= tol * fabs(w)))
        fail_msg("%s: loss of %s is %.8g, not %.8g", t->backend->name, what, got, w);
}

static void check_logits(struct trial *t, const json_t *want, double tol)
{
    float *z = xmalloc(tensor_size(t->logits));

    t->backend->copy_out(t->dev, z, program_data(t->program, t->logits),
                         tensor_size(t->logits));
    assert_int_equal(json_array_size(want), tensor_len(t->logits));
    check_numbers("logits", z, want, tol);
    free(z);
}

/* What the first step computed: the gradients are still there. */
static void check_first(struct trial *t, const json_t *j)
{
    check_logits(t, json_object_get(j, "logits"), 1e-5);
    check_flat(t, "gradient", MEMORY_GRADS, t->g->flat->nparam,
               json_object_get(j, "grad"), 1e-4);
}

/* The weights of `from` in the net for inference. */
static void check_eval(struct trial *from, const char *name, const json_t *j)
{
    struct trial t;
    float *w = read_memory(from, MEMORY_WEIGHTS);

    open_trial(&t, from->backend, name, j, KIND_EVAL);
    t.backend->copy_in(t.dev, t.base[MEMORY_WEIGHTS], w,
                       program_need(t.program, MEMORY_WEIGHTS));
    program_refresh(t.program);
    run(&t);
    check_logits(&t, json_object_get(j, "eval"), 1e-2);
    free(w);
    close_trial(&t);
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
        check_loss(&t, what, run(&t), json_array_get(losses, s), s ? 1e-3 : 1e-5);
        if (s == 0 && kind == KIND_SGD)
            check_first(&t, j);
    }
    check_flat(&t, what, MEMORY_WEIGHTS, t.g->flat->nsegment, json_object_get(j, what),
               2e-4);
    if (kind == KIND_SGD)
        check_eval(&t, name, j);
    close_trial(&t);
    json_decref(j);
}

static void check_net(const char *name)
{
    for (int i = 0; device_table[i]; i++) {
        if (!device_available(device_table[i], 0, NULL))
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

    return cmocka_run_group_tests(tests, NULL, NULL);
}
