/*
 * Residual sums that the GPU's layer norms include (cuda/residual.h), or that include a
 * layer scale and a drop path (cuda/residual_sum.cu, cuda/layer_scale_grad.cu): they are
 * fused wherever the op table has them, and every result has the same bits as with
 * separate kernels (CUDNN.FUSE False).
 */
#include <string.h>

#include "cases/case_run.h"
#include "session/devices.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

static const char norms[] = "residual norms", sums[] = "residual sums",
                  streams[] = "residual stream";

static bool begins(const struct op_case *row, const char *prefix)
{
    return !strncmp(row->name, prefix, strlen(prefix));
}

/* Returns the number of program steps that use this kernel. */
static int steps_of(const struct case_run *r, const char *kernel)
{
    int n = 0;

    for (int i = 0; i < r->program->nregion; i++)
        n += !strcmp(r->program->region[i]->kernel->name, kernel);
    return n;
}

static void run_row(const struct op_case *row, const struct backend *backend,
                    struct device *dev, const struct case_options *o, struct case_run *r,
                    struct case_values *v)
{
    case_run_init(r, row, backend, dev, o);
    program_run(r->program);
    case_fetch(r, v);
}

/* The sum takes everything before it, and gamma's gradient the drop_path's. */
static void check_sums(const struct case_run *fused, const struct case_run *apart)
{
    bool training = !fused->row->inference, scales = fused->row->small.out > 0;
    bool drops = training && steps_of(apart, "cuda dropout") > 0;

    assert_int_equal(steps_of(fused, "cuda residual sum"), drops || scales);
    assert_int_equal(steps_of(fused, "cuda add"),
                     steps_of(apart, "cuda add") - (drops || scales));
    assert_int_equal(steps_of(fused, "cuda layer_scale gradients"), training && scales);
    assert_int_equal(steps_of(fused, "cuda layer_scale"), 0);
    assert_int_equal(steps_of(apart, "cuda layer_scale"),
                     scales ? (training ? 2 : 1) : 0);
    assert_int_equal(steps_of(fused, "cuda dropout"), drops && !scales);
}

/* The last drop_path's gradient reads only the norm's dx, so it remains a step. */
static void check_norms(const struct case_run *fused, const struct case_run *apart)
{
    bool training = !fused->row->inference;
    int drops = steps_of(apart, "cuda dropout");

    assert_int_equal(steps_of(fused, "cuda add"), 0);
    assert_int_equal(steps_of(apart, "cuda add"), training ? 4 : 2);
    assert_int_equal(steps_of(fused, "cuda dropout"), drops ? 1 : 0);
    assert_true(drops == 0 || drops == 4);
}

/* At level O1, casts between the fp32 sums and the 16-bit branches are fused, too. What
 * remains: of the seed, around the gradient of the last norm, whose input has no other
 * reader. Rows with an fp32 branch only compare bits. */
static void check_streams(const struct case_run *fused, const struct case_run *apart)
{
    bool training = !fused->row->inference, half = dtype_is_half(fused->options.dtype);
    int scales = fused->row->small.out > 0 ? 2 : 0;
    int drops = steps_of(apart, "cuda dropout");

    if (fused->row->small.out >= 2)
        return;
    assert_int_equal(steps_of(fused, "cuda cast"),
                     half && training ? (scales ? 2 : 3) : 0);
    assert_true(steps_of(apart, "cuda cast") >= (half ? 5 : 0));
    assert_int_equal(steps_of(fused, "cuda add"), 0);
    assert_int_equal(steps_of(apart, "cuda add"), training ? 4 : 2);
    assert_int_equal(steps_of(fused, "cuda layer_scale"), 0);
    assert_int_equal(steps_of(fused, "cuda layer_scale gradients"), training ? scales : 0);
    assert_int_equal(steps_of(fused, "cuda dropout"), drops && !scales ? 1 : 0);
}

static int compare_row(const struct op_case *row, const struct backend *backend,
                       struct device *const dev[2], const struct case_options *o)
{
    struct case_run run[2];
    struct case_values v[2];
    int wrong = 0;

    for (int i = 0; i < 2; i++)
        run_row(row, backend, dev[i], o, &run[i], &v[i]);
    (begins(row, norms)     ? check_norms
     : begins(row, streams) ? check_streams
                            : check_sums)(&run[0], &run[1]);
    assert_int_equal(v[0].n, v[1].n);
    for (int i = 0; i < v[0].n; i++) {
        const struct case_value *a = &v[0].item[i], *b = &v[1].item[i];
        int64_t k = 0;

        assert_true(a->n == b->n && a->n > 0);
        while (k < a->n && !memcmp(&a->v[k], &b->v[k], sizeof(float)))
            k++;
        if (k == a->n)
            continue;
        print_error("%s %s: %s[%lld] is %.9g, and %.9g apart\n", dtype_name(o->dtype),
                    row->name, a->name, (long long)k, (double)a->v[k], (double)b->v[k]);
        wrong++;
    }
    for (int i = 0; i < 2; i++) {
        case_values_release(&v[i]);
        case_run_release(&run[i]);
    }
    return wrong;
}

static void test_bits(void **state)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    const struct backend *backend = NULL;
    const struct op_case *row;
    struct device *dev[2];
    int rows = 0, wrong = 0;

    (void)state;
    for (int i = 0; device_at(i); i++)
        if (!strcmp(device_at(i)->name, "cuda") && backend_wanted(device_at(i)))
            backend = device_at(i);
    if (!backend)
        skip();
    dev[0] = backend->open(&(const struct device_options){0});
    dev[1] = backend->open(&(const struct device_options){.apart = true});
    for (int i = 0; (row = op_case_at(i)); i++)
        for (int k = 0; k < 3 && row_wanted(row); k++)
            if (begins(row, norms) || begins(row, sums) || begins(row, streams)) {
                struct case_options o = {.dtype = dtypes[k], .mixed = begins(row, streams)};

                wrong += compare_row(row, backend, dev, &o);
                rows++;
            }
    backend->close(dev[0]);
    backend->close(dev[1]);
    assert_enough(rows >= 81);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
