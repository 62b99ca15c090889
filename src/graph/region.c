/* The functions that claim() may call; see graph/kernel.h. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/compile.h"

static int index_of(struct tensor *const *list, int n, const struct tensor *t)
{
    for (int i = 0; i < n; i++)
        if (list[i] == t)
            return i;
    return -1;
}

bool region_has_write(const struct region *r, const struct tensor *t)
{
    return index_of(r->write, r->nwrite, t) >= 0;
}

bool tensor_stored(const struct graph *g, const struct tensor *t, const struct region *r)
{
    const struct node *n;
    int readers = 0;

    if (t->root || (t->memory != MEMORY_NONE && t->memory != MEMORY_ARENA &&
                    t->memory != MEMORY_STATS))
        return true;
    for (int i = 0; r && i < r->nread; i++)
        readers += r->read[i] == t;
    if (t->claimed_reads > readers) /* also through a copy of the reader */
        return true;
    for (int i = 0; (n = tensor_reader(g, t, i)); i++)
        if (node_is_alias(n) ? tensor_stored(g, n->out[0], r) : node_free(n))
            return true;
    return false;
}

struct node *tensor_only_reader(const struct graph *g, const struct tensor *t)
{
    struct node *n = tensor_reader(g, t, 0);

    return n && !tensor_reader(g, t, 1) && !t->root ? n : NULL;
}

struct node *sole_producer(const struct graph *g, const struct tensor *t,
                           const struct op *op)
{
    struct node *p = t->producer;

    return p && (!op || p->op == op) && node_free(p) && tensor_only_reader(g, t) ? p
                                                                                 : NULL;
}

/* True if nothing but `reader` may still read t. */
static bool only_needed_by(const struct graph *g, const struct tensor *t,
                           const struct node *reader)
{
    const struct node *n;

    if (t->root || t->claimed_reads)
        return false;
    for (int i = 0; (n = tensor_reader(g, t, i)); i++)
        if (n != reader && (node_is_alias(n) || node_free(n)))
            return false;
    return true;
}

struct node *last_producer(const struct graph *g, const struct tensor *t,
                           const struct node *reader, const struct op *op)
{
    struct node *p = t->producer;

    return p && (!op || p->op == op) && node_free(p) && only_needed_by(g, t, reader)
               ? p
               : NULL;
}

bool node_free(const struct node *n)
{
    return !n->region && !n->dead;
}

void *region_state(struct region *r)
{
    return r->state;
}

void region_claim(struct region *r, struct node *n)
{
    if (!node_free(n))
        BUG("%s takes '%s' (%s), which is taken", r->kernel->name, n->layer,
            node_title(n));
    n->region = r;
    GROW(r->node, r->nnode, r->node_cap);
    r->node[r->nnode++] = n;
}

void region_duplicate(struct region *r, struct node *n)
{
    if (node_writes_state(n))
        BUG("%s duplicates '%s' (%s), which writes state", r->kernel->name, n->layer,
            node_title(n));
    GROW(r->copy, r->ncopy, r->copy_cap);
    r->copy[r->ncopy++] = n;
}

int region_read(struct region *r, struct tensor *t)
{
    t->claimed_reads++;
    GROW(r->read, r->nread, r->read_cap);
    r->read[r->nread] = t;
    return r->nread++;
}

int region_write(struct region *r, struct tensor *t)
{
    int cap = r->write_cap;

    GROW(r->write, r->nwrite, r->write_cap);
    if (cap != r->write_cap)
        r->inplace = xrealloc(r->inplace, (size_t)r->write_cap * sizeof(*r->inplace));
    r->inplace[r->nwrite] = -1;
    r->write[r->nwrite] = t;
    return r->nwrite++;
}

void region_claim_node(struct region *r, struct node *n)
{
    region_claim(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, n->out[i]);
}

void region_inplace(struct region *r, int o, int i)
{
    if (o < 0 || o >= r->nwrite || i < 0 || i >= r->nread)
        BUG("%s: no write %d or no read %d", r->kernel->name, o, i);
    r->inplace[o] = i;
}

void region_room(struct region *r, int o, size_t bytes)
{
    if (o < 0 || o >= r->nwrite || r->write[o]->root)
        BUG("%s: no write %d, or the host reads it", r->kernel->name, o);
    r->write[o]->room = bytes;
}

void region_workspace(struct region *r, size_t bytes)
{
    if (bytes > r->workspace)
        r->workspace = bytes;
}

static bool same_derived(const struct derived *d, const struct derive *want)
{
    return d->what.pack == want->pack && d->what.nsource == want->nsource &&
           d->what.size == want->size && d->what.key_len == want->key_len &&
           !memcmp(d->what.source, want->source,
                   (size_t)want->nsource * sizeof(want->source[0])) &&
           (!want->key_len || !memcmp(d->what.key, want->key, want->key_len));
}

int region_derive(struct region *r, const struct derive *want)
{
    struct program *p = r->program;
    int pos = 0;

    for (int i = 0; i < want->nsource; i++)
        if (want->source[i]->memory != MEMORY_WEIGHTS)
            BUG("%s derives from '%s', which is not a weight", r->kernel->name,
                want->source[i]->name);
    while (pos < p->nderived && !same_derived(&p->derived[pos], want))
        pos++;
    if (pos == p->nderived) {
        GROW(p->derived, p->nderived, p->derived_cap);
        p->derived[pos] = (struct derived){.what = *want};
        p->derived[pos].key = xmemdup(want->key, want->key_len);
        p->derived[pos].what.key = p->derived[pos].key;
        p->nderived++;
    } else if (want->release) {
        want->release(want->state);
    }
    p->derived[pos].read |= !want->written;
    p->derived[pos].what.written |= want->written;
    GROW(r->derived, r->nderived, r->derived_cap);
    r->derived[r->nderived] = pos;
    return r->nderived++;
}

struct region *region_new(struct program *p, struct node *anchor)
{
    struct region *r = xcalloc(1, sizeof(*r));

    r->program = p;
    r->anchor = anchor;
    return r;
}

void region_free(struct region *r)
{
    if (!r)
        return;
    free(r->node);
    free(r->copy);
    free(r->read);
    free(r->write);
    free(r->inplace);
    free(r->derived);
    free(r->state);
    free(r);
}
