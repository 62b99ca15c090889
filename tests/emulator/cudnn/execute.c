/*
 * cudnnBackendExecute: checks its arguments immediately, copies everything that the work
 * needs, and submits it to the stream, where the graph is evaluated operation by
 * operation.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cudnn/error.h"
#include "tests/emulator/cudnn/handle.h"
#include "tests/emulator/cudnn/plan.h"
#include "tests/emulator/cudnn/run.h"
#include "tests/emulator/host_node.h"

#define OK       CUDNN_STATUS_SUCCESS
#define KIND(k)  ((int)CUDNN_BACKEND_OPERATION_##k##_DESCRIPTOR)
#define OPTIONAL __attribute__((weak))

/* Functions of the emulated runtime; without it, work is done immediately. */
OPTIONAL __typeof__(emulator_enqueue) emulator_enqueue;
OPTIONAL __typeof__(emulator_expect_memory) emulator_expect_memory;
OPTIONAL __typeof__(emulator_fails) emulator_fails;
OPTIONAL __typeof__(emulator_take_memory) emulator_take_memory;
OPTIONAL __typeof__(cudaStreamSynchronize) cudaStreamSynchronize;

/* Everything that the work needs. `parts` holds tensors, then operations, then places. */
struct work {
    int serial; /* of the plan */
    int ntensor, nop;
    bool tf32, noisy, clips;
    bool loses; /* all results are NaN */
    void *workspace;
    int64_t workspace_size;
    _Alignas(16) unsigned char parts[];
};

/* The location of a tensor's data. */
union place {
    void *p;                /* on the device */
    unsigned char value[8]; /* of a tensor passed by value */
};

static struct tensor *work_tensors(struct work *w)
{
    return (struct tensor *)(void *)w->parts;
}

static struct op *work_ops(struct work *w)
{
    return (struct op *)(void *)(work_tensors(w) + w->ntensor);
}

static union place *work_places(struct work *w)
{
    return (union place *)(void *)(work_ops(w) + w->nop);
}

/* ---- the work itself ---- */

const struct value *run_in(const struct run *r, const struct op *op, int slot)
{
    int t = op->slot[slot];

    if (t < 0)
        return NULL;
    if (!r->value[t].v)
        value_load(&r->value[t], &r->tensor[t], r->memory[t]);
    return &r->value[t];
}

struct value *run_out(const struct run *r, const struct op *op, int slot)
{
    int t = op->slot[slot];

    if (t < 0)
        return NULL;
    if (!r->value[t].v) {
        value_shape(&r->value[t], &r->tensor[t]);
        r->value[t].v = value_memory(sizeof(float) * (size_t)r->value[t].count);
    }
    return &r->value[t];
}

static void run_op(const struct run *r, const struct op *op)
{
    static const struct {
        int kind;
        void (*run)(const struct run *, const struct op *);
    } table[] = {
        {KIND(CONVOLUTION_FORWARD), run_convolution},
        {KIND(CONVOLUTION_BACKWARD_DATA), run_convolution},
        {KIND(CONVOLUTION_BACKWARD_FILTER), run_convolution},
        {KIND(POINTWISE), run_pointwise},
        {KIND(MATMUL), run_matmul},
        {KIND(REDUCTION), run_reduction},
        {KIND(RESHAPE), run_reshape},
        {KIND(RESAMPLE_FWD), run_resample},
        {KIND(RESAMPLE_BWD), run_resample},
        {KIND(GEN_STATS), run_gen_stats},
        {KIND(BN_FINALIZE_STATISTICS), run_bn_finalize},
        {KIND(BN_BWD_WEIGHTS), run_bn_weights},
        {KIND(NORM_FORWARD), run_norm_forward},
        {KIND(NORM_BACKWARD), run_norm_backward},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].kind == op->kind)
            table[i].run(r, op);
    for (int s = 0; s < SLOTS_MAX; s++) {
        int t = op->slot[s];

        if (t < 0 || !graph_writes(op, s))
            continue;
        if (r->tensor[t].real)
            value_store(&r->value[t], &r->tensor[t], r->memory[t]);
        else
            value_round(&r->value[t], r->tensor[t].type);
    }
}

