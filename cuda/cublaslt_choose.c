/*
 * The algorithm of a GEMM: the fastest of the heuristic's offers if CUDNN.BENCHMARK times,
 * else the first. Kept for later GEMMs of the same sizes, and on disk.
 */
#include <stdlib.h>

#include "base/log.h"
#include "cuda/cublaslt_lib.h"
#include "cuda/timing.h"

enum { OFFERS = 8 }; /* algorithms to request */

/* Returns the number of offers that this GEMM can use, best first by the heuristic. */
static int find_offers(struct device *dev, struct cublaslt_plan *p,
                       struct cublaslt_choice offer[OFFERS])
{
    static const cublasLtMatmulPreferenceAttributes_t alignment[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
    };
    uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, align = CUBLASLT_ALIGNMENT;
    uint64_t workspace = CUBLASLT_WORKSPACE;
    cublasLtMatmulHeuristicResult_t found[OFFERS];
    const struct cublaslt *c = p->c;
    cublasLtMatmulPreference_t pref;
    cublasStatus_t status;
    int n = 0, usable = 0;

    CUBLASLT_CHECK(dev, c->MatmulPreferenceCreate(&pref));
    CUBLASLT_CHECK(dev, c->MatmulPreferenceSetAttribute(
                            pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                            sizeof(workspace)));
    CUBLASLT_CHECK(dev, c->MatmulPreferenceSetAttribute(
                            pref, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &scheme,
                            sizeof(scheme)));
    for (size_t i = 0; i < sizeof(alignment) / sizeof(alignment[0]); i++)
        CUBLASLT_CHECK(dev, c->MatmulPreferenceSetAttribute(pref, alignment[i], &align,
                                                            sizeof(align)));
    status = c->MatmulAlgoGetHeuristic(c->handle, p->desc, p->b, p->a, p->d, p->d, pref,
                                       OFFERS, found, &n);
    CUBLASLT_CHECK(dev, c->MatmulPreferenceDestroy(pref));
    for (int i = 0; !status && i < n && i < OFFERS; i++)
        if (!found[i].state && found[i].workspaceSize <= CUBLASLT_WORKSPACE)
            offer[usable++] = (struct cublaslt_choice){
                .algo = found[i].algo, .workspace = found[i].workspaceSize};
    return usable;
}

static int number_of(const struct cublaslt *c, const struct cublaslt_choice *k)
{
    int32_t number = -1;
    size_t size;

    return c->MatmulAlgoConfigGetAttribute(&k->algo, CUBLASLT_ALGO_CONFIG_ID, &number,
                                           sizeof(number), &size)
               ? -1
               : number;
}

enum part { PART_WORKSPACE, PART_A, PART_B, PART_D, PART_VECTOR, PART_Z, PARTS };

/* One offer and the buffers that all share. */
struct trial {
    struct device *dev;
    struct cublaslt_plan *p;
    const struct cublaslt_choice *offer;
    char *part[PARTS];
};

static const char *submit(void *arg)
{
    const struct trial *t = arg;
    char *vector = t->p->what.vector == CUBLASLT_NONE ? NULL : t->part[PART_VECTOR];
    cublasStatus_t status;

    if (t->p->what.gelu > CUBLASLT_GELU)
        cublaslt_set_gelu(t->dev, t->p, t->part[PART_Z]);
    status = cublaslt_try(t->dev, t->p, t->offer, t->part[PART_A], t->part[PART_B],
                          t->part[PART_D], vector, t->part[PART_WORKSPACE]);

    return status ? t->p->c->GetStatusString(status) : NULL;
}

/* Allocates and fills the buffers; returns their memory, or NULL if there is no room. */
static char *trial_buffers(struct trial *t)
{
    const struct cublaslt_matmul *w = &t->p->what;
    const struct {
        int64_t len;
        enum dtype type;
    } part[PARTS] = {
        [PART_WORKSPACE] = {CUBLASLT_WORKSPACE, DTYPE_U8},
        [PART_A] = {w->m * w->k, w->type},
        [PART_B] = {w->k * w->n, w->type},
        [PART_D] = {w->m * w->n, w->out},
        [PART_VECTOR] = {w->m > w->n ? w->m : w->n, w->out},
        [PART_Z] = {w->gelu > CUBLASLT_GELU ? w->m * w->n : 0, w->out},
    };
    size_t bytes[PARTS], sum = 0;
    char *memory, *end;

    for (int i = 0; i < PARTS; i++) {
        bytes[i] = (size_t)part[i].len * dtype_size(part[i].type);
        bytes[i] = (bytes[i] + TIMING_ALIGN - 1) / TIMING_ALIGN * TIMING_ALIGN;
        sum += bytes[i];
    }
    memory = end = timing_alloc(t->dev, sum, "cuBLASLt's algorithms");
    for (int i = 0; memory && i < PARTS; i++) {
        t->part[i] = end;
        if (i != PART_WORKSPACE)
            timing_fill(t->dev, end, bytes[i], part[i].type);
        end += bytes[i];
    }
    return memory;
}

