/*
 * Checks how configuration keys reach the graphs of a run: attributes of nodes that only
 * build.c appends. Nothing is compiled and nothing runs.
 */
#include <string.h>

#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/bce.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/grads_join.h"
#include "ops/linear.h"
#include "ops/loss_scale.h"
#include "ops/mix.h"
#include "ops/normalize.h"
#include "ops/optimizer.h"
#include "ops/position.h"
#include "ops/reference.h"
#include "ops/tokens.h"
#include "ops/update_control.h"
#include "session/build.h"
#include "tests/config_init.h"
#include "tests/test.h"

struct built {
    struct config cfg;
    struct plan plan;
    struct build build;
};

/* resnet20 in fp32, four batches per epoch; then keys and values up to NULL. */
static void built_init(struct built *t, enum build_kind kind, const char *const *more)
{
    static const char *const common[][2] = {
        {"MODEL.TYPE", "resnet"},         {"MODEL.NAME", "resnet20"},
        {"DATA.IMG_SIZE", "32"},          {"DATA.BATCH_SIZE", "4"},
        {"MODEL.DROP_PATH_RATE", "0"},    {"AMP_ENABLE", "False"},
        {"MODEL.LABEL_SMOOTHING", "0.2"},
    };

    config_init(&t->cfg);
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        config_set(&t->cfg, common[i][0], common[i][1]);
    for (; more && *more; more += 2)
        config_set(&t->cfg, more[0], more[1]);
    plan_init(&t->plan, &t->cfg, 16, NULL, &backend_ref, NULL);
    build_init(&t->build, &t->plan, kind, t->plan.mix);
}

static void built_release(struct built *t)
{
    build_release(&t->build);
    plan_release(&t->plan);
    config_release(&t->cfg);
}

/* Returns the attributes of the only node of that op. */
static const void *attrs_of(const struct built *t, const struct op *op)
{
    const struct graph *g = t->build.graph;
    const void *attrs = NULL;
    int found = 0;

    for (int i = 0; i < g->nnode; i++)
        if (g->node[i]->op == op) {
            attrs = g->node[i]->attrs;
            found++;
        }
    if (found != 1)
        fail_msg("%d nodes are %s", found, op->name);
    return attrs;
}

static void test_input(void **state)
{
    const struct normalize_attrs *a;
    struct built t;

    (void)state;
    built_init(&t, BUILD_EVAL,
               (const char *[]){"DATA.MEAN", "[0.1, 0.2, 0.3]", "DATA.STD",
                                "[0.4, 0.5, 0.6]", NULL});
    a = attrs_of(&t, &op_normalize);
    assert_memory_equal(a->mean, ((const float[]){0.1f, 0.2f, 0.3f}), 3 * sizeof(float));
    assert_memory_equal(a->std, ((const float[]){0.4f, 0.5f, 0.6f}), 3 * sizeof(float));
    built_release(&t);
}

static void test_mix(void **state)
{
    static const struct {
        const char *name;
        int mode;
    } modes[] = {{"batch", MIX_BATCH}, {"pair", MIX_PAIR}, {"elem", MIX_ELEM}};
    const struct mix_attrs *a;
    struct built t;

    (void)state;
    for (int i = 0; i < 3; i++) {
        built_init(&t, BUILD_TRAIN,
                   (const char *[]){"AUG.MIXUP_MODE", modes[i].name, "AUG.MIXUP", "0.3",
                                    "AUG.CUTMIX", "0.7", "AUG.MIXUP_PROB", "0.9",
                                    "AUG.MIXUP_SWITCH_PROB", "0.6", "AUG.CUTMIX_MINMAX",
                                    "[0.2, 0.8]", NULL});
        a = attrs_of(&t, &op_mix);
        assert_int_equal(a->mode, modes[i].mode);
        assert_true(a->mixup == 0.3f && a->cutmix == 0.7f);
        assert_true(a->prob == 0.9f && a->switch_prob == 0.6f);
        assert_true(a->cutmix_min == 0.2f && a->cutmix_max == 0.8f);
        built_release(&t);
    }
}

/* The loss of an evaluation is not smoothed, so that runs can be compared. */
static void test_smoothing(void **state)
{
    static const float want[] = {
        [BUILD_TRAIN] = 0.2f, [BUILD_MICRO] = 0.2f, [BUILD_EVAL] = 0};

    (void)state;
    for (int kind = BUILD_TRAIN; kind <= BUILD_EVAL; kind++) {
        const struct cross_entropy_attrs *a;
        struct built t;

        built_init(&t, (enum build_kind)kind,
                   (const char *[]){"TRAIN.ACCUMULATION_STEPS", "2", NULL});
        a = attrs_of(&t, &op_cross_entropy);
        assert_true(a->smoothing == want[kind]);
        built_release(&t);
    }
}

