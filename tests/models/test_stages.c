/*
 * The stages of small nets against timm's features_only: names, shapes, reductions, and
 * values, of nets that end with each of them; and the resolution of MODEL.OUT_INDICES.
 * Weights and input are an integer hash that scripts/golden/features.py computes, too.
 */
#include "models/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "models/beit.h"
#include "models/convnext.h"
#include "models/densenet.h"
#include "models/efficientnet.h"
#include "models/erfnet.h"
#include "models/ghostnet.h"
#include "models/inception.h"
#include "models/mixer.h"
#include "models/regnet.h"
#include "models/resnet.h"
#include "models/resnetv2.h"
#include "models/swin.h"
#include "models/swin_net.h"
#include "models/swinv2.h"
#include "models/vgg.h"
#include "models/vit.h"
#include "ops/table.h"
#include "session/devices.h"
#include "tests/models/golden_net.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

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

static struct model nets[] = {
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
    {.name = "vit_reg",
     .family = &vit_family,
     .arch = &(const struct vit){.patch = 4,
                                 .width = 24,
                                 .depth = 4,
                                 .heads = 3,
                                 .no_class = true,
                                 .registers = 3,
                                 .mean = true,
                                 .patch_position = true,
                                 .layer_scale = 0.1f}},
    {.name = "beit",
     .family = &beit_family,
     .arch = &(const struct beit){4, 24, 4, 3, 0.1f}},
    {.name = "mixer_s16_224", .family = &mixer_family},
    {.name = "regnet",
     .family = &regnet_family,
     .arch = &(const struct regnet){7, 8, 10, 2, 8, false}},
    {.name = "vgg11_bn", .family = &vgg_family},
    {.name = "densenet",
     .family = &densenet_family,
     .arch = &(const struct densenet){8, {2, 1, 2, 1}, false, false}},
    {.name = "resnetv2_18d", .family = &resnetv2_family},
    {.name = "inception_v3", .family = &inception_family},
    {.name = "ghostnet_050", .family = &ghostnet_family},
    {.name = "resnet18d/16", .family = &resnet_family}, /* with an output stride */
    {.name = "resnetv2_18d/8", .family = &resnetv2_family},
    {.name = "test_efficientnet", .family = &efficientnet_family},
    {.name = "convnext",
     .family = &convnext_family,
     .arch = &(const struct convnext){.depth = {1, 1, 2, 1}, .width = {8, 16, 24, 32}}},
    {.name = "erfnet", .family = &erfnet_family},
};

static const struct model *net_of(const struct model *m)
{
    struct strbuf why = STRBUF_INIT;
    char name[64];

    if (m->arch)
        return m;
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(m->name, "/"), m->name);
    return model_find(m->family->type, name, &why);
}

static void build(struct trial *t, const struct model *m, const json_t *golden,
                  struct model_stages *stages)
{
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    struct model_options o = {.classes = 10, .stages = stages};
    const char *stride = strchr(m->name, '/');
    int64_t side = golden_int(golden, "side");

    if (stride)
        o.output_stride = (int)strtol(stride + 1, NULL, 10);
    t->g = b.g;
    t->branch = m->family == &erfnet_family ? 1.0f : 0;
    t->x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                       (const int64_t[]){golden_int(golden, "batch"), 3, side, side});
    assert_null(model_build(&b, net_of(m), &o, t->x));
    graph_output(b.g, stages->stage[stages->last].x);
    graph_flatten(b.g);
}

/* Returns the stored index of element i of the stage in timm's order. */
static int64_t stored(const struct model_stage *s, int64_t i)
{
    int64_t c = s->channels, places = (int64_t)s->height * s->width, image, k, pos;

    if (s->channels_last)
        return i;
    pos = i % places;
    k = i / places % c;
    image = i / places / c;
    return (image * (s->prefix + places) + s->prefix + pos) * c + k;
}

static void check_number(const char *what, double got, double want, double typical)
{
    if (!(fabs(got - want) <= 1e-5 * (fabs(want) + typical)))
        fail_msg("%s: %.8g, not %.8g", what, got, want);
}

