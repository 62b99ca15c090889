/* The emulated cuBLASLt: handles, heuristics and cublasLtMatmul itself. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cublaslt/matmul.h"
#include "tests/emulator/host_node.h"

#define OK       CUBLAS_STATUS_SUCCESS
#define BAD      CUBLAS_STATUS_INVALID_VALUE
#define OPTIONAL __attribute__((weak))

/* Functions of the emulated runtime; without it, work is done immediately. */
OPTIONAL __typeof__(emulator_enqueue) emulator_enqueue;
OPTIONAL __typeof__(emulator_expect_memory) emulator_expect_memory;
OPTIONAL __typeof__(emulator_fails) emulator_fails;
OPTIONAL __typeof__(emulator_take_memory) emulator_take_memory;

enum { VERSION = 130100, HANDLE_MEMORY = 32 << 20 /* bytes of device memory */ };

struct cublasLtContext {
    uint32_t magic;
};

_Static_assert(sizeof(struct algorithm) <= sizeof(cublasLtMatmulAlgo_t), "");

size_t cublasLtGetVersion(void)
{
    return VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
    return CUDART_VERSION;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
    static const int part[] = {VERSION / 10000, VERSION / 100 % 100, VERSION % 100};

    if (!value || (unsigned)type > PATCH_LEVEL)
        return BAD;
    *value = part[type];
    return OK;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
        return "CUBLAS_STATUS_UNKNOWN";
    }
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return cublasLtGetStatusName(status);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    if (!handle)
        return BAD;
    *handle = calloc(1, sizeof(**handle));
    if (!*handle)
        abort();
    (*handle)->magic = MAGIC_HANDLE;
    if (emulator_take_memory)
        emulator_take_memory(HANDLE_MEMORY);
    return OK;
}

static bool alive(cublasLtHandle_t handle)
{
    return handle && handle->magic == MAGIC_HANDLE;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->magic = 0;
    free(handle);
    return OK;
}

/* Copies the descriptors' contents to p; returns false if one is not a descriptor. */
static bool collect(struct matmul *p, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
                    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                    cublasLtMatrixLayout_t d)
{
    const void *src[4] = {a, b, c, d};
    struct layout *dst[4] = {&p->a, &p->b, &p->c, &p->d};

    if (!op || !a || !b || !c || !d)
        return false;
    memcpy(&p->op, op, sizeof(p->op));
    for (int i = 0; i < 4; i++) {
        memcpy(dst[i], src[i], sizeof(*dst[i]));
        if (dst[i]->magic != MAGIC_LAYOUT)
            return false;
    }
    return p->op.magic == MAGIC_OPERATION;
}

/* The algorithms that the heuristic offers, best first. `align`: required alignment of
 * addresses and rows in bytes; the last one only needs that of the elements. The first is
 * a trap for a caller that asks with a bias of better alignment than the bias of the
 * call. */
static const struct {
    int id, align;
    uint64_t workspace;
    bool broken;    /* its entry in the list is marked invalid */
    int bias_align; /* bytes; requires a bias */
} algorithms[] = {
    {.id = 68, .align = 16, .bias_align = 64},
    {.id = 66, .align = 16, .workspace = UINT64_C(33554432)},
    {.id = 67, .align = 16, .workspace = 0, .broken = true},
    {.id = 21, .align = 16, .workspace = UINT64_C(1048832)},
    {.id = 23, .align = 16, .workspace = 0},
    {.id = 0, .align = 1, .workspace = 0},
};

static bool fits(const struct matmul *p, const struct preference *want, int align)
{
    const struct layout *l[4] = {&p->a, &p->b, &p->c, &p->d};

    for (int i = 0; i < 4; i++) {
        int64_t size = element_size(l[i]->type);

        if (want->align[i] < align || (l[i]->ld * size) % align ||
            (l[i]->batch > 1 && (l[i]->offset * size) % align))
            return false;
    }
    return true;
}

