#include "graph/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "graph/compile.h"

#ifdef DEBUG
static const bool debug = true;
#else
static const bool debug = false;
#endif

/* Derived buffers are packed after the last region that writes weights. */
static int refresh_position(const struct program *p)
{
    int pos = -1;

    for (int i = 0; i < p->nregion; i++)
        for (int k = 0; k < p->region[i]->nwrite; k++)
            if (p->region[i]->write[k]->memory == MEMORY_WEIGHTS)
                pos = i + 1;
    return pos;
}

static void make_steps(struct program *p)
{
    p->step = xcalloc((size_t)p->nregion + 1, sizeof(*p->step));
    for (int i = 0; i < p->nregion; i++) {
        struct region *r = p->region[i];
        struct step *s = &p->step[i];

        s->kernel = r->kernel;
        s->node = r->anchor;
        s->nin = r->nread;
        s->nout = r->nwrite;
        s->in = xcalloc((size_t)r->nread + 1, sizeof(void *));
        s->out = xcalloc((size_t)r->nwrite + 1, sizeof(void *));
        s->derived = xcalloc((size_t)r->nderived + 1, sizeof(void *));
        s->in_tensor = r->read;
        s->out_tensor = r->write;
        s->state = r->state;
    }
}

struct program *program_compile(struct graph *g, const struct backend *backend,
                                struct device *dev, const struct compile_options *o)
{
    struct program *p = xcalloc(1, sizeof(*p));

    p->graph = g;
    p->backend = backend;
    p->device = dev;
    p->share = o ? o->share : NULL;
    p->redzones = debug || (o && o->redzones);
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->memory == MEMORY_ARENA)
            g->tensor[i]->memory = MEMORY_NONE; /* from an earlier compilation */
    if (backend->lower)
        backend->lower(g, dev);
    compile_views(g);
    compile_claim(p, o && o->keep_declines);
    compile_schedule(p);
    compile_memory(p);
    make_steps(p);
    p->refresh_at = refresh_position(p);
    return p;
}

static void free_steps(struct program *p)
{
    for (int i = 0; i < p->nregion; i++) {
        struct step *s = &p->step[i];

        if (s->kernel->release)
            s->kernel->release(s);
        free(s->in);
        free(s->out);
        free(s->derived);
    }
    free(p->step);
}

static void free_captures(struct program *p)
{
    for (int i = 0; i < PROGRAM_CAPTURES; i++)
        if (p->capture[i].what)
            p->backend->capture_free(p->device, p->capture[i].what);
}

void program_free(struct program *p)
{
    if (!p)
        return;
    free_captures(p);
    free_steps(p);
    for (int i = 0; i < p->nregion; i++)
        region_free(p->region[i]);
    free(p->region);
    for (int i = 0; i < p->nderived; i++) {
        const struct derive *d = &p->derived[i].what;
        void *key = p->derived[i].key;

        if (d->release)
            d->release(d->state);
        free(key);
    }
    free(p->derived);
    free(p->decline);
    free(p->redzone);
    free(p);
}

size_t program_need(const struct program *p, enum memory m)
{
    return p->need[m];
}

void *program_data(const struct program *p, const struct tensor *t)
{
    if (t->memory == MEMORY_NONE)
        return NULL;
    if (!p->base[t->memory])
        BUG("'%s' lies in %s, which is not bound", t->name, memory_name(t->memory));
    return (char *)p->base[t->memory] + t->offset;
}

void program_bind(struct program *p, void *const base[MEMORY_COUNT])
{
    for (int m = 0; m < MEMORY_COUNT; m++)
        p->base[m] = base[m];
    for (int i = 0; i < p->nderived; i++) {
        struct derived *d = &p->derived[i];

        if (!d->read)
            continue;
        d->dst = (char *)p->base[MEMORY_DERIVED] + d->offset;
        for (int k = 0; k < d->what.nsource; k++)
            d->src[k] = program_data(p, d->what.source[k]);
    }
    for (int i = 0; i < p->nregion; i++) {
        const struct region *r = p->region[i];
        struct step *s = &p->step[i];

        for (int k = 0; k < s->nin; k++)
            s->in[k] = program_data(p, s->in_tensor[k]);
        for (int k = 0; k < s->nout; k++)
            s->out[k] = program_data(p, s->out_tensor[k]);
        for (int k = 0; k < r->nderived; k++)
            s->derived[k] = p->derived[r->derived[k]].dst;
        s->workspace = p->base[MEMORY_WORKSPACE];
    }
    redzones_bound(p);
    p->bound = true;
}

