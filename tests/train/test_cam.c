/*
 * Grad-CAM of small nets against PyTorch (scripts/golden/cam.py): the gradient of logits
 * with respect to a layer, the scaled map, its interpolation, and its place on an image.
 */
#include "train/cam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/autodiff.h"
#include "models/cam.h"
#include "models/convnext.h"
#include "models/regnet.h"
#include "models/resnet.h"
#include "models/swin.h"
#include "models/swin_net.h"
#include "models/swinv2.h"
#include "models/vit.h"
#include "ops/table.h"
#include "session/devices.h"
#include "tests/models/golden_net.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

enum { CLASSES = 10, BATCH = 2, WIDE = 13, HIGH = 11 };

#define LIST(...)                                                                        \
    {                                                                                    \
        (const int64_t[]){__VA_ARGS__},                                                  \
            sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)                     \
    }
#define SWIN                                                                             \
    .arch = &(const struct swin_options)                                                 \
    {                                                                                    \
        .patch_size = 2, .in_chans = 3, .embed_dim = 16, .depths = LIST(2, 2, 2, 1),     \
        .num_heads = LIST(2, 2, 4, 8), .window_size = 4, .mlp_ratio = 4,                 \
        .qkv_bias = true, .patch_norm = true,                                            \
        .pretrained_window_sizes = LIST(0, 0, 0, 0)                                      \
    }

static const struct model nets[] = {
    {.name = "test_resnet", .family = &resnet_family},
    {.name = "swin", .family = &swin_family, SWIN},
    {.name = "swinv2", .family = &swinv2_family, SWIN},
    {.name = "vit",
     .family = &vit_family,
     .arch = &(const struct vit){.patch = 4, .width = 24, .depth = 4, .heads = 3}},
    {.name = "deit",
     .family = &vit_family,
     .arch =
         &(const struct vit){
             .patch = 4, .width = 24, .depth = 4, .heads = 3, .distilled = true}},
    {.name = "regnet",
     .family = &regnet_family,
     .arch = &(const struct regnet){7, 8, 10, 2, 8, false}},
    {.name = "convnext",
     .family = &convnext_family,
     .arch = &(const struct convnext){.depth = {1, 1, 2, 1}, .width = {8, 16, 24, 32}}},
};

static const struct model *net_of(const char *name)
{
    struct strbuf why = STRBUF_INIT;

    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++)
        if (!strcmp(nets[i].name, name))
            return nets[i].arch ? &nets[i] : model_find(nets[i].family->type, name, &why);
    fail_msg("no net '%s'", name);
    return NULL;
}

/* Builds the net and the gradient of the layer; `stage` becomes the layer. */
static struct tensor *build(struct trial *t, const json_t *golden,
                            struct model_stage *stage, struct tensor **seed)
{
    const char *layer = json_string_value(json_object_get(golden, "layer"));
    const struct model *m = net_of(json_string_value(json_object_get(golden, "net")));
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    struct model_stages stages = {.last = MODEL_STAGES};
    struct model_options o = {.classes = CLASSES, .stages = &stages};
    int64_t side = golden_int(golden, "side");
    struct strbuf why = STRBUF_INIT;
    struct tensor *logits, *dx;
    int index = -1;

    t->g = b.g;
    t->x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                       (const int64_t[]){BATCH, 3, side, side});
    logits = model_build(&b, m, &o, t->x);
    graph_flatten(b.g);
    if (!strstr(layer, "norm1"))
        index = model_stage_find(m, &o, 3, (int)side, (int)side, layer, &why);
    *stage = cam_stage(b.g, m->family, &stages, index);
    assert_string_equal(stage->name, layer);
    *seed = graph_input(&b, "seed", DTYPE_F32, LAYOUT_PLAIN, 2, logits->dim);
    dx = autodiff_between(&b, logits, *seed, stage->x);
    graph_output(b.g, stage->x);
    graph_output(b.g, dx);
    return dx;
}

static float *copy(struct trial *t, const struct tensor *x)
{
    float *dst = xmalloc(tensor_size(x));

    t->backend->copy_out(t->dev, dst, program_data(t->program, x), tensor_size(x));
    return dst;
}

static void check_resized(const struct model_stage *s, const float *map,
                          const json_t *want, size_t first)
{
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++) {
            double w =
                json_number_value(json_array_get(want, first + (size_t)(y * WIDE + x)));
            double got = cam_at(s, map, (x + 0.5) / WIDE, (y + 0.5) / HIGH);

            if (!(fabs(got - w) <= 1e-4))
                fail_msg("%s at %d, %d: %g, not %g", s->name, x, y, got, w);
        }
}