static bool has_vector(const struct matmul *p)
{
    return epilogue_has_bias(p->op.epilogue) || epilogue_has_bgrad(p->op.epilogue);
}

/* The heuristic derives the alignment of the bias from its address (cublasLt.h). */
static bool bias_fits(const struct matmul *p, int align)
{
    return !align || (has_vector(p) && (uintptr_t)p->op.bias % (uintptr_t)align == 0);
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t op,
                               cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                               cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                               cublasLtMatmulPreference_t preference, int asked,
                               cublasLtMatmulHeuristicResult_t *results, int *found)
{
    struct matmul p = {0};
    struct preference want;
    cublasStatus_t bad;
    int n = 0;

    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!preference || !results || !found || asked < 1 || !collect(&p, op, a, b, c, d))
        return BAD;
    memcpy(&want, preference, sizeof(want));
    *found = 0;
    bad = want.magic == MAGIC_PREFERENCE ? product_check(&p) : BAD;
    if (bad)
        return bad;
    for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]) && n < asked; i++) {
        struct algorithm g = {.magic = MAGIC_ALGORITHM,
                              .id = algorithms[i].id,
                              .workspace = algorithms[i].workspace};

        if (g.workspace > want.workspace || !fits(&p, &want, algorithms[i].align) ||
            !bias_fits(&p, algorithms[i].bias_align))
            continue;
        g.bias_align = algorithms[i].bias_align;
        for (int j = 0; j < 4; j++)
            g.align[j] = algorithms[i].align;
        memset(&results[n], 0xff, sizeof(results[n]));
        results[n].state = algorithms[i].broken ? CUBLAS_STATUS_NOT_SUPPORTED : OK;
        if (!algorithms[i].broken) {
            memcpy(&results[n].algo, &g, sizeof(g));
            results[n].workspaceSize = g.workspace;
            results[n].wavesCount = 1;
        }
        n++;
    }
    *found = n;
    return n ? OK : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t op,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    static const struct preference any = {.align = {256, 256, 256, 256}};
    struct matmul p = {0};
    struct algorithm g;
    cublasStatus_t bad;

    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!algo || !result || !collect(&p, op, a, b, c, d))
        return BAD;
    memcpy(&g, algo, sizeof(g));
    bad = g.magic == MAGIC_ALGORITHM ? product_check(&p) : BAD;
    if (bad || !fits(&p, &any, g.align[0]))
        return bad ? bad : CUBLAS_STATUS_NOT_SUPPORTED;
    memset(result, 0xff, sizeof(*result));
    result->algo = *algo;
    result->state = OK;
    result->workspaceSize = g.workspace;
    result->wavesCount = 1;
    return OK;
}

cublasStatus_t
cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                     cublasLtMatmulAlgoConfigAttributes_t attr, void *buf,
                                     size_t size, size_t *written)
{
    struct algorithm g;

    if (!algo || !buf || attr != CUBLASLT_ALGO_CONFIG_ID || size < sizeof(g.id))
        return BAD;
    memcpy(&g, algo, sizeof(g));
    memcpy(buf, &g.id, sizeof(g.id));
    if (written)
        *written = sizeof(g.id);
    return g.magic == MAGIC_ALGORITHM ? OK : BAD;
}

/* Per process, as in NVIDIA's library; threads may set it and log concurrently. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static cublasLtLoggerCallback_t logger;
static int log_level;
static FILE *log_file; /* NULL: standard output */

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t callback)
{
    (void)pthread_mutex_lock(&log_lock);
    logger = callback;
    (void)pthread_mutex_unlock(&log_lock);
    return OK;
}

cublasStatus_t cublasLtLoggerSetLevel(int level)
{
    if (level < 0 || level > 5)
        return BAD;
    (void)pthread_mutex_lock(&log_lock);
    log_level = level;
    (void)pthread_mutex_unlock(&log_lock);
    return OK;
}

