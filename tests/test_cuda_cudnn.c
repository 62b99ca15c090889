/*
 * What cuDNN would run on an H200, asked of the real library without a GPU: every
 * convolution of a network has an engine within the limits, and what has none says why.
 * Skipped, with a line, where there is no cuDNN.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "cuda/backend.h"
#include "cuda/cudnn_region.h"
#include "cuda/kernels.h"
#include "cuda/library.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "graph/program.h"
#include "models/table.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/maxpool2d.h"
#include "ops/normalize.h"
#include "ops/reference.h"
#include "ops/relu.h"
#include "ops/table.h"

/* What NVIDIA's library keeps of descriptors that it refused is not ours to free. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libcudnn\n";
}

/* The kernels under test; the reference takes the rest, as nothing runs here. */
static const struct kernel *const kernels[] = {
    &cuda_conv2d, &cuda_conv2d_data_grad, &cuda_conv2d_weight_grad, &kernel_reference,
    NULL,
};

static struct device *open_h200(void)
{
    struct strbuf why = STRBUF_INIT;
    bool there = cuda_library_open(CUDA_LIBRARY_CUDNN, &why) != NULL;

    if (!there)
        print_message("skipped: %s\n", why.buf);
    strbuf_release(&why);
    if (!there)
        skip();
    return backend_cuda.open(&(const struct device_options){.description = "h200"});
}

static bool is_conv(const struct node *n)
{
    return n->op == &op_conv2d || n->op == &op_conv2d_data_grad ||
           n->op == &op_conv2d_weight_grad;
}

static struct program *compile(struct graph *g, struct device *dev)
{
    struct backend b = backend_cuda;

    b.kernels = kernels;
    return program_compile(g, &b, dev,
                           &(const struct compile_options){.keep_declines = true});
}

struct asked {
    int convs, alone;
    size_t workspace;
};

/* Counts the convolutions, all of which cuDNN must have taken; prints each plan once. */
static struct asked count_convs(const struct program *p, const char *what)
{
    struct asked a = {0};
    struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < p->graph->nnode; i++) {
        const struct node *n = p->graph->node[i];

        if (!is_conv(n))
            continue;
        if (n->region->kernel == &kernel_reference) {
            for (int k = 0; k < p->ndecline; k++)
                if (p->decline[k].node == n)
                    print_message("%s: %s\n", p->decline[k].kernel->name,
                                  p->decline[k].reason);
            fail_msg("%s: no engine for %s of '%s'", what, n->op->name, n->layer);
        }
        a.convs++;
        a.alone += n->region->nnode == 1;
        if (n->region->workspace > a.workspace)
            a.workspace = n->region->workspace;
    }
    for (int i = 0; i < p->nregion; i++) {
        const struct kernel *k = p->region[i]->kernel;

        if (!k->describe)
            continue;
        strbuf_reset(&text);
        k->describe(&p->step[i], &text);
        print_message("  %-24s %-22s %d nodes, %s\n", p->region[i]->anchor->layer,
                      p->region[i]->anchor->op->name, p->region[i]->nnode, text.buf);
    }
    strbuf_release(&text);
    print_message("%s: %d convolutions, %d alone, largest workspace %.1f MiB\n", what,
                  a.convs, a.alone, (double)a.workspace / 1048576);
    return a;
}

struct net {
    struct graph *graph;
    struct builder b;
    struct tensor *logits;
};

static void net_build(struct net *n, const char *model, int64_t batch, int size,
                      bool training, enum dtype half)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find("resnet", model, &why);
    struct model_options o = {.classes = m->classes};
    int64_t dim[] = {batch, 3, size, size};
    struct tensor *x;

    *n = (struct net){.graph = graph_new(&graph_ops_default, training)};
    n->b = (struct builder){.g = n->graph};
    x = graph_input(&n->b, "pixels", DTYPE_U8, LAYOUT_IMAGE, 4, dim);
    x = normalize(&n->b, x, "input", .std = {1, 1, 1});
    n->logits = model_build(&n->b, m, &o, x);
    graph_output(n->graph, n->logits);
    graph_flatten(n->graph);
    if (training)
        autodiff(&n->b, n->logits,
                 graph_input(&n->b, "dy", DTYPE_F32, LAYOUT_PLAIN, n->logits->ndim,
                             n->logits->dim));
    if (half != DTYPE_F32)
        precision(n->graph, AMP_O1, half);
    strbuf_release(&why);
}

static void check_net(const char *model, int64_t batch, int size, bool training,
                      enum dtype d, bool tf32)
{
    struct device *dev = open_h200();
    struct net n;
    struct program *p;
    char what[80];
    struct asked a;

