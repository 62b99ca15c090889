/*
 * The layer of each parameter, and those with weight decay, against timm's
 * param_groups_layer_decay (scripts/golden/layer_decay.py).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/json.h"
#include "models/count.h"
#include "models/table.h"
#include "ops/table.h"
#include "tests/models/golden_net.h"
#include "tests/test.h"

static void check_scales(const struct layer_rule *rules, const struct flat *f,
                         double decay, const json_t *want)
{
    float *scale = xcalloc((size_t)f->nparam, sizeof(*scale));

    layer_scales(rules, NULL, f, decay, scale);
    for (int i = 0; i < f->nparam; i++) {
        const char *name = f->segment[i].tensor->name;
        const json_t *row = json_object_get(want, name);
        double s = json_number_value(json_array_get(row, 0));

        if (!row || !(fabs((double)scale[i] - s) <= 1e-6 * s))
            fail_msg("%s has %g, not %g", name, (double)scale[i], s);
    }
    free(scale);
}

/* Checks only the names, in order and in reverse. */
static void check_names(const struct layer_rule *rules, double decay, json_t *want)
{
    int n = (int)json_object_size(want), i = 0;
    struct tensor *t = xcalloc((size_t)n, sizeof(*t));
    struct segment *s = xcalloc((size_t)n, sizeof(*s));
    struct flat f = {.segment = s, .nsegment = n, .ntrained = n, .nparam = n};
    const char *name;
    json_t *row;

    json_object_foreach(want, name, row)
    {
        t[i].name = name;
        s[i].tensor = &t[i];
        i++;
    }
    check_scales(rules, &f, decay, want);
    for (i = 0; i < n; i++)
        s[i].tensor = &t[n - 1 - i];
    check_scales(rules, &f, decay, want);
    free(s);
    free(t);
}

/* Checks a model of the table: its parameters are those of the file. */
static void check_model(const struct model *m, double decay, const json_t *want)
{
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    int64_t side = m->label_divisor ? 64 : m->size;
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){1, 3, side, side});

    graph_output(b.g, model_build(&b, m, &(struct model_options){.classes = 10}, x));
    graph_flatten(b.g);
    assert_int_equal(b.g->flat->nparam, json_object_size(want));
    check_scales(m->family->layers, b.g->flat, decay, want);
    for (int i = 0; i < b.g->flat->nparam; i++) {
        const struct tensor *t = b.g->flat->segment[i].tensor;
        const json_t *row = json_object_get(want, t->name);

        if (model_decays(m->family, t, false) != json_is_true(json_array_get(row, 1)))
            fail_msg("weight decay of %s", t->name);
    }
    graph_free(b.g);
}

static void test_layers(void **state)
{
    json_t *j = golden_read("layer_decay"), *m;
    double decay = json_number_value(json_object_get(j, "decay"));
    bool seen[64] = {false};
    size_t i;

    (void)state;
    json_array_foreach(json_object_get(j, "models"), i, m)
    {
        const char *family = json_string_value(json_object_get(m, "family"));
        const char *name = json_string_value(json_object_get(m, "name"));
        json_t *want = json_object_get(m, "parameters");
        struct strbuf why = STRBUF_INIT;
        const struct model *row = model_find(family, name, &why);

        print_message("%s\n", name);
        if (!row)
            fail_msg("%s", why.buf);
        assert_true(json_object_size(want) > 10);
        check_names(row->family->layers, decay, want);
        check_model(row, decay, want);
        for (int k = 0; model_families[k]; k++)
            seen[k] |= model_families[k] == row->family;
        strbuf_release(&why);
    }
    for (int k = 0; model_families[k]; k++) /* pt2 has only models from files */
        if (!seen[k] && model_families[k]->layers)
            fail_msg("%s has no model in the file", model_families[k]->type);
    json_decref(j);
}

/* As in SimMIM's fine-tuning of depths [1, 2]: embedding, three blocks, the head. A
 * downsampling has the rate of the block before it, the norm that of the head. */
static void test_simmim(void **state)
{
    static const struct {
        const char *name;
        float scale;
    } want[] = {
        {"patch_embed.proj.weight", 0.0625f},
        {"layers.0.blocks.0.attn.qkv.weight", 0.125f},
        {"layers.1.downsample.reduction.weight", 0.125f},
        {"layers.1.blocks.0.mlp.fc1.weight", 0.25f},
        {"layers.1.blocks.1.norm1.weight", 0.5f},
        {"norm.weight", 1},
        {"head.fc.weight", 1},
    };
    enum { N = sizeof(want) / sizeof(want[0]) };
    const struct model *m = model_custom(model_family_find("swin"), "simmim_finetune");
    struct tensor t[N] = {0};
    struct segment s[N] = {0};
    struct flat f = {.segment = s, .nsegment = N, .ntrained = N, .nparam = N};
    float scale[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        t[i].name = want[i].name;
        s[i].tensor = &t[i];
    }
    layer_scales(m->layers, NULL, &f, 0.5, scale);
    for (int i = 0; i < N; i++)
        if (scale[i] < want[i].scale || scale[i] > want[i].scale)
            fail_msg("%s has the factor %g", want[i].name, (double)scale[i]);
    assert_string_equal(m->name, "simmim_finetune");
    assert_string_equal(model_custom(model_family_find("swin"), "mine")->name, "swin");
}

/* A decay of 1 gives one rate. */
static void test_one(void **state)
{
    struct tensor t[2] = {{.name = "layer1.0.conv1.weight"}, {.name = "fc.weight"}};
    struct segment s[2] = {{.tensor = &t[0]}, {.tensor = &t[1]}};
    struct flat f = {.segment = s, .nsegment = 2, .ntrained = 2, .nparam = 2};
    float scale[2];

    (void)state;
    layer_scales(model_family_find("resnet")->layers, NULL, &f, 1, scale);
    assert_true(scale[0] == 1 && scale[1] == 1);
    layer_scales(model_family_find("resnet")->layers, NULL, &f, 0.5, scale);
    assert_true(scale[0] == 0.5f && scale[1] == 1);
}

/* A layer is not the beginning of another one's name. */
static void test_contain(void **state)
{
    static const char *const layers[] = {"head", "", "aux.0", NULL};

    (void)state;
    assert_true(layers_contain(layers, "head.bias"));
    assert_true(layers_contain(layers, "aux.0.fc.weight"));
    assert_false(layers_contain(layers, "head_dist.bias"));
    assert_false(layers_contain(layers, "aux.01.weight"));
    assert_false(layers_contain(layers, "head"));
    assert_false(layers_contain(NULL, "head.bias"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_simmim),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_contain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