cublasStatus_t cublasLtLoggerOpenFile(const char *path)
{
    FILE *f = path ? fopen(path, "a") : NULL;

    if (!f)
        return BAD;
    (void)pthread_mutex_lock(&log_lock);
    if (log_file)
        (void)fclose(log_file);
    log_file = f;
    (void)pthread_mutex_unlock(&log_lock);
    return OK;
}

/* Logs an error to the callback and, like NVIDIA's library, also to the file. */
static void log_error(const char *function, const char *message)
{
    (void)pthread_mutex_lock(&log_lock);
    if (log_level >= 1) {
        if (logger)
            logger(1, function, message);
        (void)fprintf(log_file ? log_file : stdout, "[cublasLt][Error][%s] %s\n",
                      function, message);
    }
    (void)pthread_mutex_unlock(&log_lock);
}

/* ---- cublasLtMatmul ---- */

static int64_t vector_bytes(const struct matmul *p)
{
    int64_t n =
        (int64_t)(p->op.epilogue == CUBLASLT_EPILOGUE_BGRADB ? p->d.cols : p->d.rows);

    return ((p->d.batch - 1) * p->op.bias_stride + n) * element_size(p->d.type);
}

static int64_t aux_bytes(const struct matmul *p)
{
    int64_t n = (p->d.batch - 1) * p->op.aux_stride +
                ((int64_t)p->d.cols - 1) * p->op.aux_ld + (int64_t)p->d.rows;
    bool bits = p->op.epilogue & (CUBLASLT_EPILOGUE_RELU | 8); /* 8: the bit of DRELU */

    return bits ? (n + 7) / 8 : n * element_size(p->d.type);
}

static void expect(const void *p, int64_t size, const char *what)
{
    if (emulator_expect_memory)
        emulator_expect_memory(p, (size_t)size, what);
}

static void do_work(void *arg)
{
    struct matmul *p = arg;

    expect(p->pa, layout_span(&p->a), "A of cublasLtMatmul");
    expect(p->pb, layout_span(&p->b), "B of cublasLtMatmul");
    expect(p->pd, layout_span(&p->d), "D of cublasLtMatmul");
    if (p->beta || p->beta_value != 0)
        expect(p->pc, layout_span(&p->c), "C of cublasLtMatmul");
    if (has_vector(p))
        expect(p->op.bias, vector_bytes(p), "the bias of cublasLtMatmul");
    if (epilogue_has_aux(p->op.epilogue))
        expect(p->op.aux, aux_bytes(p), "the auxiliary matrix of cublasLtMatmul");
    if (p->alpha)
        expect(p->alpha, sizeof(float), "alpha of cublasLtMatmul");
    if (p->beta)
        expect(p->beta, sizeof(float), "beta of cublasLtMatmul");
    if (p->workspace_size) {
        expect(p->workspace, (int64_t)p->workspace_size, "workspace of cublasLtMatmul");
        memset(p->workspace, 0xff, p->workspace_size);
    }
    product_compute(p);
}

static bool overlap(const void *a, int64_t na, const void *b, int64_t nb)
{
    return (uintptr_t)a < (uintptr_t)b + (uintptr_t)nb &&
           (uintptr_t)b < (uintptr_t)a + (uintptr_t)na;
}

static bool aligned(const struct matmul *p, const struct algorithm *g)
{
    const void *ptr[4] = {p->pa, p->pb, p->pc, p->pd};
    const struct layout *l[4] = {&p->a, &p->b, &p->c, &p->d};

    for (int i = 0; i < 4; i++)
        if ((uintptr_t)ptr[i] % (uintptr_t)g->align[i] ||
            (uintptr_t)ptr[i] % (uintptr_t)element_size(l[i]->type))
            return false;
    return true;
}

