/* The rows of the op table as benchmarks (cases/op_bench.h). */
#include <string.h>

#include "cases/case_run.h"
#include "cases/op_bench.h"
#include "ops/reference.h"
#include "tests/test.h"

static void note_time(const struct op_time *t, void *arg)
{
    double *bytes = arg;

    assert_true(t->seconds > 0 && t->seconds < 1);
    *bytes += t->bytes;
}

static void test_bytes(void **state)
{
    struct device *dev = backend_ref.open(&(const struct device_options){0});
    const struct op_case *row;
    double bytes = 0;
    int i = 0;

    (void)state;
    while ((row = op_case_at(i)) && strcmp(row->name, "cross_entropy") != 0)
        i++;
    assert_non_null(row);
    op_bench(row, &backend_ref, dev,
             &(struct case_options){.bench = true, .dtype = DTYPE_F32}, 0, note_time,
             &bytes);
    backend_ref.close(dev);
    /* logits, read twice, and their gradient; labels and loss are negligible */
    assert_true(bytes >= 3 * 256e3 * 4 && bytes < 3.1 * 256e3 * 4);
}

/* A row whose benchmark has other channels than its attributes allow would end the program. */
static void test_sizes(void **state)
{
    static const struct case_options large = {.bench = true};
    const struct op_case *row;
    int rows = 0;

    (void)state;
    for (; (row = op_case_at(rows)); rows++) {
        struct case_run r;

        if (!row->bench.dim[0])
            continue;
        case_run_build(&r, row, &backend_ref, NULL, &large);
        assert_true(r.graph->nnode > 0);
        case_run_release(&r);
    }
    assert_true(rows > 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
