/*
 * Checks how MODEL.TASK regression and ordinal reach the graphs of a run: losses, outputs, and
 * the units of the targets. Nothing is compiled and nothing runs.
 */
#include <string.h>

#include "graph/flat.h"
#include "ops/corn.h"
#include "ops/cross_entropy.h"
#include "ops/reference.h"
#include "ops/regression_loss.h"
#include "ops/unscale.h"
#include "session/build.h"
#include "session/model_config.h"
#include "tests/config_init.h"
#include "tests/test.h"

struct built {
    struct config cfg;
    struct plan plan;
    struct build build;
};

static void built_init(struct built *t, enum build_kind kind, const char *const *more)
{
    static const char *const common[][2] = {
        {"MODEL.TYPE", "resnet"},      {"MODEL.NAME", "resnet20"},
        {"DATA.IMG_SIZE", "32"},       {"DATA.BATCH_SIZE", "4"},
        {"MODEL.DROP_PATH_RATE", "0"}, {"AMP_ENABLE", "False"},
        {"MODEL.NUM_CLASSES", "3"},
    };

    config_init(&t->cfg);
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        config_set(&t->cfg, common[i][0], common[i][1]);
    for (; more && *more; more += 2)
        config_set_for(&t->cfg, more[0], more[1], "test");
    model_preset(&t->cfg);
    plan_init(&t->plan, &t->cfg, 16, NULL, &backend_ref, NULL);
    build_init(&t->build, &t->plan, kind, t->plan.mix);
}

static void built_release(struct built *t)
{
    build_release(&t->build);
    plan_release(&t->plan);
    config_release(&t->cfg);
}

/* Returns the number of nodes of that op. */
static int count(const struct built *t, const struct op *op)
{
    const struct graph *g = t->build.graph;
    int n = 0;

    for (int i = 0; i < g->nnode; i++)
        n += g->node[i]->op == op;
    return n;
}

/* Returns the only node of that op. */
static const struct node *only_node(const struct built *t, const struct op *op)
{
    const struct graph *g = t->build.graph;
    int pos = 0;

    assert_int_equal(count(t, op), 1);
    while (g->node[pos]->op != op)
        pos++;
    return g->node[pos];
}

static struct regression_rule rule_of(const struct built *t)
{
    const struct regression_loss_attrs *a = only_node(t, &op_regression_loss)->attrs;

    return a->rule;
}

static void losses_of_numbers(void **state)
{
    static const struct {
        const char *name;
        int kind;
    } rows[] = {{"l1", REGRESSION_L1},
                {"l2", REGRESSION_L2},
                {"huber", REGRESSION_HUBER},
                {"smooth_l1", REGRESSION_SMOOTH_L1}};
    struct built t;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        built_init(&t, BUILD_TRAIN,
                   (const char *[]){"MODEL.TASK", "regression", "TRAIN.LOSS.NAME",
                                    rows[i].name, "TRAIN.LOSS.DELTA", "0.25", NULL});
        assert_int_equal(rule_of(&t).kind, rows[i].kind);
        assert_true(rule_of(&t).delta == 0.25f);
        assert_int_equal(count(&t, &op_unscale), 0);
        built_release(&t);
    }
    built_init(&t, BUILD_TRAIN, (const char *[]){"MODEL.TASK", "regression", NULL});
    assert_int_equal(rule_of(&t).kind, REGRESSION_L2);
    built_release(&t);
}

static void evaluations_use_l2(void **state)
{
    const struct node *unit;
    struct built t;

    (void)state;
    built_init(
        &t, BUILD_EVAL,
        (const char *[]){"MODEL.TASK", "regression", "TRAIN.LOSS.NAME", "l1", NULL});
    assert_int_equal(rule_of(&t).kind, REGRESSION_L2);
    unit = only_node(&t, &op_unscale);
    assert_ptr_equal(unit->in[UNSCALE_VALUES], t.build.outputs);
    assert_ptr_equal(unit->out[0], t.build.logits);
    built_release(&t);
}

/* Units are weights that are not trained, so that checkpoints and the EMA have them and
 * running statistics do not average them over ranks. */
static void units_are_constant_weights(void **state)
{
    static const char *const name[] = {"target.mean", "target.std"};
    const struct flat *f;
    struct built t;

    (void)state;
    built_init(&t, BUILD_TRAIN, (const char *[]){"MODEL.TASK", "regression", NULL});
    f = t.build.graph->flat;
    for (int k = 0; k < 2; k++) {
        int pos = f->ntrained;

        while (pos < f->nparam && strcmp(f->segment[pos].tensor->name, name[k]) != 0)
            pos++;
        assert_true(pos < f->nparam);
        assert_int_equal(f->segment[pos].len, 3);
        assert_null(f->segment[pos].tensor->grad);
    }
    built_release(&t);
}

static void ordered_classes(void **state)
{
    const struct node *n;
    struct built t;

    (void)state;
    for (int kind = BUILD_TRAIN; kind <= BUILD_EVAL; kind++) {
        built_init(&t, (enum build_kind)kind,
                   (const char *[]){"MODEL.TASK", "ordinal", "MODEL.LABEL_SMOOTHING",
                                    "0.25", NULL});
        assert_int_equal(t.build.outputs->dim[1], 2);
        assert_int_equal(t.build.logits->dim[1], 3);
        assert_true(count(&t, &op_corn) >= 1);
        n = only_node(&t, &op_cross_entropy);
        assert_ptr_equal(n->in[0]->producer->op, &op_corn);
        assert_true(((const struct cross_entropy_attrs *)n->attrs)->smoothing ==
                    (kind == BUILD_EVAL ? 0 : 0.25f));
        built_release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_of_numbers),
        cmocka_unit_test(evaluations_use_l2),
        cmocka_unit_test(units_are_constant_weights),
        cmocka_unit_test(ordered_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
