#include "models/inception.h"

#include "models/blocks.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"

enum { BRANCHES = 3, CONVS = 6, PARTS = 6, WIDTH = 32, LEAST = 75 };

static const double aux_weight = 0.4; /* torchvision's references/classification */

/* A convolution; with out 0 its channels are the block's width. */
struct conv {
    const char *name;
    int out, rows, columns;
};

/* Concatenated branches, of convolutions one after another. */
struct block {
    struct conv branch[BRANCHES][CONVS]; /* each ended by one without a name */
    bool halves; /* the last ones of each have stride 2 and no padding */
    bool forks;  /* the last two of each are side by side */
};

/* clang-format off */
static const struct block block_a = {
    {{{"branch1x1", 64, 1, 1}},
     {{"branch5x5_1", 48, 1, 1}, {"branch5x5_2", 64, 5, 5}},
     {{"branch3x3dbl_1", 64, 1, 1}, {"branch3x3dbl_2", 96, 3, 3}, {"branch3x3dbl_3", 96, 3, 3}}},
    .halves = false};
static const struct block block_b = {
    {{{"branch3x3", 384, 3, 3}},
     {{"branch3x3dbl_1", 64, 1, 1}, {"branch3x3dbl_2", 96, 3, 3}, {"branch3x3dbl_3", 96, 3, 3}}},
    .halves = true};
static const struct block block_c = {
    {{{"branch1x1", 192, 1, 1}},
     {{"branch7x7_1", 0, 1, 1}, {"branch7x7_2", 0, 1, 7}, {"branch7x7_3", 192, 7, 1}},
     {{"branch7x7dbl_1", 0, 1, 1}, {"branch7x7dbl_2", 0, 7, 1}, {"branch7x7dbl_3", 0, 1, 7},
      {"branch7x7dbl_4", 0, 7, 1}, {"branch7x7dbl_5", 192, 1, 7}}},
    .halves = false};
static const struct block block_d = {
    {{{"branch3x3_1", 192, 1, 1}, {"branch3x3_2", 320, 3, 3}},
     {{"branch7x7x3_1", 192, 1, 1}, {"branch7x7x3_2", 192, 1, 7}, {"branch7x7x3_3", 192, 7, 1},
      {"branch7x7x3_4", 192, 3, 3}}},
    .halves = true};
static const struct block block_e = {
    {{{"branch1x1", 320, 1, 1}},
     {{"branch3x3_1", 384, 1, 1}, {"branch3x3_2a", 384, 1, 3}, {"branch3x3_2b", 384, 3, 1}},
     {{"branch3x3dbl_1", 448, 1, 1}, {"branch3x3dbl_2", 384, 3, 3}, {"branch3x3dbl_3a", 384, 1, 3},
      {"branch3x3dbl_3b", 384, 3, 1}}},
    .forks = true};

static const struct {
    const char *name;
    const struct block *block;
    int width, pool; /* pool: channels of branch_pool */
    int stage;       /* its reduction, if one ends here */
    bool aux;        /* the auxiliary head follows */
} blocks[] = {
    {.name = "Mixed_5b", .block = &block_a, .pool = 32},
    {.name = "Mixed_5c", .block = &block_a, .pool = 64},
    {.name = "Mixed_5d", .block = &block_a, .pool = 64, .stage = 8},
    {.name = "Mixed_6a", .block = &block_b},
    {.name = "Mixed_6b", .block = &block_c, .width = 128, .pool = 192},
    {.name = "Mixed_6c", .block = &block_c, .width = 160, .pool = 192},
    {.name = "Mixed_6d", .block = &block_c, .width = 160, .pool = 192},
    {.name = "Mixed_6e", .block = &block_c, .width = 192, .pool = 192, .stage = 16, .aux = true},
    {.name = "Mixed_7a", .block = &block_d},
    {.name = "Mixed_7b", .block = &block_e, .pool = 192},
    {.name = "Mixed_7c", .block = &block_e, .pool = 192, .stage = 32},
};
/* clang-format on */
enum { BLOCKS = sizeof(blocks) / sizeof(blocks[0]) };