/* Returns the fastest offer, with its time; the first, without a time, if the device has no
 * memory for the matrices or no offer runs. */
static struct cublaslt_choice fastest(struct device *dev, struct cublaslt_plan *p,
                                      struct cublaslt_choice *offer, int n)
{
    struct trial t = {.dev = dev, .p = p};
    char *memory = trial_buffers(&t);
    struct cublaslt_choice best = offer[0];

    for (int turn = 0; memory && turn < TIMING_ROUNDS * n; turn++) {
        const char *why;
        float us;

        t.offer = &offer[turn % n];
        us = timing_run(dev, submit, &t, &why);
        log_debug("cuBLASLt algorithm %d: %.1f us, %zu bytes", number_of(p->c, t.offer),
                  (double)us, t.offer->workspace);
        if (why)
            log_info("cuBLASLt algorithm %d is passed over: %s", number_of(p->c, t.offer),
                     why);
        if (!(us > 0) || (best.microseconds > 0 && us >= best.microseconds))
            continue;
        best = *t.offer;
        best.microseconds = us;
    }
    if (memory)
        timing_free(dev, memory);
    return best;
}

bool cublaslt_time(struct device *dev, struct cublaslt_plan *p)
{
    struct cublaslt_choice offer[OFFERS];
    int n = find_offers(dev, p, offer);

    if (n > 0)
        p->choice = fastest(dev, p, offer, n);
    p->number = n > 0 ? number_of(p->c, &p->choice) : -1;
    return n > 0 && p->choice.microseconds > 0;
}

static char *make_key(const struct device *dev, const struct cublaslt_matmul *w)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "cublaslt %d\n%s\ntf32 %d, benchmark %d, transposed %d %d, ",
                dev->cublaslt->library->version, dev->what.json, dev->options.tf32,
                dev->times, w->transposed_a, w->transposed_b);
    cublaslt_matmul_text(w, &s);
    return strbuf_detach(&s);
}

/* Loads the choice from the cache if the library still accepts it. */
static bool restore(const struct device *dev, struct cublaslt_plan *p, const char *key)
{
    struct cublaslt_choice k = {.workspace = 0};
    cublasLtMatmulHeuristicResult_t r;

    if (!cublaslt_cache_load(dev, key, &k.algo, sizeof(k.algo), &k.microseconds) ||
        p->c->MatmulAlgoCheck(p->c->handle, p->desc, p->b, p->a, p->d, p->d, &k.algo,
                              &r) ||
        r.workspaceSize > CUBLASLT_WORKSPACE)
        return false;
    k.workspace = r.workspaceSize;
    p->choice = k;
    return true;
}

/* A choice made in a hurry is the heuristic's first, and is not kept. */
static void keep(const struct device *dev, struct cublaslt_plan *p, const char *key)
{
    if (dev->times && !(p->choice.microseconds > 0))
        return;
    strmap_put(&p->c->choice, key, xmemdup(&p->choice, sizeof(p->choice)));
    cublaslt_cache_store(dev, key, &p->choice.algo, sizeof(p->choice.algo),
                         p->choice.microseconds);
}

const char *cublaslt_choose(struct device *dev, struct cublaslt_plan *p)
{
    char *key = make_key(dev, &p->what);
    const struct cublaslt_choice *known = strmap_get(&p->c->choice, key);
    struct cublaslt_choice offer[OFFERS];
    int n = 0;

    bool found = known != NULL;

    if (known)
        p->choice = *known;
    else
        found = restore(dev, p, key);
    if (!found && (n = find_offers(dev, p, offer)) > 0) {
        p->choice = dev->options.benchmark ? fastest(dev, p, offer, n) : offer[0];
        keep(dev, p, key);
    }
    if (found || n > 0)
        p->number = number_of(p->c, &p->choice);
    free(key);
    return found || n > 0 ? NULL : "cuBLASLt has no algorithm for it";
}
