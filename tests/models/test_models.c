/*
 * Every model of the table against the exact counts of timm's and the CIFAR nets; names
 * and order of state-dict entries; name resolution; effects of options.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "models/count.h"
#include "models/resnet.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/layernorm.h"
#include "ops/table.h"
#include "tests/models/net.h"
#include "tests/test.h"

struct row {
    const char *name;
    int classes, side;
    int64_t params;
    int tensors, entries;
    int64_t decayed, macs, acts;
};

static const struct row rows[] = {
#include "tests/models/model_counts.inc"
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static void check_row(const struct row *r)
{
    struct model_options o = {.classes = r->classes};
    struct model_count c = model_count_image(
        model_named(r->name), &o, 3,
        model_named(r->name)->height ? model_named(r->name)->height : r->side, r->side);

    print_message("%s\n", r->name);
    assert_int_equal(c.params, r->params);
    assert_int_equal(c.tensors, r->tensors);
    assert_int_equal(c.entries, r->entries);
    assert_int_equal(c.decayed, r->decayed);
    assert_int_equal(c.macs, r->macs);
    assert_int_equal(c.acts, r->acts);
}

static void test_counts(void **state)
{
    int models = 0;

    (void)state;
    for (int i = 0; i < NROWS; i++)
        check_row(&rows[i]);
    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++) {
            assert_ptr_equal(m->family, model_families[i]);
            models++;
        }
    assert_int_equal(models, NROWS); /* a new model needs a row here */
}

static void check_options(const char *name, struct model_options o, int channels,
                          int side, int64_t params, int64_t macs)
{
    struct model_count c = model_count_image(model_named(name), &o, channels, side, side);

    assert_int_equal(c.params, params);
    if (macs)
        assert_int_equal(c.macs, macs);
}

static void test_options(void **state)
{
    static const struct resnet_options stem = {.stem = RESNET_STEM_3X3},
                                       conv = {.shortcut = RESNET_SHORTCUT_CONV},
                                       none = {.shortcut = RESNET_SHORTCUT_PAD};
    struct model_options c10 = {.classes = 10}, small = c10, option_b = c10, pad = c10;

    (void)state;
    check_options("resnet18", c10, 3, 224, 11181642, 1814073344 - INT64_C(990) * 512);
    check_options("erfnet", (struct model_options){.classes = 19}, 3, 64, 2066642, 0);
    check_options("erfnet_encoder", (struct model_options){.classes = 19}, 3, 64, 1876495,
                  0);
    check_options("resnet50", c10, 3, 224, 23528522, 4089184256 - INT64_C(990) * 2048);
    check_options("resnet20", (struct model_options){.classes = 100}, 3, 32, 275572, 0);
    check_options("resnet18", c10, 1, 224, 11181642 - 2 * 64 * 49, 0);
    check_options("resnet50", (struct model_options){.classes = 1000}, 3, 288, 25557032,
                  6758334464);
    small.family = &stem;
    check_options("resnet18", small, 3, 32, 11173962, 555422720);
    option_b.family = &conv;
    check_options("resnet20", option_b, 3, 32, 272474, 0);
    check_options("resnet110", option_b, 3, 32, 1730714, 0);
    small = c10, small.skip_strides = 2;
    check_options("mobilenetv2_100", small, 3, 32, 2236682, 87976448);
    check_options("vgg11_bn", small, 3, 8, 128812810, 0);
    check_options("densenet121", small, 3, 32, 6964106, 0);
    check_options("regnetx_002", small, 3, 32, 2319482, 59862624);
    small.skip_strides = 1;
    check_options("efficientnet_b0", small, 3, 32, 4020358, 31979392);
    /* Without downsampling convolutions: 3 in a basic net, 4 in a bottleneck net. */
    pad.family = &none;
    check_options("resnet18", pad, 3, 224, 11181642 - 172032 - 2 * (128 + 256 + 512), 0);
}