/* Returns the largest difference of the maps. */
static double check_map(const struct model_stage *s, const json_t *golden, int image,
                        const float *x, const float *dx)
{
    size_t places = (size_t)s->height * (size_t)s->width;
    size_t first = (size_t)image * places;
    int64_t each = tensor_len(s->x) / BATCH;
    float *map = xcalloc(places, sizeof(*map));
    bool any = cam_map(s, x + image * each, dx + image * each, map);
    double worst = 0;

    assert_int_equal(any, json_is_true(json_array_get(json_object_get(golden, "nonzero"),
                                                      (size_t)image)));
    for (size_t i = 0; i < places; i++) {
        double want =
            json_number_value(json_array_get(json_object_get(golden, "map"), first + i));

        if (!(fabs((double)map[i] - want) <= 2e-5))
            fail_msg("%s, image %d, place %zu: %.8g, not %.8g", s->name, image, i,
                     (double)map[i], want);
        worst = fmax(worst, fabs((double)map[i] - want));
    }
    check_resized(s, map, json_object_get(golden, "resized"),
                  (size_t)image * WIDE * HIGH);
    free(map);
    return worst;
}

static void check_layer(const json_t *golden, const struct backend *backend)
{
    const json_t *class = json_object_get(golden, "classes");
    float one[BATCH * CLASSES] = {0}, *x, *dx;
    struct trial t = {.backend = backend};
    struct model_stage s;
    struct tensor *seed, *d;
    double worst = 0;

    t.dev = backend->open(&(struct device_options){0});
    d = build(&t, golden, &s, &seed);
    assert_non_null(d);
    assert_int_equal(s.height, golden_int(golden, "height"));
    assert_int_equal(s.width, golden_int(golden, "width"));
    golden_open(&t, golden);
    for (size_t i = 0; i < BATCH; i++)
        one[i * CLASSES + (size_t)json_integer_value(json_array_get(class, i))] = 1;
    golden_write(&t, seed, one);
    program_run(t.program);
    x = copy(&t, s.x);
    dx = copy(&t, d);
    for (int i = 0; i < BATCH; i++)
        worst = fmax(worst, check_map(&s, golden, i, x, dx));
    print_message("%s on %s: off by at most %.2g\n", s.name, backend->name, worst);
    free(x);
    free(dx);
    golden_close(&t);
}

static void test_golden(void **state)
{
    json_t *all = golden_read("cam");

    (void)state;
    assert_true(json_array_size(all) > 8);
    for (int i = 0; device_at(i); i++)
        for (size_t k = 0; k < json_array_size(all) && backend_wanted(device_at(i)); k++)
            check_layer(json_array_get(all, k), device_at(i));
    json_decref(all);
}

/* A map with a hot left half on a wide image whose sides the crop leaves out. */
static void test_paint(void **state)
{
    enum { W = 16, H = 8 };
    struct model_stage s = {.name = "s", .height = 1, .width = 2, .channels = 1};
    struct transform t = {.kind = TRANSFORM_CENTER, .w = 4, .h = 4, .resize = 4};
    const float map[] = {1, 0};
    uint8_t rgb[H * W * 3];

    (void)state;
    memset(rgb, 100, sizeof(rgb));
    cam_paint(&s, map, &t, rgb, W, H);
    for (int x = 0; x < W; x++) {
        const uint8_t *p = rgb + 3 * (3 * W + x);
        bool inside = x >= 4 && x < 12;

        if (!inside)
            assert_memory_equal(p, ((const uint8_t[]){100, 100, 100}), 3);
        if (x == 4) /* jet(1): 0.5 red */
            assert_memory_equal(p, ((const uint8_t[]){114, 50, 50}), 3);
        if (x == 11) /* jet(0): 0.5 blue */
            assert_memory_equal(p, ((const uint8_t[]){50, 50, 114}), 3);
    }
}

/* What is negative counts for nothing; a constant map is 0. */
static void test_map(void **state)
{
    struct model_stage s = {
        .name = "s", .height = 1, .width = 3, .channels = 2, .prefix = 1};
    const float x[] = {9, 9, 1, 0, 3, 0, -5, 0}, dx[] = {50, 50, 1, 0, 1, 0, 1, 0};
    const float minus[] = {0, 0, -1, 0, -1, 0, -1, 0},
                positive[] = {0, 0, 1, 0, 1, 0, 1, 0};
    float map[3];

    (void)state;
    assert_true(cam_map(&s, x, dx, map));
    assert_true(fabsf(map[0] - 1.0f / 3) < 1e-6f && fabsf(map[1] - 1) < 1e-6f);
    assert_true(map[2] == 0);
    assert_false(cam_map(&s, positive, minus, map));
    assert_true(map[0] == 0 && map[1] == 0 && map[2] == 0);
    assert_true(cam_map(&s, positive, dx, map));
    assert_true(map[0] == 0 && map[1] == 0 && map[2] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_paint),
        cmocka_unit_test(test_map),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
