#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "graph/compile.h"

/* All readers come after n, so each is already dead or claimed. */
static bool is_needed(const struct graph *g, const struct node *n)
{
    if (node_writes_state(n))
        return true;
    for (int i = 0; i < n->nout; i++)
        if (tensor_stored(g, n->out[i], NULL))
            return true;
    return false;
}

static void note_decline(struct program *p, const struct node *n, const struct kernel *k,
                         const char *reason)
{
    GROW(p->decline, p->ndecline, p->decline_cap);
    p->decline[p->ndecline++] = (struct decline){n, k, reason};
}

static void add_region(struct program *p, struct region *r)
{
    GROW(p->region, p->nregion, p->region_cap);
    p->region[p->nregion++] = r;
}

/* Zeroes the state for the next kernel. */
static void reset_state(struct region *r, const struct kernel *k)
{
    free(r->state);
    r->state = xcalloc(1, k->state_size);
    r->kernel = k;
}

/* Dies with the node, its shapes, and the reasons from p->decline[first] on. */
__attribute__((noreturn)) static void no_kernel(const struct program *p,
                                                const struct node *n, int first)
{
    struct strbuf s = STRBUF_INIT;
    char text[TENSOR_TEXT];

    for (int i = 0; i < n->nin; i++)
        strbuf_addf(&s, "%s%s", i ? ", " : "", tensor_text(n->in[i], text));
    strbuf_addf(&s, "):");
    for (int i = first; i < p->ndecline; i++)
        strbuf_addf(&s, "%s %s: %s", i > first ? ";" : "", p->decline[i].kernel->name,
                    p->decline[i].reason);
    die("layer '%s': no %s kernel for %s(%s", n->layer, p->backend->name, node_title(n),
        s.buf);
}

static void claim_node(struct program *p, struct node *n)
{
    struct region *r = region_new(p, n);
    int first = p->ndecline;

    for (int i = 0; p->backend->kernels[i]; i++) {
        const struct kernel *k = p->backend->kernels[i];
        const char *why;

        reset_state(r, k);
        why = k->claim(r, p->graph, n, p->device);
        if (!why) {
            if (n->region != r)
                BUG("%s claimed '%s' (%s) without taking it", k->name, n->layer,
                    node_title(n));
            add_region(p, r);
            return;
        }
        if (r->nnode || r->nread || r->nwrite)
            BUG("%s declined '%s' after taking: %s", k->name, n->layer, why);
        note_decline(p, n, k, why);
    }
    no_kernel(p, n, first);
}

/* Each region must write what others read, and read only what a region writes. */
static void check_reads(const struct program *p)
{
    for (int i = 0; i < p->nregion; i++) {
        const struct region *r = p->region[i];

        for (int k = 0; k < r->nread; k++) {
            const struct tensor *t = tensor_base(r->read[k]);
            const struct node *src = t->producer;

            if (!src)
                continue;
            if (!src->region || !region_has_write(src->region, t))
                BUG("%s ('%s') reads '%s'; %s should write it", r->kernel->name,
                    r->anchor->layer, t->name,
                    src->region ? src->region->kernel->name : "a dropped node");
        }
    }
}

static void check_roots(const struct program *p)
{
    for (int i = 0; i < p->graph->ntensor; i++) {
        const struct tensor *t = tensor_base(p->graph->tensor[i]);

        if (!t->root || !t->producer)
            continue;
        if (!t->producer->region || !region_has_write(t->producer->region, t))
            BUG("no node writes '%s', which must be kept", t->name);
    }
}

void compile_claim(struct program *p, bool keep_declines)
{
    struct graph *g = p->graph;

    for (int i = 0; i < g->nnode; i++) {
        g->node[i]->region = NULL;
        g->node[i]->dead = false;
    }
    for (int i = 0; i < g->ntensor; i++)
        g->tensor[i]->claimed_reads = 0;
    for (int i = g->nnode; i-- > 0;) {
        struct node *n = g->node[i];
        int kept = p->ndecline;

        if (n->region)
            continue;
        n->dead = !is_needed(g, n);
        if (!n->dead && !node_is_alias(n))
            claim_node(p, n);
        if (!keep_declines)
            p->ndecline = kept;
    }
    check_reads(p);
    check_roots(p);
}
