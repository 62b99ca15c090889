/*
 * Several optimizers over groups of parameters, and one loss scale per loss, against
 * PyTorch (tests/golden/train/groups.json): a small net, built with the functions that
 * build real ones (session/build_update.h), on every backend.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "io/json.h"
#include "ops/activation.h"
#include "ops/linear.h"
#include "ops/loss_sum.h"
#include "ops/table.h"
#include "session/build_update.h"
#include "session/devices.h"
#include "tests/config_init.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

enum { BATCH = 4, IN = 6, HIDDEN = 5, CLASSES = 3 };

struct net {
    const struct backend *backend;
    struct device *dev;
    const json_t *want;
    struct config cfg;
    struct plan plan;
    struct part { /* of an update: the last batch, and the earlier ones */
        struct build t;
        struct builder b;
        struct tensor *x;
        struct program *program;
    } last, micro;
    void *base[MEMORY_COUNT];
};

static void configure(struct net *n)
{
    static const char *const common[] = {
        "MODEL.TYPE",
        "resnet",
        "MODEL.NAME",
        "resnet20",
        "AMP_ENABLE",
        "False",
        "DATA.BATCH_SIZE",
        "4",
        "TRAIN.BASE_LR",
        "0.02",
        "TRAIN.SCALE_LR",
        "False",
        "TRAIN.LR_SCHEDULER.NAME",
        "constant",
        "TRAIN.WARMUP_EPOCHS",
        "0",
        "TRAIN.CLIP_GRAD",
        "0",
        "TRAIN.EPOCHS",
        "1000",
        "TRAIN.EMA.ENABLE",
        "True",
        "TRAIN.EMA.DECAY",
        "0.9",
        "TRAIN.EMA.RAMP_STEPS",
        "0",
        "MODEL.LABEL_SMOOTHING",
        "0",
        "LOSSES",
        "[{type: cross_entropy}, {type: cross_entropy, stage: 1}]"};
    const json_t *keys = json_object_get(n->want, "keys");

    config_init(&n->cfg);
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i += 2)
        config_set(&n->cfg, common[i], common[i + 1]);
    for (size_t i = 0; i + 1 < json_array_size(keys); i += 2)
        config_set(&n->cfg, json_string_value(json_array_get(keys, i)),
                   json_string_value(json_array_get(keys, i + 1)));
    plan_init(&n->plan, &n->cfg, 0, NULL, n->backend, n->dev);
    if (json_object_get(n->want, "init")) /* above the maximum of AMP.INIT_SCALE */
        n->plan.first_scale = json_number_value(json_object_get(n->want, "init"));
    for (int i = 0; i < 2; i++)
        n->plan.loss[i].weight = (float)json_number_value(
            json_array_get(json_object_get(n->want, "weights"), (size_t)i));
}

/* Builds a part in fp32 regardless of the plan: loss scales work the same. */
static void build(const struct net *n, struct part *p, bool last)
{
    struct loss_options o = {.layer = "loss"};
    struct loss_sum_attrs sum = {"loss",
                                 {n->plan.loss[0].weight, n->plan.loss[1].weight}};
    int64_t x[] = {BATCH, IN}, rows = BATCH;
    struct tensor *h, *aux;
    struct builder *b = &p->b;

    p->t = (struct build){.graph = graph_new(&graph_ops_default, true)};
    b->g = p->t.graph;
    p->x = graph_input(b, "x", DTYPE_F32, LAYOUT_PLAIN, 2, x);
    p->t.labels = graph_input(b, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, &rows);
    h = relu(b, linear(b, p->x, "layer1.0", .out = HIDDEN, .bias = 1), "relu1");
    aux = linear(b, h, "aux1.fc", .out = CLASSES, .bias = 1);
    h = relu(b, linear(b, h, "layer2.0", .out = HIDDEN, .bias = 1), "relu2");
    p->t.logits = linear(b, h, "fc", .out = CLASSES, .bias = 1);
    p->t.each[0] =
        loss_cross_entropy.build[MODEL_CLASSIFY](b, &o, p->t.logits, p->t.labels, NULL);
    p->t.each[1] =
        loss_cross_entropy.build[MODEL_CLASSIFY](b, &o, aux, p->t.labels, NULL);
    p->t.loss = loss_sum(b, p->t.each, 2, &sum);
    graph_flatten(b->g);
    build_backward(&p->t, b, &n->plan);
    build_segments(&p->t, &n->plan);
    build_update(&p->t, b, &n->plan, last);
    p->program = program_compile(b->g, n->backend, n->dev, NULL);
}

