/*
 * Calls that the emulated cuBLASLt refuses, and the sizes of its attributes against
 * NVIDIA's library, if installed.
 */
#include "tests/emulator/libraries/cublaslt_matmul.h"
#include "tests/test.h"

static cublasStatus_t run_one(struct lt_problem p)
{
    return lt_run(&p);
}

static void test_refused_descriptions(void **state)
{
    const struct lt_problem good = PROBLEM(.alpha = 1);
    struct lt_call c = lt_describe(&good);
    cublasLtMatmulHeuristicResult_t r[8];
    cublasLtMatrixLayout_t small;
    int n;

    (void)state;
    assert_int_equal(run_one(PROBLEM(.type = CUDA_R_16F, .out = CUDA_R_16BF)),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(run_one(PROBLEM(.type = CUDA_R_16F, .out = CUDA_R_16F,
                                     .compute = CUBLAS_COMPUTE_32F_FAST_TF32)),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(run_one(PROBLEM(.epilogue = CUBLASLT_EPILOGUE_BIAS, .row = true)),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(run_one(PROBLEM(.epilogue = 3)), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(
        lt.MatmulAlgoGetHeuristic(NULL, c.op, c.a, c.b, c.c, c.d, c.want, 8, r, &n),
        CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(
        lt.MatmulAlgoGetHeuristic(lt_handle, c.op, c.a, c.a, c.c, c.d, c.want, 8, r, &n),
        CUBLAS_STATUS_INVALID_VALUE); /* M x K times M x K */
    assert_int_equal(lt.MatrixLayoutCreate(&small, CUDA_R_32F, M, K, M - 1), 0);
    assert_int_equal(lt.MatmulAlgoGetHeuristic(lt_handle, c.op, small, c.b, c.c, c.d,
                                               c.want, 8, r, &n),
                     CUBLAS_STATUS_INVALID_VALUE);
    lt.MatrixLayoutDestroy(small);
    lt_forget(&c);
}

static void test_refused_calls(void **state)
{
    const struct lt_problem good = PROBLEM(.alpha = 1);
    struct lt_call c = lt_describe(&good);
    cublasLtMatmulHeuristicResult_t r[8];
    float one = 1, zero = 0;
    uint64_t none = 0;
    int n;

    (void)state;
    /* the first that works needs lt_workspace */
    assert_int_equal(
        lt.MatmulAlgoGetHeuristic(lt_handle, c.op, c.a, c.b, c.c, c.d, c.want, 8, r, &n),
        0);
    assert_int_equal(r[0].state, CUBLAS_STATUS_NOT_SUPPORTED);
    assert_true(r[1].state == 0 && r[1].workspaceSize > 0);
#define TRY(algo, a_at, d_at, ws, size)                                                  \
    lt.Matmul(lt_handle, c.op, &one, a_at, c.a, lt_memory[B], c.b, &zero, lt_memory[C],  \
              c.c, d_at, c.d, algo, ws, size, NULL)
    assert_int_equal(
        TRY(&r[1].algo, lt_memory[A], lt_memory[D], lt_workspace, sizeof(lt_workspace)),
        0);
    assert_int_equal(TRY(&r[1].algo, lt_memory[A], lt_memory[D], NULL, 0),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(TRY(&r[1].algo, lt_memory[A], lt_memory[D], lt_workspace, 1024),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(
        TRY(&r[1].algo, lt_memory[A], lt_memory[D], lt_workspace + 16, 2097136),
        CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(TRY(&r[1].algo, lt_memory[A] + 4, lt_memory[D], lt_workspace,
                         sizeof(lt_workspace)),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(
        TRY(&r[1].algo, lt_memory[A], lt_memory[A], lt_workspace, sizeof(lt_workspace)),
        CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(
        TRY(&r[1].algo, lt_memory[A], NULL, lt_workspace, sizeof(lt_workspace)),
        CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(TRY(NULL, lt_memory[A] + 4, lt_memory[D], NULL, 0), 0);
#undef TRY
    lt.MatmulPreferenceSetAttribute(c.want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                    &none, sizeof(none));
    assert_int_equal(
        lt.MatmulAlgoGetHeuristic(lt_handle, c.op, c.a, c.b, c.c, c.d, c.want, 8, r, &n),
        0);
    for (int i = 0; i < n; i++)
        assert_true(r[i].state || r[i].workspaceSize == 0);
    lt_forget(&c);
}

/* The library accepts an attribute and size if and only if the emulation does, for the
 * attributes that the emulation has. */
static void test_attributes(void **state)
{
    static const unsigned char zeros[16];
    const struct lt_problem any = PROBLEM(.alpha = 1);
    struct lt_call c = lt_describe(&any), r;
    struct lt real;
    int taken = 0;

    (void)state;
#ifndef __SANITIZE_ADDRESS__
    if (!lt_load(&real, CUDA_HOME "/lib64/libcublasLt.so.13"))
#endif
        real = lt;
    assert_int_equal(real.MatmulDescCreate(&r.op, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0);
    assert_int_equal(real.MatrixLayoutCreate(&r.a, CUDA_R_32F, 4, 4, 4), 0);
    assert_int_equal(real.MatmulPreferenceCreate(&r.want), 0);
    for (int name = 0; name < 40; name++)
        for (size_t size = 1; size <= 16; size *= 2) {
            const void *z = zeros;
            int e[3] = {(int)lt.MatmulDescSetAttribute(
                            c.op, (cublasLtMatmulDescAttributes_t)name, z, size),
                        (int)lt.MatrixLayoutSetAttribute(
                            c.a, (cublasLtMatrixLayoutAttribute_t)name, z, size),
                        (int)lt.MatmulPreferenceSetAttribute(
                            c.want, (cublasLtMatmulPreferenceAttributes_t)name, z, size)};
            int n[3] = {(int)real.MatmulDescSetAttribute(
                            r.op, (cublasLtMatmulDescAttributes_t)name, z, size),
                        (int)real.MatrixLayoutSetAttribute(
                            r.a, (cublasLtMatrixLayoutAttribute_t)name, z, size),
                        (int)real.MatmulPreferenceSetAttribute(
                            r.want, (cublasLtMatmulPreferenceAttributes_t)name, z, size)};

            for (int i = 0; i < 3; i++) {
                taken += !e[i];
                if (!e[i] && n[i])
                    fail_msg("descriptor %d, attribute %d of %zu bytes: the library says "
                             "%d",
                             i, name, size, n[i]);
            }
        }
    assert_true(taken >= 30);
    real.MatmulDescDestroy(r.op);
    real.MatrixLayoutDestroy(r.a);
    real.MatmulPreferenceDestroy(r.want);
    lt_forget(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_descriptions),
        cmocka_unit_test(test_refused_calls),
        cmocka_unit_test(test_attributes),
    };

    return cmocka_run_group_tests(tests, lt_setup, lt_teardown);
}
