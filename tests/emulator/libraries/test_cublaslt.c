/*
 * The emulated cuBLASLt: what it computes, against plain loops; what it refuses; and the
 * sizes of its attributes against NVIDIA's library, where that is installed.
 */
#include <cublasLt.h>
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"

#define CALLS(X)                                                                         \
    X(Create)                                                                            \
    X(Destroy)                                                                           \
    X(Matmul)                                                                            \
    X(MatmulAlgoGetHeuristic)                                                            \
    X(MatmulDescCreate)                                                                  \
    X(MatmulDescDestroy)                                                                 \
    X(MatmulDescSetAttribute)                                                            \
    X(MatrixLayoutCreate)                                                                \
    X(MatrixLayoutDestroy)                                                               \
    X(MatrixLayoutSetAttribute)                                                          \
    X(MatmulPreferenceCreate)                                                            \
    X(MatmulPreferenceDestroy)                                                           \
    X(MatmulPreferenceSetAttribute)                                                      \
    X(GetVersion)

struct lt {
#define X(name) __typeof__(cublasLt##name) *name;
    CALLS(X)
#undef X
};

static struct lt lt, real;
static cublasLtHandle_t handle;

static bool load(struct lt *l, const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL), *p;

    if (!lib)
        return false;
#define X(name)                                                                          \
    p = dlsym(lib, "cublasLt" #name);                                                    \
    if (!p)                                                                              \
        return false;                                                                    \
    memcpy(&l->name, &p, sizeof(p));
    CALLS(X)
#undef X
    return true;
}

static int setup(void **state)
{
    (void)state;
    return !load(&lt, EMULATED "/libcublasLt.so.13") || lt.Create(&handle);
}

static int teardown(void **state)
{
    (void)state;
    return lt.Destroy(handle) != CUBLAS_STATUS_SUCCESS;
}

/* ---- one product, M x N x K, column-major ---- */

enum { M = 8, N = 6, K = 5, LD = 16, BATCH = 2, MOST = LD * 16 * BATCH };

struct problem {
    bool ta, tb, row; /* row: A, B, C, D in rows */
    int batch, epilogue;
    cudaDataType_t type, out;
    cublasComputeType_t compute;
    float alpha, beta;
};

static _Alignas(256) unsigned char memory[8][MOST * 4];
static _Alignas(256) unsigned char workspace[2 << 20];
enum { A, B, C, D, BIAS, AUX };

static float get(int which, int i, cudaDataType_t t)
{
    const void *p = memory[which];

    return t == CUDA_R_32F   ? ((const float *)p)[i]
           : t == CUDA_R_16F ? fp16_to_float(((const uint16_t *)p)[i])
                             : bf16_to_float(((const uint16_t *)p)[i]);
}

static void put(int which, int i, cudaDataType_t t, float v)
{
    void *p = memory[which];

    if (t == CUDA_R_32F)
        ((float *)p)[i] = v;
    else
        ((uint16_t *)p)[i] = t == CUDA_R_16F ? fp16_from_float(v) : bf16_from_float(v);
}

static int at(const struct problem *p, int batch, int row, int col)
{
    return batch * LD * 16 + (p->row ? row * LD + col : col * LD + row);
}

static void fill(const struct problem *p)
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

static cublasLtMatrixLayout_t layout(const struct problem *p, cudaDataType_t type,
                                     int rows, int cols)
{
    cublasLtMatrixLayout_t l;
    int32_t order = CUBLASLT_ORDER_ROW, batch = p->batch;
    int64_t offset = LD * 16;

    assert_int_equal(lt.MatrixLayoutCreate(&l, type, (uint64_t)rows, (uint64_t)cols, LD),
                     0);
    if (p->row)
        lt.MatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                    sizeof(order));
    lt.MatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                sizeof(batch));
    lt.MatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset,
                                sizeof(offset));
    return l;
}

struct call {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, c, d;
    cublasLtMatmulPreference_t want;
};

static void set_vectors(cublasLtMatmulDesc_t op)
{
    void *bias = memory[BIAS], *aux = memory[AUX];
    int64_t ld = LD, stride = 16, aux_stride = LD * 16;

    lt.MatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
    lt.MatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, &stride,
                              sizeof(stride));
    lt.MatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux,
                              sizeof(aux));
    lt.MatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof(ld));
    lt.MatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE,
                              &aux_stride, sizeof(aux_stride));
}

static struct call describe(const struct problem *p)
{
    struct call c;
    int32_t trans = CUBLAS_OP_T;
    uint64_t most = sizeof(workspace);

