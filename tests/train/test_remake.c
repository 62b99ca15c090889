/* First convolutions for other channels than RGB: timm's values, and names per family. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "io/json.h"
#include "models/swin_net.h"
#include "models/table.h"
#include "ops/table.h"
#include "tests/test.h"
#include "train/remake.h"
#include "train/statedict.h"

enum { OUT = 2, SIDE = 2, RGB = 3 };

/* timm's weights are OIHW, trainc's OHWI. */
static void check_case(const json_t *j)
{
    int64_t channels = json_integer_value(json_object_get(j, "channels"));
    const json_t *want = json_object_get(j, "y");
    float x[OUT][SIDE * SIDE][RGB], y[OUT * SIDE * SIDE * 16];

    for (int i = 0; i < OUT * RGB * SIDE * SIDE; i++)
        x[i / (RGB * SIDE * SIDE)][i % (SIDE * SIDE)][i / (SIDE * SIDE) % RGB] =
            (float)((double)(7919 * i % 101) / 50 - 1);
    remake_channels(&x[0][0][0], (int64_t)OUT * SIDE * SIDE, channels, y);
    assert_int_equal(json_array_size(want), OUT * channels * SIDE * SIDE);
    for (int64_t i = 0; i < OUT * channels * SIDE * SIDE; i++) {
        int64_t o = i / (channels * SIDE * SIDE), c = i / (SIDE * SIDE) % channels;
        float got = y[(o * SIDE * SIDE + i % (SIDE * SIDE)) * channels + c];
        double v = json_number_value(json_array_get(want, (size_t)i));

        if (!(fabs(got - v) <= 2e-7))
            fail_msg("%lld channels, %lld: %.9g, want %.9g", (long long)channels,
                     (long long)i, got, v);
    }
}

static void test_timm(void **state)
{
    json_t *j = json_load_file("tests/golden/train/first_layer.json", 0, NULL);

    (void)state;
    assert_int_equal(json_array_size(j), 6);
    for (size_t i = 0; i < json_array_size(j); i++)
        check_case(json_array_get(j, i));
    json_decref(j);
}

static struct graph *graph_of(const struct model *m, int channels)
{
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    struct model_options o = {.classes = 10};
    struct swin_options swin;

    if (m->family->arch_is_options && !strncmp(m->family->type, "swin", 4)) {
        swin = *(const struct swin_options *)m->arch;
        swin.in_chans = channels;
        o.family = &swin;
    }
    model_build(&b, m, &o,
                graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                            (const int64_t[]){1, channels, m->size, m->size}));
    return b.g;
}

static const struct tensor *param(const struct graph *g, const char *name)
{
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->kind == TENSOR_PARAM && !strcmp(g->tensor[i]->name, name))
            return g->tensor[i];
    return NULL;
}

/* Other channels change only the shape of the first convolution, which is adapted. */
static void check_family(const char *type, const char *name, const char *first)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find(type, name, &why);
    struct graph *rgb = graph_of(m, RGB);

    for (int channels = 1; channels <= 4; channels++) {
        struct graph *g = graph_of(m, channels);
        int remade = 0;

        for (int i = 0; i < g->ntensor; i++) {
            const struct tensor *t = g->tensor[i], *src = param(rgb, t->name);
            struct safetensors_tensor file = {.dtype = SAFETENSORS_F32};

            if (t->kind != TENSOR_PARAM)
                continue;
            assert_non_null(src);
            file.ndim = src->ndim;
            memcpy(file.dims, src->dim, sizeof(file.dims));
            if (statedict_fits(t, &file))
                continue;
            assert_string_equal(t->name, first);
            assert_non_null(remake_find(m->family, false, t, &file));
            remade++;
            file.dims[0]++; /* another model's */
            assert_null(remake_find(m->family, false, t, &file));
            file.dims[0]--;
            file.dims[1] = 5;
            assert_null(remake_find(m->family, false, t, &file));
        }
        assert_int_equal(remade, channels != RGB);
        graph_free(g);
    }
    graph_free(rgb);
}

static void test_families(void **state)
{
    (void)state;
    check_family("resnet", "resnet18", "conv1.weight");
    check_family("resnet", "resnet18d", "conv1.0.weight");
    check_family("swin", "swin_tiny_patch4_window7_224", "patch_embed.proj.weight");
    check_family("swinv2", "swinv2_tiny_window8_256", "patch_embed.proj.weight");
    check_family("vit", "vit_tiny_patch16_224", "patch_embed.proj.weight");
    check_family("convnext", "convnext_tiny", "stem.0.weight");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_timm),
                                       cmocka_unit_test(test_families)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
