/*
 * mixup, CutMix and the losses against timm and PyTorch (tests/golden/train/mix.json):
 * boxes, blends, lam, the mixed targets, label smoothing, ignored labels, class weights.
 */
#include <math.h>
#include <string.h>

#include "graph/kernel.h"
#include "io/json.h"
#include "ops/bce.h"
#include "ops/control.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/image.h"
#include "ops/mix.h"
#include "tests/test.h"
#include "tests/train/run_last.h"

enum { MOST = 512 }; /* elements of a tensor, at most */

static json_t *golden;

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* Reads a list in logical order into the memory order of t. Returns its length. */
static size_t read(const json_t *o, const char *key, const struct tensor *t, float *dst)
{
    const json_t *list = json_object_get(o, key);
    size_t n = json_array_size(list);

    assert_true(n <= MOST && (int64_t)n == tensor_len(t));
    for (size_t i = 0; i < n; i++) {
        int64_t pos = (int64_t)i;

        if (tensor_is_image(t)) {
            const int64_t *d = t->dim;

            pos = image_at(t, pos / (d[1] * d[2] * d[3]), pos / (d[2] * d[3]) % d[1],
                           pos / d[3] % d[2], pos % d[3]);
        }
        dst[pos] = (float)json_number_value(json_array_get(list, i));
    }
    return n;
}

static void close_to(const char *name, const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 2e-6 * (fabs(want) + 0.1)))
        fail_msg("%s, %s: %.9g, not %.9g", name, what, got, want);
}

static size_t compare(const json_t *o, const char *name, const char *key,
                      const struct tensor *t, const float *got)
{
    float want[MOST];
    size_t n = read(o, key, t, want);

    for (size_t i = 0; i < n; i++)
        close_to(name, key, (double)got[i], (double)want[i]);
    return n;
}

/* A graph of one op; run_last runs it. */
static struct builder builder_of_test(void)
{
    return (struct builder){.g = graph_new(NULL, true)};
}

static struct tensor *input(struct builder *b, enum dtype d, const json_t *shape)
{
    int64_t dim[4];
    int n = (int)json_array_size(shape);

    assert_in_range(n, 1, 4);
    for (int i = 0; i < n; i++)
        dim[i] = (int64_t)json_integer_value(json_array_get(shape, (size_t)i));
    return graph_input(b, "in", d, n == 4 && d == DTYPE_F32 ? LAYOUT_IMAGE : LAYOUT_PLAIN,
                       n, dim);
}

/* ---- losses ---- */

static void read_labels(const json_t *o, int32_t *wide, uint8_t *narrow)
{
    const json_t *list = json_object_get(o, "labels");

    assert_in_range(json_array_size(list), 1, MOST);
    for (size_t i = 0; i < json_array_size(list); i++) {
        wide[i] = (int32_t)json_integer_value(json_array_get(list, i));
        narrow[i] = (uint8_t)wide[i];
    }
}

/*
 * Compares loss and gradient of `logits`, computed by `loss` and `grad`, with those of
 * `want`. `lam` may be NULL.
 */
static size_t check_loss(const json_t *want, const char *name, struct builder *b,
                         const struct op *loss, const struct op *grad, const void *attrs,
                         struct tensor *in[3], void *data[3], int nin)
{
    int64_t one = 1;
    struct tensor *dloss = graph_input(b, "dloss", DTYPE_F32, LAYOUT_PLAIN, 1, &one);
    struct tensor *gin[4] = {in[0], in[1], dloss, in[2]};
    float value = NAN, unit = 1, dz[MOST];
    void *gdata[4] = {data[0], data[1], &unit, data[2]};

    node(b, loss, "loss", attrs, in, nin);
    run_last(b->g, data, (void *[]){&value});
    close_to(name, "loss", (double)value, number(want, "loss"));
    node(b, grad, "grad", attrs, gin, nin + 1);
    run_last(b->g, gdata, (void *[]){dz});
    return compare(want, name, "grad", in[0], dz);
}

static size_t check_classes(const json_t *o, const json_t *shape, float smoothing,
                            const json_t *labels, const float *lam, const json_t *want,
                            const char *name)
{
    const struct cross_entropy_attrs a = {.layer = "loss", .smoothing = smoothing};
    struct builder b = builder_of_test();
    struct tensor *z = input(&b, DTYPE_F32, shape);
    struct tensor *in[3] = {z,
                            graph_input(&b, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, z->dim),
                            graph_input(&b, "lam", DTYPE_F32, LAYOUT_PLAIN, 1, z->dim)};
    float logits[MOST], lam_data[MOST];
    int32_t label[MOST];
    uint8_t narrow[MOST];
    size_t compared;

    read(o, "logits", z, logits);
    read_labels(labels, label, narrow);
    if (lam)
        memcpy(lam_data, lam, (size_t)z->dim[0] * sizeof(float));
    compared = check_loss(want, name, &b, &op_cross_entropy, &op_cross_entropy_grad, &a,
                          in, (void *[]){logits, label, lam_data}, lam ? 3 : 2);
    graph_free(b.g);
    return compared;
}

static size_t check_pixels(const json_t *o, const char *name)
{
    struct cross_entropy2d_attrs a = {.layer = "loss",
                                      .ignore = (int)number(o, "ignore")};
    const json_t *weight = json_object_get(o, "weight");
    struct builder b = builder_of_test();
    struct tensor *z = input(&b, DTYPE_F32, json_object_get(o, "shape"));
    const int64_t dim[] = {z->dim[IMAGE_N], z->dim[IMAGE_H], z->dim[IMAGE_W]};
    struct tensor *in[3] = {z, graph_input(&b, "labels", DTYPE_U8, LAYOUT_PLAIN, 3, dim)};
    float logits[MOST];
    int32_t wide[MOST];
    uint8_t label[MOST];
    size_t compared;

    a.weighted = weight != NULL;
    for (size_t i = 0; i < json_array_size(weight); i++)
        a.weight[i] = (float)json_number_value(json_array_get(weight, i));
    read(o, "logits", z, logits);
    read_labels(o, wide, label);
    compared = check_loss(o, name, &b, &op_cross_entropy2d, &op_cross_entropy2d_grad, &a,
                          in, (void *[]){logits, label, NULL}, 2);
    graph_free(b.g);
    return compared;
}

