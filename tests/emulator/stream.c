/*
 * Streams and events. A stream runs its work immediately; a lazy one (EMULATOR_LAZY) only
 * when it, or an event recorded after the work, is waited for. A GPU may do either. The
 * legacy stream waits for all blocking streams and runs immediately.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/work.h"

cudaStream_t stream_list;

/* ---- operations ---- */

struct operation *operation_new(const char *name, void (*run)(void *arg), const void *arg,
                                size_t size)
{
    struct operation *o = aligned_alloc(16, (sizeof(*o) + size + 15) / 16 * 16);

    if (!o)
        emulator_abort("out of host memory");
    memset(o, 0, sizeof(*o));
    o->name = name;
    o->run = run;
    o->references = 1;
    if (size)
        memcpy(o->arg, arg, size);
    return o;
}

void operation_drop(struct operation *o)
{
    if (--o->references)
        return;
    if (o->release)
        o->release(o->arg);
    free(o);
}

/* Seconds on the GPU's clock, which each operation advances by the same time: what is
 * chosen by time is the same in every run. */
static double gpu_clock;

void operation_run(struct operation *o)
{
    gpu_clock += o->host ? 0 : 1e-5;
    if (!o->host)
        memory_open();
    o->run(o->arg);
    if (!o->host)
        memory_close();
}

/* ---- streams ---- */

static bool is_legacy(cudaStream_t s)
{
    return !s || s == cudaStreamLegacy;
}

bool stream_valid(cudaStream_t s)
{
    cudaStream_t item = stream_list;

    if (is_legacy(s))
        return true;
    while (item && item != s)
        item = item->next;
    return item != NULL;
}

int stream_device(cudaStream_t s)
{
    return is_legacy(s) ? device_current() : s->device;
}

bool stream_captures(cudaStream_t s)
{
    return !is_legacy(s) && s->capture;
}

static void run_first(cudaStream_t s)
{
    struct operation *o = s->head;

    s->head = o->next;
    if (!s->head)
        s->tail = &s->head;
    operation_run(o);
    operation_drop(o);
}

static void drain_blocking(void)
{
    for (cudaStream_t s = stream_list; s; s = s->next)
        if (s->blocking && s->device == device_current())
            stream_drain(s);
}

void stream_drain(cudaStream_t s)
{
    if (is_legacy(s)) {
        drain_blocking();
        return;
    }
    while (s->head)
        run_first(s);
}

void stream_drain_all(void)
{
    for (cudaStream_t s = stream_list; s; s = s->next)
        if (s->device == device_current())
            stream_drain(s);
}

