/*
 * MODEL.GELU_TANH: every GELU of a ViT, and its gradient, has the tanh form, in training and
 * in evaluation; the losses differ by what the two
 * forms explain.
 */
#include <math.h>
#include <string.h>

#include "ops/activation.h"
#include "ops/expr.h"
#include "session/state.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

enum { BLOCKS = 12, STEPS = 3 };

static int count(const struct run *r, int program, enum expr_opcode opcode)
{
    const struct graph *g = r->s.build[program].graph;
    int n = 0;

    for (int i = 0; i < g->nnode; i++)
        n += expr_is(g->node[i], opcode);
    return n;
}

/* Returns the mean loss of some steps. */
static double train(const char *tanh)
{
    bool uses_tanh = !strcmp(tanh, "True");
    enum expr_opcode value = uses_tanh ? EXPR_GELU_TANH : EXPR_GELU;
    enum expr_opcode other = uses_tanh ? EXPR_GELU : EXPR_GELU_TANH;
    struct run r;
    double loss;

    run_init(&r,
             (const char *[]){"MODEL.TYPE", "vit", "MODEL.NAME", "vit_tiny_patch16_224",
                              "DATA.IMG_SIZE", "32", "TRAIN.BASE_LR", "0.001",
                              "MODEL.GELU_TANH", tanh, NULL});
    assert_int_equal(count(&r, SESSION_TRAIN, value), BLOCKS);
    assert_int_equal(count(&r, SESSION_EVAL, value), BLOCKS);
    assert_int_equal(count(&r, SESSION_TRAIN, other), 0);
    assert_int_equal(count(&r, SESSION_EVAL, other), 0);
    assert_int_equal(
        count(&r, SESSION_TRAIN, uses_tanh ? EXPR_GELU_TANH_GRAD : EXPR_GELU_GRAD),
        BLOCKS);
    assert_int_equal(r.s.build[SESSION_TRAIN].gelus, uses_tanh ? BLOCKS : 0);
    for (int i = 0; i < STEPS; i++) {
        static uint8_t pixels[BATCH * 32 * 32 * 3];
        int32_t labels[BATCH];

        for (int k = 0; k < BATCH * 32 * 32 * 3; k++)
            pixels[k] = (uint8_t)((k * 7 + k / 96 * 13 + i * 31) % 256);
        for (int k = 0; k < BATCH; k++)
            labels[k] = (k + i) % CLASSES;
        (void)session_step(&r.s, pixels, labels);
    }
    loss = session_metrics(&r.s).loss_sum / (STEPS * BATCH);
    run_release(&r);
    return loss;
}

static void test_forms(void **state)
{
    double erf = train("False"), tanh = train("True");

    (void)state;
    print_message("loss %.6f with erf, %.6f with tanh\n", erf, tanh);
    assert_true(fabs(erf - tanh) > 0);
    assert_true(fabs(erf - tanh) < 1e-2 * erf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
