/*
 * The update ops: reference kernels against PyTorch (tests/golden/train/optim.json), and
 * what must hold around them: a skipped update touches nothing, frozen elements stay, the
 * loss scale grows and shrinks as GradScaler's.
 */
#include <math.h>

#include "graph/kernel.h"
#include "io/json.h"
#include "ops/control_formula.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "ops/optimizer.h"
#include "ops/table.h"
#include "ops/update_control.h"
#include "tests/test.h"
#include "tests/train/run_last.h"

enum { FLAT = 48, FIRST = 12, SECOND_AT = 16, SECOND = 5 }; /* 3x4, a gap, 5, a gap */

struct memory_of_test {
    struct control control;
    float grads[FLAT], weights[FLAT], moment1[FLAT], moment2[FLAT];
};

struct fixture {
    struct graph *g;
    struct builder b;
    struct tensor *grads, *control, *state[3];
    struct memory_of_test m;
};

static void fixture_init(struct fixture *f)
{
    static const enum memory memory[] = {MEMORY_WEIGHTS, MEMORY_MOMENT1, MEMORY_MOMENT2};

    *f = (struct fixture){.g = graph_new(NULL, true)};
    f->b.g = f->g;
    f->b.phase = PHASE_UPDATE;
    f->grads = graph_state(&f->b, "grads", MEMORY_GRADS, DTYPE_F32, 0, FLAT);
    f->control = graph_state(&f->b, "control", MEMORY_CONTROL, DTYPE_U8, 0,
                             (int64_t)sizeof(struct control));
    for (int i = 0; i < 3; i++)
        f->state[i] = graph_state(&f->b, "state", memory[i], DTYPE_F32, 0, FLAT);
    f->m.control.loss_scale = 1;
}

static void run_optimizer(struct fixture *f)
{
    void *in[] = {f->m.grads, &f->m.control};
    void *out[] = {f->m.weights, f->m.moment1, f->m.moment2};

    run_last(f->g, in, out);
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void read_floats(const json_t *list, float *dst)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        dst[i] = (float)json_number_value(json_array_get(list, i));
}

static void read_pair(const json_t *pair, float *dst)
{
    read_floats(json_array_get(pair, 0), dst);
    read_floats(json_array_get(pair, 1), dst + SECOND_AT);
}

static int compare(const char *name, const json_t *list, const float *got)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        double want = json_number_value(json_array_get(list, i));

        if (!(fabs((double)got[i] - want) <= 2e-6 * (fabs(want) + 0.1)))
            fail_msg("%s, element %zu: %.9g, not %.9g", name, i, (double)got[i], want);
    }
    return (int)json_array_size(list);
}

static void build(struct fixture *f, const json_t *o, const struct update_segment *seg)
{
    const struct optimizer *row =
        optimizer_find(json_string_value(json_object_get(o, "op")));
    struct update u = {seg, 2, UPDATE_ROUND_NONE, (float)number(o, "value")};
    struct hyperparameters h = {
        .momentum = number(o, "momentum"),
        .alpha = number(o, "alpha"),
        .beta1 = number(o, "beta1"),
        .beta2 = number(o, "beta2"),
        .eps = number(o, "eps"),
        .nesterov = json_is_true(json_object_get(o, "nesterov")),
    };

    assert_non_null(row);
    optimizer_node(&f->b, row, &u, &h, f->grads, f->control, f->state);
}