struct inception_net {
    struct builder *b;
    const struct model_options *o;
    int width, init;
};

/* Convolution, batch norm, and ReLU. */
static struct tensor *conv(struct inception_net *v, struct tensor *x, const char *p,
                           struct conv c, int stride, bool padded)
{
    p = layer_below(v->b, p, c.name);
    x = conv2d(v->b, x, layer_below(v->b, p, "conv"), .out = c.out * v->width / WIDTH,
               .kernel_h = c.rows, .kernel_w = c.columns, .stride_h = stride,
               .stride_w = stride, .pad_h = padded ? c.rows / 2 : 0,
               .pad_w = padded ? c.columns / 2 : 0, .init = v->init);
    x = batchnorm(v->b, x, layer_below(v->b, p, "bn"), .eps = 1e-3f);
    return relu(v->b, x, layer_below(v->b, p, "act"));
}

/* Appends the results of a branch to part[n]; returns their number. */
static int branch(struct inception_net *v, struct tensor *x, const char *p,
                  const struct block *block, const struct conv *c, int width,
                  struct tensor **part, int n)
{
    int convs = 0, last;

    while (c[convs].name)
        convs++;
    last = block->forks && convs > 1 ? convs - 2 : convs - 1;
    for (int i = 0; i < convs; i++) {
        struct conv one = c[i];
        bool halves = block->halves && i == last;
        struct tensor *y;

        one.out = one.out ? one.out : width;
        y = conv(v, x, p, one, halves ? 2 : 1, !halves);
        if (i < last)
            x = y;
        else
            part[n++] = y;
    }
    return n;
}

static struct tensor *mixed(struct inception_net *v, struct tensor *x, int i)
{
    const struct block *block = blocks[i].block;
    const char *p = blocks[i].name, *pool = layer_below(v->b, p, "pool");
    struct tensor *part[PARTS], *mean;
    int n = 0;

    scope_begin(v->b);
    for (int k = 0; k < BRANCHES && block->branch[k][0].name; k++)
        n = branch(v, x, p, block, block->branch[k], blocks[i].width, part, n);
    if (block->halves) {
        part[n++] = maxpool2d(v->b, x, pool, .kernel = 3, .stride = 2);
    } else {
        mean = avgpool2d(v->b, x, pool, .kernel = 3, .stride = 1, .padding = 1,
                         .count_include_pad = 1);
        part[n++] =
            conv(v, mean, p, (struct conv){"branch_pool", blocks[i].pool, 1, 1}, 1, true);
    }
    x = concat(v->b, part, n, layer_below(v->b, p, "concat"));
    scope_end(v->b);
    return x;
}

/* Returns how many windows of 5 with stride 3 an axis has, at least 5. */
static int windows(int64_t len)
{
    return len < 17 ? 5 : (int)(len - 5) / 3 + 1;
}

static void aux_head(struct inception_net *v, struct tensor *x)
{
    int height = windows(x->dim[IMAGE_H]), width = windows(x->dim[IMAGE_W]);
    const char *p = "AuxLogits";

    if (model_aux_weight(v->o, aux_weight) == 0)
        return;
    if (x->dim[IMAGE_H] < 17 || x->dim[IMAGE_W] < 17)
        x = avgpool2d(v->b, x, "AuxLogits.pool", .out_h = height, .out_w = width);
    else
        x = avgpool2d(v->b, x, "AuxLogits.pool", .kernel = 5, .stride = 3);
    x = conv(v, x, p, (struct conv){"conv0", 128, 1, 1}, 1, false);
    x = conv(v, x, p, (struct conv){"conv1", 768, 5, 5}, 1, false);
    x = global_avgpool(v->b, x, "AuxLogits.mean");
    x = linear(v->b, x, "AuxLogits.fc", .out = (int)v->o->classes, .bias = 1,
               .init = v->o->init ? v->o->init : INIT_RULE_NORMAL_001);
    model_aux(v->o, x, aux_weight);
}

