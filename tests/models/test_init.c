/*
 * Initial weights: by each family's rule, by MODEL.INIT, and as a pure function of seed
 * and name.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "models/init.h"
#include "models/resnet.h"
#include "ops/linear.h"
#include "ops/table.h"
#include "tests/models/net.h"
#include "tests/test.h"

struct spread {
    double mean, std, largest;
    int64_t len;
};

static struct spread spread_of(const struct net *f, const char *name)
{
    const struct tensor *t = graph_find(f->g, name);
    const float *w;
    struct spread s = {0};
    double sum2 = 0;

    assert_non_null(t);
    w = f->w + t->offset / sizeof(float);
    s.len = tensor_len(t);
    for (int64_t i = 0; i < s.len; i++) {
        s.mean += w[i] / (double)s.len;
        sum2 += (double)w[i] * w[i] / (double)s.len;
        s.largest = fmax(s.largest, fabs(w[i]));
    }
    s.std = sqrt(sum2 - s.mean * s.mean);
    return s;
}

/* Standard deviation and mean are within four standard errors of the expected values. */
static void check_spread(const struct net *f, const char *name, double std, bool uniform)
{
    struct spread s = spread_of(f, name);
    double error = 4 * std / sqrt((double)s.len), bound = std * sqrt(3);

    if (!(fabs(s.mean) <= error) || !(fabs(s.std - std) <= error))
        fail_msg("%s: mean %g, std %g, not 0, %g", name, s.mean, s.std, std);
    if (uniform ? !(s.largest <= bound * 1.000001 && s.largest > bound * 0.98)
                : !(s.largest > 2.5 * std))
        fail_msg("%s: largest %g for std %g", name, s.largest, std);
}

static void check_constant(const struct net *f, const char *name, double value)
{
    struct spread s = spread_of(f, name);

    if (!(s.mean == value) || !(s.std == 0))
        fail_msg("%s: mean %g, std %g, not all %g", name, s.mean, s.std, value);
}

static void test_init_mixers(void **state)
{
    struct net f = net_new("mixer_s16_224", (struct model_options){0}, 1);

    (void)state;
    check_spread(&f, "stem.proj.weight", 1 / sqrt(3 * 256), false);
    check_spread(&f, "blocks.0.mlp_tokens.fc1.weight", sqrt(2.0 / (16 + 256)), true);
    check_spread(&f, "blocks.0.mlp_channels.fc1.bias", 1e-6, false);
    check_constant(&f, "head.weight", 0);
    net_release(&f);

    f = net_new("gmlp_s16_224", (struct model_options){0}, 1);
    check_spread(&f, "blocks.0.mlp_channels.gate.proj.weight", 1e-6, false);
    check_constant(&f, "blocks.0.mlp_channels.gate.proj.bias", 1);
    net_release(&f);

    f = net_new("resmlp_12_224", (struct model_options){0}, 1);
    assert_true(spread_of(&f, "blocks.0.ls2").largest == (double)1e-4f);
    assert_true(spread_of(&f, "blocks.0.norm1.alpha").largest == 1);
    check_constant(&f, "blocks.0.linear_tokens.bias", 0);
    net_release(&f);
}

/* timm's fix_init_weight and head_init_scale. */
static void test_init_beit(void **state)
{
    struct net f = net_new("beit_base_patch16_224", (struct model_options){0}, 1);

    (void)state;
    check_spread(&f, "cls_token", 0.02, false);
    check_spread(&f, "blocks.1.attn.qkv.weight", 0.02, false);
    check_spread(&f, "blocks.0.attn.proj.weight", 0.02 / sqrt(2), false);
    check_spread(&f, "blocks.2.mlp.fc2.weight", 0.02 / sqrt(6), false);
    check_spread(&f, "head.weight", 2e-5, false);
    check_constant(&f, "blocks.3.attn.relative_position_bias_table", 0);
    assert_true(spread_of(&f, "blocks.0.gamma_2").largest == (double)0.1f);
    net_release(&f);

    f = net_new("vit_base_patch32_siglip_256", (struct model_options){0}, 1);
    check_spread(&f, "attn_pool.latent", 1 / sqrt(768), false);
    check_spread(&f, "attn_pool.kv.weight", 0.02, false);
    net_release(&f);
}

