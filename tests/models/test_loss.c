/*
 * The first training step of whole models in a session: if the last gammas are zero, the
 * loss is that of a linear model, close to log(classes); otherwise it is not.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "session/session.h"
#include "session/state.h"
#include "tests/config_init.h"
#include "tests/test.h"

/* Returns the mean loss of one step on noise. */
static double first_loss(const char *name, int64_t batch, int64_t side, int64_t classes,
                         bool zero_last)
{
    struct config cfg;
    struct session s;
    struct metrics m;
    char number[24];
    uint8_t *pixels = xmalloc((size_t)(batch * side * side * 3));
    int32_t *labels = xmalloc((size_t)batch * sizeof(*labels));

    (void)snprintf(number, sizeof(number), "%lld", (long long)classes);
    config_init(&cfg);
    config_set(&cfg, "MODEL.TYPE", "resnet");
    config_set(&cfg, "MODEL.NAME", name);
    config_set(&cfg, "MODEL.NUM_CLASSES", number);
    config_set(&cfg, "MODEL.DROP_PATH_RATE", "0");
    config_set(&cfg, "MODEL.RESNET.ZERO_INIT_LAST", zero_last ? "True" : "False");
    cfg.model.label_smoothing = 0;
    cfg.aug.mixup = cfg.aug.cutmix = 0;
    cfg.data.batch_size = batch;
    cfg.data.img_size = side;
    cfg.amp_enable = false;

    for (int64_t i = 0; i < batch * side * side * 3; i++)
        pixels[i] = (uint8_t)philox(1, PHILOX_TEST, 0, (uint64_t)i).v[0];
    for (int64_t i = 0; i < batch; i++)
        labels[i] = (int32_t)philox_below(philox(1, PHILOX_TEST, 1, (uint64_t)i).v[0],
                                          (uint32_t)classes);
    session_init(&s, &cfg, &(struct session_options){.train = true});
    session_alloc(&s);
    session_step(&s, pixels, labels);
    m = session_metrics(&s);
    session_release(&s);
    config_release(&cfg);
    free(pixels);
    free(labels);
    assert_int_equal(m.count, batch);
    assert_int_equal(m.nonfinite, 0);
    print_message("%s: first loss %.4f\n", name, m.loss_sum / (double)m.count);
    return m.loss_sum / (double)m.count;
}

static void check_between(double x, double low, double high)
{
    if (!(x > low && x < high))
        fail_msg("%g is not between %g and %g", x, low, high);
}

static void test_zeroed(void **state)
{
    (void)state;
    check_between(first_loss("test_resnet", 16, 64, 1000, true), 6.8, 7.1);
    check_between(first_loss("resnet10t", 2, 64, 1000, true), 6.5, 7.3);
    check_between(first_loss("resnet20", 8, 32, 10, true), 2.0, 3.2);
}

/* He initialization everywhere: logits are far from flat. */
static void test_not_zeroed(void **state)
{
    (void)state;
    check_between(first_loss("resnet20", 8, 32, 10, false), 3, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed),
        cmocka_unit_test(test_not_zeroed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
