/* TRAIN.CLASS_WEIGHTS and TRAIN.LOSS.LOGIT_ADJUST for image classification. */
#include <math.h>

#include "config/config.h"
#include "dataset/dataset.h"
#include "tests/config_init.h"
#include "tests/test.h"
#include "train/class_weights.h"

/* 1, 3, 0, and 4 images of four classes; one without a class. */
static const int32_t label[] = {0, 1, 1, 3, 3, 3, 3, 1, -1};

static int32_t label_at(const struct dataset *d, int64_t i)
{
    (void)d;
    return label[i];
}

static const struct dataset_type type = {.label = label_at};
static char a[] = "a", b[] = "b", c[] = "c", d[] = "d", name[] = "data";
static char *names[] = {a, b, c, d};
static const struct dataset data = {
    .type = &type, .name = name, .n = 9, .nclass = 4, .class_name = names};

static void check(const float *got, const double *want)
{
    for (int k = 0; k < 4; k++)
        if (!(fabs((double)got[k] - want[k]) < 1e-6))
            fail_msg("class %d: %.9g, not %.9g", k, (double)got[k], want[k]);
}

static void weights_by_images(void **state)
{
    float weight[4];
    struct config cfg;

    (void)state;
    config_init(&cfg);
    assert_false(class_weights_of_images(&cfg, &data, weight));
    config_set(&cfg, "TRAIN.CLASS_WEIGHTS", "balanced"); /* 8 / (3 n) */
    assert_true(class_weights_of_images(&cfg, &data, weight));
    check(weight, (double[]){8.0 / 3, 8.0 / 9, 0, 2.0 / 3});
    config_set(&cfg, "TRAIN.CLASS_WEIGHTS", "auto");
    assert_true(class_weights_of_images(&cfg, &data, weight));
    check(weight, (double[]){8.0 / 3, 8.0 / 9, 0, 2.0 / 3});
    config_set(&cfg, "TRAIN.CLASS_WEIGHTS",
               "effective"); /* 1, 0.1 / 0.271, 0.1 / 0.3439 */
    config_set(&cfg, "TRAIN.CLASS_WEIGHTS_BETA", "0.9");
    assert_true(class_weights_of_images(&cfg, &data, weight));
    check(weight, (double[]){1.8074620, 0.6669602, 0, 0.5255778});
    config_set(&cfg, "TRAIN.CLASS_WEIGHTS_BETA", "1"); /* the limit: 1 / n */
    assert_true(class_weights_of_images(&cfg, &data, weight));
    check(weight, (double[]){36.0 / 19, 12.0 / 19, 0, 9.0 / 19});
    config_set(&cfg, "TRAIN.CLASS_WEIGHTS", "[1, 2, 3, 4]");
    assert_true(class_weights_of_images(&cfg, &data, weight));
    check(weight, (double[]){1, 2, 3, 4});
    config_release(&cfg);
}

static void biases_by_images(void **state)
{
    float bias[4];
    struct config cfg;

    (void)state;
    config_init(&cfg);
    assert_false(class_bias_of_images(&cfg, &data, bias));
    config_set(&cfg, "TRAIN.LOSS.LOGIT_ADJUST", "0.5");
    assert_true(class_bias_of_images(&cfg, &data, bias));
    check(bias, (double[]){0.5 * log(1.0 / 9), 0.5 * log(3.0 / 9), 0.5 * log(1.0 / 9),
                           0.5 * log(4.0 / 9)});
    config_release(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_by_images),
        cmocka_unit_test(biases_by_images),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
