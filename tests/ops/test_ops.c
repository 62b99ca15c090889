/*
 * The op table: every row on every backend, in every supported dtype, compared with the
 * fp32 reference. Comparisons are written so that a NaN fails them, and the test counts
 * what it compared. The reference itself is checked by test_differences.c (its gradients)
 * and by the tests of whole models against PyTorch.
 *
 *   TEST_BACKENDS="cuda"  backends by name; default: all that this machine has
 *   TEST_VALUES=FILE      writes a hash of each result, to compare two runs bit for bit
 *   TEST_DETERMINISTIC=1  without engines whose results depend on what ran before
 *   TEST_FILTER="*name"   some tests of this program only
 *   TEST_DTYPES=bf16      also a type that the device has no instructions for: the CPU's
 *                         loops for AVX2 support it
 *   TEST_ONLY_DTYPE=fp32  only this type, or these ("fp32 bf16"); then fewer values are
 *                         compared
 *   TEST_DEBUG=1          also prints the cuDNN engines that were rejected
 *   TEST_NCCL=1           also rows for which GPUs need NCCL
 *   TEST_ROWS="relu*"     some rows only; TEST_AFTER=relu those after one
 *                         (tests/ops/backends.h)
 *   TEST_ROW_LOG=FILE     holds the name of the current row
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/log.h"
#include "cases/case_run.h"
#include "cpu/backend.h"
#include "cpu/device.h"
#include "cpu/kernel_table.h"
#include "graph/collective.h"
#include "graph/flat.h"
#include "ops/reference.h"
#include "session/devices.h"
#include "tests/ops/backends.h"
#include "tests/ops/nan_trace.h"
#include "tests/ops/tolerance.h"
#include "tests/ops/wanted.h"
#include "tests/test.h"

struct tally {
    int rows, values, nans, wrong, derived;
    bool tiles; /* the device multiplies tiles of AMX */
};

/* TEST_DETERMINISTIC=1 */
static bool deterministic(void)
{
    const char *value = getenv("TEST_DETERMINISTIC");

    return value && !strcmp(value, "1");
}

/* `forward`: the value is an output of the row, not a gradient or a result of an
 * update. */
static void compare_value(const struct op_case *row, enum dtype d, const char *who,
                          const struct case_value *want, const struct case_value *got,
                          bool forward, struct tally *t)
{
    double error = 0, norm = 0, max = 0, top = 0;
    bool nan_alike = true;
    bool spreads = row->nan_spreads || (row->nan_spreads_on_tiles && t->tiles);

    if (got->n != want->n) {
        print_error("%s: %s: %s has %lld elements, not %lld\n", who, row->name,
                    want->name, (long long)got->n, (long long)want->n);
        t->wrong++;
        return;
    }
    for (int64_t i = 0; i < want->n; i++) {
        double w = want->v[i], e = got->v[i] - w;

        nan_alike &= isnan(want->v[i]) ? isnan(got->v[i]) : spreads || !isnan(got->v[i]);
        t->nans += isnan(want->v[i]);
        t->values++;
        if (isnan(w) || (spreads && isnan(e)))
            continue;
        error += e * e;
        norm += w * w;
        max = fabs(e) > max || isnan(e) ? fabs(e) : max;
        top = fabs(w) > top ? fabs(w) : top;
    }
    if (!nan_alike ||
        !(error <= tolerance_nmse(row, d, t->tiles, forward) * norm + 1e-12) ||
        !(max <= tolerance_max(row, d, forward) * top + 1e-6)) {
        print_error("%s: %s: %s: NMSE %g, largest error %g of %g%s\n", who, row->name,
                    want->name, error / (norm + 1e-30), max, top,
                    nan_alike ? "" : ", NaN in other places");
        t->wrong++;
    }
}

