#include "cuda/cublaslt.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "cuda/cublaslt_lib.h"
#include "cuda/library.h"

/* Message of the library's last error, which it may report on any thread. */
static _Thread_local char last_message[240];

static void note_message(int level, const char *function, const char *message)
{
    if (level == 1) /* errors */
        (void)snprintf(last_message, sizeof(last_message), "%s: %s", function, message);
}

/*
 * Redirects the library's log, which it would print to standard output among the results.
 * Settings of the user (its environment variables) are kept. The log is per process: the
 * first GPU's thread sets it, once.
 */
static void redirect_log(struct cublaslt *c)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool listens;

    last_message[0] = '\0';
    (void)pthread_mutex_lock(&lock);
    if (!listens) {
        (void)c->LoggerSetCallback(note_message);
        if (!getenv("CUBLASLT_LOG_LEVEL") && !getenv("CUBLASLT_LOG_MASK") &&
            !c->LoggerOpenFile("/dev/null"))
            (void)c->LoggerSetLevel(1);
    }
    listens = true;
    (void)pthread_mutex_unlock(&lock);
}

/* `call`: source text of the call, such as "c->Matmul(c->handle, ...". */
void cublaslt_check(struct device *dev, cublasStatus_t status, const char *call)
{
    const char *hint = status == CUBLAS_STATUS_EXECUTION_FAILED ? cuda_hint_late
                       : status == CUBLAS_STATUS_ALLOC_FAILED   ? cuda_hint_memory
                                                                : NULL;
    int len = (int)strcspn(call, "("), start = len;
    char name[80];

    if (!status || cuda_spoils(dev, "cuBLASLt", dev->cublaslt->GetStatusString(status)))
        return;
    while (start && call[start - 1] != '>')
        start--;
    (void)snprintf(name, sizeof(name), "cublasLt%.*s", len - start, call + start);
    cuda_fail(dev, name, dev->cublaslt->GetStatusString(status), last_message, hint);
}

static struct cublaslt *cublaslt_open(struct device *dev)
{
    struct strbuf why = STRBUF_INIT;
    struct cublaslt *c = dev->cublaslt;
    void *ptr;

