/*
 * Measured choices of kernels: a choice moves a layer to another kernel, without one the
 * bits are those of the rules, choices survive a file and a checkpoint, and invalid ones
 * are ignored.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "base/log.h"
#include "cases/case_run.h"
#include "cpu/backend.h"
#include "cpu/device.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

enum { LAYERS = 8, KEY = 200 };

static char folder[] = "/tmp/trainc-test-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* The candidates of a row's layers, by key, and a sum over its results. */
struct layers {
    int n;
    char key[LAYERS][KEY];
    const char *candidate[LAYERS];
    double sum;
};

static struct layers run_row(struct device *dev, const char *name)
{
    struct layers l = {0};
    struct case_run run;
    struct case_values got;

    case_run_init(&run, row_named(name), &backend_cpu, dev, &(struct case_options){0});
    program_run(run.program);
    case_fetch(&run, &got);
    for (int i = 0; i < got.n; i++)
        for (int64_t k = 0; k < got.item[i].n; k++)
            l.sum += (double)got.item[i].v[k] * (double)(1 + k % 7);
    for (int i = 0; i < run.program->nregion; i++) {
        const struct region *r = run.program->region[i];

        for (int k = 0; k < r->nnode; k++) {
            char *key = kernel_table_key(r->node[k]);

            if (!key)
                continue;
            assert_true(l.n < LAYERS && strlen(key) < KEY);
            l.candidate[l.n] = cpu_kernel_candidate(r->kernel);
            memcpy(l.key[l.n++], key, strlen(key) + 1);
            free(key);
        }
    }
    case_values_release(&got);
    case_run_release(&run);
    assert_true(l.n > 0);
    return l;
}

/* Fails unless a device with these options has n choices. */
static void expect_choices(const struct device_options *o, int n)
{
    struct device *dev = backend_cpu.open(o);

    assert_int_equal(kernel_table_size(dev->table), n);
    backend_cpu.close(dev);
}

static const struct device_options cached = {.cache = folder};

/* Returns a name that is not the rule's and that the row's layers take. */
static const char *other_name(struct device *dev, const char *row, const char *rule)
{
    for (int i = 0; kernel_table_names[i]; i++) {
        struct layers l;

        if (!strcmp(kernel_table_names[i], rule))
            continue;
        kernel_table_force(dev->table, kernel_table_names[i]);
        l = run_row(dev, row);
        kernel_table_force(dev->table, NULL);
        if (l.candidate[0] && !strcmp(l.candidate[0], kernel_table_names[i]))
            return kernel_table_names[i];
    }
    return NULL;
}

/* Stores the choice of another kernel for the row's first layer, and checks all ways to
 * read it. Returns false if there is only one kernel. */
static bool check_choice(const char *row)
{
    struct device *dev = backend_cpu.open(&cached);
    struct layers rule = run_row(dev, row), got;
    const char *other =
        rule.candidate[0] ? other_name(dev, row, rule.candidate[0]) : NULL;
    char *path, *text;

    if (!other) {
        print_message("%s: one kernel only\n", row);
        backend_cpu.close(dev);
        return false;
    }
    assert_int_equal(kernel_table_size(dev->table), 0);
    assert_null(backend_cpu.choices(dev));
    kernel_table_set(dev->table, rule.key[0], other);
    path = xstrdup(kernel_table_store(dev->table));
    text = backend_cpu.choices(dev);
    assert_non_null(text);
    backend_cpu.close(dev);

    for (int way = 0; way < 2; way++) { /* the file, the checkpoint */
        dev = backend_cpu.open(way ? &(struct device_options){.kernels = text} : &cached);
        assert_int_equal(kernel_table_size(dev->table), 1);
        assert_non_null(strstr(backend_cpu.describe(dev), "tuned for 1 shape"));
        got = run_row(dev, row);
        assert_string_equal(got.candidate[0], other);
        for (int i = 1; i < got.n; i++)
            assert_true(!strcmp(got.key[i], got.key[0]) ||
                        got.candidate[i] == rule.candidate[i]);
        backend_cpu.close(dev);
    }
    /* neither where it is ignored, nor after a checkpoint without choices, nor in the
     * default */
    for (int way = 0; way < 3; way++) {
        dev = backend_cpu.open(
            way == 0   ? &(struct device_options){.cache = folder, .deterministic = true}
            : way == 1 ? &(struct device_options){.cache = folder, .kernels = ""}
                       : &(struct device_options){0});
        assert_int_equal(kernel_table_size(dev->table), 0);
        assert_null(strstr(backend_cpu.describe(dev), "tuned"));
        got = run_row(dev, row);
        assert_ptr_equal(got.candidate[0], rule.candidate[0]);
        assert_memory_equal(&got.sum, &rule.sum, sizeof(got.sum));
        backend_cpu.close(dev);
    }
    assert_int_equal(unlink(path), 0);
    free(path);
    free(text);
    print_message("%s: %s instead of %s\n", row, other, rule.candidate[0]);
    return true;
}

