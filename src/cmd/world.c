#include "cmd/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "cases/op_bench.h"
#include "cmd/step_floor.h"
#include "graph/flat.h"
#include "session/buckets.h"

/* The timeline of a step, in seconds or, if times are unknown, in fractions of a step. */
struct timeline {
    struct buckets buckets;
    bool timed;
    double step, backward; /* ends of the step and of its backward pass */
    struct transfer {
        int64_t bytes;
        double ready, begins, ends; /* ends: 0 if times are unknown */
    } * transfer;
    int64_t bytes;
    double sent, exposed; /* seconds of all buckets; the part after the backward pass */
    int64_t weights;      /* with sharding: bytes gathered after the optimizer step */
    double gathers;       /* seconds of that */
    double each;          /* bytes sent by each process */
};

/* Returns the end time of each step of the program in heap memory. */
static double *step_ends(const struct program *p, const struct world *w,
                         struct timeline *c)
{
    double *ends = xcalloc((size_t)p->nregion + 1, sizeof(*ends)), all = 0;
    struct device_limits l;
    bool limits = step_limits(p, &l);

    for (int i = 0; i < p->nregion; i++) {
        all += limits ? step_floor(p->region[i], &l).predicted
                      : (double)op_region_flops(p->region[i]);
        ends[i] = all;
    }
    for (int i = 0; i < p->nregion; i++) {
        if (w->seconds > 0)
            ends[i] *= w->seconds / all;
        else if (!limits)
            ends[i] /= all;
        if (p->region[i]->anchor->phase != PHASE_UPDATE)
            c->backward = ends[i];
        c->step = ends[i];
    }
    c->timed = limits || w->seconds > 0;
    return ends;
}

/* Returns the time at which the last gradient of a bucket is computed. */
static double ready_time(const struct bucket *b, const double *ends)
{
    double pos = 0;

    for (int i = 0; i < b->ngrad; i++) {
        const struct region *r = b->grad[i]->producer->region;

        if (r && ends[r->order] > pos)
            pos = ends[r->order];
    }
    return pos;
}

static void timeline_of(struct timeline *c, const struct program *p,
                        const struct world *w)
{
    double others = (double)(w->processes - 1) / w->processes; /* ring algorithms */
    double share = w->shard ? others : 2 * others, idle = 0, *ends;

    *c = (struct timeline){0};
    buckets_find(&c->buckets, p->graph, w->bucket_bytes);
    c->transfer = xcalloc((size_t)c->buckets.n + 1, sizeof(*c->transfer));
    ends = step_ends(p, w, c);
    for (int i = 0; i < c->buckets.n; i++) {
        const struct bucket *b = &c->buckets.item[i];
        struct transfer *t = &c->transfer[i];

        t->bytes = bucket_travels(b, w->half);
        t->ready = ready_time(b, ends);
        c->bytes += t->bytes;
        if (!c->timed)
            continue;
        t->begins = t->ready > idle ? t->ready : idle;
        idle = t->ends = t->begins + share * (double)t->bytes / w->link;
        c->sent += t->ends - t->begins;
    }
    c->exposed = idle > c->backward ? idle - c->backward : 0;
    c->weights = w->shard ? 4 * p->graph->flat->trained_len : 0;
    c->each = share * (double)c->bytes + others * (double)c->weights;
    c->gathers = c->timed ? others * (double)c->weights / w->link : 0;
    free(ends);
}

static void timeline_release(struct timeline *c)
{
    buckets_release(&c->buckets);
    free(c->transfer);
}

static double overlap(const struct timeline *c)
{
    return c->sent > 0 ? 1 - c->exposed / c->sent : 0;
}

static void print_bucket(const struct timeline *c, int i)
{
    const struct transfer *t = &c->transfer[i];
    const struct bucket *b = &c->buckets.item[i];
    struct strbuf size = STRBUF_INIT;

    strbuf_add_bytes(&size, (double)t->bytes);
    say("  %6d %8d %10s", i, b->ngrad, size.buf);
    if (c->timed)
        say(" %9.3f ms %9.3f ms %9.3f ms", 1e3 * t->ready, 1e3 * t->begins,
            1e3 * t->ends);
    else
        say("  after %5.1f %% of a step", 100 * t->ready);
    say("  %s\n", b->grad[b->ngrad - 1]->name);
    strbuf_release(&size);
}

static void print_weights(const struct timeline *c)
{
    struct strbuf size = STRBUF_INIT;

    strbuf_add_bytes(&size, (double)c->weights);
    say("  %s of weights are gathered after the optimizer step", size.buf);
    if (c->timed)
        say(", in %.3f ms without overlap", 1e3 * c->gathers);
    say("\n");
    strbuf_release(&size);
}

void world_print(const struct program *p, const struct world *w)
{
    struct strbuf size = STRBUF_INIT;
    struct timeline c;
    double whole;

    timeline_of(&c, p, w);
    whole = c.step + c.exposed + c.gathers;
    strbuf_add_bytes(&size, (double)c.bytes);
    say("\n%d processes: %s of gradients are %s in %d buckets, each as soon as its last "
        "gradient is computed\n  %6s %8s %10s%s  last gradient\n",
        w->processes, size.buf, w->shard ? "reduce-scattered" : "all-reduced",
        c.buckets.n, "bucket", "tensors", "bytes",
        c.timed ? "        ready       begins         ends" : "  ready");
    for (int i = 0; i < c.buckets.n; i++)
        print_bucket(&c, i);
    if (c.timed)
        say("  at %.3g GB/s they take %.3f ms, of which %.0f %% overlap with the "
            "backward "
            "pass: a step of %.3f ms becomes %.3f ms, efficiency %.1f %%\n",
            w->link / 1e9, 1e3 * c.sent, 100 * overlap(&c), 1e3 * c.step, 1e3 * whole,
            100 * c.step / whole);
    else
        say("  the backward pass ends after %.1f %% of a step's FLOPs; give --step-ms T "
            "(see trainc bench) to predict times\n",
            100 * c.backward);
    if (w->shard)
        print_weights(&c);
    strbuf_reset(&size);
    strbuf_add_bytes(&size, c.each);
    say("  each process sends %s per step\n", size.buf);
    timeline_release(&c);
    strbuf_release(&size);
}

void world_json(struct json_writer *j, const struct program *p, const struct world *w)
{
    struct timeline c;

    timeline_of(&c, p, w);
    json_put_int(j, "world", w->processes);
    json_put_int(j, "travel_bytes", c.bytes);
    json_put_int(j, "gather_bytes", c.weights);
    json_put_double(j, "sent_bytes", c.each);
    json_begin_array(j, "buckets");
    for (int i = 0; i < c.buckets.n; i++) {
        json_begin_object(j, NULL);
        json_put_int(j, "tensors", c.buckets.item[i].ngrad);
        json_put_int(j, "bytes", c.transfer[i].bytes);
        json_put_double(j, c.timed ? "ready_seconds" : "ready_share",
                        c.transfer[i].ready);
        json_end(j);
    }
    json_end(j);
    json_put_double(j, c.timed ? "backward_seconds" : "backward_share", c.backward);
    if (c.timed) {
        json_put_double(j, "step_seconds", c.step);
        json_put_double(j, "all_reduce_seconds", c.sent);
        json_put_double(j, "exposed_seconds", c.exposed);
        json_put_double(j, "gather_seconds", c.gathers);
        json_put_double(j, "overlap", overlap(&c));
    }
    timeline_release(&c);
}