/* True if it is made from weights that no update changes. */
static bool is_constant(const struct derived *d)
{
    for (int i = 0; i < d->what.nsource; i++)
        if (!d->what.source[i]->constant)
            return false;
    return d->what.nsource > 0;
}

/* Packs all derived buffers, or those that a step of p leaves stale because it has
 * written their sources. */
static void pack(struct program *p, bool all)
{
    for (int i = 0; i < p->nderived; i++) {
        struct derived *d = &p->derived[i];

        if (d->read && (all || (!is_constant(d) && d->what.nsource && !d->what.written)))
            d->what.pack(d->dst, d->src, d->what.state);
    }
    if (p->share && p->share->bound)
        pack(p->share, all);
}

void program_refresh(struct program *p)
{
    if (!p->bound)
        BUG("program_refresh before program_bind");
    pack(p, true);
}

void program_trace(struct program *p,
                   void (*fn)(const struct program *p, int step, double seconds,
                              void *arg),
                   void *arg)
{
    p->trace = fn;
    p->trace_arg = arg;
}

static void run_step(struct program *p, int i)
{
    double began = p->trace ? clock_now() : 0;

    if (p->backend->mark)
        p->backend->mark(p->device, &p->step[i], i);
    redzones_before(p, i);
    p->step[i].kernel->run(&p->step[i], p->device);
    if (!p->runs)
        redzones_after(p, i);
    if (!p->trace)
        return;
    if (p->backend->sync)
        p->backend->sync(p->device);
    p->trace(p, i, clock_now() - began, p->trace_arg);
}

static void run_steps(struct program *p)
{
    for (int i = 0; i < p->nregion; i++) {
        if (i == p->refresh_at)
            pack(p, false);
        run_step(p, i);
    }
    if (p->refresh_at == p->nregion)
        pack(p, false);
    if (p->backend->mark)
        p->backend->mark(p->device, NULL, 0);
}

static bool captured_here(const struct program *p, const struct capture *c)
{
    return c->what && !memcmp(c->base, p->base, sizeof(c->base)) &&
           (!p->share || !memcmp(c->shared, p->share->base, sizeof(c->shared)));
}

/* Returns the capture of this binding, else a free one, else the least recently used. */
static struct capture *find_capture(struct program *p)
{
    struct capture *found = &p->capture[0];

    for (int i = 0; i < PROGRAM_CAPTURES; i++) {
        struct capture *c = &p->capture[i];

        if (captured_here(p, c))
            return c;
        if (found->what && (!c->what || c->used < found->used))
            found = c;
    }
    return found;
}

static bool record(struct program *p, struct capture *c)
{
    void *old = c->what;

    if (!p->backend->capture_begin(p->device))
        return false;
    run_steps(p);
    c->what = p->backend->capture_end(p->device);
    if (old) /* not while recording: the device may have to wait for it */
        p->backend->capture_free(p->device, old);
    memcpy(c->base, p->base, sizeof(c->base));
    if (p->share)
        memcpy(c->shared, p->share->base, sizeof(c->shared));
    return c->what != NULL;
}

static bool replay(struct program *p)
{
    struct capture *c;

    if (!p->backend->capture_begin || p->trace || !p->runs)
        return false;
    c = find_capture(p);
    if (!captured_here(p, c) && !record(p, c))
        return false;
    c->used = p->runs;
    p->backend->replay(p->device, c->what);
    return true;
}

void program_run(struct program *p)
{
    if (!p->bound)
        BUG("program_run before program_bind");
    (void)alloc_forbid(true);
    if (!replay(p))
        run_steps(p);
    p->runs++;
    (void)alloc_forbid(false);
}