/* grad_stats, control_prepare, the optimizer and control_finish, loss scale 8. */
static int run_golden(const json_t *o)
{
    const char *name = json_string_value(json_object_get(o, "name"));
    const struct update_segment seg[] = {
        {0, FIRST, 1, (float)number(o, "wd"), false},
        {SECOND_AT, SECOND, 1, 0, false},
    };
    const struct scaler fixed = {0};
    struct fixture f;
    int compared = 0;

    fixture_init(&f);
    build(&f, o, seg);
    read_pair(json_object_get(o, "start"), f.m.weights);
    f.m.control.loss_scale = 8;
    for (size_t i = 0; i < json_array_size(json_object_get(o, "step")); i++) {
        const json_t *step = json_array_get(json_object_get(o, "step"), i);
        const json_t *weight = json_object_get(step, "weight");
        const struct schedule s = {.kind = SCHEDULE_STEP, .base = number(step, "lr")};
        double sum = 0;

        read_pair(json_object_get(step, "grad"), f.m.grads);
        for (int k = 0; k < FLAT; k++) {
            f.m.grads[k] *= 8;
            sum += (double)f.m.grads[k] * (double)f.m.grads[k];
        }
        control_gradients(&f.m.control, sum);
        control_prepare(&f.m.control, &s, number(o, "norm"), 0, 0);
        run_optimizer(&f);
        control_finish(&f.m.control, &fixed);
        compared += compare(name, json_array_get(weight, 0), f.m.weights);
        compared += compare(name, json_array_get(weight, 1), f.m.weights + SECOND_AT);
        for (size_t p = 0; p < 2; p++) {
            const json_t *m = json_array_get(json_object_get(step, "moment"), p);
            size_t at = p ? SECOND_AT : 0;

            compared += compare(name, json_array_get(m, 0), f.m.moment1 + at);
            compared += compare(name, json_array_get(m, 1), f.m.moment2 + at);
        }
    }
    for (int k = FIRST; k < SECOND_AT; k++)
        assert_true(f.m.weights[k] == 0); /* the gap */
    graph_free(f.g);
    return compared;
}

static void test_golden(void **state)
{
    struct strbuf why = STRBUF_INIT;
    json_t *root = json_parse_file("tests/golden/train/optim.json", &why);
    int compared = 0;

    (void)state;
    assert_non_null(root);
    assert_int_equal(json_array_size(root), 10);
    for (size_t i = 0; i < json_array_size(root); i++)
        compared += run_golden(json_array_get(root, i));
    assert_true(compared >= 5 * 17 * 23);
    json_decref(root);
    strbuf_release(&why);
}

/* What a row says of itself is sound, and names are looked up in any case. */
static void test_rows(void **state)
{
    const struct hyperparameters some = {.momentum = 0.9}, none = {0};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (const struct optimizer *o = optimizer_table; o->name; o++) {
        assert_ptr_equal(optimizer_find(o->name), o); /* no name twice */
        assert_non_null(op_find(o->op->name));
        assert_true(o->flops > 0 && *o->help && o->reads[0]);
        assert_true(optimizer_moments(o, &some) >= 1);
        assert_int_equal(optimizer_moments(o, &none),
                         o->momentum ? 0 : optimizer_moments(o, &some));
    }
    assert_ptr_equal(optimizer_find("AdamW"), optimizer_find("adamw"));
    assert_true(names_known(&optimizer_names, "SGD", &why));
    assert_int_equal(why.len, 0);
    assert_false(names_known(&optimizer_names, "sgb", &why));
    assert_non_null(strstr(why.buf, "not 'sgb' (did you mean sgd?)"));
    strbuf_release(&why);
}

static void fill(float *x, int n, float first)
{
    for (int i = 0; i < n; i++)
        x[i] = first + 0.37f * (float)(i % 7);
}

static void fill_memory(struct memory_of_test *m)
{
    fill(m->grads, FLAT, 0.5f);
    fill(m->weights, FLAT, -1);
    fill(m->moment1, FLAT, 0.1f);
    fill(m->moment2, FLAT, 0.2f);
    m->control.lr = 0.1;
    m->control.grad_multiplier = 1;
}

static void with_each_optimizer(void (*check)(struct fixture *f),
                                const struct update *update)
{
    const struct hyperparameters h = {.momentum = 0.9,
                                      .alpha = 0.9,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .eps = 1e-8,
                                      .nesterov = true};

    for (const struct optimizer *o = optimizer_table; o->name; o++) {
        struct fixture f;

        fixture_init(&f);
        fill_memory(&f.m);
        optimizer_node(&f.b, o, update, &h, f.grads, f.control, f.state);
        check(&f);
        graph_free(f.g);
    }
}

