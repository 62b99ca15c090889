/*
 * Times what the libraries offer for the layers of ResNet-50 and of transformers, to decide
 * which fused nodes are worth a kernel: plain and fused operation graphs of cuDNN,
 * epilogues of cuBLASLt, and batch norms that are folded into their convolution or not.
 * Each candidate is timed within a CUDA graph, with buffers of the real sizes.
 *
 *   bench_nodes [--json FILE] [--small] [PATTERN...]
 *
 * Prints a line per node: its time, the time of the plain nodes that do the same work, and
 * the engine. --small: shapes for an emulated GPU. PATTERN: part of a node's name.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "cuda/backend.h"
#include "cuda/cublaslt_lib.h"
#include "cuda/cudnn_plan.h"
#include "cuda/timing.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "graph/program.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/control.h"
#include "ops/conv2d.h"
#include "ops/norm_fold.h"
#include "ops/table.h"

static struct {
    struct device *dev;
    json_t *rows;
    bool small;
    char *const *pattern;
    int npattern;
} bench;

static bool is_wanted(const char *name)
{
    for (int i = 0; i < bench.npattern; i++)
        if (strstr(name, bench.pattern[i]))
            return true;
    return !bench.npattern;
}

/* us 0: `how` says why there is no time. plain: of the nodes that the node replaces, or 0. */
static void report(const char *name, enum dtype type, const char *size, double us,
                   double plain, const char *how)
{
    printf("%-30s %-4s %-22s ", name, dtype_name(type), size);
    if (us > 0)
        printf("%9.1f us", us);
    else
        printf("%12s", "-");
    if (us > 0 && plain > 0)
        printf("  %5.2f of plain", us / plain);
    printf("  %s\n", how);
    (void)json_array_append_new(bench.rows,
                                json_pack("{s:s, s:s, s:s, s:f, s:f, s:s}", "node", name,
                                          "dtype", dtype_name(type), "size", size, "us",
                                          us, "plain_us", plain, "how", how));
}

/* ---- cuDNN ---- */

/* A stage of ResNet-50: bottlenecks of `narrow` channels in their middle and four times as
 * many at their ends, on square images. */
struct stage {
    int64_t batch, narrow, side;
};

static const struct stage stages[] = {
    {256, 64, 56}, {256, 128, 28}, {256, 256, 14}, {256, 512, 7}};
static const struct stage small_stages[] = {{1, 8, 3}};

enum conv_node {
    CONV, /* conv3: narrow to wide, 1x1 */
    CONV_STATS,
    CONV_ADD_BIAS_RELU,
    CONV_3X3, /* conv2 */
    CONV_3X3_RELU,
    DATA_GRAD, /* conv1: wide to narrow, 1x1 */
    DATA_GRAD_ADD,
    DATA_GRAD_ADD_RELU,
    GRAM,        /* of conv3's input, as a weight gradient with 16-bit results */
    WEIGHT_GRAD, /* conv3 */
    CONV_NODES
};

/* plain: the node with the convolution alone. */
typedef void build_node(struct cudnn_graph *g, enum conv_node node, const struct stage *s,
                        enum dtype t);

static build_node build_forward, build_data_grad, build_weight_grad;

static const struct {
    const char *name;
    enum conv_node plain;
    build_node *build;
} conv_nodes[CONV_NODES] = {
    [CONV] = {"conv 1x1", CONV, build_forward},
    [CONV_STATS] = {"conv 1x1 + statistics", CONV, build_forward},
    [CONV_ADD_BIAS_RELU] = {"(conv 1x1 + add) + bias + relu", CONV, build_forward},
    [CONV_3X3] = {"conv 3x3", CONV_3X3, build_forward},
    [CONV_3X3_RELU] = {"conv 3x3 + relu", CONV_3X3, build_forward},
    [DATA_GRAD] = {"data grad 1x1", DATA_GRAD, build_data_grad},
    [DATA_GRAD_ADD] = {"data grad 1x1 + add", DATA_GRAD, build_data_grad},
    [DATA_GRAD_ADD_RELU] = {"data grad 1x1 + add + drelu", DATA_GRAD, build_data_grad},
    [GRAM] = {"gram as weight grad", GRAM, build_weight_grad},
    [WEIGHT_GRAD] = {"weight grad 1x1", WEIGHT_GRAD, build_weight_grad},
};