/* Fills with NaN the memory whose old contents no step may use. */
static void forget(struct case_run *r)
{
    static const enum memory memory[] = {MEMORY_ARENA, MEMORY_OUTPUT};

    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
        size_t size = program_need(r->program, memory[i]);
        char *nan = malloc(size + 1);

        memset(nan, 0xff, size);
        if (size)
            r->backend->copy_in(r->dev, r->base[memory[i]], nan, size);
        free(nan);
    }
}

/* Runs twice, with NaN in the arena in between, to detect a step that relies on results
 * of the first run or does not write all of its results. */
static void run_row(const struct op_case *row, const struct backend *backend,
                    struct device *dev, const struct case_options *o, struct case_run *r,
                    struct case_values *v)
{
    case_run_init(r, row, backend, dev, o);
    program_run(r->program);
    forget(r);
    program_run(r->program);
    case_fetch(r, v);
}

/* True if say_fallbacks() has already reported this op; records that it has. */
static bool said(const struct backend *backend, const struct op *op)
{
    static struct {
        const struct backend *backend;
        const struct op *op;
    } seen[256];
    static int n;

    for (int i = 0; i < n; i++)
        if (seen[i].backend == backend && seen[i].op == op)
            return true;
    assert_true(n < 256);
    seen[n].backend = backend;
    seen[n++].op = op;
    return false;
}

/* Prints once why a backend leaves an op to the reference. */
static void say_fallbacks(const struct case_run *r)
{
    const struct program *p = r->program;

    for (int i = 0; i < p->nregion && r->backend != &backend_ref; i++) {
        const struct node *n = p->region[i]->anchor;

        if (p->region[i]->kernel != &kernel_reference || said(r->backend, n->op))
            continue;
        print_message("%s: %s falls to the reference, in row '%s':\n", r->backend->name,
                      n->op->name, r->row->name);
        for (int k = 0; k < p->ndecline; k++)
            if (p->decline[k].node == n)
                print_message("    %s: %s\n", p->decline[k].kernel->name,
                              p->decline[k].reason);
    }
}

/* TEST_VALUES: a hash per result, to compare runs that must give the same bits. */
static void write_hashes(const char *who, const struct op_case *row,
                         const struct case_values *v)
{
    static FILE *dst;

    if (!dst && getenv("TEST_VALUES"))
        dst = fopen(getenv("TEST_VALUES"), "w");
    for (int i = 0; dst && i < v->n; i++)
        (void)fprintf(dst, "%s: %s: %s %016llx\n", who, row->name, v->item[i].name,
                      (unsigned long long)XXH3_64bits(v->item[i].v, (size_t)v->item[i].n *
                                                                        sizeof(float)));
    if (dst)
        (void)fflush(dst);
}

/* After an update, the packed weights must equal the new weights when packed. */
static void check_derived(const struct case_run *r, struct tally *t)
{
    size_t size = program_need(r->program, MEMORY_DERIVED);
    char *left = calloc(1, size + 1), *packed = calloc(1, size + 1);

    if (size && r->row->update) {
        r->backend->copy_out(r->dev, left, r->base[MEMORY_DERIVED], size);
        program_refresh(r->program);
        r->backend->copy_out(r->dev, packed, r->base[MEMORY_DERIVED], size);
        t->derived++;
    }
    if (memcmp(left, packed, size) != 0) {
        print_error("%s: %s: derived weights are not those of the weights\n",
                    r->backend->name, r->row->name);
        t->wrong++;
    }
    free(left);
    free(packed);
}

static void note_row(const struct op_case *row)
{
    const char *path = getenv("TEST_ROW_LOG");
    FILE *dst = path ? fopen(path, "w") : NULL;

    if (dst) {
        (void)fprintf(dst, "%s\n", row->name);
        (void)fclose(dst);
    }
}

static void trace_nan(const struct op_case *row, const struct case_options *o,
                      const struct case_run *got)
{
    struct case_run want;

    wanted_run(&want, row, o);
    nan_trace(&want, got);
    case_run_release(&want);
}

