#include "config/cfgnode.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Makes room for one more in an array that lives in the tree's arena. */
#define NODE_GROW(mem, array, n, cap)                                                    \
    do {                                                                                 \
        if ((n) == (cap)) {                                                              \
            void *old = (array);                                                         \
            (cap) = (cap) ? (cap)*2 : 8;                                                 \
            (array) = arena_new((mem), (size_t)(cap) * sizeof(*(array)));                \
            if (n)                                                                       \
                memcpy((array), old, (size_t)(n) * sizeof(*(array)));                    \
        }                                                                                \
    } while (0)

struct cfgnode *cfgnode_new(void)
{
    struct cfgnode *n = xcalloc(1, sizeof(*n));

    n->mem = &n->own;
    return n;
}

void cfgnode_free(struct cfgnode *root)
{
    if (!root)
        return;
    if (root->mem != &root->own)
        BUG("cfgnode_free of a node that is not a root");
    arena_release(&root->own);
    free(root);
}

static struct cfgnode_entry *append(struct cfgnode *n, const char *key)
{
    NODE_GROW(n->mem, n->entry, n->n, n->cap);
    n->entry[n->n] = (struct cfgnode_entry){.key = arena_strdup(n->mem, key)};
    return &n->entry[n->n++];
}

static void add_note(struct cfgnode *n, const struct cfgnode_note *note)
{
    NODE_GROW(n->mem, n->note, n->nnote, n->capnote);
    n->note[n->nnote++] = (struct cfgnode_note){
        .key = arena_strdup(n->mem, note->key),
        .to = note->to ? arena_strdup(n->mem, note->to) : NULL,
        .message = note->message ? arena_strdup(n->mem, note->message) : NULL,
        .forward = note->forward,
    };
}

static struct cfgnode *new_child(struct cfgnode *n, const char *key)
{
    struct cfgnode *child = arena_new(n->mem, sizeof(*child));

    child->mem = n->mem;
    append(n, key)->node = child;
    return child;
}

static const char *copy_where(struct cfgnode *to, const char *where)
{
    return where ? arena_strdup(to->mem, where) : NULL;
}

static void copy_into(struct cfgnode *to, const struct cfgnode *from);

static void copy_entry(struct cfgnode *to, const struct cfgnode_entry *e)
{
    struct cfgnode_entry *c;

    if (e->node) {
        copy_into(new_child(to, e->key), e->node);
        cfgnode_entry(to, e->key)->where = copy_where(to, e->where);
        return;
    }
    c = append(to, e->key);
    c->value = value_copy(to->mem, &e->value);
    c->decl = e->decl;
    c->flags = e->flags; /* of a schema: there for good */
    c->where = copy_where(to, e->where);
    c->pending = e->pending;
}

static void copy_into(struct cfgnode *to, const struct cfgnode *from)
{
    to->frozen = from->frozen;
    to->new_allowed = from->new_allowed;
    to->interpolate = from->interpolate;
    for (int i = 0; i < from->nnote; i++)
        add_note(to, &from->note[i]);
    for (int i = 0; i < from->n; i++)
        copy_entry(to, &from->entry[i]);
}

struct cfgnode *cfgnode_clone(const struct cfgnode *n)
{
    struct cfgnode *c = cfgnode_new();

    copy_into(c, n);
    return c;
}

struct cfgnode *cfgnode_add(struct cfgnode *n, const char *key)
{
    struct cfgnode_entry *e = cfgnode_entry(n, key);

    if (n->frozen || (e && !e->node))
        BUG("cannot add section %s", key);
    return e ? e->node : new_child(n, key);
}

void cfgnode_add_copy(struct cfgnode *n, const struct cfgnode_entry *e)
{
    if (n->frozen || cfgnode_entry(n, e->key))
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

static bool frozen(const struct cfgnode *n, const char *key, const char *where,
                   struct problems *p)
{
    if (n->frozen)
        problems_error(p, where,
                       "attempted to change %s, but the configuration is frozen", key);
    return n->frozen;
}

bool cfgnode_set(struct cfgnode *n, const char *key, const struct value *v,
                 const char *where, struct problems *p)
{
    struct cfgnode_entry *e = cfgnode_entry(n, key);

    if (frozen(n, key, where, p))
        return false;
    if (v->type == VALUE_NODE || v->type == VALUE_OTHER) {
        problems_error(p, where,
                       "%s: a value must be None, a bool, int, float, str, list "
                       "or tuple",
                       key);
        return false;
    }
    if (!e || e->node) {
        e = e ? e : append(n, key);
        *e = (struct cfgnode_entry){.key = e->key, .decl = decl_of(v)};
    }
    e->value = value_copy(n->mem, v);
    e->where = where ? arena_strdup(n->mem, where) : NULL;
    if (!e->decl.type)
        e->decl = decl_of(v);
    return true;
}

bool cfgnode_remove(struct cfgnode *n, const char *key, struct problems *p)
{
    struct cfgnode_entry *e = cfgnode_entry(n, key);

    if (frozen(n, key, NULL, p))
        return false;
    if (!e) {
        problems_error(p, NULL, "unknown key %s", key);
        return false;
    }

    size_t after = (size_t)(n->entry + n->n - e) - 1;

    memmove(e, e + 1, after * sizeof(*e));
    n->n--;
    return true;
}

bool cfgnode_clear(struct cfgnode *n, struct problems *p)
{
    if (frozen(n, "all keys", NULL, p))
        return false;
    n->n = 0;
    return true;
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

void cfgnode_set_new_allowed(struct cfgnode *n, bool allowed)
{
    n->new_allowed = allowed;
    for (int i = 0; i < n->n; i++)
        if (n->entry[i].node)
            cfgnode_set_new_allowed(n->entry[i].node, allowed);
}

const struct cfgnode_note *cfgnode_note_find(const struct cfgnode *n, const char *key)
{
    for (int i = 0; i < n->nnote; i++)
        if (!strcmp(n->note[i].key, key))
            return &n->note[i];
    return NULL;
}

bool cfgnode_deprecate(struct cfgnode *n, const char *key, const char *message)
{
    if (cfgnode_note_find(n, key))
        return false;
    add_note(n, &(struct cfgnode_note){.key = key, .message = message});
    return true;
}

bool cfgnode_rename(struct cfgnode *n, const char *old, const char *new_key,
                    const char *message)
{
    if (cfgnode_note_find(n, old))
        return false;
    add_note(n, &(struct cfgnode_note){.key = old, .to = new_key, .message = message});
    return true;
}

bool cfgnode_equal(const struct cfgnode *a, const struct cfgnode *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++) {
        const struct cfgnode_entry *x = &a->entry[i], *y = cfgnode_entry(b, x->key);

        if (!y || !x->node != !y->node)
            return false;
        if (x->node ? !cfgnode_equal(x->node, y->node)
                    : !value_equal(&x->value, &y->value))
            return false;
    }
    return true;
}
