/*
 * How the CUDA backend claims the update phase: which nodes are one pass, in which order,
 * and that only the optimizer writes the 16-bit copy of the weights. A GPU's description
 * is enough, without libraries: one kernel of this test claims everything else.
 */
#include "cuda/backend.h"
#include "cuda/kernels.h"
#include "cuda/weights.h"
#include "graph/autodiff.h"
#include "graph/compile.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "ops/batchnorm.h"
#include "ops/cast.h"
#include "ops/conv2d.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "ops/optimizer.h"
#include "ops/running_stats.h"
#include "ops/state.h"
#include "ops/table.h"
#include "ops/update_control.h"
#include "tests/test.h"

static const char *rest_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    if (n->phase == PHASE_UPDATE)
        return "an update";
    region_claim(r, n);
    for (int i = 0; i < n->nin; i++) {
        const struct node *src = n->in[i]->producer;

        if (src && src->op == &op_cast && src->in[CAST_X]->kind == TENSOR_PARAM) {
            region_duplicate(r, n->in[i]->producer);
            (void)cuda_half_weights(r, g, dev, n->in[i]->dtype);
        } else {
            (void)region_read(r, n->in[i]);
        }
    }
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, n->out[i]);
    return NULL;
}

static const struct kernel rest = {.name = "rest", .claim = rest_claim};
static const struct kernel *const kernels[] = {
    &cuda_grad_stats, &cuda_optimizer, &cuda_running_stats, &cuda_control, &rest, NULL,
};

static const struct optimizer *sgd;

struct setting {
    bool half, ema, two_emas, accumulates;
};

struct compiled {
    struct backend backend;
    struct device *dev;
    struct graph *graph;
    struct program *p;
};

static struct tensor *flat(struct builder *b, const char *name, enum memory m,
                           int64_t len)
{
    return graph_state(b, name, m, DTYPE_F32, 0, len);
}

static void build_update(struct builder *b, const struct setting *s)
{
    int64_t len = b->g->flat->param_len, all = b->g->flat->weights_len;
    struct tensor *control = control_tensor(b);
    struct tensor *grads = flat(b, "grads", MEMORY_GRADS, len);
    struct tensor *state[] = {flat(b, "weights", MEMORY_WEIGHTS, len),
                              flat(b, "moment", MEMORY_MOMENT1, len)};
    struct tensor *weights = flat(b, "all", MEMORY_WEIGHTS, all);
    struct accumulation accumulation = {s->accumulates ? 4 : 0, 0};
    static struct update_segment segment = {.offset = 0, .len = 8, .lr_scale = 1};
    struct update update = {.segment = &segment, .nsegment = 1};

    b->phase = PHASE_UPDATE;
    if (s->accumulates) {
        struct tensor *sum = flat(b, "sum", MEMORY_GRADS_SUM, len);

        grads_accumulate(b, grads, control, sum, accumulation);
        grads = sum;
    }
    grad_stats(b, grads, control);
    control_prepare_node(b, control, &(const struct control_prepare_attrs){0});
    optimizer_node(b, sgd, &update, &(const struct hyperparameters){.momentum = 0.9},
                   grads, control, state);
    running_stats(b, control, accumulation, true);
    if (s->two_emas)
        ema(b, weights, control, flat(b, "other", MEMORY_MOMENT2, all));
    if (s->ema)
        ema(b, weights, control, flat(b, "ema", MEMORY_EMA, all));
    control_finish_node(b, control, &(const struct scaler){0}, false);
}

