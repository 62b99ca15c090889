/*
 * The meaning of image label losses: cross entropy compared with its definition, and
 * weights and sets of labels with PyTorch 2 in double.
 */
#include "ops/cross_entropy.h"
#include "ops/multilabel_loss.h"
#include "tests/ops/meaning.h"

/* Four samples of three classes. */
static const float logits[] = {2, 1, 0, /**/ 0, 0, 0, /**/ -1, 3, 1, /**/ 5, 5, 0};

static double log_softmax(const float *z, int k)
{
    return (double)z[k] - log(exp((double)z[0]) + exp((double)z[1]) + exp((double)z[2]));
}

static double run_loss(const struct op_case *row, const int32_t *label, const float *lam)
{
    struct case_run r;
    double loss;

    open_run(&r, row, DTYPE_F32);
    set(&r, 0, logits);
    set(&r, 1, label);
    if (lam)
        set(&r, 2, lam);
    program_run(r.program);
    loss = (double)out(&r, 0)[0];
    case_run_release(&r);
    return loss;
}

static void test_cross_entropy(void **state)
{
    static const struct cross_entropy_attrs plain = {0}, smooth = {.smoothing = 0.3f};
    struct op_case row = {.name = "loss",
                          .build = case_cross_entropy,
                          .small = {.dim = {4, 3}},
                          .attrs = &plain};
    double want = -(log_softmax(logits, 0) + log_softmax(logits + 6, 2)) / 2;

    (void)state;
    close_to(run_loss(&row, (const int32_t[]){0, -1, 2, -1}, NULL), want, 1e-6);
    close_to(run_loss(&row, (const int32_t[]){-1, -1, -1, -1}, NULL), 0, 0);
    close_to(run_loss(&row, (const int32_t[]){-1, 1, -1, -1}, NULL), log(3), 1e-6);

    /* (1 - e) nll + e mean(-log p), as in timm and PyTorch */
    row.attrs = &smooth;
    want = 0.7 * -log_softmax(logits + 6, 1);
    for (int k = 0; k < 3; k++)
        want += 0.1 * -log_softmax(logits + 6, k);
    close_to(run_loss(&row, (const int32_t[]){-1, -1, 1, -1}, NULL), want, 1e-6);
}

/* PyTorch's cross_entropy(z, y, weight, ignore_index=-1, label_smoothing=0.3); biases are
 * added to its logits. */
static void test_cross_entropy_weights(void **state)
{
    static struct cross_entropy_attrs a = {
        .weighted = 1, .smoothing = 0.3f, .terms = {.weight = {0.5f, 2, 0.75f}}};
    const struct op_case row = {.name = "loss",
                                .build = case_cross_entropy,
                                .small = {.dim = {4, 3}},
                                .attrs = &a};
    const int32_t label[] = {0, -1, 2, 1};

    (void)state;
    close_to(run_loss(&row, label, NULL), 1.145571233399679, 1e-6);
    a.terms.bias[0] = -1;
    a.terms.bias[1] = 0.25f;
    a.terms.bias[2] = -2;
    close_to(run_loss(&row, label, NULL), 1.4208521693598262, 1e-6);
    a.smoothing = 0;
    memset(a.terms.bias, 0, sizeof(a.terms.bias));
    close_to(run_loss(&row, label, NULL), 0.9858531345111607, 1e-6);
    a.terms.weight[2] = 0; /* a batch whose labels all have weight 0: 0, not NaN */
    close_to(run_loss(&row, (const int32_t[]){-1, -1, 2, 2}, NULL), 0, 0);
}

static void test_cross_entropy_lam(void **state)
{
    static const struct cross_entropy_attrs plain = {0};
    const struct op_case row = {.name = "loss",
                                .build = case_cross_entropy_lam,
                                .small = {.dim = {4, 3}},
                                .attrs = &plain};
    const float lam[] = {0.75f, 1, 0, 0.5f};
    double want = 0;

    (void)state;
    /* labels 0 1 2 1: the partner of sample i is sample 3 - i */
    want -= 0.75 * log_softmax(logits, 0) + 0.25 * log_softmax(logits, 1);
    want -= log_softmax(logits + 3, 1);
    want -= log_softmax(logits + 6, 1);
    want -= 0.5 * log_softmax(logits + 9, 1) + 0.5 * log_softmax(logits + 9, 0);
    close_to(run_loss(&row, (const int32_t[]){0, 1, 2, 1}, lam), want / 4, 1e-6);
}