/* Returns parameters and buffers in order of creation: a state dict's. */
static char *state_dict(const char *name)
{
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    const struct model *m = model_named(name);
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){2, 3, m->size, m->size});
    struct strbuf s = STRBUF_INIT;

    model_build(&b, m, &(struct model_options){.classes = 1000}, x);
    for (int i = 0; i < b.g->ntensor; i++) {
        const struct tensor *t = b.g->tensor[i];

        if (t->memory != MEMORY_WEIGHTS && t->kind != TENSOR_PARAM)
            continue;
        strbuf_addstr(&s, t->name);
        if (!strstr(t->name, "num_batches_tracked"))
            for (int d = 0; d < t->ndim; d++)
                strbuf_addf(&s, "%c%" PRId64, d ? 'x' : ' ', t->dim[d]);
        strbuf_addch(&s, '\n');
    }
    graph_free(b.g);
    return strbuf_detach(&s);
}

static uint64_t fnv1a(const char *s)
{
    uint64_t h = 0xCBF29CE484222325u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001B3u;
    return h;
}

static void check_whole(const char *name)
{
    char *path = xasprintf("tests/golden/models/%s.keys", name), *got = state_dict(name);
    size_t len;
    char *want = file_read(path, &len);

    assert_non_null(want);
    assert_string_equal(got, want);
    free(want);
    free(got);
    free(path);
}

static void test_keys(void **state)
{
    char *text = file_read("tests/golden/models/keys.txt", &(size_t){0}), *save = NULL;
    int lines = 0;

    (void)state;
    check_whole("resnet18");
    check_whole("resnet50");
    assert_non_null(text);
    for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        char *name, *keys;
        uint64_t want = strtoull(l, &name, 16);

        keys = state_dict(name + 1);
        if (fnv1a(keys) != want)
            fail_msg("the state dict of%s is not timm's:\n%s", name, keys);
        free(keys);
        lines++;
    }
    assert_int_equal(lines, 434);
    free(text);
}

/* Checks the rates of the residual branches and of `ndrop` dropouts. */
static void check_drops(const char *name, const double *want, int npath, int ndrop)
{
    struct model_options o = {.drop_path = 0.2, .drop_rate = 0.5};
    struct net f = net_new(name, o, 1);
    int paths = 0, drops = 0;

    for (int i = 0; i < f.g->nnode; i++) {
        const struct node *n = f.g->node[i];
        const struct dropout_attrs *a = n->attrs;

        drops += n->op == &op_dropout && a->rate == 0.5f;
        if (n->op != &op_drop_path || paths == npath)
            continue;
        assert_true(fabs(a->rate - 0.2 * want[paths++]) < 1e-6);
    }
    assert_int_equal(paths, npath);
    assert_int_equal(drops, ndrop);
    net_release(&f);
}

/* p * i / (n - 1); the first is never dropped. EfficientNet: p * i / n, and blocks without
 * a shortcut count, too. */
static void test_drop_path(void **state)
{
    double resnet18[7], b0[] = {2. / 16,  4. / 16,  6. / 16,  7. / 16, 9. / 16,
                                10. / 16, 12. / 16, 13. / 16, 14. / 16};

    (void)state;
    for (int i = 0; i < 7; i++)
        resnet18[i] = (i + 1) / 7.0;
    check_drops("resnet18", resnet18, 7, 1);
    check_drops("efficientnet_b0", b0, 9, 1);
    check_drops("ghostnet_100", NULL, 0, 1);
    check_drops("vgg11", NULL, 0, 2);
    check_drops("densenet121", NULL, 0, 1);
}

/* ReLU6: batch norms of small nets give no value above 6, so golden files do not show it. */
static void test_relu6(void **state)
{
    struct net f = net_new("mobilenetv2_100", (struct model_options){.classes = 10}, 1);
    int seen = 0;

    (void)state;
    for (int i = 0; i < f.g->nnode; i++)
        if (is_relu(f.g->node[i])) {
            assert_true(relu_limit(f.g->node[i]) == 6);
            seen++;
        }
    assert_int_equal(seen, 35);
    net_release(&f);
}