/* The choice if rounding errors may replace zero gradients applies to the whole run: a
 * micro-batch and a rank without weights choose like the whole update. */
static void test_zeros(void **state)
{
    static const struct {
        const char *optimizer;
        bool want;
    } rows[] = {{"sgd", false}, {"adamw", true}, {"lamb", true}, {"lion", true}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int kind = BUILD_TRAIN; kind <= BUILD_EVAL; kind++) {
            struct built t;

            built_init(&t, (enum build_kind)kind,
                       (const char *[]){"TRAIN.ACCUMULATION_STEPS", "2",
                                        "TRAIN.OPTIMIZER.NAME", rows[i].optimizer, NULL});
            assert_int_equal(t.build.graph->keeps_zeros,
                             rows[i].want && kind != BUILD_EVAL);
            built_release(&t);
        }
}

/* As under torch's autocast, ViT's residual stream stays fp32 in mixed precision:
 * positions are added in fp32, and each sum has the type of its widest term. */
static void test_residual_stream(void **state)
{
    struct built t;
    int sums = 0, halves = 0;

    (void)state;
    built_init(&t, BUILD_TRAIN,
               (const char *[]){"MODEL.TYPE", "vit", "MODEL.NAME", "vit_tiny_patch16_224",
                                "AMP_ENABLE", "True", "AMP.DTYPE", "bf16", NULL});
    for (int i = 0; i < t.build.graph->nnode; i++) {
        const struct node *n = t.build.graph->node[i];

        if (n->phase != PHASE_FORWARD)
            continue;
        halves += n->op == &op_linear && n->out[0]->dtype == DTYPE_BF16;
        if (n->op != &op_add && n->op != &op_add_position && n->op != &op_prepend_token)
            continue;
        assert_int_equal(n->out[0]->dtype, DTYPE_F32);
        sums++;
    }
    assert_int_equal(sums, 2 + 2 * 12);
    assert_true(halves >= 4 * 12);
    built_release(&t);
}

/* Training minimizes BCE; the loss of an evaluation is still cross entropy. */
static void test_bce(void **state)
{
    static const char *const keys[] = {"TRAIN.LOSS.NAME",
                                       "bce",
                                       "TRAIN.LOSS.TARGET_THRESH",
                                       "0.3",
                                       "TRAIN.LOSS.SUM_CLASSES",
                                       "True",
                                       NULL};
    const struct bce_attrs *a;
    const struct cross_entropy_attrs *e;
    struct built t;

    (void)state;
    built_init(&t, BUILD_TRAIN, keys);
    a = attrs_of(&t, &op_bce);
    assert_true(a->smoothing == 0.2f && a->threshold == 0.3f);
    assert_true(a->has_threshold && a->sum_classes);
    built_release(&t);
    built_init(&t, BUILD_EVAL, keys);
    e = attrs_of(&t, &op_cross_entropy);
    assert_true(e->smoothing == 0);
    built_release(&t);
    built_init(&t, BUILD_TRAIN, (const char *[]){"TRAIN.LOSS.NAME", "bce", NULL});
    a = attrs_of(&t, &op_bce);
    assert_false(a->has_threshold || a->sum_classes);
    built_release(&t);
}

/* Builds the training graph with that optimizer and values other than the defaults. */
static void built_optimizer(struct built *t, const char *name)
{
    built_init(t, BUILD_TRAIN,
               (const char *[]){
                   "TRAIN.OPTIMIZER.NAME", name, "TRAIN.OPTIMIZER.MOMENTUM", "0.7",
                   "TRAIN.OPTIMIZER.ALPHA", "0.8", "TRAIN.OPTIMIZER.BETAS", "[0.6, 0.95]",
                   "TRAIN.OPTIMIZER.EPS", "0.001", "TRAIN.WEIGHT_DECAY", "0.03",
                   "TRAIN.CLIP_MODE", "value", "TRAIN.CLIP_GRAD", "2", NULL});
}

/* Weight decay is passed unscaled; the optimizers multiply it by the learning rate. */
static void check_update(const struct built *t, const struct update *u)
{
    int decayed = 0;

    assert_true(u->clip_value == 2);
    assert_int_equal(u->nsegment, t->build.nsegment);
    for (int i = 0; i < u->nsegment; i++) {
        assert_true(u->segment[i].lr_scale == 1);
        if (u->segment[i].weight_decay != 0)
            assert_true(u->segment[i].weight_decay == 0.03f);
        decayed += u->segment[i].weight_decay != 0;
    }
    assert_int_equal(decayed, 20); /* the convolutions and the classifier */
}