static void test_choices(void **state)
{
    int chosen = check_choice("linear tokens wide") + check_choice("conv2d 1x1 wide") +
                 check_choice("conv2d 1x1 s2 wide");

    (void)state;
    assert_true(loops_best()->lanes < 8 || chosen == 3); /* our GEMMs need AVX2 */
}

/* A flipped bit anywhere, another processor, an unknown kernel: never half a table. */
static void test_invalid(void **state)
{
    struct device *dev = backend_cpu.open(&cached);
    const char *stored;
    char *path, *text;
    size_t len = 0;

    (void)state;
    kernel_table_set(dev->table, "linear fp32 8x8 to 8", "gemm");
    kernel_table_set(dev->table, "linear fp32 8x8 to 16", KERNEL_TABLE_LIBRARY);
    stored = kernel_table_store(dev->table);
    path = xstrdup(stored);
    backend_cpu.close(dev);
    text = file_read(path, &len);
    for (size_t i = 0; i < len; i += 7) {
        int n;

        text[i] ^= 2;
        assert_int_equal(atomic_write_out(path, text, len), 0);
        dev = backend_cpu.open(&cached);
        n = kernel_table_size(dev->table);
        assert_true(n == 0 || n == 2); /* 2: the bit was in white space */
        backend_cpu.close(dev);
        text[i] ^= 2;
    }
    assert_int_equal(truncate(path, (off_t)len / 2), 0);
    dev = backend_cpu.open(&cached);
    assert_int_equal(kernel_table_size(dev->table), 0);
    kernel_table_set(dev->table, "linear fp32 8x8 to 8", "fastest");
    (void)kernel_table_store(dev->table);
    backend_cpu.close(dev);
    expect_choices(&cached, 0);
    assert_int_equal(unlink(path), 0);
    free(text);
    free(path);
}

static void test_foreign_checkpoint(void **state)
{
    static const char *const texts[] = {
        "{",
        "[]",
        "{\"key\": 1}",
        "{\"key\": \"another processor\", \"choices\": {\"linear fp32 8x8 to 8\": "
        "\"gemm\"}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        expect_choices(&(struct device_options){.cache = folder, .kernels = texts[i]}, 0);
    }
}

/* Choices of other networks stay, and a choice can be withdrawn. */
static void test_kept(void **state)
{
    struct device *dev = backend_cpu.open(&cached);
    char *path;

    (void)state;
    kernel_table_set(dev->table, "linear fp32 8x8 to 8", "gemm");
    kernel_table_set(dev->table, "linear fp32 8x8 to 16", "gemm");
    (void)kernel_table_store(dev->table);
    backend_cpu.close(dev);
    dev = backend_cpu.open(&cached);
    kernel_table_set(dev->table, "linear fp32 8x8 to 8", NULL);
    kernel_table_set(dev->table, "linear bf16 8x8 to 8", "amx");
    path = xstrdup(kernel_table_store(dev->table));
    backend_cpu.close(dev);
    expect_choices(&cached, 2);
    assert_int_equal(unlink(path), 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_foreign_checkpoint),
        cmocka_unit_test(test_kept),
    };

    log_level_set(LOG_ERROR);
    return cmocka_run_group_tests(tests, setup, teardown);
}
