/*
 * Attention and mixing within windows in bf16, with the loops of every instruction set of
 * this processor (a normal run might use only fp32 there) and with AMX tiles (in plain C
 * with tests/tiles/tiles.mk). Also checks that sums over windows do not depend on the
 * number of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/case_run.h"
#include "cpu/amx.h"
#include "cpu/backend.h"
#include "cpu/device.h"
#include "cpu/simd/attention_loops.h"
#include "ops/reference.h"
#include "tests/test.h"

static const struct loops *const tables[] = {
    &loops_base,
#ifdef __x86_64__
    &loops_avx2,
    &loops_avx512,
    &loops_avx512bf16,
#endif
};

/* Returns the rows of windows in order; NULL after the last. */
static const struct op_case *row_at(int i)
{
    const struct op_case *row;

    for (int k = 0; (row = op_case_at(k)); k++)
        if ((strstr(row->name, "attention") || strstr(row->name, "window_mix")) &&
            i-- == 0)
            return row;
    return NULL;
}

struct result {
    struct case_run run;
    struct case_values values;
};

static void run(struct result *r, const struct op_case *row,
                const struct backend *backend, struct device *dev,
                const struct case_options *o)
{
    case_run_init(&r->run, row, backend, dev, o);
    program_run(r->run.program);
    program_run(r->run.program);
    case_fetch(&r->run, &r->values);
}

static void release(struct result *r)
{
    case_values_release(&r->values);
    case_run_release(&r->run);
}

/* bf16 has 8 significant bits: a sum may be off by a few units of the last place. */
static void compare(const char *isa, const char *row, const struct case_value *want,
                    const struct case_value *got)
{
    double error = 0, norm = 0, max = 0, top = 0;

    assert_int_equal(got->n, want->n);
    for (int64_t i = 0; i < want->n; i++) {
        double e = (double)got->v[i] - (double)want->v[i];

        error += e * e;
        norm += (double)want->v[i] * (double)want->v[i];
        max = !(fabs(e) <= max) ? fabs(e) : max;
        top = fmax(top, fabs((double)want->v[i]));
    }
    if (!(error <= 4.0 / 512 / 512 * norm + 1e-12) || !(max <= 8.0 / 512 * top + 1e-6))
        fail_msg("%s: %s: %s: NMSE %g, largest error %g of %g", isa, row, want->name,
                 error / (norm + 1e-30), max, top);
}

static void compare_row(const struct op_case *row, const struct loops *loops, bool amx)
{
    struct device *ref = backend_ref.open(&(const struct device_options){0});
    struct device *dev = backend_cpu.open(&(const struct device_options){0});
    struct result want, got;

    dev->loops = loops;
    dev->amx = amx;
    run(&want, row, &backend_ref, ref, &(const struct case_options){.round = DTYPE_BF16});
    run(&got, row, &backend_cpu, dev,
        &(const struct case_options){.dtype = DTYPE_BF16, .round = DTYPE_BF16});
    assert_int_equal(got.values.n, want.values.n);
    for (int i = 0; i < want.values.n; i++)
        compare(amx ? "AMX" : loops->isa, row->name, &want.values.item[i],
                &got.values.item[i]);
    for (int i = 0; i < got.run.program->nregion; i++)
        assert_true(got.run.program->region[i]->kernel != &kernel_reference);
    release(&want);
    release(&got);
    backend_cpu.close(dev);
    backend_ref.close(ref);
}

static void test_bf16(void **state)
{
    const struct op_case *row;
    int rows = 0;

    (void)state;
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
        for (int i = 0; (row = row_at(i)); i++, rows++)
            compare_row(row, tables[t], false);
        if (tables[t] == loops_best())
            break;
    }
    assert_true(rows >= 21);
}

static void test_amx(void **state)
{
    const struct op_case *row;
    int rows = 0;

    (void)state;
    if (!amx_usable())
        skip();
    for (; (row = row_at(rows)); rows++)
        compare_row(row, loops_best(), true);
    assert_true(rows >= 21);
}

/*
 * Two tokens of different regions with equal scores: the masked one's weight, e^-100, must
 * vanish even if its value is almost the largest float.
 */
static void test_masked_weight(void **state)
{
    enum { HEAD = 16, LANES_MAX = 16 };
    static float scratch[8192] __attribute__((aligned(64)));
    static float qkv[2][3 * HEAD], y[2][HEAD], region[LANES_MAX] = {0, 1};
    static const int token[2] = {0, 1};

    (void)state;
    for (int c = 2 * HEAD; c < 3 * HEAD; c++) {
        qkv[0][c] = 1;
        qkv[1][c] = 1e38F;
    }
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
        struct attention a = {
            .t = DTYPE_F32,
            .tokens = 2,
            .queries = 2,
            .head = HEAD,
            .scale = 1,
            .pixel = token,
            .query = token,
            .row = 3 * (int64_t)HEAD,
            .channels = HEAD,
            .heads = 1,
            .qkv = qkv,
            .region = region,
            .y = y,
            .scratch = scratch,
        };

        tables[t]->attention->forward(&a);
        if (!(fabsf(y[0][0] - 1) < 1e-4F) || !(y[1][0] > 9e37F))
            fail_msg("%s: results %g and %g", tables[t]->isa, (double)y[0][0],
                     (double)y[1][0]);
        if (tables[t] == loops_best())
            break;
    }
}

static void check_threads(const struct case_options *o)
{
    const struct op_case *row;

    for (int i = 0; (row = row_at(i)); i++) {
        struct result one;
        struct device *dev =
            backend_cpu.open(&(const struct device_options){.threads = 1});

        run(&one, row, &backend_cpu, dev, o);
        for (int threads = 2; threads <= 7; threads += 5) {
            struct device *more =
                backend_cpu.open(&(const struct device_options){.threads = threads});
            struct result r;

            run(&r, row, &backend_cpu, more, o);
            for (int k = 0; k < one.values.n; k++)
                if (memcmp(one.values.item[k].v, r.values.item[k].v,
                           (size_t)one.values.item[k].n * sizeof(float)) != 0)
                    fail_msg("%s: %s depends on the number of threads", row->name,
                             one.values.item[k].name);
            release(&r);
            backend_cpu.close(more);
        }
        release(&one);
        backend_cpu.close(dev);
    }
}

static void test_threads(void **state)
{
    (void)state;
    check_threads(&(const struct case_options){0});
}

static void test_amx_threads(void **state)
{
    (void)state;
    if (!amx_usable())
        skip();
    check_threads(&(const struct case_options){.dtype = DTYPE_BF16});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_amx),
        cmocka_unit_test(test_masked_weight),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_amx_threads),
    };

#ifdef TILES_MODEL
    cmocka_set_test_filter("test_amx*");
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