/* Adds a tensor N x C x side x side, or weights of a side of 1 or 3. */
static int stored(struct cudnn_graph *g, int64_t n, int64_t c, int64_t side,
                  enum dtype type)
{
    return cudnn_graph_stored(g, (int64_t[]){n, c, side, side}, type);
}

/* Same, for an fp32 tensor that only exists inside the kernel. */
static int inside(struct cudnn_graph *g, int64_t n, int64_t c, int64_t side)
{
    int i = stored(g, n, c, side, DTYPE_F32);

    g->tensor[i].real = false;
    return i;
}

/* Stores the last result of a graph, in 16 bits. */
static void store_last(struct cudnn_graph *g, enum dtype type)
{
    struct cudnn_tensor *t = &g->tensor[g->op[g->nop - 1].out];

    t->real = true;
    t->dtype = type;
}

static void build_forward(struct cudnn_graph *g, enum conv_node node,
                          const struct stage *s, enum dtype t)
{
    bool square = node == CONV_3X3 || node == CONV_3X3_RELU;
    int64_t k = square ? s->narrow : 4 * s->narrow;
    struct cudnn_geometry geometry = {
        .pad = {square, square}, .stride = {1, 1}, .dilation = {1, 1}};
    int x = stored(g, s->batch, s->narrow, s->side, t);
    int w = stored(g, k, s->narrow, square ? 3 : 1, t);
    int y = inside(g, s->batch, k, s->side);

    cudnn_graph_conv(g, CUDNN_CONV, &geometry, x, w, y);
    if (node == CONV_STATS) {
        int sum = stored(g, 1, k, 1, DTYPE_F32), squares = stored(g, 1, k, 1, DTYPE_F32);

        store_last(g, t);
        cudnn_graph_op(g, CUDNN_STATS, y, -1, sum)->more[0] = squares;
    }
    if (node == CONV_ADD_BIAS_RELU) {
        y = cudnn_graph_pointwise(g, CUDNN_ADD, y, stored(g, s->batch, k, s->side, t), 0);
        y = cudnn_graph_pointwise(g, CUDNN_ADD, y, stored(g, 1, k, 1, t), 0);
    }
    if (node == CONV_ADD_BIAS_RELU || node == CONV_3X3_RELU)
        (void)cudnn_graph_pointwise(g, CUDNN_RELU, y, -1, 0);
}

static void build_data_grad(struct cudnn_graph *g, enum conv_node node,
                            const struct stage *s, enum dtype t)
{
    const struct cudnn_geometry geometry = {.stride = {1, 1}, .dilation = {1, 1}};
    int64_t wide = 4 * s->narrow;
    int dy = stored(g, s->batch, s->narrow, s->side, t);
    int w = stored(g, s->narrow, wide, 1, t);
    int dx = inside(g, s->batch, wide, s->side);

    cudnn_graph_conv(g, CUDNN_DATA_GRAD, &geometry, dy, w, dx);
    if (node != DATA_GRAD)
        dx = cudnn_graph_pointwise(g, CUDNN_ADD, dx,
                                   stored(g, s->batch, wide, s->side, t), 0);
    if (node == DATA_GRAD_ADD_RELU)
        (void)cudnn_graph_pointwise(g, CUDNN_RELU_GRAD, dx,
                                    stored(g, s->batch, wide, s->side, t), 0);
}