/* Aborts if memory was freed or the plan destroyed before the work runs. */
static void check_work(struct work *w)
{
    const struct tensor *t = work_tensors(w);
    const union place *p = work_places(w);

    if (!plan_alive(w->serial)) {
        (void)fprintf(stderr, "emulated cuDNN: the plan was destroyed before its work\n");
        abort();
    }
    if (!emulator_expect_memory)
        return;
    for (int i = 0; i < w->ntensor; i++)
        if (t[i].real && !t[i].by_value)
            emulator_expect_memory(p[i].p,
                                   (size_t)tensor_bytes(&t[i]),
                                   "a tensor of a cuDNN plan");
    if (w->workspace_size)
        emulator_expect_memory(w->workspace, (size_t)w->workspace_size,
                               "the workspace of a cuDNN plan");
}

static bool is_result(struct work *w, int tensor)
{
    for (int i = 0; i < w->nop; i++)
        for (int s = 0; s < SLOTS_MAX; s++)
            if (work_ops(w)[i].slot[s] == tensor && graph_writes(&work_ops(w)[i], s))
                return true;
    return false;
}

static void lose(const struct run *r, int tensor)
{
    struct value *x = &r->value[tensor];

    for (int64_t i = 0; i < x->count; i++)
        x->v[i] = NAN;
    value_store(x, &r->tensor[tensor], r->memory[tensor]);
}

static void do_work(void *arg)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint32_t runs;
    struct work *w = arg;
    void *memory[TENSORS_MAX];
    struct value values[TENSORS_MAX];
    struct run r = {.tensor = work_tensors(w), .value = values, .memory = memory};

    check_work(w);
    (void)pthread_mutex_lock(&lock);
    value_reset();
    memset(values, 0, sizeof(values));
    for (int i = 0; i < w->ntensor; i++)
        memory[i] =
            r.tensor[i].by_value ? (void *)work_places(w)[i].value : work_places(w)[i].p;
    r.tf32 = w->tf32;
    r.clips = w->clips;
    r.noise = w->noisy ? ++runs | 1u << 31 : 0;
    if (w->workspace_size)
        memset(w->workspace, 0xff, (size_t)w->workspace_size); /* NaN in each type */
    for (int i = 0; i < w->nop; i++)
        run_op(&r, &work_ops(w)[i]);
    for (int i = 0; w->loses && i < w->ntensor; i++)
        if (r.tensor[i].real && values[i].v && is_result(w, i))
            lose(&r, i);
    (void)pthread_mutex_unlock(&lock);
}

/* ---- checks of the call ---- */

static void *pack_pointer(const struct descriptor *pack, int64_t uid, bool *found)
{
    const struct attribute *ids =
        descriptor_get(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct attribute *p =
        descriptor_get(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);

    for (int64_t i = 0; i < ids->count; i++)
        if (((const int64_t *)ids->data)[i] == uid) {
            *found = true;
            return ((void *const *)p->data)[i];
        }
    *found = false;
    return NULL;
}

static cudnnStatus_t check_pointer(const struct tensor *t, const void *p, bool found)
{
    long long uid = (long long)t->uid;

    if (!t->real)
        return found ? BAD("tensor %lld is virtual and has a pointer", uid) : OK;
    if (!found)
        return BAD("the variant pack has no tensor %lld", uid);
    if (!p)
        return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "tensor %lld: NULL", uid);
    if ((uintptr_t)p % (uintptr_t)t->align)
        return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                      "tensor %lld: %p is not aligned to %lld", uid, p,
                      (long long)t->align);
    return OK;
}

static cudnnStatus_t check_ids(const struct graph *g, const struct descriptor *pack)
{
    const struct attribute *ids =
        descriptor_get(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);

    for (int64_t i = 0; i < ids->count; i++) {
        int64_t id = ((const int64_t *)ids->data)[i];
        int t = 0;

        while (t < g->ntensor && g->tensor[t].uid != id)
            t++;
        if (t == g->ntensor)
            return BAD("the plan has no tensor %lld", (long long)id);
    }
    return OK;
}

