#include "config/cfgnode.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

struct cfgnode *cfgnode_new(void)
{
    struct cfgnode *n = xcalloc(1, sizeof(*n));

    n->mem = &n->root_mem;
    return n;
}

void cfgnode_free(struct cfgnode *root)
{
    if (!root)
        return;
    if (root->mem != &root->root_mem)
        BUG("cfgnode_free of a node that is not a root");
    arena_release(&root->root_mem);
    free(root);
}

static struct cfgnode_entry *append(struct cfgnode *n, const char *key)
{
    struct cfgnode_entry *old = n->entry;

    if (n->frozen)
        BUG("cannot add key %s: the tree is frozen", key);
    if (n->n == n->cap) {
        n->cap = n->cap ? 2 * n->cap : 8;
        n->entry = arena_new(n->mem, (size_t)n->cap * sizeof(*n->entry));
        if (old)
            memcpy(n->entry, old, (size_t)n->n * sizeof(*old));
    }
    n->entry[n->n] = (struct cfgnode_entry){.key = arena_strdup(n->mem, key)};
    return &n->entry[n->n++];
}

static struct cfgnode *new_section(struct arena *mem)
{
    struct cfgnode *n = arena_new(mem, sizeof(*n));

    n->mem = mem;
    return n;
}

static const char *copy_text(struct cfgnode *dst, const char *text)
{
    return text ? arena_strdup(dst->mem, text) : NULL;
}

static void copy_entry(struct cfgnode *dst, const struct cfgnode_entry *e)
{
    struct cfgnode_entry *c = append(dst, e->key);
    const char *key = c->key;

    *c = *e;
    c->key = key;
    c->name = copy_text(dst, e->name);
    c->origin = copy_text(dst, e->origin);
    c->replaced = copy_text(dst, e->replaced);
    if (!e->node) {
        c->value = value_copy(dst->mem, &e->value);
        return;
    }
    c->node = new_section(dst->mem);
    for (int i = 0; i < e->node->n; i++)
        copy_entry(c->node, &e->node->entry[i]);
}

struct cfgnode *cfgnode_clone(const struct cfgnode *n)
{
    struct cfgnode *c = cfgnode_new();

    for (int i = 0; i < n->n; i++)
        copy_entry(c, &n->entry[i]);
    return c;
}

struct cfgnode *cfgnode_add(struct cfgnode *n, const char *key)
{
    struct cfgnode_entry *e = cfgnode_entry(n, key);

    if (e && !e->node)
        BUG("cannot add section %s", key);
    if (!e) {
        e = append(n, key);
        e->node = new_section(n->mem);
    }
    return e->node;
}

struct cfgnode_entry *cfgnode_set(struct cfgnode *n, const char *key,
                                  const struct value *v, const char *origin)
{
    struct cfgnode_entry *e = cfgnode_entry(n, key);

    if (n->frozen || (e && e->node))
        BUG("cannot set key %s", key);
    e = e ? e : append(n, key);
    e->value = value_copy(n->mem, v);
    e->origin = copy_text(n, origin);
    return e;
}

void cfgnode_add_copy(struct cfgnode *n, const struct cfgnode_entry *e)
{
    if (cfgnode_entry(n, e->key))
        BUG("cannot add key %s", e->key);
    copy_entry(n, e);
}

static struct cfgnode_entry *entry_len(const struct cfgnode *n, const char *key,
                                       size_t len)
{
    for (int i = 0; i < n->n; i++)
        if (!strncmp(n->entry[i].key, key, len) && !n->entry[i].key[len])
            return &n->entry[i];
    return NULL;
}

struct cfgnode_entry *cfgnode_entry(const struct cfgnode *n, const char *key)
{
    return entry_len(n, key, strlen(key));
}

struct cfgnode_entry *cfgnode_find(const struct cfgnode *n, const char *path)
{
    for (;;) {
        size_t len = strcspn(path, ".");
        struct cfgnode_entry *e = entry_len(n, path, len);

        if (!e || !path[len])
            return e;
        if (!e->node)
            return NULL;
        n = e->node;
        path += len + 1;
    }
}

static void set_frozen(struct cfgnode *n, bool value)
{
    n->frozen = value;
    for (int i = 0; i < n->n; i++)
        if (n->entry[i].node)
            set_frozen(n->entry[i].node, value);
}

void cfgnode_freeze(struct cfgnode *n)
{
    set_frozen(n, true);
}

void cfgnode_defrost(struct cfgnode *n)
{
    set_frozen(n, false);
}
