/* Results of the emulated cuBLASLt against plain loops. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "tests/emulator/libraries/cublaslt_matmul.h"
#include "tests/test.h"

static float get(int index, int i, cudaDataType_t t)
{
    const void *p = lt_memory[index];

    return t == CUDA_R_32F   ? ((const float *)p)[i]
           : t == CUDA_R_16F ? fp16_to_float(((const uint16_t *)p)[i])
                             : bf16_to_float(((const uint16_t *)p)[i]);
}

static void put(int index, int i, cudaDataType_t t, float v)
{
    void *p = lt_memory[index];

    if (t == CUDA_R_32F)
        ((float *)p)[i] = v;
    else
        ((uint16_t *)p)[i] = t == CUDA_R_16F ? fp16_from_float(v) : bf16_from_float(v);
}

static int element(const struct lt_problem *p, int batch, int row, int col)
{
    return batch * LD * 16 + (p->row ? row * LD + col : col * LD + row);
}

static void fill(const struct lt_problem *p)
{
    for (int i = 0; i < MOST; i++) {
        put(A, i, p->type, (float)(i * 7 % 9 - 4));
        put(B, i, p->type, (float)(i * 5 % 7 - 3));
        put(C, i, p->out, (float)(i % 3 - 1));
        put(D, i, p->out, NAN);
        put(BIAS, i, p->out, (float)(i % 5 - 2));
        put(AUX, i, p->out, (float)(i % 11) / 4 - 1);
    }
}

static double gelu(double x)
{
    return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* by a difference quotient, unlike the library */
static double gelu_slope(double x)
{
    return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
}

static double dot(const struct lt_problem *p, int batch, int m, int n)
{
    double sum = 0;

    for (int k = 0; k < K; k++)
        sum += (double)get(A, p->ta ? element(p, batch, k, m) : element(p, batch, m, k),
                           p->type) *
               (double)get(B, p->tb ? element(p, batch, n, k) : element(p, batch, k, n),
                           p->type);
    return (double)p->alpha * sum +
           (double)p->beta * (double)get(C, element(p, batch, m, n), p->out);
}

static double expected(const struct lt_problem *p, int batch, int m, int n)
{
    double v = dot(p, batch, m, n);
    int e = p->epilogue;

    if (e & CUBLASLT_EPILOGUE_BIAS)
        v += (double)((batch * 16 + m) % 5 - 2);
    if (e == CUBLASLT_EPILOGUE_RELU_BIAS)
        return v > 0 ? v : 0;
    if (e == CUBLASLT_EPILOGUE_GELU_BIAS || e == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
        return gelu(v);
    if (e == CUBLASLT_EPILOGUE_DGELU_BGRAD)
        return v * gelu_slope((double)((batch * LD * 16 + n * LD + m) % 11) / 4 - 1);
    return v;
}

static void check(const struct lt_problem *p, const char *what)
{
    double tolerance = p->out == CUDA_R_32F ? 1e-4 : p->out == CUDA_R_16F ? 5e-3 : 4e-2;
    cublasStatus_t s;

    fill(p);
    s = lt_run(p);
    if (s)
        fail_msg("%s: status %d", what, (int)s);
    for (int batch = 0; batch < p->batch; batch++)
        for (int i = 0; i < M * N; i++) {
            double want = expected(p, batch, i % M, i / M);
            double got = (double)get(D, element(p, batch, i % M, i / M), p->out);

            if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
                fail_msg("%s: batch %d, (%d, %d) is %g, not %g", what, batch, i % M,
                         i / M, got, want);
        }
    assert_true(
        isnan(get(D, element(p, 0, M, N), p->out))); /* only the matrix is written */
}

static void check_one(struct lt_problem p, const char *what)
{
    check(&p, what);
}

static void test_products(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        check_one(PROBLEM(.ta = i & 1, .tb = i & 2, .row = i & 4), "plain");
    check_one(PROBLEM(.alpha = 0.5f, .beta = 2), "alpha, beta");
    check_one(PROBLEM(.batch = BATCH, .tb = true), "batch");
    check_one(PROBLEM(.type = CUDA_R_16F, .out = CUDA_R_16F), "half");
    check_one(PROBLEM(.type = CUDA_R_16BF, .out = CUDA_R_16BF), "bfloat16");
    check_one(PROBLEM(.type = CUDA_R_16BF), "bfloat16 to float");
}

static void test_epilogues(void **state)
{
    static const int epilogues[] = {
        CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS,
        CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU_BGRAD};

    (void)state;
    for (int i = 0; i < 5; i++)
        check_one(
            PROBLEM(.epilogue = epilogues[i], .batch = BATCH, .ta = true, .alpha = 0.25f),
            "epilogue");
    check_one(PROBLEM(.epilogue = CUBLASLT_EPILOGUE_BIAS, .type = CUDA_R_16F,
                      .out = CUDA_R_16F),
              "half bias");
}

/* additional results of the epilogues */
static void test_second_results(void **state)
{
    const struct lt_problem aux = PROBLEM(.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
    const struct lt_problem grad = PROBLEM(.epilogue = CUBLASLT_EPILOGUE_DGELU_BGRAD);
    const struct lt_problem sum_a =
        PROBLEM(.epilogue = CUBLASLT_EPILOGUE_BGRADA, .ta = true);
    const struct lt_problem sum_b = PROBLEM(.epilogue = CUBLASLT_EPILOGUE_BGRADB);

    (void)state;
    check(&aux, "aux");
    for (int i = 0; i < M * N; i++)
        assert_true(get(AUX, element(&aux, 0, i % M, i / M), CUDA_R_32F) ==
                    (float)(dot(&aux, 0, i % M, i / M) + i % M % 5 - 2));
    check(&grad, "bias gradient");
    for (int m = 0; m < M; m++) {
        double sum = 0;

        for (int n = 0; n < N; n++)
            sum += expected(&grad, 0, m, n);
        assert_true(fabs((double)get(BIAS, m, CUDA_R_32F) - sum) <= 1e-3);
    }
    check(&sum_a, "sums of A");
    for (int m = 0; m < M; m++) {
        float sum = 0;

        for (int k = 0; k < K; k++)
            sum += get(A, element(&sum_a, 0, k, m), CUDA_R_32F);
        assert_true(get(BIAS, m, CUDA_R_32F) == sum);
    }
    check(&sum_b, "sums of B");
    for (int n = 0; n < N; n++) {
        float sum = 0;

        for (int k = 0; k < K; k++)
            sum += get(B, element(&sum_b, 0, k, n), CUDA_R_32F);
        assert_true(get(BIAS, n, CUDA_R_32F) == sum);
    }
}

static void test_tf32(void **state)
{
    const struct lt_problem exact = PROBLEM(.alpha = 1);
    const struct lt_problem fast = PROBLEM(.compute = CUBLAS_COMPUTE_32F_FAST_TF32);

    (void)state;
    for (int i = 0; i < 2; i++) {
        memset(lt_memory, 0, sizeof(lt_memory));
        put(A, 0, CUDA_R_32F, 1 + 0x1p-12f);
        put(B, 0, CUDA_R_32F, 1);
        assert_int_equal(lt_run(i ? &fast : &exact), 0);
        assert_true(get(D, 0, CUDA_R_32F) == (i ? 1 : 1 + 0x1p-12f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_epilogues),
        cmocka_unit_test(test_second_results),
        cmocka_unit_test(test_tf32),
    };

    return cmocka_run_group_tests(tests, lt_setup, lt_teardown);
}