static bool overlap(const void *a, int64_t na, const void *b, int64_t nb)
{
    return (uintptr_t)a < (uintptr_t)b + (uintptr_t)nb &&
           (uintptr_t)b < (uintptr_t)a + (uintptr_t)na;
}

static bool written(const struct graph *g, int t)
{
    for (int i = 0; i < g->nop; i++)
        for (int s = 0; s < SLOTS_MAX; s++)
            if (g->op[i].slot[s] == t && graph_writes(&g->op[i], s))
                return true;
    return false;
}

/* Marks the bytes of a tensor in a map of the bytes from `first` on; without `mark`,
 * returns whether one of them is marked. */
static bool mark_or_find(const struct tensor *t, const char *cursor, const char *first,
                         char *map, bool mark)
{
    int64_t index[CUDNN_DIM_MAX] = {0}, size = tensor_size(t->type);
    int d;

    do {
        int64_t offset = 0;

        for (int i = 0; i < t->rank; i++)
            offset += index[i] * t->strides[i];
        offset = t->type == CUDNN_DATA_BOOLEAN ? offset / 8 : offset * size;
        for (int64_t b = 0; b < size; b++) {
            char *byte = &map[cursor - first + offset + b];

            if (!mark && *byte)
                return true;
            *byte |= mark;
        }
        for (d = t->rank - 1; d >= 0 && ++index[d] == t->dims[d]; d--)
            index[d] = 0;
    } while (d >= 0);
    return false;
}

/* True if they have an element in common. Parts of one tensor may be interleaved. */
static bool share(const struct tensor *a, const char *pa, int64_t na,
                  const struct tensor *b, const char *pb, int64_t nb)
{
    const char *first = pa < pb ? pa : pb, *end = pa + na > pb + nb ? pa + na : pb + nb;
    char *map;
    bool both;

    if (!overlap(pa, na, pb, nb))
        return false;
    map = calloc(1, (size_t)(end - first));
    if (!map)
        abort();
    (void)mark_or_find(a, pa, first, map, true);
    both = mark_or_find(b, pb, first, map, false);
    free(map);
    return both;
}

/* Results must not overlap operands or the workspace: no engine promises to support
 * that. */
static cudnnStatus_t check_overlaps(const struct graph *g, const union place *p,
                                    const void *workspace, int64_t size)
{
    int64_t bytes[TENSORS_MAX];

    for (int i = 0; i < g->ntensor; i++)
        bytes[i] = g->tensor[i].real && !g->tensor[i].by_value
                       ? tensor_bytes(&g->tensor[i])
                       : 0;
    for (int i = 0; i < g->ntensor; i++) {
        if (bytes[i] && size && overlap(p[i].p, bytes[i], workspace, size))
            return BAD("tensor %lld lies on the workspace", (long long)g->tensor[i].uid);
        for (int j = 0; j < g->ntensor; j++)
            if (i != j && bytes[i] && bytes[j] && written(g, i) &&
                share(&g->tensor[i], p[i].p, bytes[i], &g->tensor[j], p[j].p, bytes[j]))
                return BAD("result %lld lies on tensor %lld", (long long)g->tensor[i].uid,
                           (long long)g->tensor[j].uid);
    }
    return OK;
}

static cudnnStatus_t fill_places(const struct graph *g, const struct descriptor *pack,
                                 union place *places)
{
    for (int i = 0; i < g->ntensor; i++) {
        const struct tensor *t = &g->tensor[i];
        bool found;
        void *p = pack_pointer(pack, t->uid, &found);
        cudnnStatus_t bad = check_pointer(t, p, found);

        if (bad)
            return bad;
        places[i].p = p;
        if (t->by_value)
            memcpy(places[i].value, p, (size_t)tensor_size(t->type));
    }
    return check_ids(g, pack);
}

static cudnnStatus_t check_workspace(const struct plan *plan, const void *workspace)
{
    if (!plan->engine->workspace)
        return OK;
    if (!workspace)
        return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                      "the plan wants a workspace of %lld bytes",
                      (long long)plan->engine->workspace);
    if ((uintptr_t)workspace % 16)
        return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "workspace %p",
                      workspace);
    return OK;
}