static void build_weight_grad(struct cudnn_graph *g, enum conv_node node,
                              const struct stage *s, enum dtype t)
{
    const struct cudnn_geometry geometry = {.stride = {1, 1}, .dilation = {1, 1}};
    int64_t k = node == GRAM ? s->narrow : 4 * s->narrow;
    int x = stored(g, s->batch, s->narrow, s->side, t);
    int dy = stored(g, s->batch, k, s->side, t);

    cudnn_graph_conv(g, CUDNN_WEIGHT_GRAD, &geometry, x, dy,
                     stored(g, k, s->narrow, 1, t));
}

static void bench_convs(const struct stage *s, enum dtype type)
{
    struct cudnn *c = cudnn_open(bench.dev);
    double us[CONV_NODES] = {0};

    for (int i = 0; i < CONV_NODES; i++) {
        struct strbuf how = STRBUF_INIT;
        const struct cudnn_plan *p;
        struct cudnn_graph g = {0};
        char size[60];

        if (!is_wanted(conv_nodes[i].name))
            continue;
        conv_nodes[i].build(&g, (enum conv_node)i, s, type);
        if (i != CONV_STATS)
            store_last(&g, type);
        p = cudnn_plan_get(c, &g);
        us[i] = (double)p->microseconds;
        if (p->why)
            strbuf_addstr(&how, p->why);
        else
            cudnn_plan_describe(p, &how);
        (void)snprintf(size, sizeof(size), "%lldx%lldx%lldx%lld", (long long)s->batch,
                       (long long)s->narrow, (long long)s->side, (long long)s->side);
        report(conv_nodes[i].name, type, size, us[i], us[conv_nodes[i].plain], how.buf);
        strbuf_release(&how);
    }
}

/* ---- cuBLASLt ---- */

/* A GEMM of a 1x1 convolution or a linear layer: rows x out = rows x in times out x in. */
struct gemm {
    int64_t rows, out, in;
};

static const struct gemm gemms[] = {
    {256 * 56 * 56, 256, 64},                           /* conv3 of ResNet-50, stage 1 */
    {256 * 28 * 28, 512, 128},                          /* stage 2 */
    {256 * 14 * 14, 1024, 256}, {128 * 197, 1536, 384}, /* fc1 of ViT-S */
    {128 * 197, 384, 1536},                             /* fc2 */
    {128 * 3136, 384, 96},                              /* fc1 of Swin-T, stage 1 */
    {128 * 784, 768, 192},                              /* stage 2 */
};
static const struct gemm small_gemms[] = {{16, 128, 16}};

/* bits: the auxiliary matrix has a bit per element, in rows of whole 128 */
static const struct {
    const char *name;
    int epilogue;
    bool add, aux, bits;
} epilogues[] = {
    {"gemm", CUBLASLT_EPILOGUE_DEFAULT, false, false, false},
    {"gemm + result", CUBLASLT_EPILOGUE_DEFAULT, true, false, false},
    {"gemm + bias", CUBLASLT_EPILOGUE_BIAS, false, false, false},
    {"gemm + bias + relu, bits", CUBLASLT_EPILOGUE_RELU_AUX_BIAS, false, true, true},
    {"gemm + bias + gelu, input", CUBLASLT_EPILOGUE_GELU_AUX_BIAS, false, true, false},
    {"gemm + drelu + bias grad", CUBLASLT_EPILOGUE_DRELU_BGRAD, false, true, true},
    {"gemm + result + drelu + bias grad", CUBLASLT_EPILOGUE_DRELU_BGRAD, true, true,
     true},
    {"gemm + dgelu + bias grad", CUBLASLT_EPILOGUE_DGELU_BGRAD, false, true, false},
};

static void set(struct cublaslt_plan *p, cublasLtMatmulDescAttributes_t name,
                const void *value, size_t size)
{
    CUBLASLT_CHECK(bench.dev, p->c->MatmulDescSetAttribute(p->desc, name, value, size));
}