/* Returns NULL if the net ends with one of its stages. */
static struct tensor *stem(struct inception_net *v, struct tensor *x)
{
    x = conv(v, x, "", (struct conv){"Conv2d_1a_3x3", 32, 3, 3}, 2, false);
    x = conv(v, x, "", (struct conv){"Conv2d_2a_3x3", 32, 3, 3}, 1, false);
    x = conv(v, x, "", (struct conv){"Conv2d_2b_3x3", 64, 3, 3}, 1, true);
    if (model_stage(v->o, "Conv2d_2b_3x3", 2, x))
        return NULL;
    x = maxpool2d(v->b, x, "Pool1", .kernel = 3, .stride = 2);
    x = conv(v, x, "", (struct conv){"Conv2d_3b_1x1", 80, 1, 1}, 1, false);
    x = conv(v, x, "", (struct conv){"Conv2d_4a_3x3", 192, 3, 3}, 1, false);
    if (model_stage(v->o, "Conv2d_4a_3x3", 4, x))
        return NULL;
    return maxpool2d(v->b, x, "Pool2", .kernel = 3, .stride = 2);
}

static struct tensor *inception_build(struct builder *b, const void *arch,
                                      const struct model_options *o, struct tensor *x)
{
    struct inception_net v = {.b = b,
                              .o = o,
                              .width = ((const struct inception *)arch)->width,
                              .init = o->init ? o->init : INIT_RULE_NORMAL_1};

    x = stem(&v, x);
    for (int i = 0; x && i < BLOCKS; i++) {
        x = mixed(&v, x, i);
        if (blocks[i].stage && model_stage(o, blocks[i].name, blocks[i].stage, x))
            return NULL;
        if (blocks[i].aux)
            aux_head(&v, x);
    }
    if (!x)
        return NULL;
    x = global_avgpool(b, x, "global_pool");
    x = dropout(b, x, "head_drop", .rate = (float)o->drop_rate);
    return linear(b, x, "fc", .out = (int)o->classes, .bias = 1, .init = v.init);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    (void)o;
    return size_at_least(m, LEAST, height, width, why);
}

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE", "MODEL.INIT",
                                    "MODEL.AUX_WEIGHT", NULL};
static const char *const heads[] = {"fc", "AuxLogits.fc", NULL};
static const char *const aux[] = {"AuxLogits", NULL};

static const struct model models[] = {
    {ROW(inception_v3), .family = &inception_family, .classes = 1000,
     .arch = &(const struct inception){WIDTH}, HALF(299, 0.875),
     RECIPE "inception_v3.yaml", TAGS "tv_in1k tf_in1k tf_adv_in1k gluon_in1k"},
    {.name = NULL},
};

/* Same as timm's InceptionV3.group_matcher. */
static const struct layer_rule layers[] = {
    {.pattern = "^Conv2d_[12]", .group = 0},
    {.pattern = "^Conv2d_[34]", .group = 1},
    {.pattern = "^Mixed_5b", .group = 2},
    {.pattern = "^Mixed_5c", .group = 3},
    {.pattern = "^Mixed_5d", .group = 4},
    {.pattern = "^Mixed_6a", .group = 5},
    {.pattern = "^Mixed_6b", .group = 6},
    {.pattern = "^Mixed_6c", .group = 7},
    {.pattern = "^Mixed_6d", .group = 8},
    {.pattern = "^Mixed_6e", .group = 9},
    {.pattern = "^AuxLogits", .group = 10},
    {.pattern = "^Mixed_7a", .group = 11},
    {.pattern = "^Mixed_7b", .group = 12},
    {.pattern = "^Mixed_7c", .group = 13},
    {.pattern = NULL},
};

const struct model_family inception_family = {
    .type = "inception",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .heads = heads,
    .layers = layers,
    .aux = aux,
    .build = inception_build,
    .check = check,
};