/* Every optimizer receives all keys, even those it does not read. */
static void test_optimizers(void **state)
{
    const struct optimizer_attrs *a;
    struct built t;

    (void)state;
    for (const struct optimizer *o = optimizer_table; o->name; o++) {
        built_optimizer(&t, o->name);
        a = attrs_of(&t, o->op);
        assert_string_equal(a->layer, o->name);
        assert_true(a->h.momentum == 0.7 && a->h.alpha == 0.8 && a->h.eps == 0.001);
        assert_true(a->h.beta1 == 0.6 && a->h.beta2 == 0.95 && a->h.nesterov);
        assert_int_equal(a->decoupled, !strcmp(o->name, "adamw"));
        check_update(&t, &a->update);
        built_release(&t);
    }
    built_init(&t, BUILD_TRAIN,
               (const char *[]){"TRAIN.OPTIMIZER.NAME", "SGD", "TRAIN.OPTIMIZER.NESTEROV",
                                "False", NULL});
    a = attrs_of(&t, optimizer_find("sgd")->op);
    assert_false(a->h.nesterov);
    built_release(&t);
}

/* Rates, clipping by norm and the EMA; RAMP_STEPS is in updates, as the ramp is. */
static void test_control(void **state)
{
    const struct control_prepare_attrs *a;
    struct built t;

    (void)state;
    built_init(&t, BUILD_TRAIN,
               (const char *[]){"TRAIN.CLIP_GRAD", "3", "TRAIN.EMA.DECAY", "0.9",
                                "TRAIN.EMA.RAMP_STEPS", "50", NULL});
    a = attrs_of(&t, &op_control_prepare);
    assert_true(a->clip_norm == 3);
    assert_true(a->ema_decay == 0.9 && a->ema_ramp == 50);
    assert_true(a->schedule.base == t.plan.schedule.base);
    assert_int_equal(a->schedule.total, t.plan.updates);
    built_release(&t);
}

/* resnet20 has ten layers below the classifier: nine blocks and the stem, at 0.5^10. */
static void test_layer_decay(void **state)
{
    int heads = 0, stems = 0;
    struct built t;

    (void)state;
    built_init(&t, BUILD_TRAIN, (const char *[]){"TRAIN.LAYER_DECAY", "0.5", NULL});
    for (int i = 0; i < t.build.nsegment; i++) {
        float scale = t.build.segment[i].lr_scale;

        heads += scale == 1;
        stems += scale == 1.0f / 1024;
        assert_true(scale <= 1 && scale >= 1.0f / 1024);
    }
    assert_int_equal(heads, 2);
    assert_int_equal(stems, 3);
    built_release(&t);
}

/* Returns the segment of a parameter, and in *optimizer the name of its optimizer. */
static const struct update_segment *segment_of(const struct built *t, const char *name,
                                               const char **optimizer)
{
    const struct graph *g = t->build.graph;
    const struct tensor *param = graph_find(g, name);

    for (int i = 0; i < g->nnode; i++) {
        const struct optimizer_attrs *a = optimizer_attrs(g->node[i]);

        for (int k = 0; a && k < a->update.nsegment; k++)
            if ((size_t)a->update.segment[k].offset * sizeof(float) == param->offset) {
                *optimizer = a->layer;
                return &a->update.segment[k];
            }
    }
    fail_msg("nobody updates %s", name);
    return NULL;
}

/* The first matching group counts; values that it does not set are the defaults. */
static void test_groups(void **state)
{
    const struct update_segment *s;
    const char *optimizer;
    struct built t;

    (void)state;
    built_init(&t, BUILD_TRAIN,
               (const char *[]){
                   "TRAIN.OPTIMIZER.NAME", "adamw", "TRAIN.WEIGHT_DECAY", "0.03",
                   "TRAIN.LAYER_DECAY", "0.5", "TRAIN.OPTIMIZER.GROUPS",
                   "[{match: 'fc.*', name: sgd, lr_scale: 10, weight_decay: 0.2}, "
                   "{match: '*.bias', weight_decay: 0.1}, {match: 'bn1.*', lr_scale: 4}]",
                   NULL});
    assert_int_equal(t.plan.groups.nuse, 2);
    s = segment_of(&t, "fc.bias", &optimizer);
    assert_string_equal(optimizer, "sgd");
    assert_true(s->lr_scale == 10 && s->weight_decay == 0.2f);
    s = segment_of(&t, "bn1.bias", &optimizer); /* not of the last group */
    assert_string_equal(optimizer, "adamw");
    assert_true(s->lr_scale == 1.0f / 1024 && s->weight_decay == 0.1f);
    s = segment_of(&t, "bn1.weight", &optimizer);
    assert_string_equal(optimizer, "adamw");
    assert_true(s->lr_scale == 4.0f / 1024 && s->weight_decay == 0);
    s = segment_of(&t, "conv1.weight", &optimizer);
    assert_true(s->lr_scale == 1.0f / 1024 && s->weight_decay == 0.03f);
    built_release(&t);
}

