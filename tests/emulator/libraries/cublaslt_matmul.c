#include <dlfcn.h>
#include <string.h>

#include "tests/emulator/libraries/cublaslt_matmul.h"
#include "tests/test.h"

struct lt lt;
cublasLtHandle_t lt_handle;

bool lt_load(struct lt *l, const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL), *p;

    if (!lib)
        return false;
#define X(name)                                                                          \
    p = dlsym(lib, "cublasLt" #name);                                                    \
    if (!p)                                                                              \
        return false;                                                                    \
    memcpy(&l->name, &p, sizeof(p));
    LT_CALLS(X)
#undef X
    return true;
}

int lt_setup(void **state)
{
    (void)state;
    return !lt_load(&lt, EMULATED "/libcublasLt.so.13") || lt.Create(&lt_handle);
}

int lt_teardown(void **state)
{
    (void)state;
    return lt.Destroy(lt_handle) != CUBLAS_STATUS_SUCCESS;
}

_Alignas(256) unsigned char lt_memory[8][MOST * 4];
_Alignas(256) unsigned char lt_workspace[2 << 20];

struct lt_problem lt_complete(struct lt_problem p)
{
    p.batch = p.batch ? p.batch : 1;
    p.epilogue = p.epilogue ? p.epilogue : CUBLASLT_EPILOGUE_DEFAULT;
    p.compute = p.compute ? p.compute : CUBLAS_COMPUTE_32F;
    p.alpha = p.alpha != 0 ? p.alpha : 1;
    return p;
}

static cublasLtMatrixLayout_t layout(const struct lt_problem *p, cudaDataType_t type,
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

static void set_vectors(cublasLtMatmulDesc_t op)
{
    void *bias = lt_memory[BIAS], *aux = lt_memory[AUX];
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

struct lt_call lt_describe(const struct lt_problem *p)
{
    struct lt_call c;
    int32_t trans = CUBLAS_OP_T;
    uint64_t max = sizeof(lt_workspace);

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
                                    &max, sizeof(max));
    return c;
}

void lt_forget(struct lt_call *c)
{
    lt.MatmulDescDestroy(c->op);
    lt.MatrixLayoutDestroy(c->a);
    lt.MatrixLayoutDestroy(c->b);
    lt.MatrixLayoutDestroy(c->c);
    lt.MatrixLayoutDestroy(c->d);
    lt.MatmulPreferenceDestroy(c->want);
}

cublasStatus_t lt_run(const struct lt_problem *p)
{
    struct lt_call c = lt_describe(p);
    cublasLtMatmulHeuristicResult_t r[8];
    int n = 0, i = 0;
    cublasStatus_t s;

    s = lt.MatmulAlgoGetHeuristic(lt_handle, c.op, c.a, c.b, c.c, c.d, c.want, 8, r, &n);
    while (!s && i < n && r[i].state)
        i++;
    if (!s)
        s = lt.Matmul(lt_handle, c.op, &p->alpha, lt_memory[A], c.a, lt_memory[B], c.b,
                      &p->beta, lt_memory[C], c.c, lt_memory[D], c.d, &r[i].algo,
                      lt_workspace, sizeof(lt_workspace), NULL);
    lt_forget(&c);
    return s;
}