static void check_skipped(struct fixture *f)
{
    struct memory_of_test before;

    f->m.control.overflow = 1;
    f->m.grads[3] = NAN;
    before = f->m;
    run_optimizer(f);
    assert_memory_equal(&f->m, &before, sizeof(before));
    f->m.control.overflow = 0;
    f->m.grads[3] = 1;
    run_optimizer(f);
    assert_memory_not_equal(f->m.weights, before.weights, sizeof(before.weights));
}

static void check_frozen(struct fixture *f)
{
    struct memory_of_test before = f->m;

    run_optimizer(f);
    for (int i = 0; i < FLAT; i++) {
        bool inside = i >= 3 && i < 7;

        assert_true((f->m.weights[i] == before.weights[i]) == !inside);
        assert_true((f->m.moment1[i] == before.moment1[i]) == !inside);
    }
}

static void check_rounded(struct fixture *f)
{
    run_optimizer(f);
    for (int i = 0; i < FLAT; i++) {
        float w = f->m.weights[i];

        assert_true(bf16_to_float(bf16_from_float(w)) == w || i >= FIRST);
    }
}

static void test_skipped(void **state)
{
    static const struct update_segment all = {0, FLAT, 1, 0.1f, false};

    (void)state;
    with_each_optimizer(check_skipped, &(struct update){&all, 1, 0, 0});
}

static void test_frozen(void **state)
{
    static const struct update_segment some = {3, 4, 1, 0.1f, false};

    (void)state;
    with_each_optimizer(check_frozen, &(struct update){&some, 1, 0, 0});
}

static void test_rounded(void **state)
{
    static const struct update_segment seg[] = {
        {0, FIRST, 1, 0.1f, true},
        {SECOND_AT, SECOND, 1, 0.1f, false},
    };

    (void)state;
    with_each_optimizer(check_rounded, &(struct update){seg, 2, UPDATE_ROUND_BF16, 0});
}

/* lr_scale of a segment multiplies the rate: twice as far in one step of plain SGD. */
static void test_lr_scale(void **state)
{
    static const struct update_segment seg[] = {
        {0, 4, 1, 0, false},
        {4, 4, 2, 0, false},
    };
    const struct hyperparameters plain = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.m.control.lr = 0.25;
    f.m.control.grad_multiplier = 1;
    for (int i = 0; i < 8; i++)
        f.m.grads[i] = 1;
    optimizer_node(&f.b, optimizer_find("sgd"), &(struct update){seg, 2, 0, 0}, &plain,
                   f.grads, f.control, f.state);
    run_optimizer(&f);
    for (int i = 0; i < 8; i++)
        assert_true(f.m.weights[i] == (i < 4 ? -0.25f : -0.5f));
    graph_free(f.g);
}

static void run_grad_stats(struct fixture *f)
{
    void *in[] = {f->m.grads}, *out[] = {&f->m.control};

    run_last(f->g, in, out);
}

static void test_grad_stats(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    grad_stats(&f.b, f.grads, f.control);
    f.m.control.loss_scale = 4;
    f.m.grads[0] = 12;
    f.m.grads[FLAT - 1] = -16;
    run_grad_stats(&f);
    assert_int_equal(f.m.control.overflow, 0);
    assert_true(f.m.control.grad_norm == 5);
    assert_true(f.m.control.grad_multiplier == 0.25);
    for (int i = 0; i < 3; i++) {
        f.m.grads[FLAT - 1] = bad[i];
        run_grad_stats(&f);
        assert_int_equal(f.m.control.overflow, 1);
    }
    f.m.grads[FLAT - 1] = 3e38f; /* huge, yet finite */
    run_grad_stats(&f);
    assert_int_equal(f.m.control.overflow, 0);
    graph_free(f.g);
}