/* Returns microseconds, or 0 with the reason in *why. */
static double time_gemm(const struct gemm *m, int e, enum dtype type, char *memory,
                        struct strbuf *how)
{
    struct cublaslt_matmul w = {.m = m->rows,
                                .n = m->out,
                                .k = m->in,
                                .transposed_b = true,
                                .type = type,
                                .out = type,
                                .add = epilogues[e].add};
    int64_t columns = epilogues[e].bits ? (m->out + 127) / 128 * 128 : m->out;
    void *bias = memory, *aux = memory + (m->out * 4 + 255) / 256 * 256;
    const char *why = NULL;
    struct cublaslt_plan *p = cublaslt_plan_new(bench.dev, &w, &why);
    double us = 0;

    if (p && epilogues[e].epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
        set(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogues[e].epilogue, sizeof(int));
        set(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
    }
    if (p && epilogues[e].aux) {
        set(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof(aux));
        set(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &columns, sizeof(columns));
    }
    if (p && !cublaslt_time(bench.dev, p))
        why = "no algorithm";
    if (p && !why)
        cublaslt_describe(p, how);
    else
        strbuf_addstr(how, why);
    if (p && !why)
        us = (double)p->choice.microseconds;
    cublaslt_plan_free(p);
    return us;
}

static void bench_gemm(const struct gemm *m, enum dtype type)
{
    size_t bytes = (size_t)(m->rows * m->out * 2 + m->out * 4 + 512);
    char *memory = timing_alloc(bench.dev, bytes, "epilogues"), size[60];
    double plain = 0;

    (void)snprintf(size, sizeof(size), "%lldx%lldx%lld", (long long)m->rows,
                   (long long)m->out, (long long)m->in);
    if (memory)
        timing_fill(bench.dev, memory, bytes, type);
    for (size_t e = 0; memory && e < sizeof(epilogues) / sizeof(epilogues[0]); e++) {
        struct strbuf how = STRBUF_INIT;
        double us;

        if (!is_wanted(epilogues[e].name))
            continue;
        us = time_gemm(m, (int)e, type, memory, &how);
        plain = e ? plain : us;
        report(epilogues[e].name, type, size, us, plain, how.buf);
        strbuf_release(&how);
    }
    if (memory)
        timing_free(bench.dev, memory);
}

/* ---- programs ---- */

static bool always(void *arg, const struct norm_fold_layer *l)
{
    (void)arg;
    (void)l;
    return true;
}

/* The end of a bottleneck and its gradients: relu(batchnorm(conv 1x1(h)) + x). */
static struct graph *build_end(const struct stage *s, enum dtype type, bool folded)
{
    struct graph *g = graph_new(&graph_ops_default, true);
    struct builder b = {.g = g};
    int64_t narrow[] = {s->batch, s->narrow, s->side, s->side};
    int64_t wide[] = {s->batch, 4 * s->narrow, s->side, s->side};
    struct tensor *h = graph_input(&b, "h", type, LAYOUT_IMAGE, 4, narrow);
    struct tensor *x = graph_input(&b, "x", type, LAYOUT_IMAGE, 4, wide), *y;