    dev->options.tf32 = tf32;
    net_build(&n, model, batch, size, training, d);
    p = compile(n.graph, dev);
    (void)snprintf(what, sizeof(what), "%s, batch %d, %s%s", model, (int)batch,
                   tf32 ? "tf32" : dtype_name(d), training ? "" : ", inference");
    a = count_convs(p, what);
    assert_true(a.convs > 0);
    /* No engine copies the pixels, or halves of anything, to more channels. */
    assert_true(a.workspace <= (size_t)(d == DTYPE_F32 ? 256 : 64) << 20);
    program_free(p);
    graph_free(n.graph);
    backend_cuda.close(dev);
}

static void test_training(void **state)
{
    (void)state;
    check_net("resnet18", 256, 224, true, DTYPE_F32, false);
    check_net("resnet18", 256, 224, true, DTYPE_F32, true);
    check_net("resnet50", 256, 224, true, DTYPE_F16, false);
    check_net("resnet50", 256, 224, true, DTYPE_BF16, false);
    check_net("resnext50_32x4d", 256, 224, true, DTYPE_F16, false);
    check_net("resnet20", 128, 32, true, DTYPE_F16, false);
    check_net("resnet20", 128, 32, true, DTYPE_BF16, false);
    check_net("resnet20", 128, 32, true, DTYPE_F32, false);
}

/* In inference each convolution takes its batch norm, relu and shortcut along. */
static void test_inference(void **state)
{
    (void)state;
    check_net("resnet50", 256, 224, false, DTYPE_F16, false);
    check_net("resnet50", 256, 224, false, DTYPE_BF16, false);
    check_net("resnet50", 256, 224, false, DTYPE_F32, true);
    check_net("resnet50", 256, 224, false, DTYPE_F32, false);
}

/* One layer, forward and backward. */
struct layer {
    const char *name;
    int64_t dim[4];
    struct conv2d_attrs conv; /* .out 0: a transposed one */
    struct conv_transpose2d_attrs transposed;
    bool relu; /* behind it */
};

static struct graph *build_layer(const struct layer *l, enum dtype d)
{
    struct graph *g = graph_new(&graph_ops_default, true);
    struct builder b = {.g = g};
    struct tensor *x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4, l->dim), *y;

    x->trainable = true;
    y = l->conv.out ? conv2d_(&b, x, &l->conv) : conv_transpose2d_(&b, x, &l->transposed);
    if (l->relu)
        y = relu(&b, y, "relu");
    graph_output(g, y);
    graph_flatten(g);
    autodiff(&b, y, graph_input(&b, "dy", DTYPE_F32, LAYOUT_IMAGE, 4, y->dim));
    if (d != DTYPE_F32)
        precision(g, AMP_O1, d);
    return g;
}

static struct asked check_layer(struct device *dev, const struct layer *l, enum dtype d)
{
    struct graph *g = build_layer(l, d);
    struct program *p = compile(g, dev);
    struct asked a;
    char what[80];

    (void)snprintf(what, sizeof(what), "%s %s", l->name, dtype_name(d));
    a = count_convs(p, what);
    program_free(p);
    graph_free(g);
    return a;
}

#define DILATED(d)                                                                       \
    {.name = "3x1 dilated " #d,                                                          \
     .dim = {8, 128, 64, 128},                                                           \
     .conv = {.layer = "conv",                                                           \
              .out = 128,                                                                \
              .kernel_h = 3,                                                             \
              .kernel_w = 1,                                                             \
              .pad_h = d,                                                                \
              .dilation_h = d,                                                           \
              .bias = 1}},                                                               \
    {                                                                                    \
        .name = "1x3 dilated " #d, .dim = {8, 128, 64, 128},                             \
        .conv = {.layer = "conv",                                                        \
                 .out = 128,                                                             \
                 .kernel_h = 1,                                                          \
                 .kernel_w = 3,                                                          \
                 .pad_w = d,                                                             \
                 .dilation_w = d,                                                        \
                 .bias = 1},                                                             \
    }

