/*
 * Focal, Dice, OHEM, distillation, regression, and ordinal losses with their gradients
 * against PyTorch (tests/golden/train/losses.json, regression.json), on every backend.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "io/json.h"
#include "ops/corn.h"
#include "ops/cross_entropy.h"
#include "ops/dice.h"
#include "ops/distill.h"
#include "ops/focal.h"
#include "ops/image.h"
#include "ops/ohem.h"
#include "ops/regression_loss.h"
#include "ops/table.h"
#include "session/devices.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

enum { MOST = 512, INPUTS = 7 }; /* maximum elements per tensor, and input tensors */

struct trial {
    const json_t *want;
    struct builder b;
    struct tensor *logits, *loss;
    struct tensor *in[INPUTS];
    float value[INPUTS][MOST]; /* in stored order */
    int n;
};

static double number(const json_t *o, const char *key, double otherwise)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) : otherwise;
}

/* Returns the stored index of logical element i of t. */
static int64_t place(const struct tensor *t, int64_t i)
{
    const int64_t *d = t->dim;

    if (!tensor_is_image(t))
        return i;
    return image_at(t, i / (d[1] * d[2] * d[3]), i / (d[2] * d[3]) % d[1],
                    i / d[3] % d[2], i % d[3]);
}

static void read(const json_t *list, const struct tensor *t, void *dst)
{
    assert_int_equal(json_array_size(list), tensor_len(t));
    assert_true(tensor_len(t) <= MOST);
    for (int64_t i = 0; i < tensor_len(t); i++) {
        double v = json_number_value(json_array_get(list, (size_t)i));
        int64_t pos = place(t, i);

        if (t->dtype == DTYPE_U8)
            ((uint8_t *)dst)[pos] = (uint8_t)v;
        else if (t->dtype == DTYPE_I32)
            ((int32_t *)dst)[pos] = (int32_t)v;
        else
            ((float *)dst)[pos] = (float)v;
    }
}

static struct tensor *input(struct trial *t, const char *key, enum dtype dtype, int ndim,
                            const int64_t *dim)
{
    enum layout layout = dtype == DTYPE_F32 && ndim == 4 ? LAYOUT_IMAGE : LAYOUT_PLAIN;
    struct tensor *x = graph_input(&t->b, key, dtype, layout, ndim, dim);

    read(json_object_get(t->want, key), x, t->value[t->n]);
    t->in[t->n++] = x;
    return x;
}

/* Returns the regression loss of the trial, or NULL if its loss is another. */
static struct tensor *regression_of(struct trial *t, const char *type,
                                    struct tensor *labels, const int64_t *dim)
{
    static const char *const kind[REGRESSION_KINDS] = {
        [REGRESSION_L2] = "l2",
        [REGRESSION_L1] = "l1",
        [REGRESSION_HUBER] = "huber",
        [REGRESSION_SMOOTH_L1] = "smooth_l1",
    };
    struct regression_loss_attrs a = {
        .layer = "loss", .rule = {.delta = (float)number(t->want, "delta", NAN)}};
    struct regression_inputs in = {.labels = labels};

    while (a.rule.kind < REGRESSION_KINDS && strcmp(type, kind[a.rule.kind]) != 0)
        a.rule.kind++;
    if (a.rule.kind == REGRESSION_KINDS)
        return NULL;
    in.targets = input(t, "targets", DTYPE_F32, 2, dim);
    in.mean = input(t, "mean", DTYPE_F32, 1, dim + 1);
    in.std = input(t, "std", DTYPE_F32, 1, dim + 1);
    if (json_is_array(json_object_get(t->want, "lam")))
        in.lam = input(t, "lam", DTYPE_F32, 1, dim);
    return regression_loss(&t->b, t->logits, &in, &a);
}

static struct tensor *loss_of(struct trial *t, struct tensor *labels, int ndim,
                              const int64_t *dim)
{
    const json_t *w = t->want;
    const char *type = json_string_value(json_object_get(w, "loss_type"));
    bool has_lam = json_is_array(json_object_get(w, "lam"));
    struct tensor *numbers = regression_of(t, type, labels, dim);

    if (numbers)
        return numbers;
    if (!strcmp(type, "corn"))
        return cross_entropy(&t->b, corn(&t->b, t->logits, "corn"), labels, NULL, "loss");

    /* as session/losses.c builds the smoothed segmentation loss */
    if (!strcmp(type, "cross_entropy"))
        return focal(&t->b, t->logits, labels, NULL, "loss", .gamma = 0,
                     .smoothing = (float)number(w, "smoothing", 0), .ignore = 255);
    if (!strcmp(type, "focal"))
        return focal(&t->b, t->logits, labels,
                     has_lam ? input(t, "lam", DTYPE_F32, 1, dim) : NULL, "loss",
                     .gamma = (float)number(w, "gamma", 2),
                     .smoothing = (float)number(w, "smoothing", 0), .ignore = 255);
    if (!strcmp(type, "dice"))
        return dice(
            &t->b, t->logits, labels, "loss", .smooth = (float)number(w, "smooth", 1),
            .squared = json_is_true(json_object_get(w, "squared")), .ignore = 255);
    if (!strcmp(type, "ohem"))
        return ohem(&t->b, t->logits, labels, "loss",
                    .thresh = (float)number(w, "thresh", 0.7),
                    .min_share = (float)number(w, "min_share", 0.0625), .ignore = 255);
    assert_string_equal(type, "distill");
    return distill(&t->b, t->logits, labels, input(t, "teacher", DTYPE_F32, ndim, dim),
                   "loss", .temperature = (float)number(w, "temperature", 1),
                   .hard = json_is_true(json_object_get(w, "hard")), .ignore = 255);
}