/* ---- sets of labels ---- */

static double multilabel(const struct multilabel_loss_attrs *a, const int32_t *label,
                         const uint8_t *target, const float *lam)
{
    static const float z[] = {2, 1, -3, /**/ 0.5f, 0, -1, /**/ -1, 3, 1, /**/ 5, -5, 0};
    const struct op_case row = {.name = "loss",
                                .build = lam ? case_multilabel_lam : case_multilabel,
                                .small = {.dim = {4, 3}},
                                .attrs = a};
    struct case_run r;
    double loss;

    open_run(&r, &row, DTYPE_F32);
    set(&r, 0, z);
    set(&r, 1, label);
    set(&r, 2, target);
    if (lam)
        set(&r, 3, lam);
    program_run(r.program);
    loss = (double)out(&r, 0)[0];
    case_run_release(&r);
    return loss;
}

/* The weights of the row are 0.5, 1, and 1.5. */
static void test_multilabel(void **state)
{
    static const int32_t all[] = {0, 0, 0, 0}, one[] = {-1, 0, -1, -1};
    static const uint8_t y[] = {1, 0, 0, /**/ 0, 1, 1, /**/ 1, 1, 0, /**/ 0, 0, 1};
    struct multilabel_loss_attrs a = {0};
    uint8_t unknown[12];

    (void)state;
    /* binary_cross_entropy_with_logits; its pos_weight; of targets 0.8 y + 0.1 */
    close_to(multilabel(&a, all, y, NULL), 1.0709126255451318, 1e-6);
    a.rule.weighted = 1;
    close_to(multilabel(&a, all, y, NULL), 1.0945050909416725, 1e-6);
    a.rule.smoothing = 0.2f;
    close_to(multilabel(&a, all, y, NULL), 1.133316914012113, 1e-6);
    /* torchvision's sigmoid_focal_loss(alpha=-1, gamma=2) */
    a = (struct multilabel_loss_attrs){.rule = {.gamma_pos = 2, .gamma_neg = 2}};
    close_to(multilabel(&a, all, y, NULL), 0.7061168380623551, 1e-6);
    /* AsymmetricLoss(gamma_neg=4, gamma_pos=1, clip=0.05) of its authors, per image */
    a = (struct multilabel_loss_attrs){
        .sum_classes = 1, .rule = {.gamma_pos = 1, .gamma_neg = 4, .clip = 0.05f}};
    close_to(multilabel(&a, all, y, NULL), 1.3715581877314658, 1e-6);
    /* an unknown target adds nothing, and the divisor is unchanged */
    a = (struct multilabel_loss_attrs){0};
    memcpy(unknown, y, sizeof(y));
    unknown[4] = MULTILABEL_UNKNOWN;
    close_to(multilabel(&a, all, unknown, NULL), 1.0131503604984695, 1e-6);
    close_to(multilabel(&a, one, y, NULL), (log1p(exp(0.5)) + log(2) + log1p(exp(1))) / 3,
             1e-6);
}

/* binary_cross_entropy_with_logits(z, lam y + (1 - lam) y.flip(0)) */
static void test_multilabel_lam(void **state)
{
    static const int32_t all[] = {0, 0, 0, 0}, holes[] = {0, 0, 0, -1};
    static const uint8_t y[] = {1, 0, 0, /**/ 0, 1, 1, /**/ 1, 1, 0, /**/ 0, 0, 1};
    const float lam[] = {0.75f, 1, 0, 0.5f}, none[] = {1, 1, 1, 1};
    const struct multilabel_loss_attrs a = {0};

    (void)state;
    close_to(multilabel(&a, all, y, lam), 0.8000792922117984, 1e-6);
    close_to(multilabel(&a, all, y, none), 1.0709126255451318, 1e-6);
    /* samples 0 and 3 are partners: both are ignored */
    close_to(multilabel(&a, holes, y, none),
             (log1p(exp(0.5)) + log(2) + log1p(exp(1)) + log1p(exp(1)) + log1p(exp(-3)) +
              log1p(exp(1))) /
                 6,
             1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_cross_entropy_lam),
        cmocka_unit_test(test_cross_entropy_weights),
        cmocka_unit_test(test_multilabel),
        cmocka_unit_test(test_multilabel_lam),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