/* timm's gates have PyTorch's eps, other norms 1e-6; golden files are too coarse for that. */
static void test_gate_eps(void **state)
{
    struct net f = net_new("gmlp_s16_224", (struct model_options){0}, 1);
    int gates = 0, others = 0;

    (void)state;
    for (int i = 0; i < f.g->nnode; i++) {
        const struct node *n = f.g->node[i];
        bool gate = strstr(n->layer, ".gate.norm") != NULL;

        if (n->op != &op_layernorm)
            continue;
        assert_true(((const struct layernorm_attrs *)n->attrs)->eps ==
                    (gate ? 1e-5f : 1e-6f));
        gates += gate;
        others += !gate;
    }
    assert_int_equal(gates, 30);
    assert_int_equal(others, 31);
    net_release(&f);
}

/*
 * ERFNet's dilated layers, by the paper (Romera et al. 2018, table I). The images of the
 * golden files are too small to distinguish 16 from more.
 */
static void test_dilations(void **state)
{
    static const int want[] = {2, 4, 8, 16, 2, 4, 8, 16};
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){1, 3, 64, 64});
    int seen = 0;

    (void)state;
    model_build(&b, model_named("erfnet"), &(struct model_options){.classes = 20}, x);
    for (int i = 0; i < b.g->nnode; i++) {
        const struct node *n = b.g->node[i];
        const struct conv2d_attrs *a = n->attrs;
        int layer, high, second;

        if (n->op != &op_conv2d)
            continue;
        if (sscanf(n->layer, "encoder.layers.%d.conv%dx%*d_%d", &layer, &high, &second) !=
                3 ||
            layer < 7 || second != 2) {
            assert_true(a->dilation_h == 1 && a->dilation_w == 1);
            continue;
        }
        assert_int_equal(a->dilation_h, high == 3 ? want[layer - 7] : 1);
        assert_int_equal(a->dilation_w, high == 3 ? 1 : want[layer - 7]);
        seen++;
    }
    assert_int_equal(seen, 16);
    graph_free(b.g);
}

/* Too small images leave no pixel for the last map. */
static void test_smallest(void **state)
{
    const struct model *m = model_named("vgg11");
    struct model_options o = {.classes = 10};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_null(m->family->check(m, &o, 32, 40, &why));
    assert_string_equal(m->family->check(m, &o, 31, 40, &why)[0], "DATA.IMG_SIZE");
    assert_string_equal(why.buf,
                        "vgg11 needs images of at least 32 x 32 pixels, not 40 x 31");
    o.skip_strides = 2;
    assert_null(m->family->check(m, &o, 31, 40, &why));
    strbuf_reset(&why);
    m = model_named("densenet121");
    assert_null(m->family->check(m, &o, 8, 8, &why));
    assert_non_null(m->family->check(m, &o, 8, 7, &why));
    assert_string_equal(why.buf,
                        "densenet121 needs images of at least 8 x 8 pixels, not 7 x 8");
    strbuf_reset(&why);
    m = model_named("ghostnetv2_100"); /* the last gates read 2 x 2 pixels */
    assert_null(m->family->check(m, &o, 9, 9, &why));
    assert_non_null(m->family->check(m, &o, 9, 8, &why));
    assert_string_equal(
        why.buf, "ghostnetv2_100 needs images of at least 9 x 9 pixels, not 8 x 9");
    m = model_named("ghostnet_100");
    assert_null(m->family->check(m, &o, 9, 8, &why));
    strbuf_release(&why);
}

static bool has_layer(const struct graph *g, const char *name)
{
    for (int i = 0; i < g->nnode; i++)
        if (!strcmp(g->node[i]->layer, name))
            return true;
    return false;
}