static void build(struct trial *t)
{
    const json_t *shape = json_object_get(t->want, "shape");
    int ndim = (int)json_array_size(shape);
    int64_t dim[4], one = 1;
    struct tensor *labels, *seed;

    for (int i = 0; i < ndim; i++)
        dim[i] = (int64_t)json_integer_value(json_array_get(shape, (size_t)i));
    t->b.g = graph_new(&graph_ops_default, true);
    t->logits = input(t, "logits", DTYPE_F32, ndim, dim);
    t->logits->trainable = true;
    labels = ndim == 2 ? input(t, "labels", DTYPE_I32, 1, dim)
                       : input(t, "labels", DTYPE_U8, 3,
                               (const int64_t[]){dim[0], dim[2], dim[3]});
    t->loss = loss_of(t, labels, ndim, dim);
    seed = graph_input(&t->b, "seed", DTYPE_F32, LAYOUT_PLAIN, 1, &one);
    t->value[t->n][0] = 1;
    t->in[t->n++] = seed;
    graph_flatten(t->b.g);
    autodiff(&t->b, t->loss, seed);
    graph_output(t->b.g, t->loss);
}

static void close_to(const char *what, const char *backend, const json_t *want,
                     double got, double should)
{
    if (!(fabs(got - should) <= 4e-6 * (fabs(should) + 0.1)))
        fail_msg("%s of %s on %s: %.9g, not %.9g", what,
                 json_string_value(json_object_get(want, "loss_type")), backend, got,
                 should);
}

static void run(struct trial *t, const struct backend *be, struct device *dev,
                float *loss, float *grad)
{
    struct program *p = program_compile(t->b.g, be, dev, NULL);
    void *base[MEMORY_COUNT] = {NULL};

    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(p, (enum memory)m))
            base[m] = be->alloc(dev, program_need(p, (enum memory)m));
    program_bind(p, base);
    program_refresh(p);
    for (int i = 0; i < t->n; i++)
        be->copy_in(dev, program_data(p, t->in[i]), t->value[i], tensor_size(t->in[i]));
    program_run(p);
    if (be->sync)
        be->sync(dev);
    be->copy_out(dev, loss, program_data(p, t->loss), sizeof(*loss));
    be->copy_out(dev, grad, program_data(p, t->logits->grad), tensor_size(t->logits));
    program_free(p);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (base[m])
            be->free(dev, base[m]);
}

static void check(const json_t *want, const struct backend *be)
{
    struct device *dev = be->open(&(const struct device_options){0});
    struct trial t = {.want = want};
    float loss = NAN, grad[MOST], should[MOST];

    build(&t);
    run(&t, be, dev, &loss, grad);
    close_to("loss", be->name, want, (double)loss, number(want, "loss", NAN));
    read(json_object_get(want, "grad"), t.logits, should);
    for (int64_t i = 0; i < tensor_len(t.logits); i++)
        close_to("gradient", be->name, want, (double)grad[i], (double)should[i]);
    graph_free(t.b.g);
    be->close(dev);
}

static void check_file(const char *path, size_t should_be)
{
    struct strbuf why = STRBUF_INIT;
    json_t *o = json_parse_file(path, &why);
    const json_t *cases = json_object_get(o, "cases");
    size_t n = 0;

    if (!o)
        fail_msg("%s", why.buf);
    assert_int_equal(json_array_size(cases), should_be);
    for (int b = 0; device_at(b); b++)
        for (size_t i = 0; i < json_array_size(cases) && backend_wanted(device_at(b));
             i++, n++)
            check(json_array_get(cases, i), device_at(b));
    assert_true(n >= should_be);
    json_decref(o);
    strbuf_release(&why);
}

static void test_golden(void **state)
{
    (void)state;
    check_file("tests/golden/train/losses.json", 19);
    check_file("tests/golden/train/regression.json", 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