    assert_int_equal(lt.MatmulDescCreate(&c.op, p->compute, CUDA_R_32F), 0);
    if (p->ta)
        lt.MatmulDescSetAttribute(c.op, CUBLASLT_MATMUL_DESC_TRANSA, &trans, 4);
    if (p->tb)
        lt.MatmulDescSetAttribute(c.op, CUBLASLT_MATMUL_DESC_TRANSB, &trans, 4);
    lt.MatmulDescSetAttribute(c.op, CUBLASLT_MATMUL_DESC_EPILOGUE, &p->epilogue, 4);
    set_vectors(c.op);
    c.a = layout(p, p->type, p->ta ? K : M, p->ta ? M : K);
    c.b = layout(p, p->type, p->tb ? N : K, p->tb ? K : N);
    c.c = layout(p, p->out, M, N);
    c.d = layout(p, p->out, M, N);
    assert_int_equal(lt.MatmulPreferenceCreate(&c.want), 0);
    lt.MatmulPreferenceSetAttribute(c.want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                    &most, sizeof(most));
    return c;
}

static void forget(struct call *c)
{
    lt.MatmulDescDestroy(c->op);
    lt.MatrixLayoutDestroy(c->a);
    lt.MatrixLayoutDestroy(c->b);
    lt.MatrixLayoutDestroy(c->c);
    lt.MatrixLayoutDestroy(c->d);
    lt.MatmulPreferenceDestroy(c->want);
}

static cublasStatus_t run(const struct problem *p)
{
    struct call c = describe(p);
    cublasLtMatmulHeuristicResult_t r[8];
    int n = 0, i = 0;
    cublasStatus_t s;

    s = lt.MatmulAlgoGetHeuristic(handle, c.op, c.a, c.b, c.c, c.d, c.want, 8, r, &n);
    while (!s && i < n && r[i].state)
        i++;
    if (!s)
        s = lt.Matmul(handle, c.op, &p->alpha, memory[A], c.a, memory[B], c.b, &p->beta,
                      memory[C], c.c, memory[D], c.d, &r[i].algo, workspace,
                      sizeof(workspace), NULL);
    forget(&c);
    return s;
}