/* ERFNet's, and channels that are no multiple of eight. */
static const struct layer layers[] = {
    {.name = "stem 13",
     .dim = {8, 3, 512, 1024},
     .conv =
         {.layer = "conv", .out = 13, .kernel = 3, .stride = 2, .padding = 1, .bias = 1}},
    {.name = "3x1 of 16",
     .dim = {8, 16, 256, 512},
     .conv = {.layer = "conv",
              .out = 16,
              .kernel_h = 3,
              .kernel_w = 1,
              .pad_h = 1,
              .bias = 1}},
    {.name = "1x3 of 64",
     .dim = {8, 64, 128, 256},
     .conv = {.layer = "conv",
              .out = 64,
              .kernel_h = 1,
              .kernel_w = 3,
              .pad_w = 1,
              .bias = 1}},
    DILATED(2),
    DILATED(8),
    DILATED(16),
    {.name = "up 128 to 64",
     .dim = {8, 128, 64, 128},
     .transposed = {.layer = "up",
                    .out = 64,
                    .kernel = 3,
                    .stride = 2,
                    .padding = 1,
                    .output_padding = 1,
                    .bias = 1}},
    {.name = "up 16 to 20",
     .dim = {8, 16, 256, 512},
     .transposed = {.layer = "up", .out = 20, .kernel = 2, .stride = 2, .bias = 1}},
    {.name = "depthwise of 32",
     .dim = {64, 32, 56, 56},
     .conv = {.layer = "conv", .out = 32, .kernel = 3, .padding = 1, .groups = 32}},
    {.name = "10 to 12",
     .dim = {16, 10, 31, 33},
     .conv = {.layer = "conv", .out = 12, .kernel = 3, .padding = 1, .bias = 1}},
    {.name = "5 to 7, two strides",
     .dim = {16, 5, 31, 33},
     .conv = {.layer = "conv", .out = 7, .kernel = 3, .stride_h = 2, .stride_w = 3}},
};

/* However far the taps of a 3x1 are apart, the halves have engines without conversions.
 */
static void check_one(struct device *dev, const struct layer *l, enum dtype d)
{
    struct asked a = check_layer(dev, l, d);

    assert_int_equal(a.convs, 3);
    if (strstr(l->name, "dilated") && dtype_is_half(d))
        assert_true(a.workspace < (size_t)1 << 20);
}

static void test_layers(void **state)
{
    struct device *dev = open_h200();

    (void)state;
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
        for (int d = DTYPE_F32; d <= DTYPE_BF16; d++)
            check_one(dev, &layers[i], (enum dtype)d);
    backend_cuda.close(dev);
}

/* ---- filled up with zeros ---- */

static const struct kernel *const down_kernels[] = {
    &cuda_concat,    &cuda_conv2d,    &cuda_conv2d_data_grad, &cuda_conv2d_weight_grad,
    &cuda_maxpool2d, &cuda_bias_grad, &kernel_reference,      NULL,
};

/* ERFNet's way down; or up to the logits. */
static struct graph *build_filled(int64_t in, int out, bool down, enum dtype half)
{
    struct graph *g = graph_new(&graph_ops_default, down);
    struct builder b = {.g = g};
    struct tensor *x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){16, in, 256, 512});
    struct tensor *y;

    x->trainable = down;
    if (down) {
        y = conv2d(&b, x, "conv", .out = out - (int)in, .kernel = 3, .stride = 2,
                   .padding = 1, .bias = 1);
        y = concat(&b, y, maxpool2d(&b, x, "pool", .kernel = 2), "concat");
    } else {
        y = conv_transpose2d(&b, x, "up", .out = out, .kernel = 2, .stride = 2,
                             .bias = 1);
    }
    graph_output(g, y);
    graph_flatten(g);
    if (down)
        autodiff(&b, y, graph_input(&b, "dy", DTYPE_F32, LAYOUT_IMAGE, 4, y->dim));
    precision(g, AMP_O3, half);
    return g;
}

/* Tensor cores without a conversion, and `copies` slices. */
static void check_filled(struct device *dev, int64_t in, int out, bool down,
                         enum dtype half, int copies)
{
    struct graph *g = build_filled(in, out, down, half);
    struct backend b = backend_cuda;
    struct strbuf text = STRBUF_INIT;
    struct program *p;
    int plans = 0;

    b.kernels = down_kernels;
    p = program_compile(g, &b, dev, &(const struct compile_options){0});
    for (int i = 0; i < p->nregion; i++) {
        const struct region *r = p->region[i];

        copies -= r->anchor->op == &op_channel_slice;
        strbuf_reset(&text);
        if (r->kernel->describe)
            r->kernel->describe(&p->step[i], &text);
        if (!text.len)
            continue;
        plans++;
        print_message("  %lld to %d %s %s: %s\n", (long long)in, out, dtype_name(half),
                      r->anchor->op->name, text.buf);
        if (!strstr(text.buf, "tensor-core"))
            fail_msg("%s without tensor cores", r->anchor->op->name);
    }
    assert_int_equal(plans, down ? 3 : 1);
    assert_int_equal(copies, 0);
    strbuf_release(&text);
    program_free(p);
    graph_free(g);
}

static void test_filled(void **state)
{
    struct device *dev = open_h200();

    (void)state;
    for (int d = DTYPE_F16; d <= DTYPE_BF16; d++) {
        check_filled(dev, 16, 64, true, (enum dtype)d, 0);
        check_filled(dev, 64, 128, true, (enum dtype)d, 1);
        check_filled(dev, 16, 20, false, (enum dtype)d, 0);
    }
    check_filled(dev, 3, 16, true, DTYPE_F16, 0);
    backend_cuda.close(dev);
}