static int stage_of(const struct model_options *o, const char *name)
{
    struct strbuf why = STRBUF_INIT;
    int i = model_stage_find(model_named("densenet121"), o, 3, 64, 64, name, &why);

    strbuf_release(&why);
    return i;
}

/*
 * What segmentation-models-pytorch 0.6 does differently from timm: the maps of DenseNet end
 * with the next batch norm, the last one without its ReLU, and a U-Net on VGG has a center.
 */
static void test_smp_backbones(void **state)
{
    struct model_options o = {.classes = 5, .backbone = "densenet121"};
    struct net f = net_new("unet", o, 1);

    (void)state;
    assert_false(has_layer(f.g, "encoder.features.norm5.act"));
    assert_false(has_layer(f.g, "decoder.center.0.0"));
    net_release(&f);
    assert_int_equal(stage_of(&o, "features.denseblock1"), 1);
    o.smp_stages = true;
    assert_int_equal(stage_of(&o, "features.transition1.norm"), 1);
    assert_int_equal(stage_of(&o, "features.norm5"), 4);

    o = (struct model_options){.backbone = "vgg11"};
    f = net_new("unet", o, 1);
    assert_true(has_layer(f.g, "decoder.center.1.0"));
    net_release(&f);
    f = net_new("unetplusplus", o, 1);
    assert_false(has_layer(f.g, "decoder.center.1.0"));
    net_release(&f);
}

static void check_why(const char *type, const char *name, const char *part)
{
    struct strbuf why = STRBUF_INIT;

    assert_null(model_find(type, name, &why));
    if (!strstr(why.buf, part))
        fail_msg("'%s' does not say '%s'", why.buf, part);
    strbuf_release(&why);
}

static void test_names(void **state)
{
    (void)state;
    assert_ptr_equal(model_named("resnet50.a1_in1k"), model_named("resnet50"));
    assert_ptr_equal(model_named("resnet50.tv2_in1k"), model_named("resnet50"));
    assert_ptr_not_equal(model_named("resnet50d"), model_named("resnet50"));
    check_why("resnet", "resnet5O", "did you mean resnet50?");
    check_why("resnet", "resnet_50", "did you mean resnet50?");
    check_why("resnet", "resnet", "did you mean resnet");
    check_why("resnet", "alexnet",
              "no model is called 'alexnet'; `trainc models` lists ");
    check_why("resnet", "", "no model is called ''");
    check_why("resnet", "resnet50.", "no tag ''");
    check_why("resnet", "resnet50.a1", "a1_in1k");
    check_why("resnet", "resnet20.a1_in1k", "it has: none");
    check_why("swim", "swin_tiny_patch4_window7_224",
              "(swin_tiny_patch4_window7_224 is a swin:");
    check_why("swin", "resnet50.a1_in1k", "(resnet50 is a resnet: --model-type resnet)");
}

static void test_natural_order(void **state)
{
    (void)state;
    assert_true(model_natural_order("resnet18", "resnet101") < 0);
    assert_true(model_natural_order("resnet101", "resnet18") > 0);
    assert_true(model_natural_order("resnet50", "resnet50d") < 0);
    assert_true(model_natural_order("resnet50d", "resnet101") < 0);
    assert_true(model_natural_order("resnext101_32x4d", "resnext101_32x8d") < 0);
    assert_true(model_natural_order("resnext101_32x8d", "resnext101_64x4d") < 0);
    assert_int_equal(model_natural_order("resnet50", "resnet50"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),        cmocka_unit_test(test_options),
        cmocka_unit_test(test_keys),          cmocka_unit_test(test_drop_path),
        cmocka_unit_test(test_relu6),         cmocka_unit_test(test_gate_eps),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_natural_order),
        cmocka_unit_test(test_dilations),     cmocka_unit_test(test_smallest),
        cmocka_unit_test(test_smp_backbones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