    h = conv2d(&b, h, "before", .out = (int)s->narrow, .kernel = 1);
    h = relu(&b, h, "before.act");
    y = conv2d(&b, h, "conv3", .out = 4 * (int)s->narrow, .kernel = 1);
    y = batchnorm(&b, y, "bn3");
    y = relu(&b, add(&b, y, x, "sum"), "act");
    graph_output(g, y);
    if (folded && norm_fold_lower(g, type, always, NULL) != 1)
        BUG("the batch norm is not folded");
    graph_flatten(g);
    autodiff(&b, y, graph_input(&b, "dy", y->dtype, LAYOUT_IMAGE, 4, wide));
    precision(g, AMP_O1, type);
    return g;
}

/* Returns the microseconds of one replay. */
static double time_program(struct graph *g, enum dtype type)
{
    int rounds = bench.small ? 1 : 3, runs = bench.small ? 1 : 20;
    const struct backend *backend = &backend_cuda;
    struct program *p = program_compile(g, backend, bench.dev, NULL);
    void *base[MEMORY_COUNT] = {NULL};
    double best = 0;

    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(p, (enum memory)m))
            base[m] = backend->alloc(bench.dev, program_need(p, (enum memory)m));
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (base[m] && (m == MEMORY_INPUT || m == MEMORY_WEIGHTS))
            timing_fill(bench.dev, base[m], program_need(p, (enum memory)m),
                        m == MEMORY_INPUT ? type : DTYPE_F32);
    program_bind(p, base);
    program_refresh(p);
    for (int i = 0; i < rounds; i++) {
        double began;

        program_run(p);
        program_run(p);
        backend->sync(bench.dev);
        began = clock_now();
        for (int k = 0; k < runs; k++)
            program_run(p);
        backend->sync(bench.dev);
        began = (clock_now() - began) * 1e6 / runs;
        best = i && best < began ? best : began;
    }
    program_free(p);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (base[m])
            backend->free(bench.dev, base[m]);
    return best;
}

static void bench_ends(const struct stage *s, enum dtype type)
{
    static const char *const name[] = {"bottleneck's end, kernel by kernel",
                                       "bottleneck's end, fused",
                                       "bottleneck's end, folded"};
    double us[3] = {0};
    char size[60];

    (void)snprintf(size, sizeof(size), "%lldx%lldx%lldx%lld", (long long)s->batch,
                   (long long)s->narrow, (long long)s->side, (long long)s->side);
    for (int i = 0; i < 3 && is_wanted("bottleneck's end"); i++) {
        struct graph *g = build_end(s, type, i == 2);

        bench.dev->options.apart = i == 0;
        us[i] = time_program(g, type);
        bench.dev->options.apart = false;
        graph_free(g);
        report(name[i], type, size, us[i], us[0], "forward and gradients");
    }
}

static void run_all(void)
{
    static const enum dtype types[] = {DTYPE_F16, DTYPE_BF16};
    const struct stage *stage = bench.small ? small_stages : stages;
    const struct gemm *gemm = bench.small ? small_gemms : gemms;
    size_t nstage = bench.small ? sizeof(small_stages) / sizeof(*stage)
                                : sizeof(stages) / sizeof(*stage);
    size_t ngemm =
        bench.small ? sizeof(small_gemms) / sizeof(*gemm) : sizeof(gemms) / sizeof(*gemm);

    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        for (size_t i = 0; i < nstage; i++)
            bench_ends(&stage[i], types[t]);
        for (size_t i = 0; i < nstage; i++)
            bench_convs(&stage[i], types[t]);
        for (size_t i = 0; i < ngemm; i++)
            bench_gemm(&gemm[i], types[t]);
    }
}

int main(int argc, char **argv)
{
    const char *json = NULL;
    int i = 1;

    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--small"))
            bench.small = true;
        else if (!strcmp(argv[i], "--json") && i + 1 < argc)
            json = argv[++i];
        else
            usage("usage: bench_nodes [--json FILE] [--small] [PATTERN...]");
    }
    bench.pattern = argv + i;
    bench.npattern = argc - i;
    bench.rows = json_array();
    bench.dev = backend_cuda.open(&(const struct device_options){.benchmark = true});
    printf("%s\n", bench.dev->text);
    run_all();
    backend_cuda.close(bench.dev);
    if (!json_array_size(bench.rows))
        die("no node is called so");
    printf("%zu nodes\n", json_array_size(bench.rows));
    if (json && json_dump_file(bench.rows, json, JSON_INDENT(1)))
        die("cannot write '%s'", json);
    json_decref(bench.rows);
    return 0;
}
