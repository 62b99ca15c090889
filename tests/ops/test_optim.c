/*
 * The optimizers on every backend: compared with PyTorch and timm
 * (tests/golden/train/optim.json), and common properties: a skipped update changes
 * nothing, frozen elements are unchanged, weights are rounded in segments that request
 * it.
 *
 *   TEST_BACKENDS="cuda"  backends by name; default: all that this machine has
 */
#include <math.h>
#include <string.h>

#include "cases/cases.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "io/json.h"
#include "ops/control_formula.h"
#include "ops/optimizer.h"
#include "ops/state.h"
#include "ops/table.h"
#include "session/devices.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

/* Two tensors in a flat region: 3x4 elements, a gap, 5 elements, a gap. */
enum { FLAT = 32, FIRST = 12, SECOND_AT = 16, SECOND = 5 };

/* Copies of the device's arrays. */
struct arrays {
    struct control control;
    float grads[FLAT], weights[FLAT], moment1[FLAT], moment2[FLAT];
};

struct fixture {
    const struct backend *backend;
    struct device *dev;
    struct graph *g;
    struct program *program;
    void *base[MEMORY_COUNT];
    struct arrays m;
};

static struct tensor *flat_state(struct builder *b, const char *name, enum memory m)
{
    return graph_state(b, name, m, DTYPE_F32, 0, FLAT);
}

/* Compiles a program with only the optimizer. */
static void fixture_compile(struct fixture *f, const struct optimizer *o,
                            const struct update *u, const struct hyperparameters *h)
{
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    const int64_t second = SECOND, first[] = {3, FIRST / 3};
    struct tensor *state[OPTIMIZER_STATES];

    memset(&f->m, 0, sizeof(f->m));
    f->m.control.loss_scale = 1;
    f->g = b.g;
    (void)graph_param(&b, "second", "bias", LAYOUT_PLAIN, 1, &second, (struct init){0});
    (void)graph_param(&b, "first", "weight", LAYOUT_PLAIN, 2, first, (struct init){0});
    graph_flatten(b.g);
    assert_int_equal(b.g->flat->trained_len, FLAT);
    b.phase = PHASE_UPDATE;
    state[UPDATE_WEIGHTS] = flat_state(&b, "weights", MEMORY_WEIGHTS);
    state[UPDATE_MOMENT1] = flat_state(&b, "moment1", MEMORY_MOMENT1);
    state[UPDATE_MOMENT2] = flat_state(&b, "moment2", MEMORY_MOMENT2);
    optimizer_node(&b, o, u, h, flat_state(&b, "grads", MEMORY_GRADS), control_tensor(&b),
                   state);
    f->program = program_compile(b.g, f->backend, f->dev, NULL);
    for (int m = 0; m < MEMORY_COUNT; m++) {
        size_t need = program_need(f->program, (enum memory)m);

        f->base[m] = need ? f->backend->alloc(f->dev, need) : NULL;
    }
    program_bind(f->program, f->base);
    program_refresh(f->program);
}

static void fixture_release(struct fixture *f)
{
    program_free(f->program);
    graph_free(f->g);
    for (int m = 0; m < MEMORY_COUNT; m++)
        f->backend->free(f->dev, f->base[m]);
}

static void transfer(struct fixture *f, enum memory m, void *host, size_t size,
                     bool upload)
{
    if (!f->base[m])
        return;
    if (upload)
        f->backend->copy_in(f->dev, f->base[m], host, size);
    else
        f->backend->copy_out(f->dev, host, f->base[m], size);
}

static void transfer_all(struct fixture *f, bool upload)
{
    transfer(f, MEMORY_CONTROL, &f->m.control, sizeof(f->m.control), upload);
    transfer(f, MEMORY_GRADS, f->m.grads, sizeof(f->m.grads), upload);
    transfer(f, MEMORY_WEIGHTS, f->m.weights, sizeof(f->m.weights), upload);
    transfer(f, MEMORY_MOMENT1, f->m.moment1, sizeof(f->m.moment1), upload);
    transfer(f, MEMORY_MOMENT2, f->m.moment2, sizeof(f->m.moment2), upload);
}

/* Sets a learning rate of 0.25 and gradients of 1 for the first 8 weights, which are 0. */
static void set_unit_step(struct fixture *f)
{
    f->m.control.lr = 0.25;
    f->m.control.grad_multiplier = 1;
    for (int i = 0; i < 8; i++) {
        f->m.weights[i] = 0;
        f->m.grads[i] = 1;
    }
}

static void run_optimizer(struct fixture *f)
{
    transfer_all(f, true);
    program_run(f->program);
    if (f->backend->sync)
        f->backend->sync(f->dev);
    transfer_all(f, false);
}

static void with_each_backend(void (*check)(struct fixture *f, const void *arg),
                              const void *arg)
{
    int n = 0;

    for (int i = 0; device_at(i); i++) {
        struct fixture f = {.backend = device_at(i)};

        if (!backend_wanted(f.backend))
            continue;
        f.dev = f.backend->open(&(const struct device_options){0});
        check(&f, arg);
        f.backend->close(f.dev);
        n++;
    }
    assert_true(n > 0);
}