static const struct segment *segment_of(const struct part *p, const char *name)
{
    const struct flat *f = p->t.graph->flat;

    for (int i = 0; i < f->nsegment; i++)
        if (!strcmp(f->segment[i].tensor->name, name))
            return &f->segment[i];
    fail_msg("no parameter '%s'", name);
    return NULL;
}

static void fetch(struct net *n, enum memory m, float *dst)
{
    n->backend->copy_out(n->dev, dst, n->base[m],
                         (size_t)n->last.t.graph->flat->trained_len * sizeof(float));
}

static void start(struct net *n)
{
    const struct flat *f = n->last.t.graph->flat;
    float *w = xcalloc((size_t)f->weights_len, sizeof(*w));
    struct control c = {.seed = 1};

    for (int m = 0; m < MEMORY_COUNT; m++) {
        size_t need = program_need(n->last.program, (enum memory)m);
        size_t other = program_need(n->micro.program, (enum memory)m);

        need = other > need ? other : need;
        n->base[m] = need ? n->backend->alloc(n->dev, need) : NULL;
    }
    for (int i = 0; i < f->nsegment; i++) {
        const json_t *src = json_object_get(json_object_get(n->want, "start"),
                                            f->segment[i].tensor->name);

        assert_int_equal(json_array_size(src), f->segment[i].len);
        for (int64_t k = 0; k < f->segment[i].len; k++)
            w[f->segment[i].offset + k] =
                (float)json_number_value(json_array_get(src, (size_t)k));
    }
    plan_set_scales(&n->plan, &c);
    n->backend->copy_in(n->dev, n->base[MEMORY_WEIGHTS], w,
                        (size_t)f->weights_len * sizeof(*w));
    n->backend->copy_in(n->dev, n->base[MEMORY_EMA], w,
                        (size_t)f->weights_len * sizeof(*w));
    n->backend->copy_in(n->dev, n->base[MEMORY_CONTROL], &c, sizeof(c));
    free(w);
    program_bind(n->micro.program, n->base);
    program_bind(n->last.program, n->base);
    program_refresh(n->micro.program);
    program_refresh(n->last.program);
}

static void run(struct net *n, const struct part *p, size_t i)
{
    const json_t *src = json_array_get(json_object_get(n->want, "x"), i);
    const json_t *classes = json_array_get(json_object_get(n->want, "labels"), i);
    float x[BATCH * IN];
    int32_t labels[BATCH];

    assert_int_equal(json_array_size(src), BATCH * IN);
    for (size_t k = 0; k < BATCH * IN; k++)
        x[k] = (float)json_number_value(json_array_get(src, k));
    for (size_t k = 0; k < BATCH; k++)
        labels[k] = (int32_t)json_integer_value(json_array_get(classes, k));
    n->backend->copy_in(n->dev, program_data(p->program, p->x), x, sizeof(x));
    n->backend->copy_in(n->dev, program_data(p->program, p->t.labels), labels,
                        sizeof(labels));
    program_run(p->program);
}

static void compare(struct net *n, const json_t *want, const char *name,
                    const struct segment *s, const float *got, int step)
{
    assert_int_equal(json_array_size(want), s->len);
    for (int64_t k = 0; k < s->len; k++) {
        double w = json_number_value(json_array_get(want, (size_t)k));
        double g = (double)got[s->offset + k];

        if (!(fabs(g - w) <= 2e-6 + 2e-5 * fabs(w)))
            fail_msg("%s, '%s', step %d: %s[%d] is %.9g, not %.9g", n->backend->name,
                     json_string_value(json_object_get(n->want, "name")), step, name,
                     (int)k, g, w);
    }
}

static void compare_weights(struct net *n, const json_t *want, enum memory m, int step)
{
    const struct flat *f = n->last.t.graph->flat;
    float *w = xcalloc((size_t)f->weights_len, sizeof(*w));

    fetch(n, m, w);
    for (int i = 0; i < f->nparam; i++) {
        const char *name = f->segment[i].tensor->name;

        compare(n, json_object_get(want, name), name, &f->segment[i], w, step);
    }
    free(w);
}