/* Pointers must be given and aligned; D must not overlap an operand except C. */
static cublasStatus_t check_pointers(const struct matmul *p, const struct algorithm *g)
{
    int64_t d = layout_span(&p->d);
    bool reads_c = p->beta || p->beta_value != 0;

    if (!p->pa || !p->pb || !p->pd || (reads_c && !p->pc) || !aligned(p, g))
        return BAD;
    if (has_vector(p) &&
        (!p->op.bias || (uintptr_t)p->op.bias % (uintptr_t)element_size(p->d.type)))
        return BAD;
    if (!bias_fits(p, g->bias_align))
        return BAD;
    if (epilogue_has_aux(p->op.epilogue) && (!p->op.aux || (uintptr_t)p->op.aux % 16 ||
                                             overlap(p->pd, d, p->op.aux, aux_bytes(p))))
        return BAD;
    if (overlap(p->pd, d, p->pa, layout_span(&p->a)) ||
        overlap(p->pd, d, p->pb, layout_span(&p->b)))
        return BAD;
    if (reads_c && overlap(p->pd, d, p->pc, layout_span(&p->c)) &&
        (p->pc != p->pd || p->c.ld != p->d.ld || p->c.offset != p->d.offset))
        return BAD;
    return OK;
}

static cublasStatus_t check_workspace(const struct matmul *p, const struct algorithm *g,
                                      size_t size)
{
    if (!g->workspace)
        return OK;
    if (!p->workspace || size < g->workspace || (uintptr_t)p->workspace % 256)
        return BAD;
    return overlap(p->workspace, (int64_t)g->workspace, p->pd, layout_span(&p->d)) ||
                   overlap(p->workspace, (int64_t)g->workspace, p->pa,
                           layout_span(&p->a)) ||
                   overlap(p->workspace, (int64_t)g->workspace, p->pb, layout_span(&p->b))
               ? BAD
               : OK;
}

static void take_scalars(struct matmul *p, const void *alpha, const void *beta)
{
    if (p->op.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) {
        p->alpha = alpha;
        p->beta = beta;
        return;
    }
    memcpy(&p->alpha_value, alpha, sizeof(float));
    memcpy(&p->beta_value, beta, sizeof(float));
}

/* EMULATOR_SLOW_GEMM=66: this algorithm takes as long as two others. */
static bool is_slow(int id)
{
    const char *which = getenv("EMULATOR_SLOW_GEMM");

    return which && strtol(which, NULL, 10) == id;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t op,
                              const void *alpha, const void *A, cublasLtMatrixLayout_t a,
                              const void *B, cublasLtMatrixLayout_t b, const void *beta,
                              const void *C, cublasLtMatrixLayout_t c, void *D,
                              cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t size, cudaStream_t stream)
{
    struct matmul p = {.pa = A, .pb = B, .pc = C, .pd = D, .workspace = workspace};
    struct algorithm g = {.magic = MAGIC_ALGORITHM, .align = {1, 1, 1, 1}};
    cublasStatus_t bad;

    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (emulator_fails && emulator_fails("cublaslt")) {
        log_error("cublasLtMatmul", "a launch failed on purpose");
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (!alpha || !beta || !collect(&p, op, a, b, c, d))
        return BAD;
    if (algo)
        memcpy(&g, algo, sizeof(g));
    bad = g.magic == MAGIC_ALGORITHM ? product_check(&p) : BAD;
    if (bad)
        return bad;
    take_scalars(&p, alpha, beta);
    p.workspace_size = g.workspace;
    bad = check_pointers(&p, &g);
    if (bad)
        log_error("cublasLtMatmul", "a pointer is not there, not aligned or overlaps");
    if (!bad && (bad = check_workspace(&p, &g, size)))
        log_error("cublasLtMatmul", "the workspace is too small, or lies elsewhere");
    if (bad)
        return bad;
    if (!emulator_enqueue)
        do_work(&p);
    else if (emulator_enqueue(stream, "cublasLtMatmul", do_work, &p, sizeof(p)))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (emulator_enqueue && is_slow(g.id))
        (void)emulator_enqueue(stream, "delay", do_nothing, &g, sizeof(g));
    return OK;
}