static void test_init_resnets(void **state)
{
    struct net f = net_new("resnext50_32x4d", (struct model_options){0}, 1);

    (void)state;
    check_spread(&f, "conv1.weight", sqrt(2.0 / (64 * 49)), false);
    check_spread(&f, "layer1.0.conv2.weight", sqrt(2.0 / (128 * 9)), false);
    check_spread(&f, "layer2.0.downsample.0.weight", sqrt(2.0 / 512), false);
    check_spread(&f, "fc.weight", 1 / sqrt(3 * 2048), true);
    if (!(spread_of(&f, "fc.bias").largest <= 1 / sqrt(2048)))
        fail();
    check_constant(&f, "bn1.weight", 1);
    check_constant(&f, "bn1.bias", 0);
    check_constant(&f, "bn1.running_mean", 0);
    check_constant(&f, "bn1.running_var", 1);
    check_constant(&f, "bn1.num_batches_tracked", 0);
    check_constant(&f, "layer1.0.bn2.weight", 1);
    check_constant(&f, "layer1.0.downsample.1.weight", 1);
    check_constant(&f, "layer1.0.bn3.weight", 0);
    check_constant(&f, "layer4.2.bn3.weight", 0);
    net_release(&f);

    f = net_new("ecaresnet26t", (struct model_options){0}, 1);
    if (!(spread_of(&f, "layer4.1.se.conv.weight").largest <= 1 / sqrt(7)))
        fail();
    check_constant(&f, "layer4.1.bn3.weight", 0);
    net_release(&f);

    f = net_new("skresnet18", (struct model_options){0}, 1);
    check_spread(&f, "layer1.0.conv1.paths.1.conv.weight", sqrt(2.0 / (64 * 9)), false);
    check_spread(&f, "layer1.0.conv1.attn.fc_select.weight", sqrt(2.0 / 128), false);
    check_constant(&f, "layer1.0.conv2.bn.weight", 1);
    net_release(&f);

    f = net_new("resnet50_gn", (struct model_options){0}, 1);
    check_constant(&f, "layer1.0.bn2.weight", 1);
    check_constant(&f, "layer1.0.bn3.weight", 0);
    net_release(&f);

    f = net_new("resnet56", (struct model_options){0}, 1);
    check_spread(&f, "layer3.0.conv1.weight", sqrt(2.0 / (32 * 9)), false);
    check_spread(&f, "fc.weight", sqrt(2.0 / 64), false);
    if (!(spread_of(&f, "fc.bias").largest <= 1.0 / 8))
        fail();
    check_constant(&f, "layer3.8.bn2.weight", 1);
    net_release(&f);

    f = net_new("regnety_008", (struct model_options){0}, 1); /* 48 groups of 16 in s4 */
    check_spread(&f, "s4.b1.conv2.conv.weight", sqrt(2.0 / (16 * 9)), false);
    check_spread(&f, "s4.b1.conv1.conv.weight", sqrt(2.0 / 768), false);
    check_spread(&f, "head.fc.weight", 0.01, false);
    check_constant(&f, "head.fc.bias", 0);
    check_constant(&f, "s1.b1.se.fc1.bias", 0);
    check_constant(&f, "s1.b1.conv3.bn.weight", 0);
    net_release(&f);
}

static void test_init_transformers(void **state)
{
    struct net f = net_new("convnextv2_atto", (struct model_options){0}, 1);

    (void)state;
    check_spread(&f, "stages.3.blocks.0.mlp.fc1.weight", 0.02, false);
    check_constant(&f, "stages.3.blocks.0.mlp.grn.weight", 0);
    check_constant(&f, "stages.3.blocks.0.mlp.grn.bias", 0);
    net_release(&f);

    f = net_new("vit_medium_patch16_reg4_gap_256", (struct model_options){0}, 1);
    check_spread(&f, "reg_token", 1e-6, false);
    check_spread(&f, "blocks.3.attn.qkv.weight", 0.02, false);
    check_constant(&f, "blocks.3.ls1.gamma", (double)1e-5f);
    net_release(&f);
}