static void compile(struct compiled *c, const struct setting *s)
{
    struct builder b = {0};
    const int64_t dim[] = {2, 8, 4, 4};

    c->backend = backend_cuda;
    c->backend.kernels = kernels;
    c->backend.lower = NULL;
    c->dev = backend_cuda.open(&(const struct device_options){.description = "h200"});
    c->graph = b.g = graph_new(&graph_ops_default, true);

    struct tensor *x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4, dim);
    struct tensor *y = conv2d(&b, x, "conv", .out = 8, .kernel = 3, .padding = 1);

    y = batchnorm(&b, y, "bn");
    graph_output(b.g, y);
    graph_flatten(b.g);
    autodiff(&b, y, graph_input(&b, "dy", DTYPE_F32, LAYOUT_IMAGE, 4, dim));
    build_update(&b, s);
    if (s->half)
        precision(b.g, AMP_O2, DTYPE_F16);
    c->p = program_compile(b.g, &c->backend, c->dev, NULL);
}

static void release(struct compiled *c)
{
    program_free(c->p);
    graph_free(c->graph);
    backend_cuda.close(c->dev);
}

/* Returns the position of the region that holds the last node of this op, or -1. */
static int position(const struct compiled *c, const struct op *op)
{
    int found = -1;

    for (int i = 0; i < c->graph->nnode; i++)
        if (c->graph->node[i]->op == op)
            found = c->graph->node[i]->region->order;
    return found;
}

static void test_one_pass(void **state)
{
    struct compiled c;

    (void)state;
    compile(&c, &(const struct setting){.half = true, .ema = true});
    assert_int_equal(position(&c, sgd->op), position(&c, &op_ema));
    assert_true(position(&c, &op_running_stats) <
                position(&c, &op_ema)); /* the EMA averages them */
    assert_int_equal(position(&c, &op_control_prepare), position(&c, &op_grad_stats));
    assert_true(position(&c, &op_control_prepare) < position(&c, &op_running_stats));
    assert_int_equal(position(&c, &op_control_finish), c.p->nregion - 1);
    release(&c);
}

static void test_without_ema(void **state)
{
    struct compiled c;

    (void)state;
    compile(&c, &(const struct setting){.half = true});
    assert_true(position(&c, sgd->op) < position(&c, &op_running_stats));
    release(&c);
}

/* The second EMA must not delay the optimizer until after the first, which reads
 * weights. */
static void test_reader_between(void **state)
{
    struct compiled c;

    (void)state;
    compile(&c, &(const struct setting){.ema = true, .two_emas = true});
    assert_true(position(&c, sgd->op) < position(&c, &op_ema));
    assert_true(position(&c, &op_running_stats) < position(&c, sgd->op));
    release(&c);
}

static void test_accumulation(void **state)
{
    struct compiled c;

    (void)state;
    compile(&c, &(const struct setting){.ema = true, .accumulates = true});
    assert_int_equal(position(&c, &op_grads_accumulate), position(&c, &op_grad_stats));
    assert_int_equal(position(&c, &op_grads_accumulate),
                     position(&c, &op_control_prepare));
    assert_int_equal(position(&c, sgd->op), position(&c, &op_ema));
    assert_true(position(&c, &op_stats_commit) < position(&c, &op_ema));
    assert_true(position(&c, &op_running_stats) < position(&c, &op_stats_commit));
    release(&c);
}

static void count_copies(const struct compiled *c, int *written, int *packed)
{
    *written = *packed = 0;
    for (int i = 0; i < c->p->nderived; i++) {
        const struct derived *d = &c->p->derived[i];

        if (d->read && d->what.nsource)
            *(d->what.written ? written : packed) += 1;
    }
}

static void test_half_copy(void **state)
{
    int written, packed;

    (void)state;
    for (int half = 0; half < 2; half++) {
        struct compiled c;
        size_t copy;

        compile(&c, &(const struct setting){.half = half, .ema = true});
        copy = (size_t)c.graph->flat->param_len * 2;
        count_copies(&c, &written, &packed);
        assert_int_equal(written, half);
        assert_int_equal(packed, 0);
        assert_int_equal(program_need(c.p, MEMORY_DERIVED) >= copy, half);
        release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pass),       cmocka_unit_test(test_without_ema),
        cmocka_unit_test(test_reader_between), cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_half_copy),
    };

    sgd = optimizer_find("sgd");

    return cmocka_run_group_tests(tests, NULL, NULL);
}