/* ---- PyTorch and timm ---- */

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static bool truth(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
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

static int compare(const struct fixture *f, const char *name, const json_t *list,
                   const float *got)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        double want = json_number_value(json_array_get(list, i));

        if (!(fabs((double)got[i] - want) <= 2e-6 * (fabs(want) + 0.1)))
            fail_msg("%s on %s, element %zu: %.9g, not %.9g", name, f->backend->name, i,
                     (double)got[i], want);
    }
    return (int)json_array_size(list);
}

static void compile_golden(struct fixture *f, const json_t *o,
                           const struct update_segment *seg)
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
        .trust_coeff = number(o, "trust_coeff"),
        .nesterov = truth(o, "nesterov"),
        .trust_clip = truth(o, "trust_clip"),
        .always_adapt = truth(o, "always_adapt"),
    };

    assert_non_null(row);
    fixture_compile(f, row, &u, &h);
}

/* The gradients of a step times the loss scale of 8, and the control that follows. */
static void prepare_step(struct fixture *f, const json_t *o, const json_t *step)
{
    const struct schedule s = {.kind = SCHEDULE_STEP, .base = number(step, "lr")};
    double sum = 0;

    read_pair(json_object_get(step, "grad"), f->m.grads);
    for (int k = 0; k < FLAT; k++) {
        f->m.grads[k] *= 8;
        sum += (double)f->m.grads[k] * (double)f->m.grads[k];
    }
    control_gradients(&f->m.control, sum);
    control_prepare(&f->m.control, &s, number(o, "norm"), 0, 0);
}

static int compare_step(const struct fixture *f, const char *name, const json_t *step)
{
    const json_t *weight = json_object_get(step, "weight");
    int compared = 0;

    for (size_t p = 0; p < 2; p++) {
        const json_t *m = json_array_get(json_object_get(step, "moment"), p);
        size_t pos = p ? SECOND_AT : 0;

        compared += compare(f, name, json_array_get(weight, p), f->m.weights + pos);
        compared += compare(f, name, json_array_get(m, 0), f->m.moment1 + pos);
        compared += compare(f, name, json_array_get(m, 1), f->m.moment2 + pos);
    }
    return compared;
}

/* A few updates at a loss scale of 8; the first tensor decays. */
static int run_golden(struct fixture *f, const json_t *o)
{
    const struct update_segment seg[] = {
        {0, FIRST, 1, (float)number(o, "wd"), false, false},
        {SECOND_AT, SECOND, 1, 0, false, false},
    };
    const json_t *steps = json_object_get(o, "step");
    int compared = 0;

    compile_golden(f, o, seg);
    read_pair(json_object_get(o, "start"), f->m.weights);
    f->m.control.loss_scale = 8;
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);

        prepare_step(f, o, step);
        run_optimizer(f);
        control_finish(&f->m.control, &(const struct scaler){0}, false);
        compared += compare_step(f, json_string_value(json_object_get(o, "name")), step);
    }
    for (int k = FIRST; k < SECOND_AT; k++)
        assert_true(f->m.weights[k] == 0); /* the gap */
    fixture_release(f);
    return compared;
}

static void check_golden(struct fixture *f, const void *arg)
{
    const json_t *root = arg;
    int compared = 0;

    for (size_t i = 0; i < json_array_size(root); i++)
        compared += run_golden(f, json_array_get(root, i));
    assert_true(compared >= 5 * 17 * 23);
}

static bool is_golden(const json_t *root, const char *name)
{
    for (size_t i = 0; i < json_array_size(root); i++)
        if (!strcmp(json_string_value(json_object_get(json_array_get(root, i), "op")),
                    name))
            return true;
    return false;
}

static void test_golden(void **state)
{
    struct strbuf why = STRBUF_INIT;
    json_t *root = json_parse_file("tests/golden/train/optim.json", &why);

    (void)state;
    assert_non_null(root);
    for (const struct optimizer *o = optimizer_table; o->name; o++)
        if (!is_golden(root, o->name))
            fail_msg("no golden updates of %s", o->name);
    with_each_backend(check_golden, root);
    json_decref(root);
    strbuf_release(&why);
}

/* ---- rows ---- */

static bool is_case(const char *name)
{
    const struct op_case *row;

    for (int i = 0; (row = op_case_at(i)); i++)
        if (row->update && !strcmp(row->update->optimizer, name))
            return true;
    return false;
}

/* Rows are complete, each is in the op table, and names are found ignoring case. */
static void test_rows(void **state)
{
    const struct hyperparameters some = {.momentum = 0.9}, none = {0};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (const struct optimizer *o = optimizer_table; o->name; o++) {
        assert_ptr_equal(optimizer_find(o->name), o); /* names are unique */
        assert_non_null(o->op);
        assert_true(o->flops > 0 && *o->help && o->reads[0]);
        assert_true(optimizer_moments(o, &some) >= 1);
        assert_int_equal(optimizer_moments(o, &none),
                         o->momentum ? 0 : optimizer_moments(o, &some));
        if (!is_case(o->name))
            fail_msg("no row of the op table has %s", o->name);
    }
    assert_ptr_equal(optimizer_find("AdamW"), optimizer_find("adamw"));
    assert_true(names_known(&optimizer_names, "SGD", &why));
    assert_int_equal(why.len, 0);
    assert_false(names_known(&optimizer_names, "sgb", &why));
    assert_non_null(strstr(why.buf, "not 'sgb' (did you mean sgd?)"));
    strbuf_release(&why);
}

