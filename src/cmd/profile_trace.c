/* The trace file of trainc profile: io/trace.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "cmd/profile.h"
#include "io/trace.h"
#include "train/data_config.h"

enum { LANE_UPDATES = 1, LANE_SEPARATE, LANE_WORKERS };

static const char *const phase_names[] = {"forward", "backward", "update"};

static void put_step(struct trace *t, int lane, const struct region *r, double begin,
                     double end)
{
    struct json_writer *w =
        trace_span(t, lane, phase_names[r->anchor->phase], r->anchor->layer, begin, end);

    json_put_string(w, "kernel", r->kernel->name);
    json_begin_array(w, "ops");
    for (int k = 0; k < r->nnode; k++)
        json_put_string(w, NULL, node_title(r->node[k]));
    json_end(w);
    trace_span_end(t);
}

/* Writes the spans of one update; returns the index of the next update's first span. */
static int64_t put_update(struct trace *t, const struct profile *p, int64_t first)
{
    int64_t update = p->span[first].update, end = first;
    double begin = p->span[first].begin, stop = begin;
    char name[32];

    for (; end < p->nspan && p->span[end].update == update; end++) {
        begin = p->span[end].begin < begin ? p->span[end].begin : begin;
        stop = p->span[end].end > stop ? p->span[end].end : stop;
    }
    (void)snprintf(name, sizeof(name), "step %lld", (long long)update);
    (void)trace_span(t, LANE_UPDATES, "step", name, begin, stop);
    trace_span_end(t);
    for (int64_t i = first; i < end; i++) {
        const struct profile_span *s = &p->span[i];

        if (s->kind == PROFILE_STEP) {
            put_step(t, LANE_UPDATES, s->region, s->begin, s->end);
            continue;
        }
        (void)trace_span(t, LANE_UPDATES, s->kind == PROFILE_WAIT ? "data" : "program",
                         s->kind == PROFILE_WAIT ? "wait for data" : "program", s->begin,
                         s->end);
        trace_span_end(t);
    }
    return end;
}

/* For an asynchronous device, writes the separately timed steps end to end. */
static void put_separate(struct trace *t, const struct profile *p)
{
    const struct profile_step *s;
    double start = p->began;

    trace_lane(t, LANE_SEPARATE, "kernels on the device, timed separately, end to end");
    for (int k = 0; (s = profile_step_at(p, k)); k++) {
        put_step(t, LANE_SEPARATE, s->region, start, start + s->seconds);
        start += s->seconds;
    }
}

static int by_worker(const void *a, const void *b)
{
    const struct profile_sample *x = a, *y = b;

    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void put_sample(struct trace *t, int lane, const struct profile_sample *s)
{
    char name[32];
    struct json_writer *w;

    (void)snprintf(name, sizeof(name), "image %lld", (long long)s->sample);
    w = trace_span(t, lane, "image", name, s->begin, s->end);
    json_put_int(w, "place", s->index);
    trace_span_end(t);
    for (int i = 0; i < s->stages.n; i++) {
        const struct stage_stretch *g = &s->stages.entry[i];

        (void)trace_span(t, lane, "stage", stage_name(g->stage), g->begin, g->end);
        trace_span_end(t);
    }
}

/* Writes consecutive samples of a batch that one worker loaded; returns the index of the
 * next sample. */
static int64_t put_part(struct trace *t, int lane, const struct profile *p, int64_t first)
{
    const struct profile_sample *s = &p->sample[first];
    int64_t end = first + 1;
    struct json_writer *w;
    char name[32];

    while (end < p->nsample && p->sample[end].worker == s->worker &&
           p->sample[end].batch == s->batch && p->sample[end].epoch == s->epoch &&
           p->sample[end].index == p->sample[end - 1].index + 1)
        end++;
    (void)snprintf(name, sizeof(name), "batch %lld", (long long)s->batch);
    w = trace_span(t, lane, "batch", name, s->begin, p->sample[end - 1].end);
    json_put_int(w, "epoch", (int64_t)s->epoch);
    json_put_int(w, "first", s->index);
    json_put_int(w, "images", end - first);
    trace_span_end(t);
    for (int64_t i = first; i < end; i++)
        put_sample(t, lane, &p->sample[i]);
    return end;
}

/* Also writes the samples loaded before the first timed update, which show how the ring
 * fills. */
static void put_samples(struct trace *t, struct profile *p)
{
    if (p->nsample)
        qsort(p->sample, (size_t)p->nsample, sizeof(*p->sample), by_worker);
    for (int64_t i = 0; i < p->nsample;) {
        int lane = LANE_WORKERS + p->sample[i].worker;

        if (!i || p->sample[i].worker != p->sample[i - 1].worker) {
            char *name = xasprintf("loader worker %d", p->sample[i].worker);

            trace_lane(t, lane, data_workers(p->cfg) ? name : "loader, without threads");
            free(name);
        }
        i = put_part(t, lane, p, i);
    }
}

static double first_time(const struct profile *p)
{
    double first = p->began;

    for (int64_t i = 0; i < p->nsample; i++)
        first = p->sample[i].begin < first ? p->sample[i].begin : first;
    return first;
}

void profile_trace(struct profile *p, const char *path)
{
    struct trace t;

    pthread_mutex_lock(&p->lock); /* workers are still filling the ring */
    trace_init(&t, first_time(p));
    trace_lane(&t, LANE_UPDATES, "training");
    for (int64_t i = 0; i < p->nspan;)
        i = put_update(&t, p, i);
    if (p->session.backend->async)
        put_separate(&t, p);
    put_samples(&t, p);
    pthread_mutex_unlock(&p->lock);
    if (trace_write(&t, path))
        die("cannot write '%s': %s", path, strerror(errno));
    log_info("wrote the trace to '%s'; open it in ui.perfetto.dev or chrome://tracing",
             path);
}