/* timm's BinaryCrossEntropy (tests/golden/train/bce.json). */
static void test_bce(void **state)
{
    struct strbuf why = STRBUF_INIT;
    json_t *o = json_parse_file("tests/golden/train/bce.json", &why);
    const json_t *cases = json_object_get(o, "cases");
    size_t compared = 0;

    (void)state;
    assert_int_equal(json_array_size(cases), 8);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *want = json_array_get(cases, i);
        const json_t *lam = json_object_get(want, "lam");
        const json_t *threshold = json_object_get(want, "threshold");
        struct bce_attrs a = {.layer = "loss",
                              .smoothing = (float)number(want, "smoothing"),
                              .threshold = (float)json_number_value(threshold),
                              .has_threshold = json_is_number(threshold),
                              .sum_classes = json_is_true(json_object_get(want, "sum"))};
        struct builder b = builder_of_test();
        struct tensor *z = input(&b, DTYPE_F32, json_object_get(o, "shape"));
        struct tensor *in[3] = {
            z, graph_input(&b, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, z->dim),
            graph_input(&b, "lam", DTYPE_F32, LAYOUT_PLAIN, 1, z->dim)};
        float logits[MOST], share[MOST];
        int32_t label[MOST];
        uint8_t narrow[MOST];

        read(o, "logits", z, logits);
        read_labels(o, label, narrow);
        if (json_is_array(lam))
            read(want, "lam", in[LABEL_LOSS_LAM], share);
        compared +=
            check_loss(want, "bce", &b, &op_bce, &op_bce_grad, &a, in,
                       (void *[]){logits, label, share}, json_is_array(lam) ? 3 : 2);
        graph_free(b.g);
    }
    assert_int_equal(compared, 8 * 20);
    json_decref(o);
    strbuf_release(&why);
}

static void test_losses(void **state)
{
    const json_t *list = json_object_get(golden, "loss");
    size_t compared = 0;

    (void)state;
    assert_int_equal(json_array_size(list), 7);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(o, "name"));

        if (json_object_get(o, "ignore"))
            compared += check_pixels(o, name);
        else
            compared += check_classes(o, json_object_get(o, "shape"),
                                      (float)number(o, "smoothing"), o, NULL, o, name);
    }
    assert_int_equal(compared, 4 * 20 + 3 * 72);
}

/* ---- mixing ---- */

static struct mix_attrs mix_attrs_of(const json_t *o)
{
    static const char *const mode[] = {"batch", "pair", "elem"};
    const json_t *minmax = json_object_get(o, "minmax");
    struct mix_attrs a = {
        .layer = "mix",
        .mixup = (float)number(o, "mixup"),
        .cutmix = (float)number(o, "cutmix"),
        .cutmix_min = (float)json_number_value(json_array_get(minmax, 0)),
        .cutmix_max = (float)json_number_value(json_array_get(minmax, 1)),
        .prob = (float)number(o, "prob"),
        .switch_prob = (float)number(o, "switch_prob")};

    while (strcmp(mode[a.mode], json_string_value(json_object_get(o, "mode"))))
        assert_in_range(++a.mode, 0, 2);
    return a;
}

/* One batch: the mixed pixels, and the loss of the mixed targets. */
static size_t check_mixed(const json_t *o, const json_t *run, int64_t micro)
{
    const struct mix_attrs a = mix_attrs_of(o);
    const char *name = json_string_value(json_object_get(o, "name"));
    struct control control = {.seed = (uint64_t)number(o, "seed"), .micro = micro};
    struct builder b = builder_of_test();
    struct tensor *x = input(&b, DTYPE_F32, json_object_get(golden, "shape")), *lam;
    int64_t bytes = sizeof(control);
    float pixel[MOST], y[MOST], l[MOST];
    json_t *shape = json_pack("[I,I]", (json_int_t)x->dim[IMAGE_N],
                              (json_int_t)number(golden, "classes"));
    size_t compared;

    mix_(&b, x, graph_input(&b, "control", DTYPE_U8, LAYOUT_PLAIN, 1, &bytes), &lam, &a);
    read(golden, "x", x, pixel);
    run_last(b.g, (void *[]){pixel, &control}, (void *[]){y, l});
    compared = compare(run, name, "y", x, y);
    compared +=
        check_classes(golden, shape, (float)number(o, "smoothing"), golden, l, run, name);
    json_decref(shape);
    graph_free(b.g);
    return compared;
}

static void test_mix(void **state)
{
    const json_t *list = json_object_get(golden, "mix");
    size_t compared = 0;

    (void)state;
    assert_int_equal(json_array_size(list), 7);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i), *run = json_object_get(o, "run");

        for (size_t r = 0; r < json_array_size(run); r++)
            compared += check_mixed(o, json_array_get(run, r), (int64_t)r + 1);
    }
    assert_int_equal(compared, 7 * 3 * (160 + 20));
}

static int set_up(void **state)
{
    struct strbuf why = STRBUF_INIT;

    (void)state;
    golden = json_parse_file("tests/golden/train/mix.json", &why);
    strbuf_release(&why);
    return golden ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(golden);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_bce),
        cmocka_unit_test(test_mix),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