/* ---- common properties ---- */

static void fill(float *x, float first)
{
    for (int i = 0; i < FLAT; i++)
        x[i] = first + 0.37f * (float)(i % 7);
}

static void fill_memory(struct arrays *m)
{
    fill(m->grads, 0.5f);
    fill(m->weights, -1);
    fill(m->moment1, 0.1f);
    fill(m->moment2, 0.2f);
    m->control.lr = 0.1;
    m->control.grad_multiplier = 1;
}

/* A property that every optimizer has for such an update. */
struct property {
    void (*check)(struct fixture *f);
    struct update update;
};

static void check_property(struct fixture *f, const void *arg)
{
    const struct property *p = arg;
    const struct hyperparameters h = {.momentum = 0.9,
                                      .alpha = 0.9,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .eps = 1e-8,
                                      .trust_coeff = 0.1,
                                      .nesterov = true};

    for (const struct optimizer *o = optimizer_table; o->name; o++) {
        fixture_compile(f, o, &p->update, &h);
        fill_memory(&f->m);
        p->check(f);
        fixture_release(f);
    }
}

static void check_skipped(struct fixture *f)
{
    struct arrays before;

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
    struct arrays before = f->m;

    run_optimizer(f);
    for (int i = 0; i < FLAT; i++) {
        bool inside = i >= 3 && i < 7;

        assert_true((f->m.weights[i] == before.weights[i]) == !inside);
        assert_true((f->m.moment1[i] == before.moment1[i]) == !inside);
    }
}

static void check_rounded(struct fixture *f)
{
    int more = 0;

    run_optimizer(f);
    for (int i = 0; i < FLAT; i++) {
        bool rounded = bf16_to_float(bf16_from_float(f->m.weights[i])) == f->m.weights[i];

        assert_true(rounded || i >= FIRST);
        more += !rounded;
    }
    assert_true(more >= SECOND - 1); /* those of the other segment are unchanged */
}

static void test_skipped(void **state)
{
    static const struct update_segment all = {0, FLAT, 1, 0.1f, false, false};

    (void)state;
    with_each_backend(check_property, &(struct property){check_skipped, {&all, 1, 0, 0}});
}

static void test_frozen(void **state)
{
    static const struct update_segment some = {3, 4, 1, 0.1f, false, false};

    (void)state;
    with_each_backend(check_property, &(struct property){check_frozen, {&some, 1, 0, 0}});
}

static void test_rounded(void **state)
{
    static const struct update_segment seg[] = {
        {0, FIRST, 1, 0.1f, true, false},
        {SECOND_AT, SECOND, 1, 0.1f, false, false},
    };

    (void)state;
    with_each_backend(check_property,
                      &(struct property){check_rounded, {seg, 2, UPDATE_ROUND_BF16, 0}});
}

/* A late segment counts its own updates: Adam's first step moves it by the rate. The
 * other's moments are as new, but corrected for 6 updates: it moves by half as much. */
static void check_late(struct fixture *f, const void *arg)
{
    static const struct update_segment seg[] = {
        {0, 4, 1, 0, false, true},
        {4, 4, 1, 0, false, false},
    };

    fixture_compile(f, optimizer_find(arg), &(struct update){seg, 2, 0, 0},
                    &(struct hyperparameters){.beta1 = 0.9, .beta2 = 0.999, .eps = 0});
    set_unit_step(f);
    f->m.control.updates = f->m.control.frozen_updates = 5;
    run_optimizer(f);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(f->m.weights[i], -0.25, 1e-6);
        assert_true(f->m.weights[4 + i] > -0.2F);
    }
    fixture_release(f);
}

static void test_late(void **state)
{
    (void)state;
    with_each_backend(check_late, "adamw");
}

/* lr_scale of a segment multiplies the learning rate: twice the distance in one step of
 * plain SGD. */
static void check_lr_scale(struct fixture *f, const void *arg)
{
    static const struct update_segment seg[] = {
        {0, 4, 1, 0, false, false},
        {4, 4, 2, 0, false, false},
    };

    (void)arg;
    fixture_compile(f, optimizer_find("sgd"), &(struct update){seg, 2, 0, 0},
                    &(struct hyperparameters){0});
    set_unit_step(f);
    run_optimizer(f);
    for (int i = 0; i < 8; i++)
        assert_true(f->m.weights[i] == (i < 4 ? -0.25f : -0.5f));
    fixture_release(f);
}

static void test_lr_scale(void **state)
{
    (void)state;
    with_each_backend(check_lr_scale, NULL);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_golden),   cmocka_unit_test(test_rows),
        cmocka_unit_test(test_skipped),  cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_late),     cmocka_unit_test(test_rounded),
        cmocka_unit_test(test_lr_scale),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