static void test_init_classic(void **state)
{
    struct net f = net_new("vgg11_bn", (struct model_options){0}, 1);

    (void)state;
    check_spread(&f, "features.4.weight", sqrt(2.0 / (128 * 9)), false);
    check_constant(&f, "features.4.bias", 0);
    check_spread(&f, "pre_logits.fc2.weight", sqrt(2.0 / 4096), false);
    check_constant(&f, "pre_logits.fc1.bias", 0);
    check_spread(&f, "head.fc.weight", 0.01, false);
    check_constant(&f, "head.fc.bias", 0);
    net_release(&f);

    f = net_new("densenet121", (struct model_options){0}, 1);
    check_spread(&f, "features.denseblock1.denselayer2.conv2.weight",
                 sqrt(2.0 / (128 * 9)), false);
    check_spread(&f, "features.transition1.conv.weight", sqrt(2.0 / 256), false);
    check_spread(&f, "classifier.weight", 1 / sqrt(3 * 1024), true);
    check_constant(&f, "classifier.bias", 0);
    net_release(&f);

    f = net_new("inception_v3", (struct model_options){0}, 1);
    check_spread(&f, "Mixed_6b.branch7x7_2.conv.weight", 0.1, false);
    check_spread(&f, "AuxLogits.conv1.conv.weight", 0.1, false);
    check_spread(&f, "AuxLogits.fc.weight", 0.001, false);
    check_spread(&f, "fc.weight", 0.1, false);
    if (!(spread_of(&f, "fc.bias").largest <= 1 / sqrt(2048)))
        fail();
    net_release(&f);

    f = net_new("resnetv2_50d_gn", (struct model_options){0}, 1);
    check_spread(&f, "stages.0.blocks.0.conv2.weight", sqrt(2.0 / (64 * 9)), false);
    check_constant(&f, "stages.0.blocks.0.norm3.weight", 1);
    check_spread(&f, "head.fc.weight", 0.01, false);
    check_constant(&f, "head.fc.bias", 0);
    net_release(&f);

    f = net_new("ghostnet_100", (struct model_options){0}, 1);
    check_spread(&f, "blocks.8.1.ghost1.primary_conv.0.weight", 1 / sqrt(3 * 160), true);
    check_spread(&f, "blocks.8.1.ghost1.cheap_operation.0.weight", 1 / sqrt(3 * 9), true);
    check_spread(&f, "conv_head.bias", 1 / sqrt(3 * 960), true);
    check_spread(&f, "blocks.8.1.se.conv_expand.bias", 1 / sqrt(3 * 240), true);
    check_spread(&f, "classifier.weight", 1 / sqrt(3 * 1280), true);
    net_release(&f);

    f = net_new("mobilenetv3_large_100", (struct model_options){0}, 1);
    check_spread(&f, "conv_stem.weight", sqrt(2.0 / (16 * 9)), false);
    check_spread(&f, "blocks.5.2.conv_dw.weight", sqrt(2.0 / 25), false);
    check_spread(&f, "blocks.5.2.se.conv_reduce.weight", sqrt(2.0 / 240), false);
    check_constant(&f, "blocks.5.2.se.conv_reduce.bias", 0);
    check_spread(&f, "conv_head.weight", sqrt(2.0 / 1280), false);
    check_constant(&f, "conv_head.bias", 0);
    check_constant(&f, "blocks.0.0.bn2.weight", 1);
    check_spread(&f, "classifier.weight", 1 / sqrt(3 * 10), true);
    check_constant(&f, "classifier.bias", 0);
    net_release(&f);
}

static void check_scheme(int init, double conv, double fc, bool uniform)
{
    struct net f = net_new("resnet18", (struct model_options){.init = init}, 1);

    check_spread(&f, "layer2.0.conv1.weight", conv, uniform);
    check_spread(&f, "fc.weight", fc, uniform);
    net_release(&f);
}

/*
 * smp initializes the decoder of a U-Net, but not that of a DeepLab; neither it nor
 * torchvision starts the branches of a ResNet at zero, as timm does.
 */
static void test_init_segmentation(void **state)
{
    struct model_options o = {.backbone = "resnet18"}; /* of 10 classes */
    struct net f = net_new("unet", o, 1);

    (void)state;
    check_spread(&f, "decoder.blocks.0.conv1.0.weight", sqrt(2.0 / (768 * 9)), true);
    check_spread(&f, "segmentation_head.0.weight", sqrt(2.0 / ((16 + 10) * 9)), true);
    check_constant(&f, "segmentation_head.0.bias", 0);
    check_spread(&f, "encoder.layer1.0.conv1.weight", sqrt(2.0 / (64 * 9)), false);
    check_constant(&f, "encoder.layer1.0.bn2.weight", 1);
    net_release(&f);

    f = net_new("deeplabv3plus", o, 1);
    check_spread(&f, "decoder.aspp.0.convs.1.0.1.weight", sqrt(1 / (3.0 * 512)), true);
    check_spread(&f, "decoder.block2.0.1.weight", sqrt(1 / (3.0 * 304)), true);
    check_spread(&f, "segmentation_head.0.weight", sqrt(1 / (3.0 * 256)), true);
    assert_true(spread_of(&f, "segmentation_head.0.bias").largest > 0.03);
    check_constant(&f, "encoder.layer4.1.bn2.weight", 1);
    net_release(&f);

    o.backbone = NULL;
    f = net_new("fcn_resnet50", o, 1);
    check_spread(&f, "classifier.0.weight", sqrt(1 / (3.0 * 2048 * 9)), true);
    check_constant(&f, "backbone.layer1.0.bn3.weight", 1);
    net_release(&f);
}