cudaError_t stream_submit(cudaStream_t s, struct operation *o)
{
    cudaError_t e = cudaSuccess;

    if (stream_captures(s))
        return capture_add(s, o);
    if (is_legacy(s))
        e = capture_break_all(cudaErrorStreamCaptureImplicit);
    if (e != cudaSuccess) {
        operation_drop(o);
        return e;
    }
    emulator_counters.launches += o->kernel;
    if (is_legacy(s)) {
        drain_blocking();
        operation_run(o);
        operation_drop(o);
        return cudaSuccess;
    }
    *s->tail = o;
    s->tail = &o->next;
    if (!emulator_settings.lazy)
        stream_drain(s);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
    (void)priority;
    emulator_lock();
    emulator_counters.allocations++;
    *s = xcalloc(1, sizeof(**s));
    (*s)->device = device_current();
    (*s)->blocking = !(flags & cudaStreamNonBlocking);
    (*s)->tail = &(*s)->head;
    (*s)->next = stream_list;
    stream_list = *s;
    return emulator_return(cudaSuccess);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    return cudaStreamCreateWithPriority(s, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    return cudaStreamCreateWithPriority(s, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    cudaStream_t *ptr = &stream_list;

    emulator_lock();
    while (*ptr && *ptr != s)
        ptr = &(*ptr)->next;
    if (!*ptr)
        return emulator_return(cudaErrorInvalidResourceHandle);
    if (s->capture)
        return emulator_return(
            capture_break(s->capture, cudaErrorStreamCaptureUnsupported));
    stream_drain(s);
    *ptr = s->next;
    free(s);
    return emulator_return(cudaSuccess);
}

/* Waiting for or querying a captured stream breaks the capture. */
static cudaError_t not_captured(cudaStream_t s)
{
    if (!stream_valid(s))
        return cudaErrorInvalidResourceHandle;
    if (is_legacy(s))
        return capture_break_all(cudaErrorStreamCaptureImplicit);
    if (s->capture)
        return capture_break(s->capture, cudaErrorStreamCaptureUnsupported);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    cudaError_t e;

    emulator_lock();
    e = not_captured(s);
    if (e == cudaSuccess) {
        emulator_counters.synchronisations++;
        stream_drain(s);
    }
    return emulator_return(e);
}

/* Returns "not ready" if there is work, and runs it, so that the second call succeeds. */
cudaError_t cudaStreamQuery(cudaStream_t s)
{
    cudaError_t e;

    emulator_lock();
    e = not_captured(s);
    if (e == cudaSuccess && !is_legacy(s) && s->head) {
        e = cudaErrorNotReady;
        stream_drain(s);
    }
    emulator_unlock();
    return e;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t e;

    emulator_lock();
    e = capture_break_all(cudaErrorStreamCaptureUnsupported);
    if (e == cudaSuccess) {
        emulator_counters.synchronisations++;
        stream_drain_all();
    }
    return emulator_return(e);
}

/* ---- events ---- */

static void mark_drop(struct mark *m)
{
    if (m && !--m->references)
        free(m);
}

static void run_record(void *arg)
{
    struct mark *m = *(struct mark **)arg;

    m->done = true;
    m->time = gpu_clock;
}

static void run_wait(void *arg)
{
    struct mark *m = *(struct mark **)arg;

    while (!m->done)
        run_first(m->stream);
}

static void release_mark(void *arg)
{
    mark_drop(*(struct mark **)arg);
}

static cudaError_t submit_mark(cudaStream_t s, struct mark *m, void (*run)(void *arg))
{
    struct operation *o = operation_new("event", run, &m, sizeof(m));

    m->references++;
    o->release = release_mark;
    o->host = true;
    return stream_submit(s, o);
}

static void forget(cudaEvent_t e)
{
    capture_drop(e->capture);
    e->capture = NULL;
    nodes_release(&e->last);
    mark_drop(e->mark);
    e->mark = NULL;
    e->polled = false;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    (void)flags;
    emulator_lock();
    emulator_counters.allocations++;
    *e = xcalloc(1, sizeof(**e));
    return emulator_return(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    emulator_lock();
    forget(e);
    free(e);
    return emulator_return(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    emulator_lock();
    if (!stream_valid(s))
        return emulator_return(cudaErrorInvalidResourceHandle);
    forget(e);
    if (stream_captures(s)) {
        if (s->capture->broken)
            return emulator_return(cudaErrorStreamCaptureInvalidated);
        e->capture = capture_take(s->capture);
        nodes_merge(&e->last, &s->last);
        return emulator_return(cudaSuccess);
    }
    e->mark = xcalloc(1, sizeof(*e->mark));
    e->mark->references = 1;
    e->mark->stream = s;
    return emulator_return(submit_mark(s, e->mark, run_record));
}

/* Joins s to the capture of the event: later work on s depends on the work before the
 * event. */
static cudaError_t wait_captured(cudaStream_t s, cudaEvent_t e)
{
    if (e->capture->ended)
        return cudaErrorCapturedEvent;
    if (is_legacy(s))
        return capture_break(e->capture, cudaErrorStreamCaptureImplicit);
    if (s->capture && s->capture != e->capture) {
        (void)capture_break(s->capture, cudaErrorStreamCaptureMerge);
        return capture_break(e->capture, cudaErrorStreamCaptureMerge);
    }
    if (!s->capture)
        s->capture = capture_take(e->capture);
    nodes_merge(&s->last, &e->last);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    emulator_lock();
    if (!stream_valid(s) || flags)
        return emulator_return(cudaErrorInvalidResourceHandle);
    if (e->capture)
        return emulator_return(wait_captured(s, e));
    if (!e->mark)
        return emulator_return(cudaSuccess);
    if (stream_captures(s))
        return emulator_return(
            capture_break(s->capture, cudaErrorStreamCaptureIsolation));
    return emulator_return(submit_mark(s, e->mark, run_wait));
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    emulator_lock();
    if (e->capture)
        return emulator_return(capture_break(e->capture, cudaErrorCapturedEvent));
    emulator_counters.event_waits++;
    if (e->mark)
        run_wait(&e->mark);
    return emulator_return(cudaSuccess);
}

/* On a lazy stream returns "not ready" at least once; the second call runs the work,
 * unless EMULATOR_BUSY is set. */
cudaError_t cudaEventQuery(cudaEvent_t e)
{
    cudaError_t answer = cudaSuccess;

    emulator_lock();
    if (e->capture)
        return emulator_return(capture_break(e->capture, cudaErrorCapturedEvent));
    if (e->mark && !e->mark->done) {
        if (e->polled && !emulator_settings.busy)
            run_wait(&e->mark);
        else
            answer = cudaErrorNotReady;
        e->polled = true;
    }
    emulator_unlock();
    return answer;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    emulator_lock();
    if (!start->mark || !end->mark)
        return emulator_return(cudaErrorInvalidResourceHandle);
    if (!start->mark->done || !end->mark->done)
        return emulator_return(cudaErrorNotReady);
    *ms = (float)((end->mark->time - start->mark->time) * 1e3);
    return emulator_return(cudaSuccess);
}

/* ---- host functions ---- */

struct host_call {
    cudaHostFn_t fn;
    void *arg;
};

static void run_host(void *arg)
{
    const struct host_call *c = arg;

    c->fn(c->arg);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *arg)
{
    struct host_call c = {fn, arg};
    struct operation *o;

    emulator_lock();
    if (!stream_valid(s))
        return emulator_return(cudaErrorInvalidResourceHandle);
    o = operation_new("host function", run_host, &c, sizeof(c));
    o->host = true;
    return emulator_return(stream_submit(s, o));
}

int emulator_enqueue(struct CUstream_st *s, const char *name, void (*fn)(void *arg),
                     const void *arg, size_t size)
{
    struct operation *o;

    emulator_lock();
    if (!stream_valid(s))
        return (int)emulator_return(cudaErrorInvalidResourceHandle);
    o = operation_new(name, fn, arg, size);
    o->kernel = true;
    return (int)emulator_return(stream_submit(s, o));
}