/* ---- the folder of plans ---- */

static const struct cudnn_plan *plan_of(const struct program *p, int region)
{
    const struct region *r = p->region[region];

    return r->kernel->run == cudnn_region_run
               ? ((const struct cudnn_state *)r->state)->plan
               : NULL;
}

/* Plans of a net; `want`: of an earlier start, which these must equal. */
struct plans {
    struct cudnn_plan plan[200];
    int n, from_cache;
};

static void collect(struct plans *to, const char *folder, const struct plans *want)
{
    struct device *dev = open_h200();
    struct net n;
    struct program *p;

    dev->options.cache = folder;
    net_build(&n, "resnet18", 64, 224, true, DTYPE_F16);
    p = compile(n.graph, dev);
    *to = (struct plans){0};
    for (int i = 0; i < p->nregion; i++) {
        const struct cudnn_plan *plan = plan_of(p, i);

        if (!plan)
            continue;
        to->plan[to->n++] = *plan;
        to->from_cache += plan->from_cache;
    }
    for (int i = 0; want && i < to->n; i++) {
        assert_int_equal(to->plan[i].engine, want->plan[i].engine);
        assert_int_equal(to->plan[i].workspace, want->plan[i].workspace);
        assert_string_equal(to->plan[i].notes, want->plan[i].notes);
        assert_int_equal(to->plan[i].nuid, want->plan[i].nuid);
    }
    assert_int_equal(to->n, 59);
    program_free(p);
    graph_free(n.graph);
    backend_cuda.close(dev);
}

static void overwrite(const char *path, const char *text, size_t len)
{
    assert_int_equal(file_write_atomic(path, text, len), 0);
}

static void test_cache(void **state)
{
    char folder[] = "/tmp/trainc-plans-XXXXXX";
    static struct plans none, first, second, third;
    char **name, *path[2], *text[2], *digit;
    size_t len[2];
    int n;

    (void)state;
    assert_non_null(mkdtemp(folder));
    collect(&none, NULL, NULL);
    collect(&first, folder, &none);
    assert_int_equal(first.from_cache, 0);
    collect(&second, folder, &none);
    assert_int_equal(second.from_cache, second.n);

    /* Cut off, another plan's, and one digit of a plan changed. */
    name = dir_list(folder, &n);
    assert_true(n >= 20 && n < 59); /* equal layers share a plan */
    for (int i = 0; i < 2; i++) {
        path[i] = path_join(folder, name[i]);
        text[i] = file_read(path[i], &len[i]);
        assert_non_null(text[i]);
    }
    overwrite(path[0], text[0], len[0] / 2);
    collect(&third, folder, &none);
    assert_true(third.from_cache < third.n);
    collect(&third, folder, &none); /* it was written anew */
    assert_int_equal(third.from_cache, third.n);
    overwrite(path[0], text[1], len[1]);
    collect(&third, folder, &none);
    assert_true(third.from_cache < third.n);
    digit = strstr(text[0], "engine\\\"");
    assert_non_null(digit);
    digit += strcspn(digit, "0123456789");
    *digit = *digit == '1' ? '2' : '1';
    overwrite(path[0], text[0], len[0]);
    collect(&third, folder, &none);
    assert_true(third.from_cache < third.n);

    for (int i = 0; i < n; i++) {
        char *at = path_join(folder, name[i]);

        assert_int_equal(unlink(at), 0);
        free(at);
    }
    assert_int_equal(rmdir(folder), 0);
    for (int i = 0; i < 2; i++) {
        free(path[i]);
        free(text[i]);
    }
    dir_list_free(name, n);
}

/* ---- why not ---- */

/* Without a bias no precompiled engine takes a relu along; cuDNN's word for it is kept.
 */
static void test_reasons(void **state)
{
    struct device *dev = open_h200();
    struct layer l = {.dim = {8, 64, 32, 32},
                      .conv = {.layer = "conv", .out = 64, .kernel = 1},
                      .relu = true};
    struct graph *g = build_layer(&l, DTYPE_F16);
    struct program *p = compile(g, dev);
    int found = 0;

    (void)state;
    for (int i = 0; i < p->ndecline; i++)
        found += p->decline[i].node->op == &op_relu &&
                 strstr(p->decline[i].reason, "cuDNN has no engine for it") != NULL;
    assert_int_equal(found, 1);
    (void)count_convs(p, "1x1 and relu");
    program_free(p);
    graph_free(g);
    backend_cuda.close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training), cmocka_unit_test(test_inference),
        cmocka_unit_test(test_layers),   cmocka_unit_test(test_filled),
        cmocka_unit_test(test_cache),    cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
