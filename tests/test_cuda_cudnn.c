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

static void test_fp32(void **state)
{
    (void)state;
    check_net("resnet18", 256, 224, true, DTYPE_F32, false);
    check_net("resnet18", 256, 224, true, DTYPE_F32, true);
    check_net("resnet50", 256, 224, true, DTYPE_F16, false);
    check_net("resnet50", 256, 224, true, DTYPE_BF16, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fp32),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
