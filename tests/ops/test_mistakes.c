/* Errors that ops report when a graph is built, and the completeness of the table of
 * ops. */
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"
#include "ops/mix.h"
#include "ops/activation.h"
#include "ops/table.h"
#include "tests/child.h"
#include "tests/test.h"

struct mistake {
    const char *says;
    void (*make)(struct builder *b, struct tensor *x);
};

static void bad_kernel(struct builder *b, struct tensor *x)
{
    conv2d(b, x, "conv1", .out = 4, .kernel = 9);
}

static void bad_groups(struct builder *b, struct tensor *x)
{
    conv2d(b, x, "conv1", .out = 4, .kernel = 3, .groups = 2);
}

static void bad_stride(struct builder *b, struct tensor *x)
{
    conv2d(b, x, "conv1", .out = 4, .kernel = 3, .stride = -1);
}

static void bad_pool(struct builder *b, struct tensor *x)
{
    maxpool2d(b, x, "pool", .kernel = 2, .padding = 2);
}

static void bad_linear(struct builder *b, struct tensor *x)
{
    linear(b, x, "fc", .out = 10);
}

static void bad_limit(struct builder *b, struct tensor *x)
{
    relu(b, x, "act", .limit = 0.7f);
}

static void bad_rate(struct builder *b, struct tensor *x)
{
    dropout(b, x, "drop", .rate = 1);
}

static void bad_mix(struct builder *b, struct tensor *x)
{
    struct tensor *lam;
    int64_t bytes = 8;

    mix(b, x, graph_input(b, "control", DTYPE_U8, LAYOUT_PLAIN, 1, &bytes), &lam, "mix",
        .prob = 1);
}

static void twice(struct builder *b, struct tensor *x)
{
    x = batchnorm(b, x, "bn1");
    batchnorm(b, x, "bn1");
}

/* Too many values: their bytes or multiplications overflow int64. */
static void too_large(struct builder *b, struct tensor *x)
{
    x = graph_input(b, "large", DTYPE_F32, LAYOUT_IMAGE, 4,
                    (const int64_t[]){1 << 20, 3, 1 << 16, 1 << 16});
    conv2d(b, x, "conv1", .out = 2048, .kernel = 3);
}

static const struct mistake mistakes[] = {
    {"layer 'conv1': conv2d(2x3x4x4 fp32, 4x3x9x9 fp32): the kernel is larger",
     bad_kernel},
    {"the groups do not divide the channels", bad_groups},
    {"layer 'conv1': conv2d: stride_h must be in [1, 1024], not -1", bad_stride},
    {"the padding is more than half of the kernel", bad_pool},
    {"layer 'fc': linear(2x3x4x4 fp32, 10x3 fp32): an image must be pooled", bad_linear},
    {"the limit must be exact in 16-bit floats", bad_limit},
    {"rate must be in [0, 0.999], not 1", bad_rate},
    {"neither mixup nor cutmix is on", bad_mix},
    {"layer 'bn1' has two tensors named 'bn1.weight'", twice},
    {"layer 'conv1': conv2d(1048576x3x65536x65536 fp32, 2048x3x3x3 fp32): the result has",
     too_large},
    {NULL, NULL},
};

static void make(void *arg)
{
    const struct mistake *m = arg;
    struct graph *g = graph_new(&graph_ops_default, true);
    struct builder b = {.g = g};

    m->make(&b, graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4,
                            (const int64_t[]){2, 3, 4, 4}));
}

static void test_mistakes(void **state)
{
    (void)state;
    for (int i = 0; mistakes[i].says; i++) {
        struct mistake m = mistakes[i];

        check_dies(make, &m, m.says);
    }
}

static void test_table(void **state)
{
    int n = 0;

    (void)state;
    for (; op_table[n]; n++) {
        for (int i = 0; i < n; i++) /* names are unique */
            assert_string_not_equal(op_table[i]->name, op_table[n]->name);
        assert_non_null(op_table[n]->shape);
        assert_non_null(op_table[n]->ref);
    }
    assert_true(n >= 36);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
