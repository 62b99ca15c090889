/*
 * The engines that cuDNN would run for single layers on an H200: odd shapes, dilations,
 * and transposed convolutions have engines, zero-padded layers have tensor cores, and
 * layers without an engine have a reason. Skipped, with a message, without cuDNN.
 */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "cuda/backend.h"
#include "cuda/cudnn_lib.h"
#include "cuda/kernels.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/maxpool2d.h"
#include "ops/reference.h"
#include "ops/activation.h"
#include "ops/table.h"
#include "tests/cuda/ask_cudnn.h"
#include "tests/test.h"

/* NVIDIA's library keeps memory of descriptors that it refused; we cannot free it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libcudnn\n";
}

/* One layer, forward and backward. */
struct layer {
    const char *name;
    int64_t dim[4];
    struct conv2d_attrs conv; /* .out 0: a transposed convolution */
    struct conv_transpose2d_attrs transposed;
    bool relu; /* followed by a relu */
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
    struct program *p = ask_compile(g, dev);
    struct asked a;
    char what[80];

    (void)snprintf(what, sizeof(what), "%s %s", l->name, dtype_name(d));
    a = ask_convs(p, what);
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

/* ERFNet's layers, and channels that are not a multiple of eight. */
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

/* For any dilation of a 3x1, the 16-bit types have engines without conversions. */
static void check_one(struct device *dev, const struct layer *l, enum dtype d)
{
    struct asked a = check_layer(dev, l, d);

    assert_int_equal(a.convs, 3);
    if (strstr(l->name, "dilated") && dtype_is_half(d))
        assert_true(a.workspace < (size_t)1 << 20);
}

static void test_layers(void **state)
{
    struct device *dev = ask_open();

    (void)state;
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
        for (int d = DTYPE_F32; d <= DTYPE_BF16; d++)
            check_one(dev, &layers[i], (enum dtype)d);
    backend_cuda.close(dev);
}

/* ---- padded with zeros ---- */

static const struct kernel *const down_kernels[] = {
    &cuda_concat,    &cuda_conv2d,    &cuda_conv2d_data_grad, &cuda_conv2d_weight_grad,
    &cuda_maxpool2d, &cuda_bias_grad, &kernel_reference,      NULL,
};

/* ERFNet's downsampling block, or its last layer up to the logits. */
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
        struct tensor *part[] = {y, maxpool2d(&b, x, "pool", .kernel = 2)};
        y = concat(&b, part, 2, "concat");
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

/* Checks for tensor cores without a conversion, and for `copies` slices. */
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

        copies -= r->anchor->op == &op_slice;
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
    struct device *dev = ask_open();

    (void)state;
    for (int d = DTYPE_F16; d <= DTYPE_BF16; d++) {
        check_filled(dev, 16, 64, true, (enum dtype)d, 0);
        check_filled(dev, 64, 128, true, (enum dtype)d, 1);
        check_filled(dev, 16, 20, false, (enum dtype)d, 0);
    }
    check_filled(dev, 3, 16, true, DTYPE_F16, 0);
    backend_cuda.close(dev);
}

/* A bias of 20 does not fit a result with space for 24 channels, so it is not
 * requested. */
static void test_bias(void **state)
{
    for (int d = DTYPE_F16; d <= DTYPE_BF16; d++) {
        struct device *dev = ask_open();

        check_filled(dev, 16, 20, false, (enum dtype)d, 0);
        assert_int_equal(dev->cudnn->plan.n, 1); /* queries, answered or refused */
        backend_cuda.close(dev);
    }
    (void)state;
}

/* ---- reasons ---- */

/* Without a bias no precompiled engine fuses a relu; cuDNN's message is kept. With a
 * driver, other engines are offered. */
static void test_reasons(void **state)
{
    struct device *dev = ask_open();
    struct layer l = {.dim = {8, 64, 32, 32},
                      .conv = {.layer = "conv", .out = 64, .kernel = 1},
                      .relu = true};
    struct graph *g = build_layer(&l, DTYPE_F16);
    struct program *p = ask_compile(g, dev);
    int found = 0;

    (void)state;
    for (int i = 0; i < p->ndecline; i++)
        found += is_relu(p->decline[i].node) &&
                 strstr(p->decline[i].reason, "cuDNN has no engine for it") != NULL;
    assert_int_equal(found, !ask_driver());
    (void)ask_convs(p, "1x1 and relu");
    program_free(p);
    graph_free(g);
    backend_cuda.close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_filled),
        cmocka_unit_test(test_bias),
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