static void compare_row(const struct op_case *row, const struct backend *backend,
                        struct device *dev, const struct case_options *o, struct tally *t)
{
    const struct wanted *want = wanted(row, o);
    struct case_run run;
    struct case_values got;
    int wrong = t->wrong;
    char who[64];

    (void)snprintf(who, sizeof(who), "%s %s%s%s", backend->name, dtype_name(o->dtype),
                   o->mixed ? " O1" : "", o->nan ? " NaN" : "");
    run_row(row, backend, dev, o, &run, &got);
    if (!o->nan)
        say_fallbacks(&run);
    write_hashes(who, row, &got);
    t->rows++;
    if (want->values.n != got.n) {
        print_error("%s: %s: %d results, not %d\n", who, row->name, got.n,
                    want->values.n);
        t->wrong++;
    }
    for (int i = 0; i < want->values.n && i < got.n; i++)
        compare_value(row, o->dtype, who, &want->values.item[i], &got.item[i],
                      i < want->nout, t);
    if (t->wrong > wrong && o->nan)
        trace_nan(row, o, &run);
    check_derived(&run, t);
    case_values_release(&got);
    case_run_release(&run);
}

/* True if the backend can share statistics, or if the row does not. GPUs need NCCL, which
 * creates a group of one GPU if TEST_NCCL is set. */
static bool has_group(const struct op_case *row, const struct backend *backend)
{
    bool host = backend == &backend_ref || backend == &backend_cpu;

    return !row->norms || host || (row->norms->devices && getenv("TEST_NCCL"));
}

static void compare_dtype(const struct backend *backend, struct device *dev, enum dtype d,
                          struct tally *all)
{
    struct tally plain = {.tiles = all->tiles}, nan = plain;
    const struct op_case *row;

    for (int i = 0; (row = op_case_at(i)); i++) {
        int nans = nan.nans;

        if (!row_wanted(row) || !has_group(row, backend))
            continue;
        note_row(row);
        compare_row(row, backend, dev,
                    &(const struct case_options){.dtype = d, .round = d}, &plain);
        if (row->slow)
            continue;
        if (row->chain && d != DTYPE_F32)
            compare_row(
                row, backend, dev,
                &(const struct case_options){.dtype = d, .round = d, .mixed = true},
                &plain);
        compare_row(row, backend, dev,
                    &(const struct case_options){.dtype = d, .round = d, .nan = true},
                    &nan);
        if (nan.nans == nans && !row->no_nan) {
            print_error("%s: the reference loses a NaN\n", row->name);
            nan.wrong++;
        }
    }
    print_message("%s %s: %d rows, %d values; with NaN %d rows, %d NaNs\n", backend->name,
                  dtype_name(d), plain.rows, plain.values, nan.rows, nan.nans);
    if (plain.nans) {
        print_error("%d NaNs without one in the input\n", plain.nans);
        all->wrong++;
    }
    all->rows += plain.rows + nan.rows;
    all->values += plain.values;
    all->nans += nan.nans;
    all->wrong += plain.wrong + nan.wrong;
    all->derived += plain.derived;
}

static bool left_out(enum dtype d)
{
    const char *only = getenv("TEST_ONLY_DTYPE");

    return (only && !strstr(only, dtype_name(d))) || (tolerance_tf32() && d != DTYPE_F32);
}

static bool asked_for(enum dtype d)
{
    const char *names = getenv("TEST_DTYPES");

    return names && strstr(names, dtype_name(d));
}

static void compare_dtypes(const struct backend *backend, struct device *dev,
                           struct tally *all)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    struct tally t = {.tiles = backend == &backend_cpu && dev->amx};
    bool one = tolerance_tf32() || getenv("TEST_ONLY_DTYPE");

    for (int k = 0; k < 3; k++)
        if (left_out(dtypes[k]))
            continue;
        else if (asked_for(dtypes[k]) || backend->has_dtype(dev, dtypes[k]))
            compare_dtype(backend, dev, dtypes[k], &t);
        else
            print_message("%s does not take %s\n", backend->name, dtype_name(dtypes[k]));
    assert_enough(t.derived > 0 || backend == &backend_ref || tolerance_tf32());
    assert_enough(t.rows > (one ? 60 : 110) && t.values > 20000 && t.nans > 600);
    all->rows += t.rows;
    all->wrong += t.wrong;
}

