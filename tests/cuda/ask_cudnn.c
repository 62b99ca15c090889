#include "tests/cuda/ask_cudnn.h"

#include <dlfcn.h>

#include "base/strbuf.h"
#include "cuda/backend.h"
#include "cuda/conv2d_stats.h"
#include "cuda/kernels.h"
#include "cuda/library.h"
#include "ops/conv2d.h"
#include "ops/qlayer.h"
#include "ops/reference.h"
#include "tests/test.h"

/* The kernels under test; the reference claims everything else, as nothing is run. */
static const struct kernel *const kernels[] = {
    &cuda_conv2d_stats,
    &cuda_conv2d,
    &cuda_conv2d_data_grad,
    &cuda_conv2d_weight_grad,
    &cuda_qlayer,
    &kernel_reference,
    NULL,
};

struct device *ask_open(void)
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
           n->op == &op_conv2d_weight_grad || n->op == &op_qconv2d ||
           n->op == &op_qlinear;
}

struct program *ask_compile(struct graph *g, struct device *dev)
{
    struct backend b = backend_cuda;

    b.kernels = kernels;
    return program_compile(g, &b, dev,
                           &(const struct compile_options){.keep_declines = true});
}

struct asked ask_convs(const struct program *p, const char *what)
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
        a.summed += n->region->kernel == &cuda_conv2d_stats;
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
    print_message("%s: %d convolutions, %d alone, %d with sums, largest workspace %.1f "
                  "MiB\n",
                  what, a.convs, a.alone, a.summed, (double)a.workspace / 1048576);
    return a;
}

bool ask_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

    return driver && !dlclose(driver);
}