    if (c)
        return c;
    c = xcalloc(1, sizeof(*c));
    c->library = cuda_library_open(CUDA_LIBRARY_CUBLASLT, &why);
    if (!c->library)
        die("%s: %s", dev->text, why.buf);
#define X(name)                                                                          \
    ptr = cuda_library_symbol(c->library, "cublasLt" #name);                             \
    memcpy(&c->name, &ptr, sizeof(ptr));
    CUBLASLT_CALLS(X)
#undef X
    dev->cublaslt = c;
    redirect_log(c);
    CUBLASLT_CHECK(dev, c->Create(&c->handle));
    return c;
}

void cublaslt_close(struct device *dev)
{
    struct cublaslt *c = dev->cublaslt;

    if (!c)
        return;
    dev->cublaslt = NULL;
    (void)c->Destroy(c->handle);
    for (size_t i = 0; i < c->choice.n; i++)
        free(c->choice.entry[i].value);
    strmap_release(&c->choice);
    free(c);
}

static cudaDataType_t data_type(enum dtype d)
{
    return d == DTYPE_F32 ? CUDA_R_32F : d == DTYPE_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

static void set(struct device *dev, struct cublaslt_plan *p,
                cublasLtMatmulDescAttributes_t name, const void *value, size_t size)
{
    CUBLASLT_CHECK(dev, p->c->MatmulDescSetAttribute(p->desc, name, value, size));
}

static void set_vector(struct device *dev, struct cublaslt_plan *p, void *vector)
{
    p->vector = vector;
    set(dev, p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p->vector, sizeof(p->vector));
}

void cublaslt_set_gelu(struct device *dev, struct cublaslt_plan *p, void *z)
{
    if (z == p->z)
        return;
    p->z = z;
    set(dev, p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &p->z, sizeof(p->z));
}

static cublasLtEpilogue_t epilogue_of(const struct cublaslt_matmul *w)
{
    bool bias = w->vector == CUBLASLT_BIAS;

    switch (w->gelu) {
    case CUBLASLT_GELU:
        return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case CUBLASLT_GELU_STORED:
        return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case CUBLASLT_GELU_GRAD:
        return CUBLASLT_EPILOGUE_DGELU;
    case CUBLASLT_NO_GELU:
        break;
    }
    return bias                              ? CUBLASLT_EPILOGUE_BIAS
           : w->vector == CUBLASLT_BIAS_GRAD ? CUBLASLT_EPILOGUE_BGRADB
                                             : CUBLASLT_EPILOGUE_DEFAULT;
}

static void describe(struct device *dev, struct cublaslt_plan *p,
                     const struct cublaslt_matmul *w)
{
    cublasComputeType_t compute = w->type == DTYPE_F32 && dev->options.tf32 && !w->full
                                      ? CUBLAS_COMPUTE_32F_FAST_TF32
                                      : CUBLAS_COMPUTE_32F;
    cublasOperation_t first = w->transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = w->transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = epilogue_of(w);
    int64_t row = w->n;
    cudaDataType_t out = data_type(w->out);

    CUBLASLT_CHECK(dev, p->c->MatmulDescCreate(&p->desc, compute, CUDA_R_32F));
    set(dev, p, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first));
    set(dev, p, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof(second));
    set(dev, p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    if (w->gelu > CUBLASLT_GELU) {
        set(dev, p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &row, sizeof(row));
        cublaslt_set_gelu(dev, p, (void *)(uintptr_t)CUBLASLT_ALIGNMENT);
    }
    if (w->vector == CUBLASLT_NONE)
        return;
    set(dev, p, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &out, sizeof(out));
    /* There is no vector yet, but the heuristic and the algorithm check look at the
     * alignment of its address. */
    set_vector(dev, p, (void *)(uintptr_t)CUBLASLT_ALIGNMENT);
}

/* Describes a row-major matrix of `rows` and `columns`. */
static void layout(struct device *dev, struct cublaslt *c, cublasLtMatrixLayout_t *l,
                   enum dtype type, int64_t rows, int64_t columns)
{
    CUBLASLT_CHECK(dev, c->MatrixLayoutCreate(l, data_type(type), (uint64_t)columns,
                                              (uint64_t)rows, columns));
}

static const char *const vector_name[] = {
    [CUBLASLT_NONE] = "",
    [CUBLASLT_BIAS] = " + bias",
    [CUBLASLT_BIAS_GRAD] = " + gradient of the bias",
};

static const char *const gelu_name[] = {
    [CUBLASLT_NO_GELU] = "",
    [CUBLASLT_GELU] = " + gelu",
    [CUBLASLT_GELU_STORED] = " + gelu, its input stored",
    [CUBLASLT_GELU_GRAD] = " + gradient of gelu",
};

void cublaslt_matmul_text(const struct cublaslt_matmul *w, struct strbuf *s)
{
    strbuf_addf(s, "%lldx%lldx%lld %s", (long long)w->m, (long long)w->n, (long long)w->k,
                dtype_name(w->type));
    if (w->out != w->type)
        strbuf_addf(s, " to %s", dtype_name(w->out));
    if (w->add)
        strbuf_addstr(s, " + result");
    if (w->full)
        strbuf_addstr(s, " without TF32");
    strbuf_addstr(s, vector_name[w->vector]);
    strbuf_addstr(s, gelu_name[w->gelu]);
}

struct cublaslt_plan *cublaslt_plan_new(struct device *dev,
                                        const struct cublaslt_matmul *w, const char **why)
{
    struct cublaslt_plan *p = xcalloc(1, sizeof(*p));
    bool ta = w->transposed_a, tb = w->transposed_b;

    *why = NULL;
    p->what = *w;
    p->number = -1;
    if (dev->described) {
        p->choice.workspace = CUBLASLT_WORKSPACE;
        return p;
    }
    p->c = cublaslt_open(dev);
    describe(dev, p, w);
    layout(dev, p->c, &p->a, w->type, ta ? w->k : w->m, ta ? w->m : w->k);
    layout(dev, p->c, &p->b, w->type, tb ? w->n : w->k, tb ? w->k : w->n);
    layout(dev, p->c, &p->d, w->out, w->m, w->n);
    *why = cublaslt_choose(dev, p);
    if (!*why)
        return p;
    cublaslt_plan_free(p);
    return NULL;
}

void cublaslt_plan_free(struct cublaslt_plan *p)
{
    if (p && p->c) {
        (void)p->c->MatmulDescDestroy(p->desc);
        (void)p->c->MatrixLayoutDestroy(p->a);
        (void)p->c->MatrixLayoutDestroy(p->b);
        (void)p->c->MatrixLayoutDestroy(p->d);
    }
    free(p);
}

void cublaslt_describe(const struct cublaslt_plan *p, struct strbuf *text)
{
    cublaslt_matmul_text(&p->what, text);
    if (p->number >= 0)
        strbuf_addf(text, ", algorithm %d", p->number);
    strbuf_addf(text, ", %.1f MiB workspace%s", (double)p->choice.workspace / 1048576,
                p->c ? "" : " at most, chosen on the GPU");
    if (p->choice.microseconds > 0)
        strbuf_addf(text, ", %.1f us", (double)p->choice.microseconds);
}

size_t cublaslt_workspace(const struct cublaslt_plan *p)
{
    return p->choice.workspace;
}

cublasStatus_t cublaslt_try(struct device *dev, struct cublaslt_plan *p,
                            const struct cublaslt_choice *choice, const void *a,
                            const void *b, void *d, void *vector, void *workspace)
{
    bool was = alloc_forbid(false); /* the library allocates here */
    float alpha = p->what.alpha == 0 ? 1 : p->what.alpha, beta = p->what.add;
    cublasStatus_t status;

    if (vector && vector != p->vector)
        set_vector(dev, p, vector);
    status =
        p->c->Matmul(p->c->handle, p->desc, &alpha, b, p->b, a, p->a, &beta, d, p->d, d,
                     p->d, &choice->algo, workspace, choice->workspace, dev->stream);
    (void)alloc_forbid(was);
    return status;
}

void cublaslt_run(struct device *dev, struct cublaslt_plan *p, const void *a,
                  const void *b, void *d, void *vector, void *workspace)
{
    cublaslt_check(dev, cublaslt_try(dev, p, &p->choice, a, b, d, vector, workspace),
                   "c->Matmul(");
}