static double gelu(double x)
{
    return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* by a difference: another way than the library's */
static double gelu_slope(double x)
{
    return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
}

static double dot(const struct problem *p, int batch, int m, int n)
{
    double sum = 0;

    for (int k = 0; k < K; k++)
        sum += (double)get(A, p->ta ? at(p, batch, k, m) : at(p, batch, m, k), p->type) *
               (double)get(B, p->tb ? at(p, batch, n, k) : at(p, batch, k, n), p->type);
    return (double)p->alpha * sum +
           (double)p->beta * (double)get(C, at(p, batch, m, n), p->out);
}

static double expected(const struct problem *p, int batch, int m, int n)
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

static void check(const struct problem *p, const char *what)
{
    double tolerance = p->out == CUDA_R_32F ? 1e-4 : p->out == CUDA_R_16F ? 5e-3 : 4e-2;
    cublasStatus_t s;

    fill(p);
    s = run(p);
    if (s)
        fail_msg("%s: status %d", what, (int)s);
    for (int batch = 0; batch < p->batch; batch++)
        for (int i = 0; i < M * N; i++) {
            double want = expected(p, batch, i % M, i / M);
            double got = (double)get(D, at(p, batch, i % M, i / M), p->out);

            if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
                fail_msg("%s: batch %d, (%d, %d) is %g, not %g", what, batch, i % M,
                         i / M, got, want);
        }
    assert_true(isnan(get(D, at(p, 0, M, N), p->out))); /* nothing but the matrix */
}

/* What is left out: one matrix, no epilogue, float, alpha = 1. */
#define PROBLEM(...) complete((struct problem){__VA_ARGS__})

static struct problem complete(struct problem p)
{
    p.batch = p.batch ? p.batch : 1;
    p.epilogue = p.epilogue ? p.epilogue : CUBLASLT_EPILOGUE_DEFAULT;
    p.compute = p.compute ? p.compute : CUBLAS_COMPUTE_32F;
    p.alpha = p.alpha != 0 ? p.alpha : 1;
    return p;
}

static void check_one(struct problem p, const char *what)
{
    check(&p, what);
}

static cublasStatus_t run_one(struct problem p)
{
    return run(&p);
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

/* what the epilogues write beside the result */
static void test_second_results(void **state)
{
    const struct problem aux = PROBLEM(.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
    const struct problem grad = PROBLEM(.epilogue = CUBLASLT_EPILOGUE_DGELU_BGRAD);
    const struct problem sum_a =
        PROBLEM(.epilogue = CUBLASLT_EPILOGUE_BGRADA, .ta = true);
    const struct problem sum_b = PROBLEM(.epilogue = CUBLASLT_EPILOGUE_BGRADB);

    (void)state;
    check(&aux, "aux");
    for (int i = 0; i < M * N; i++)
        assert_true(get(AUX, at(&aux, 0, i % M, i / M), CUDA_R_32F) ==
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
            sum += get(A, at(&sum_a, 0, k, m), CUDA_R_32F);
        assert_true(get(BIAS, m, CUDA_R_32F) == sum);
    }
    check(&sum_b, "sums of B");
    for (int n = 0; n < N; n++) {
        float sum = 0;

        for (int k = 0; k < K; k++)
            sum += get(B, at(&sum_b, 0, k, n), CUDA_R_32F);
        assert_true(get(BIAS, n, CUDA_R_32F) == sum);
    }
}

static void test_tf32(void **state)
{
    const struct problem exact = PROBLEM(.alpha = 1);
    const struct problem fast = PROBLEM(.compute = CUBLAS_COMPUTE_32F_FAST_TF32);

    (void)state;
    for (int i = 0; i < 2; i++) {
        memset(memory, 0, sizeof(memory));
        put(A, 0, CUDA_R_32F, 1 + 0x1p-12f);
        put(B, 0, CUDA_R_32F, 1);
        assert_int_equal(run(i ? &fast : &exact), 0);
        assert_true(get(D, 0, CUDA_R_32F) == (i ? 1 : 1 + 0x1p-12f));
    }
}

static void test_refused_descriptions(void **state)
{
    const struct problem good = PROBLEM(.alpha = 1);
    struct call c = describe(&good);
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
        lt.MatmulAlgoGetHeuristic(handle, c.op, c.a, c.a, c.c, c.d, c.want, 8, r, &n),
        CUBLAS_STATUS_INVALID_VALUE); /* M x K times M x K */
    assert_int_equal(lt.MatrixLayoutCreate(&small, CUDA_R_32F, M, K, M - 1), 0);
    assert_int_equal(
        lt.MatmulAlgoGetHeuristic(handle, c.op, small, c.b, c.c, c.d, c.want, 8, r, &n),
        CUBLAS_STATUS_INVALID_VALUE);
    lt.MatrixLayoutDestroy(small);
    forget(&c);
}

static void test_refused_calls(void **state)
{
    const struct problem good = PROBLEM(.alpha = 1);
    struct call c = describe(&good);
    cublasLtMatmulHeuristicResult_t r[8];
    float one = 1, zero = 0;
    uint64_t none = 0;
    int n;

    (void)state;
    /* the first that works takes a workspace */
    assert_int_equal(
        lt.MatmulAlgoGetHeuristic(handle, c.op, c.a, c.b, c.c, c.d, c.want, 8, r, &n), 0);
    assert_int_equal(r[0].state, CUBLAS_STATUS_NOT_SUPPORTED);
    assert_true(r[1].state == 0 && r[1].workspaceSize > 0);
#define TRY(algo, a_at, d_at, ws, size)                                                  \
    lt.Matmul(handle, c.op, &one, a_at, c.a, memory[B], c.b, &zero, memory[C], c.c,      \
              d_at, c.d, algo, ws, size, NULL)
    assert_int_equal(TRY(&r[1].algo, memory[A], memory[D], workspace, sizeof(workspace)),
                     0);
    assert_int_equal(TRY(&r[1].algo, memory[A], memory[D], NULL, 0),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(TRY(&r[1].algo, memory[A], memory[D], workspace, 1024),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(TRY(&r[1].algo, memory[A], memory[D], workspace + 16, 2097136),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(
        TRY(&r[1].algo, memory[A] + 4, memory[D], workspace, sizeof(workspace)),
        CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(TRY(&r[1].algo, memory[A], memory[A], workspace, sizeof(workspace)),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(TRY(&r[1].algo, memory[A], NULL, workspace, sizeof(workspace)),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(TRY(NULL, memory[A] + 4, memory[D], NULL, 0), 0);
#undef TRY
    lt.MatmulPreferenceSetAttribute(c.want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                    &none, sizeof(none));
    assert_int_equal(
        lt.MatmulAlgoGetHeuristic(handle, c.op, c.a, c.b, c.c, c.d, c.want, 8, r, &n), 0);
    for (int i = 0; i < n; i++)
        assert_true(r[i].state || r[i].workspaceSize == 0);
    forget(&c);
}

/* An attribute and size that the emulation takes, the library takes, and no others of
 * those that the emulation has. */
static void test_attributes(void **state)
{
    static const unsigned char zeros[16];
    const struct problem any = PROBLEM(.alpha = 1);
    struct call c = describe(&any), r;
    int taken = 0;

    (void)state;
#ifndef __SANITIZE_ADDRESS__
    if (!load(&real, CUDA_HOME "/lib64/libcublasLt.so.13"))
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
    forget(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_epilogues),
        cmocka_unit_test(test_second_results),
        cmocka_unit_test(test_tf32),
        cmocka_unit_test(test_refused_descriptions),
        cmocka_unit_test(test_refused_calls),
        cmocka_unit_test(test_attributes),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