static void check_values(struct trial *t, const struct model_stage *s,
                         const json_t *digest, int64_t len)
{
    float *x = xmalloc(tensor_size(s->x)), got[7];
    uint32_t h = 0x811C9DC5u;
    double sum = 0;

    for (const char *c = s->name; *c; c++)
        h = (h ^ (unsigned char)*c) * 0x01000193u;
    t->backend->copy_out(t->dev, x, program_data(t->program, s->x), tensor_size(s->x));
    for (int64_t i = 0; i < len; i++)
        sum += (double)x[stored(s, i)] * x[stored(s, i)];
    for (uint32_t k = 0; k < 6; k++)
        got[k + 1] = x[stored(s, golden_hash(h + k) % len)];
    sum = sqrt(sum);
    check_number(s->name, sum, json_number_value(json_array_get(digest, 0)), 0);
    for (size_t k = 1; k < 7; k++)
        check_number(s->name, (double)got[k],
                     json_number_value(json_array_get(digest, k)),
                     sum / sqrt((double)len));
    free(x);
}

static void check_shape(const struct model_stage *s, const json_t *want, int64_t *len)
{
    const json_t *shape = json_object_get(want, "shape");
    int last = s->channels_last, dim[4] = {2, s->channels, s->height, s->width};

    if (last)
        memcpy(dim + 1, (int[]){s->height, s->width, s->channels}, 3 * sizeof(*dim));
    assert_string_equal(s->name, json_string_value(json_object_get(want, "name")));
    assert_int_equal(s->reduction, golden_int(want, "reduction"));
    *len = 1;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(dim[i], json_integer_value(json_array_get(shape, i)));
        *len *= dim[i];
    }
}

/* Checks the net that ends with stage `last`. */
static void check_last(const struct model *m, const json_t *golden, int last,
                       const struct backend *backend)
{
    const json_t *want = json_array_get(json_object_get(golden, "stages"),
                                        (size_t)(last - golden_int(golden, "first")));
    struct model_stages stages = {.last = last};
    struct trial t = {.backend = backend};
    int64_t len;

    print_message("%s on %s: stage %d\n", m->name, backend->name, last);
    t.dev = backend->open(&(struct device_options){0});
    build(&t, m, golden, &stages);
    assert_int_equal(stages.n, last + 1);
    check_shape(&stages.stage[last], want, &len);
    golden_open(&t, golden);
    program_run(t.program);
    check_values(&t, &stages.stage[last], json_object_get(want, "digest"), len);
    /* nothing follows: the last tensor is the stage or its view */
    assert_true(t.g->node[t.g->nnode - 1]->out[0] == stages.stage[last].x);
    golden_close(&t);
}

static void test_net(void **state)
{
    const struct model *m = *state;
    json_t *all = golden_read("features"), *golden = json_object_get(all, m->name);
    int first = (int)golden_int(golden, "first"),
        n = (int)json_array_size(json_object_get(golden, "stages"));

    assert_true(n > 1);
    for (int i = 0; device_at(i); i++)
        for (int k = first; k < first + n && backend_wanted(device_at(i)); k++)
            check_last(m, golden, k, device_at(i));
    json_decref(all);
}

static void check_pick(struct int_list out, int n, int dflt, const char *want)
{
    struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
    int index[MODEL_STAGES], picked = model_stages_pick(&out, n, dflt, index, &why);

    for (int i = 0; i < picked; i++)
        strbuf_addf(&text, "%d ", index[i]);
    strbuf_addstr(&text, why.len ? why.buf : "");
    assert_string_equal(text.buf, want);
    strbuf_release(&text);
    strbuf_release(&why);
}

static void test_pick(void **state)
{
    (void)state;
    check_pick((struct int_list){0}, 5, 0, "0 1 2 3 4 ");
    check_pick((struct int_list){0}, 12, 3, "9 10 11 ");
    check_pick((struct int_list)LIST(3, 1), 5, 0, "1 3 ");
    check_pick((struct int_list)LIST(0, -1), 5, 3, "0 4 ");
    check_pick((struct int_list)LIST(4, -1), 5, 0, "stage 4 is named twice");
    check_pick((struct int_list)LIST(5), 5, 0, "5 is no stage: there are 5, 0 to 4");
    check_pick((struct int_list)LIST(-6), 5, 0, "-6 is no stage: there are 5, 0 to 4");
}

int main(void)
{
    enum { N = sizeof(nets) / sizeof(nets[0]) };
    struct CMUnitTest tests[N + 1] = {cmocka_unit_test(test_pick)};

    for (int i = 0; i < N; i++)
        tests[i + 1] = (struct CMUnitTest){
            .name = nets[i].name, .test_func = test_net, .initial_state = &nets[i]};
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
