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
#include <string.h>

#include "base/strbuf.h"
#include "cuda/backend.h"
#include "cuda/cudnn.h"
#include "cuda/kernels.h"
#include "cuda/library.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "graph/program.h"
#include "models/table.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/normalize.h"
#include "ops/reference.h"
#include "ops/table.h"

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
    assert_true(a.workspace <= (size_t)256 << 20);
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
};

static struct asked check_layer(struct device *dev, const struct layer *l, enum dtype d)
{
    struct graph *g = graph_new(&graph_ops_default, true);
    struct builder b = {.g = g};
    struct tensor *x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4, l->dim), *y;
    struct program *p;
    struct asked a;
    char what[80];

    x->trainable = true;
    y = l->conv.out ? conv2d_(&b, x, &l->conv) : conv_transpose2d_(&b, x, &l->transposed);
    graph_output(g, y);
    graph_flatten(g);
    autodiff(&b, y, graph_input(&b, "dy", DTYPE_F32, LAYOUT_IMAGE, 4, y->dim));
    if (d != DTYPE_F32)
        precision(g, AMP_O1, d);
    p = compile(g, dev);
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

static void test_layers(void **state)
{
    struct device *dev = open_h200();

    (void)state;
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
        for (int d = DTYPE_F32; d <= DTYPE_BF16; d++)
            assert_int_equal(check_layer(dev, &layers[i], (enum dtype)d).convs, 3);
    backend_cuda.close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_inference),
        cmocka_unit_test(test_layers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