/* Counts forward nodes of the teacher, or of the net itself, that output 16-bit
 * floats. */
static int half_nodes(const struct built *t, bool teacher)
{
    const struct graph *g = t->build.graph;
    int n = 0;

    for (int i = 0; i < g->nnode; i++) {
        const struct node *node = g->node[i];

        if (node->phase == PHASE_FORWARD && node->op->nout &&
            teacher == !strncmp(node->layer, "teacher.", 8))
            n += dtype_is_half(node->out[0]->dtype);
    }
    return n;
}

/* The teacher runs as in inference (no drop path, running statistics); the net does
 * not. */
static void check_inference(const struct built *t)
{
    int drops = 0;

    for (int i = 0; i < t->build.graph->nnode; i++) {
        const struct node *n = t->build.graph->node[i];
        bool drop = n->op == &op_drop_path;

        drops += drop;
        assert_false((drop || n->op == &op_batchnorm) &&
                     !strncmp(n->layer, "teacher.", 8));
    }
    assert_true(drops > 0);
}

/* A teacher computes as the net does; AMP.FP32 may keep it in fp32. */
static void test_teacher(void **state)
{
    static const struct {
        const char *level, *f32;
        bool net, teacher;
    } cases[] = {{"O0", "[]", false, false},
                 {"O1", "[]", true, true},
                 {"O2", "[]", true, true},
                 {"O1", "['teacher.*']", true, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *amp = strcmp(cases[i].level, "O0") != 0 ? "True" : "False";
        struct built t;

        built_init(&t, BUILD_TRAIN,
                   (const char *[]){"AMP_ENABLE", amp, "AMP_OPT_LEVEL", cases[i].level,
                                    "AMP.DTYPE", "fp16", "AMP.FP32", cases[i].f32,
                                    "MODEL.TEACHER", "x", "MODEL.DROP_PATH_RATE", "0.5",
                                    "LOSSES", "[{type: cross_entropy}, {type: distill}]",
                                    NULL});
        assert_non_null(t.plan.teacher);
        assert_non_null(graph_find(t.build.graph, "teacher.conv1.weight"));
        assert_int_equal(half_nodes(&t, false) > 0, cases[i].net);
        assert_int_equal(half_nodes(&t, true) > 0, cases[i].teacher);
        check_inference(&t);
        built_release(&t);
    }
}

/* With a dynamic scale each loss of AMP.NUM_LOSSES has its scale and backward phase. */
static void test_num_losses(void **state)
{
    static const struct {
        const char *dtype, *scale, *n;
        int phases;
    } cases[] = {{"fp16", "dynamic", "1", 1},
                 {"fp16", "dynamic", "2", 2},
                 {"fp16", "128.0", "2", 1},
                 {"bf16", "dynamic", "2", 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built t;
        int seeds = 0, joins = 0;

        built_init(&t, BUILD_TRAIN,
                   (const char *[]){"AMP_ENABLE", "True", "AMP.DTYPE", cases[i].dtype,
                                    "AMP.LOSS_SCALE", cases[i].scale, "AMP.NUM_LOSSES",
                                    cases[i].n, "LOSSES",
                                    "[{type: cross_entropy}, {type: cross_entropy, "
                                    "stage: 1}]",
                                    NULL});
        for (int k = 0; k < t.build.graph->nnode; k++) {
            seeds += t.build.graph->node[k]->op == &op_loss_scale;
            joins += t.build.graph->node[k]->op == &op_grads_join;
        }
        assert_int_equal(seeds, cases[i].phases);
        assert_int_equal(joins, cases[i].phases > 1);
        built_release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input),           cmocka_unit_test(test_mix),
        cmocka_unit_test(test_smoothing),       cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_residual_stream), cmocka_unit_test(test_bce),
        cmocka_unit_test(test_optimizers),      cmocka_unit_test(test_control),
        cmocka_unit_test(test_layer_decay),     cmocka_unit_test(test_groups),
        cmocka_unit_test(test_teacher),         cmocka_unit_test(test_num_losses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
