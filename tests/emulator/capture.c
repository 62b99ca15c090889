/*
 * Captures: work submitted to the stream, and to streams that wait for its events,
 * becomes nodes of a graph instead of running. A call that cannot be captured breaks the
 * capture: every call until cudaStreamEndCapture fails, and no graph is created.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/work.h"

static struct capture *active;
static unsigned long long next_id;
static _Thread_local enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

void nodes_add(struct nodes *dst, int node)
{
    for (int i = 0; i < dst->n; i++)
        if (dst->index[i] == node)
            return;
    GROW(dst->index, dst->n, dst->cap);
    dst->index[dst->n++] = node;
}

void nodes_merge(struct nodes *dst, const struct nodes *src)
{
    for (int i = 0; i < src->n; i++)
        nodes_add(dst, src->index[i]);
}

void nodes_release(struct nodes *n)
{
    free(n->index);
    memset(n, 0, sizeof(*n));
}

/* ---- breaking ---- */

cudaError_t capture_break(struct capture *c, cudaError_t e)
{
    c->broken = true;
    return e;
}

cudaError_t capture_break_all(cudaError_t e)
{
    for (struct capture *c = active; c; c = c->next)
        c->broken = true;
    return active ? e : cudaSuccess;
}

cudaError_t capture_forbids(void)
{
    cudaError_t e = cudaSuccess;

    for (struct capture *c = active; c; c = c->next) {
        bool same_thread = c->thread == pthread_self();

        if (c->mode == cudaStreamCaptureModeRelaxed ||
            thread_mode == cudaStreamCaptureModeRelaxed)
            continue;
        if (same_thread || (c->mode == cudaStreamCaptureModeGlobal &&
                            thread_mode == cudaStreamCaptureModeGlobal))
            e = capture_break(c, cudaErrorStreamCaptureUnsupported);
    }
    return e;
}

struct capture *capture_take(struct capture *c)
{
    c->references++;
    return c;
}

void capture_drop(struct capture *c)
{
    if (!c || --c->references)
        return;
    if (c->graph)
        emulated_graph_free(c->graph);
    free(c);
}

void stream_leave(cudaStream_t s)
{
    capture_drop(s->capture);
    s->capture = NULL;
    nodes_release(&s->last);
}

cudaError_t capture_add(cudaStream_t s, struct operation *o)
{
    struct capture *c = s->capture;
    int node;

    if (c->broken || emulator_fails("capture")) {
        operation_drop(o);
        return c->broken ? cudaErrorStreamCaptureInvalidated
                         : capture_break(c, cudaErrorStreamCaptureUnsupported);
    }
    node = emulated_graph_add(c->graph, o, &s->last);
    s->last.n = 0;
    nodes_add(&s->last, node);
    return cudaSuccess;
}

/* ---- the runtime's calls ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    struct capture *c;

    emulator_lock();
    if (!s || s == cudaStreamLegacy)
        return emulator_return(cudaErrorStreamCaptureUnsupported);
    if (!stream_valid(s))
        return emulator_return(cudaErrorInvalidResourceHandle);
    if (s->capture)
        return emulator_return(capture_break(s->capture, cudaErrorIllegalState));
    if (emulator_fails("begin"))
        return emulator_return(cudaErrorStreamCaptureUnsupported);
    emulator_counters.captures++;
    c = xcalloc(1, sizeof(*c));
    *c = (struct capture){.next = active,
                          .references = 2, /* ours and the stream's */
                          .graph = emulated_graph_new(),
                          .origin = s,
                          .mode = mode,
                          .thread = pthread_self(),
                          .id = ++next_id};
    active = c;
    s->capture = c;
    return emulator_return(cudaSuccess);
}

static cudaError_t capture_result(const struct capture *c, cudaStream_t s)
{
    if (c->broken)
        return cudaErrorStreamCaptureInvalidated;
    if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != pthread_self())
        return cudaErrorStreamCaptureWrongThread;
    return emulated_graph_joined(c->graph, &s->last) ? cudaSuccess
                                                     : cudaErrorStreamCaptureUnjoined;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    struct capture *c, **ptr = &active;
    cudaError_t e;

    emulator_lock();
    *graph = NULL;
    if (!stream_valid(s) || !stream_captures(s))
        return emulator_return(cudaErrorIllegalState);
    c = s->capture;
    if (c->origin != s)
        return emulator_return(capture_break(c, cudaErrorStreamCaptureUnmatched));
    e = capture_result(c, s);
    if (e == cudaSuccess) {
        *graph = c->graph;
        c->graph = NULL;
    }
    while (*ptr != c)
        ptr = &(*ptr)->next;
    *ptr = c->next;
    c->ended = true;
    for (cudaStream_t i = stream_list; i; i = i->next)
        if (i->capture == c)
            stream_leave(i);
    capture_drop(c);
    return emulator_return(e);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status)
{
    emulator_lock();
    *status = !stream_captures(s)  ? cudaStreamCaptureStatusNone
              : s->capture->broken ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
    return emulator_return(cudaSuccess);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode was = thread_mode;

    thread_mode = *mode;
    *mode = was;
    return cudaSuccess;
}