/* torch.amp.GradScaler, growth_interval 3: the scale after each update. */
static void test_scaler(void **state)
{
    static const struct {
        int overflow;
        double scale;
    } row[] = {
        {1, 32768}, {1, 16384}, {0, 16384}, {0, 16384}, {1, 8192},  {0, 8192},
        {0, 8192},  {0, 16384}, {0, 16384}, {0, 16384}, {0, 32768}, {1, 16384},
    };
    const struct scaler s = {true, 2, 0.5, 1, 3};
    struct control c = {.loss_scale = 65536};

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        c.overflow = row[i].overflow;
        control_finish(&c, &s);
        assert_true(c.loss_scale == row[i].scale);
    }
    assert_int_equal(c.step, 12);
    assert_int_equal(c.micro, 12);
    assert_int_equal(c.skipped, 4);
    assert_int_equal(c.skipped_row, 1);
    assert_int_equal(c.updates, 8);
    for (int i = 0; i < 100; i++) {
        c.overflow = 1;
        control_finish(&c, &s);
    }
    assert_true(c.loss_scale == 1); /* the floor */
    assert_int_equal(c.skipped_row, 101);
}

static void test_clip(void **state)
{
    const struct schedule s = {.kind = SCHEDULE_STEP, .base = 0.5};
    struct control c = {.grad_norm = 4, .grad_multiplier = 0.25, .updates = 1999};

    (void)state;
    control_prepare(&c, &s, 8, 0.9, 2000);
    assert_true(c.grad_multiplier == 0.25); /* short enough */
    if (!(fabs(c.ema_decay - 0.9 * (1 - exp(-1))) <= 1e-15))
        fail();
    control_prepare(&c, &s, 1, 0.9, 0);
    if (!(fabs(c.grad_multiplier - 0.25 / (4 + 1e-6)) <= 1e-15))
        fail();
    assert_true(c.ema_decay == 0.9);
    assert_true(c.lr == 0.5);
}

static void test_ema(void **state)
{
    float average[FLAT], before[FLAT];
    struct fixture f;
    void *in[2], *out[] = {average};

    (void)state;
    fixture_init(&f);
    fill_memory(&f.m);
    fill(average, FLAT, 2);
    memcpy(before, average, sizeof(before));
    in[EMA_WEIGHTS] = f.m.weights;
    in[EMA_CONTROL] = &f.m.control;
    ema(&f.b, f.state[0], f.control,
        graph_state(&f.b, "ema", MEMORY_EMA, DTYPE_F32, 0, FLAT));
    f.m.control.ema_decay = 0.75;
    f.m.control.overflow = 1;
    run_last(f.g, in, out);
    assert_memory_equal(average, before, sizeof(before));
    f.m.control.overflow = 0;
    run_last(f.g, in, out);
    for (int i = 0; i < FLAT; i++)
        if (!(fabsf(average[i] - (0.75f * before[i] + 0.25f * f.m.weights[i])) <= 1e-6f))
            fail_msg("element %d", i);
    graph_free(f.g);
}

static void test_accumulate(void **state)
{
    float sum[FLAT];
    struct fixture f;
    void *in[2], *out[] = {sum};

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < FLAT; i++)
        sum[i] = NAN; /* left by an overflow: the first micro-batch overwrites it */
    in[GRADS_ACCUMULATE_GRADS] = f.m.grads;
    in[GRADS_ACCUMULATE_CONTROL] = &f.m.control;
    grads_accumulate(&f.b, f.grads, f.control,
                     graph_state(&f.b, "sum", MEMORY_GRADS_SUM, DTYPE_F32, 0, FLAT),
                     (struct accumulation){.group = 3});
    for (int k = 0; k < 6; k++) {
        f.m.control.micro = k;
        for (int i = 0; i < FLAT; i++)
            f.m.grads[i] = (float)(k + 1);
        run_last(f.g, in, out);
        assert_true(sum[FLAT - 1] == (k == 0   ? 1
                                      : k == 1 ? 3
                                      : k == 2 ? 6
                                      : k == 3 ? 4
                                      : k == 4 ? 9
                                               : 15));
    }
    graph_free(f.g);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_golden),     cmocka_unit_test(test_rows),
        cmocka_unit_test(test_skipped),    cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_rounded),    cmocka_unit_test(test_lr_scale),
        cmocka_unit_test(test_grad_stats), cmocka_unit_test(test_scaler),
        cmocka_unit_test(test_clip),       cmocka_unit_test(test_ema),
        cmocka_unit_test(test_accumulate),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