/* EMULATOR_SLOW=1: a plan with statistics takes as long as five others. */
static int delays(const struct graph *g)
{
    const char *slow = getenv("EMULATOR_SLOW");

    for (int i = 0; slow && *slow && i < g->nop; i++)
        if (g->op[i].kind == KIND(GEN_STATS))
            return 4;
    return 0;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static cudnnStatus_t submit(const struct plan *plan, const union place *places,
                            void *workspace, struct CUstream_st *stream)
{
    const struct graph *g = &plan->graph;
    size_t nt = sizeof(struct tensor) * (size_t)g->ntensor;
    size_t no = sizeof(struct op) * (size_t)g->nop;
    size_t np = sizeof(union place) * (size_t)g->ntensor;
    size_t size = sizeof(struct work) + nt + no + np;
    struct work *w = calloc(1, size);
    int error = 0;

    if (!w)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    w->serial = plan->serial;
    w->ntensor = g->ntensor;
    w->nop = g->nop;
    w->tf32 = engine_notes(plan->engine, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) &&
              graph_has_float_product(g);
    w->noisy = engine_notes(plan->engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) ||
               (graph_is_attention(g) && attention_adds_up(g));
    w->loses = graph_is_attention(g) && attention_loses(g, library_version());
    w->clips = g->nop > 1 && engine_clips(plan->engine);
    w->workspace = workspace;
    w->workspace_size = plan->engine->workspace;
    memcpy(work_tensors(w), g->tensor, nt);
    memcpy(work_ops(w), g->op, no);
    memcpy(work_places(w), places, np);
    if (emulator_enqueue)
        error = emulator_enqueue(stream, "cudnn", do_work, w, size);
    else
        do_work(w);
    for (int i = emulator_enqueue ? delays(g) : 0; i > 0 && !error; i--)
        error = emulator_enqueue(stream, "delay", do_nothing, &i, sizeof(i));
    free(w);
    if (!error && plan->engine->waits && cudaStreamSynchronize)
        error = (int)cudaStreamSynchronize(stream);
    return error ? refuse(CUDNN_STATUS_EXECUTION_FAILED, "CUDA error %d", error) : OK;
}

/* Allocates the memory of an engine's kernels, which are loaded at its first run and
 * stay. */
static void load(const struct engine *e)
{
    enum { ENGINES = 128, MEMORY = 8 << 20 };
    static atomic_bool loaded[ENGINES];

    if (!atomic_exchange(&loaded[e->index % ENGINES], true) && emulator_take_memory)
        emulator_take_memory(MEMORY);
}

/* EMULATOR_REFUSES=67: plans of this engine are finalized but do not run. */
static bool refuses(const struct engine *e)
{
    const char *which = getenv("EMULATOR_REFUSES");

    return which && *which && strtol(which, NULL, 10) == e->index;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    const struct descriptor *d = plan, *v = pack;
    union place places[TENSORS_MAX];
    void *workspace;
    cudnnStatus_t bad;

    if (!handle_alive(handle))
        return refuse(CUDNN_STATUS_NOT_INITIALIZED, "execute: no handle");
    if (!descriptor_alive(d) || !descriptor_alive(v) ||
        d->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        v->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return BAD("execute wants a plan and a variant pack");
    if (!d->finalized || !v->finalized)
        return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "execute: not finalized");
    if (d->plan->capability != COMPUTE_CAPABILITY)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH,
                      "the plan is for compute capability %d", d->plan->capability);
    bad = fill_places(&d->plan->graph, v, places);
    if (bad)
        return bad;
    workspace =
        descriptor_get(v, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)
            ? *(void *const *)descriptor_get(v, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->data
            : NULL;
    if (emulator_fails && emulator_fails("cudnn"))
        return refuse(CUDNN_STATUS_EXECUTION_FAILED, "a launch failed on purpose");
    if (refuses(d->plan->engine))
        return refuse(CUDNN_STATUS_EXECUTION_FAILED, "engine %d does not run",
                      d->plan->engine->index);
    load(d->plan->engine);
    bad = check_workspace(d->plan, workspace);
    if (!bad)
        bad = check_overlaps(&d->plan->graph, places, workspace,
                             d->plan->engine->workspace);
    return bad ? bad : submit(d->plan, places, workspace, handle_stream(handle));
}