static void compare_scales(struct net *n, const json_t *want, int step)
{
    const json_t *scale = json_object_get(want, "scale");
    struct control c;

    n->backend->copy_out(n->dev, &c, n->base[MEMORY_CONTROL], sizeof(c));
    for (size_t k = 0; k < json_array_size(scale); k++) {
        double w = exp2(json_number_value(json_array_get(scale, k)));
        int64_t good =
            json_integer_value(json_array_get(json_object_get(want, "good"), k));

        if (c.scalers[k].scale != w || c.scalers[k].growth_count != good)
            fail_msg("%s, step %d, loss %zu: scale %g after %d, not %g after %d",
                     n->backend->name, step, k, c.scalers[k].scale,
                     c.scalers[k].growth_count, w, (int)good);
        assert_int_equal(c.scalers[k].overflow, 0);
        assert_true(c.loss_scale == 1);
    }
    if (json_array_size(scale))
        assert_int_equal(c.skipped, json_integer_value(json_object_get(want, "skipped")));
}

/* Compares moments, keyed "exp_avg.fc.weight" by the names of the parameter's
 * optimizer. */
static void compare_moments(struct net *n)
{
    const struct flat *f = n->last.t.graph->flat;
    float *m = xcalloc((size_t)f->weights_len, sizeof(*m));
    const char *key;
    json_t *want;

    json_object_foreach(json_object_get(n->want, "moments"), key, want)
    {
        const char *name = strchr(key, '.') + 1;
        const struct optimizer *o = optimizer_use_of(&n->plan.groups, name)->optimizer;
        bool found = false;

        for (int i = 0; i < OPTIMIZER_MOMENTS && o->moment[i]; i++) {
            size_t len = strlen(o->moment[i]);

            if (strncmp(key, o->moment[i], len) != 0 || key[len] != '.')
                continue;
            fetch(n, i ? MEMORY_MOMENT2 : MEMORY_MOMENT1, m);
            compare(n, want, key, segment_of(&n->last, name), m, -1);
            found = true;
        }
        if (!found)
            fail_msg("%s has no moment '%s'", o->name, key);
    }
    free(m);
}

static void check_case(struct net *n)
{
    const json_t *steps = json_object_get(n->want, "step");
    const json_t *accumulate = json_object_get(n->want, "accumulate");
    size_t each = accumulate ? (size_t)json_integer_value(accumulate) : 1, pos = 0;

    configure(n);
    build(n, &n->micro, false);
    build(n, &n->last, true);
    start(n);
    assert_true(json_array_size(steps) >= 4);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *want = json_array_get(steps, i);

        for (size_t k = 1; k < each; k++)
            run(n, &n->micro, pos++);
        run(n, &n->last, pos++);
        compare_weights(n, want, MEMORY_WEIGHTS, (int)i);
        compare_scales(n, want, (int)i);
    }
    compare_moments(n);
    if (json_object_size(json_object_get(n->want, "ema")))
        compare_weights(n, json_object_get(n->want, "ema"), MEMORY_EMA, -1);
    program_free(n->micro.program);
    program_free(n->last.program);
    build_release(&n->micro.t);
    build_release(&n->last.t);
    for (int m = 0; m < MEMORY_COUNT; m++)
        n->backend->free(n->dev, n->base[m]);
    plan_release(&n->plan);
    config_release(&n->cfg);
}

static void test_golden(void **state)
{
    struct strbuf why = STRBUF_INIT;
    json_t *root = json_parse_file("tests/golden/train/groups.json", &why);
    const json_t *list = json_object_get(root, "case");
    int tried = 0;

    (void)state;
    assert_int_equal(json_array_size(list), 5);
    for (int i = 0; device_at(i); i++)
        for (size_t k = 0; k < json_array_size(list) && backend_wanted(device_at(i));
             k++) {
            struct net n = {.backend = device_at(i), .want = json_array_get(list, k)};

            n.dev = n.backend->open(&(const struct device_options){0});
            check_case(&n);
            n.backend->close(n.dev);
            tried++;
        }
    assert_true(tried > 0);
    json_decref(root);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest test[] = {cmocka_unit_test(test_golden)};

    return cmocka_run_group_tests(test, NULL, NULL);
}