static void test_backend(const struct backend *backend, struct tally *all)
{
    struct device *dev = backend->open(&(const struct device_options){
        .tf32 = tolerance_tf32(), .deterministic = deterministic()});

    print_message("%s: %s\n", backend->name, backend->describe(dev));
    compare_dtypes(backend, dev, all);
    backend->close(dev);
}

static void test_backends(void **state)
{
    struct tally all = {0};

    (void)state;
    for (int i = 0; device_at(i); i++)
        if (backend_wanted(device_at(i)))
            test_backend(device_at(i), &all);
    assert_int_equal(all.wrong, 0);
    assert_enough(all.rows > 0);
}

/*
 * Tests the loops of processors with fewer instruction sets than this one, and its own
 * without AMX. `streamed`: all loops with non-temporal stores, as without a cache; with
 * TEST_NO_SLOW only its own.
 */
static void check_loops(bool streamed)
{
    static const struct loops *const tables[] = {
        &loops_base, /* from oldest to newest */
#ifdef __x86_64__
        &loops_avx2,
        &loops_avx512,
        &loops_avx512bf16,
#endif
    };
    struct tally all = {0};
    bool best = false;

    if (!backend_wanted(&backend_cpu) || tolerance_tf32())
        skip();
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !best; i++) {
        struct device *dev = backend_cpu.open(&(const struct device_options){0});

        best = tables[i] == dev->loops;
        if (streamed ? best || !getenv("TEST_NO_SLOW") : !best || dev->amx) {
            dev->loops = tables[i];
            dev->amx &= best && streamed;
            dev->cache = streamed ? 0 : dev->cache;
            print_message("cpu: loops for %s%s\n", tables[i]->isa,
                          streamed ? ", non-temporal stores" : "");
            compare_dtypes(&backend_cpu, dev, &all);
        }
        backend_cpu.close(dev);
    }
    assert_int_equal(all.wrong, 0);
}

static void test_loops(void **state)
{
    (void)state;
    check_loops(false);
}

static void test_loops_streamed(void **state)
{
    (void)state;
    check_loops(true);
}

/* ---- kernels that the rules of the CPU do not choose ---- */

static bool has_layer(const struct op_case *row)
{
    return strstr(row->name, "conv") || strstr(row->name, "linear");
}

static void force_choice(const char *name, struct tally *t)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16};
    struct device *dev = backend_cpu.open(&(const struct device_options){0});
    const struct op_case *row;

    kernel_table_force(dev->table, name);
    t->tiles = dev->amx;
    for (int k = 0; k < 2; k++)
        for (int i = 0; (row = op_case_at(i)); i++)
            if (row_wanted(row) && has_layer(row) && !left_out(dtypes[k]) &&
                backend_cpu.has_dtype(dev, dtypes[k]))
                compare_row(
                    row, &backend_cpu, dev,
                    &(const struct case_options){.dtype = dtypes[k], .round = dtypes[k]},
                    t);
    backend_cpu.close(dev);
}

static void test_choices(void **state)
{
    struct tally t = {0};

    (void)state;
    if (!backend_wanted(&backend_cpu) || tolerance_tf32())
        skip();
    force_choice("amx", &t);
    force_choice("gemm", &t);
    force_choice(KERNEL_TABLE_LIBRARY, &t);
    print_message("%d rows, %d values\n", t.rows, t.values);
    assert_int_equal(t.wrong, 0);
    assert_enough(t.rows > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_loops_streamed),
        cmocka_unit_test(test_choices),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    if (getenv("TEST_DEBUG"))
        log_level_set(LOG_DEBUG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
