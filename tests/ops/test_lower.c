/*
 * Lowered batch norms, max pools, and relus equal the whole ones: every row of the op table
 * on the reference, once unchanged and once lowered. A lowered GELU is found.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/case_run.h"
#include "cpu/backend.h"
#include "ops/activation.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_parts.h"
#include "ops/expr.h"
#include "ops/maxpool2d_places.h"
#include "ops/reference.h"
#include "ops/relu_bits.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

static int always(struct graph *g, struct node *relu, struct node *grad,
                  struct device *dev)
{
    (void)g;
    (void)relu;
    (void)grad;
    (void)dev;
    return RELU_BITS_PLAIN;
}

static void lower(struct graph *g, struct device *dev)
{
    batchnorm_lower(g);
    maxpool2d_lower(g);
    relu_bits_lower(g, always, dev);
}

static int count(const struct graph *g, const struct op *op)
{
    int n = 0;

    for (int i = 0; i < g->nnode; i++)
        n += g->node[i]->op == op;
    return n;
}

/* Checks that the graph is consistent: each node follows the nodes that compute its
 * inputs. */
static void check_graph(const struct graph *g)
{
    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i];

        assert_int_equal(n->index, i);
        assert_true(i == 0 || n->phase >= g->node[i - 1]->phase);
        for (int k = 0; k < n->nin; k++) {
            const struct node *src = n->in[k]->producer;

            assert_true(!src || src->index < i);
            assert_true(!src || src->out[n->in[k]->slot] == n->in[k]);
        }
    }
}

static void check_lowered(struct graph *g)
{
    int nodes = g->nnode, tensors = g->ntensor;

    assert_int_equal(count(g, &op_batchnorm), 0);
    assert_int_equal(count(g, &op_batchnorm_grad), 0);
    assert_int_equal(count(g, &op_batchnorm_inference), 0);
    check_graph(g);
    batchnorm_lower(g);
    maxpool2d_lower(g);
    relu_bits_lower(g, always, NULL);
    assert_int_equal(g->nnode, nodes);
    assert_int_equal(g->ntensor, tensors);
}

static int relus; /* lowered */

static int run_row(const struct op_case *row, const struct backend *backend,
                   struct device *dev, const struct case_options *o, struct case_run *r,
                   struct case_values *v)
{
    case_run_init(r, row, backend, dev, o);
    program_run(r->program);
    program_run(r->program);
    case_fetch(r, v);
    relus += count(r->graph, &op_relu_bits_grad);
    return count(r->graph, &op_batchnorm_apply);
}

static void compare(const struct op_case *row, enum dtype d,
                    const struct case_value *want, const struct case_value *got)
{
    double step = d == DTYPE_F16 ? 1.0 / 1024 : d == DTYPE_BF16 ? 1.0 / 128 : 2e-6;
    double top = 0, chain = d == DTYPE_F32 ? 10 : 4;

    assert_int_equal(want->n, got->n);
    assert_string_equal(want->name, got->name);
    for (int64_t i = 0; i < want->n; i++)
        top = fabs((double)want->v[i]) > top ? fabs((double)want->v[i]) : top;
    for (int64_t i = 0; i < want->n; i++) {
        double e = fabs((double)got->v[i] - (double)want->v[i]);

        if (isnan(want->v[i]) && isnan(got->v[i]))
            continue;
        if (!(e <= step * top * (row->chain ? chain : 1) + 1e-6))
            fail_msg("%s %s: %s[%lld]: %g whole, %g in parts", row->name, dtype_name(d),
                     want->name, (long long)i, (double)want->v[i], (double)got->v[i]);
    }
}

static int compare_row(const struct op_case *row, struct device *dev,
                       const struct case_options *o)
{
    struct backend parts = backend_ref;
    struct case_run a, b;
    struct case_values want, got;
    int applies;

    parts.lower = lower;
    (void)run_row(row, &backend_ref, dev, o, &a, &want);
    applies = run_row(row, &parts, dev, o, &b, &got);
    assert_int_equal(want.n, got.n);
    for (int i = 0; i < want.n; i++)
        compare(row, o->dtype, &want.item[i], &got.item[i]);
    check_lowered(b.graph);
    case_values_release(&want);
    case_values_release(&got);
    case_run_release(&a);
    case_run_release(&b);
    return applies;
}

static void test_rows(void **state)
{
    struct device *dev = backend_ref.open(&(const struct device_options){0});
    int applies = 0;
    const struct op_case *row;

    (void)state;
    for (int i = 0; (row = op_case_at(i)); i++) {
        for (int d = DTYPE_F32; d <= DTYPE_BF16; d++) {
            struct case_options o = {.dtype = (enum dtype)d, .round = (enum dtype)d};

            if (row->wide && row->chain && d != DTYPE_F32)
                continue; /* a relu at its kink: rounding flips its mask */
            applies += compare_row(row, dev, &o);
            o.mixed = true;
            if (d != DTYPE_F32 && row->chain)
                applies += compare_row(row, dev, &o);
        }
        applies += compare_row(
            row, dev, &(const struct case_options){.nan = true, .dtype = DTYPE_F32});
    }
    backend_ref.close(dev);
    print_message("%d batch norms\n", applies);
    assert_true(applies > 150);
    print_message("%d relus with bits\n", relus);
    assert_true(relus > 50);
}

/* On the CPU the backward phase does not read the result of a GELU between linear layers. */
static void test_gelu(void **state)
{
    struct device *dev = backend_cpu.open(&(const struct device_options){0});
    struct case_run run;
    int found = 0;

    (void)state;
    case_run_init(&run, row_named("linear gelu linear"), &backend_cpu, dev,
                  &(const struct case_options){0});
    check_graph(run.graph);
    activation_lower(run.graph);
    check_graph(run.graph);
    for (int i = 0; i < run.graph->nnode; i++) {
        const struct node *n = run.graph->node[i], *reader;

        if (activation_of(n) && n->phase == PHASE_FORWARD)
            for (int k = 0; (reader = tensor_reader(run.graph, n->out[0], k)); k++)
                assert_int_equal(reader->phase, PHASE_FORWARD);
        found += node_is_expr(n) && n->nout == 2;
    }
    assert_int_equal(found, 1);
    case_run_release(&run);
    backend_cpu.close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_gelu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