static void test_init_by_key(void **state)
{
    static const struct resnet_options off = {.zero_init_last = {false, true}},
                                       on = {.zero_init_last = {true, true}};
    double in = 64 * 9, out = 128 * 9;
    struct net f;

    (void)state;
    check_scheme(INIT_RULE_KAIMING_NORMAL, sqrt(2 / out), sqrt(2.0 / 512), false);
    check_scheme(INIT_RULE_KAIMING_UNIFORM, sqrt(2 / out), sqrt(2.0 / 512), true);
    check_scheme(INIT_RULE_XAVIER_NORMAL, sqrt(2 / (in + out)), sqrt(2.0 / 522), false);
    check_scheme(INIT_RULE_XAVIER_UNIFORM, sqrt(2 / (in + out)), sqrt(2.0 / 522), true);

    f = net_new("resnet18", (struct model_options){.family = &off}, 1);
    check_constant(&f, "layer2.0.bn2.weight", 1);
    net_release(&f);
    f = net_new("resnet20", (struct model_options){.family = &on}, 1);
    check_constant(&f, "layer2.0.bn1.weight", 1);
    check_constant(&f, "layer2.0.bn2.weight", 0);
    net_release(&f);
}

/* N(0, std^2) truncated at +-2: its deviation, by std^2 (1 - 2 a phi(a) / (2 Phi(a) -
 * 1)). */
static void check_trunc(const struct net *f, const char *name, double std)
{
    double a = 2 / std, in = erf(a / sqrt(2));
    double want = std * sqrt(1 - 2 * a * exp(-a * a / 2) / sqrt(2 * acos(-1)) / in);
    struct spread s = spread_of(f, name);
    double error = 4 * want / sqrt((double)s.len);

    if (!(fabs(s.mean) <= error) || !(fabs(s.std - want) <= error) ||
        !(s.largest <= 2 && s.largest > (std > 0.5 ? 1.99 : 3.5 * std)))
        fail_msg("%s: mean %g, std %g, largest %g, not %g", name, s.mean, s.std,
                 s.largest, want);
}

static void test_init_trunc_normal(void **state)
{
    const int64_t dim[] = {300, 101};
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    struct tensor *x = graph_input(&b, "x", DTYPE_F32, LAYOUT_PLAIN, 2, dim);
    struct net f = {.g = b.g};

    (void)state;
    linear(&b, x, "narrow", .out = 301, .bias = 1, .init = INIT_RULE_TRUNC_NORMAL_02,
           .bias_init = INIT_RULE_ZERO);
    graph_param(&b, "wide", "a", LAYOUT_PLAIN, 2, dim,
                (struct init){INIT_TRUNC_NORMAL, 1});
    graph_param(&b, "wide", "b", LAYOUT_PLAIN, 2, dim,
                (struct init){INIT_TRUNC_NORMAL, 5});
    graph_flatten(f.g);
    f.w = xmalloc((size_t)f.g->flat->weights_len * sizeof(float));
    init_weights(f.g->flat, 1, f.w);
    check_trunc(&f, "narrow.weight", 0.02);
    check_constant(&f, "narrow.bias", 0);
    check_trunc(&f, "wide.a", 1);
    check_trunc(&f, "wide.b", 5);
    net_release(&f);
}

/* The same seed and name give the same numbers in another net; others differ. */
static void test_init_is_a_function(void **state)
{
    struct net a = net_new("resnet18", (struct model_options){0}, 7),
               b = net_new("resnet34", (struct model_options){0}, 7),
               c = net_new("resnet18", (struct model_options){0}, 8);
    size_t len = (size_t)a.g->flat->weights_len * sizeof(float);
    const char *first = "layer1.0.conv1.weight", *second = "layer1.1.conv1.weight";
    const float *wa = a.w + graph_find(a.g, first)->offset / sizeof(float),
                *wb = b.w + graph_find(b.g, first)->offset / sizeof(float),
                *wc = c.w + graph_find(c.g, first)->offset / sizeof(float),
                *other = a.w + graph_find(a.g, second)->offset / sizeof(float);
    float *again = xmalloc(len);

    (void)state;
    assert_memory_equal(wa, wb, 64 * 64 * 9 * sizeof(float));
    assert_memory_not_equal(wa, wc, 64 * 64 * 9 * sizeof(float));
    assert_memory_not_equal(wa, other, 64 * 64 * 9 * sizeof(float));
    init_weights(a.g->flat, 7, again);
    assert_memory_equal(a.w, again, len);
    free(again);
    net_release(&a);
    net_release(&b);
    net_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init_resnets),
        cmocka_unit_test(test_init_transformers),
        cmocka_unit_test(test_init_mixers),
        cmocka_unit_test(test_init_beit),
        cmocka_unit_test(test_init_classic),
        cmocka_unit_test(test_init_segmentation),
        cmocka_unit_test(test_init_by_key),
        cmocka_unit_test(test_init_is_a_function),
        cmocka_unit_test(test_init_trunc_normal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
