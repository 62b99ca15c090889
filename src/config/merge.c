/* The merges of config/cfgnode.h: files, other trees and lists into a tree with types. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "config/cfgnode.h"
#include "config/yaml.h"

/* --- all or nothing ------------------------------------------------------------------
 */

/* A node as it was: the struct and its entries. Values are never changed in place. */
struct saved {
    struct cfgnode *node;
    struct cfgnode was;
    struct cfgnode_entry *entry;
};

struct snapshot {
    struct saved *item;
    int n, cap;
};

static void snapshot_take(struct snapshot *s, struct cfgnode *n)
{
    GROW(s->item, s->n, s->cap);
    s->item[s->n++] = (struct saved){
        .node = n,
        .was = *n,
        .entry = n->n ? xmemdup(n->entry, (size_t)n->n * sizeof(*n->entry)) : NULL,
    };
    for (int i = 0; i < n->n; i++)
        if (n->entry[i].node)
            snapshot_take(s, n->entry[i].node);
}

/* Puts everything back if `back`. The tree's arena has grown meanwhile, and stays. */
static void snapshot_end(struct snapshot *s, bool back)
{
    for (int i = 0; i < s->n; i++) {
        struct saved *old = &s->item[i];

        if (back) {
            struct arena own = old->node->own;

            *old->node = old->was;
            old->node->own = own;
            if (old->entry)
                memcpy(old->node->entry, old->entry,
                       (size_t)old->was.n * sizeof(*old->entry));
        }
        free(old->entry);
    }
    free(s->item);
}

/* --- one key --------------------------------------------------------------------------
 */

struct merge {
    struct cfgnode *root; /* where the merge started: its notes count */
    struct problems *p;
};

static void try_keys(struct suggest *s, const struct cfgnode *n, struct strbuf *path,
                     struct arena *mem)
{
    for (int i = 0; i < n->n; i++) {
        size_t len = path->len;

        strbuf_addf(path, "%s%s", len ? "." : "", n->entry[i].key);
        suggest_try(s, arena_strdup(mem, path->buf));
        if (n->entry[i].node)
            try_keys(s, n->entry[i].node, path, mem);
        path->len = len;
        path->buf[len] = '\0';
    }
}

/* Whether key is a flag without its dashes: batch_size, lr, as timm has keys. */
static bool is_flag(const char *flags, const char *key)
{
    size_t len = strlen(key);

    for (const char *f = flags; f && (f = strstr(f, "--")); f += 2) {
        size_t i = 0;

        while (i < len && f[2 + i] == (key[i] == '_' ? '-' : key[i]))
            i++;
        if (i == len && (!f[2 + i] || f[2 + i] == ','))
            return true;
    }
    return false;
}

/* The full name of the key with the flag --key, in `path`; false: there is none. */
static bool find_flag(const struct cfgnode *n, const char *key, struct strbuf *path)
{
    for (int i = 0; i < n->n; i++) {
        const struct cfgnode_entry *e = &n->entry[i];
        size_t len = path->len;

        strbuf_addf(path, "%s%s", len ? "." : "", e->key);
        if (e->node ? find_flag(e->node, key, path) : is_flag(e->flags, key))
            return true;
        path->len = len;
        path->buf[len] = '\0';
    }
    return false;
}

/* The key that was meant, if that is known, will be blamed for nothing else. */
static void mark_meant(struct merge *m, const char *key, int before)
{
    struct cfgnode_entry *e = key ? cfgnode_find(m->root, key) : NULL;

    if (!e || e->node)
        return;
    e->bad = true;
    m->p->nkey += m->p->nerror - before;
}

static void unknown_key(struct merge *m, const char *key, const char *where, bool flat)
{
    struct arena mem = {0};
    struct strbuf path = STRBUF_INIT;
    struct suggest s;
    int before = m->p->nerror;

    suggest_init(&s, key);
    if (find_flag(m->root, key, &path))
        s.best = arena_strdup(&mem, path.buf);
    else
        try_keys(&s, m->root, &path, &mem);
    if (flat && strchr(key, '.') && cfgnode_find(m->root, key))
        problems_error(m->p, where,
                       "unknown key '%s' (sections are nested: %.*s: on one line, the "
                       "rest indented below it)",
                       key, (int)strcspn(key, "."), key);
    else if (s.best)
        problems_error(m->p, where, "unknown key %s (did you mean %s?)", key, s.best);
    else
        problems_error(m->p, where, "unknown key %s", key);
    mark_meant(m, flat && cfgnode_find(m->root, key) ? key : s.best, before);
    strbuf_release(&path);
    arena_release(&mem);
}

/*
 * What the notes say of a key. Returns the key to set instead (renamed and forwarded), or
 * NULL: reported, nothing to set.
 */
static const char *noted(struct merge *m, const struct cfgnode_note *note,
                         const char *where)
{
    struct strbuf s = STRBUF_INIT;

    if (!note->to) {
        problems_warn(m->p, where, "Deprecated config key (ignoring): %s%s%s", note->key,
                      note->message ? ": " : "", note->message ? note->message : "");
        return NULL;
    }
    strbuf_addf(&s, "Key %s was renamed to %s; please update your config.", note->key,
                note->to);
    if (note->message)
        strbuf_addf(&s, " Note: %s", note->message);
    if (note->forward)
        problems_warn(m->p, where, "%s", s.buf);
    else
        problems_error(m->p, where, "%s", s.buf);
    strbuf_release(&s);
    return note->forward ? note->to : NULL;
}

static bool is_frozen(struct merge *m, const struct cfgnode *n, const char *key,
                      const char *where)
{
    if (n->frozen)
        problems_error(m->p, where,
                       "attempted to change %s, but the configuration is frozen", key);
    return n->frozen;
}

static void set_leaf(struct merge *m, struct cfgnode *n, struct cfgnode_entry *e,
                     const char *key, const struct value *v, const char *where)
{
    struct strbuf why = STRBUF_INIT;
    struct value out;
    int before = m->p->nerror;

    if (is_frozen(m, n, key, where)) {
        ;
    } else if (m->root->interpolate && v->text && strstr(v->text, "${")) {
        e->value = value_copy(n->mem, v);
        e->where = where ? arena_strdup(n->mem, where) : NULL;
        e->pending = true;
        e->bad = false;
    } else if (coerce(n->mem, &e->decl, v, &out, &why)) {
        e->value = out;
        e->where = where ? arena_strdup(n->mem, where) : NULL;
        e->pending = e->bad = false;
        if (!e->decl.type)
            e->decl = decl_of(&out);
    } else {
        problems_error(m->p, where, "%s must be %s", key, why.buf);
        e->bad = true;
        m->p->nkey += m->p->nerror - before;
    }
    strbuf_release(&why);
}

static void new_leaf(struct merge *m, struct cfgnode *n, const char *name,
                     const char *key, const struct value *v, const char *where)
{
    struct decl any = {.type = VALUE_NONE};
    struct strbuf why = STRBUF_INIT;
    struct value out;

    if (is_frozen(m, n, key, where))
        ;
    else if (coerce(n->mem, &any, v, &out, &why))
        (void)cfgnode_set(n, name, &out, where, m->p);
    else
        problems_error(m->p, where, "%s must be %s", key, why.buf);
    strbuf_release(&why);
}

/* --- another tree
 * ------------------------------------------------------------------------ */

static void new_section(struct cfgnode *n, const char *name, const struct cfgnode *from,
                        struct problems *p)
{
    struct cfgnode *sub = cfgnode_add(n, name);

    for (int i = 0; i < from->n; i++) {
        const struct cfgnode_entry *e = &from->entry[i];

        if (e->node)
            new_section(sub, e->key, e->node, p);
        else
            (void)cfgnode_set(sub, e->key, &e->value, e->where, p);
    }
}

static bool notes_below(const struct cfgnode *n, const char *section)
{
    size_t len = strlen(section);

    for (int i = 0; i < n->nnote; i++)
        if (!strncmp(n->note[i].key, section, len) && n->note[i].key[len] == '.')
            return true;
    return false;
}

static void merge_tree(struct merge *m, struct cfgnode *into, const struct cfgnode *from,
                       struct strbuf *path);

/* A section that is not there: its keys are looked up in the notes all the same. */
static struct cfgnode nothing;

/* A key that `into` does not have. */
static void merge_new(struct merge *m, struct cfgnode *into,
                      const struct cfgnode_entry *e, struct strbuf *path)
{
    if (e->node && notes_below(m->root, path->buf))
        merge_tree(m, &nothing, e->node, path);
    else if (!into->new_allowed)
        unknown_key(m, path->buf, e->where, true);
    else if (!e->node)
        new_leaf(m, into, e->key, path->buf, &e->value, e->where);
    else if (!is_frozen(m, into, path->buf, e->where))
        new_section(into, e->key, e->node, m->p);
}

static void merge_entry(struct merge *m, struct cfgnode *into,
                        const struct cfgnode_entry *e, struct strbuf *path)
{
    const struct cfgnode_note *note = cfgnode_note_find(m->root, path->buf);
    struct cfgnode_entry *old = cfgnode_entry(into, e->key);

    if (note) {
        const char *to = noted(m, note, e->where);

        if (to && !e->node)
            cfgnode_merge_pair(m->root, to, &e->value, e->where, m->p);
    } else if (!old) {
        merge_new(m, into, e, path);
    } else if (old->node && e->node) {
        merge_tree(m, old->node, e->node, path);
    } else if (old->node) {
        problems_error(m->p, e->where, "%s is a section: its keys go below it, indented",
                       path->buf);
    } else if (e->node) {
        struct value map = {.type = VALUE_NODE};

        set_leaf(m, into, old, path->buf, &map, e->where);
    } else {
        set_leaf(m, into, old, path->buf, &e->value, e->where);
    }
}

static void merge_tree(struct merge *m, struct cfgnode *into, const struct cfgnode *from,
                       struct strbuf *path)
{
    for (int i = 0; i < from->n; i++) {
        size_t len = path->len;

        strbuf_addf(path, "%s%s", len ? "." : "", from->entry[i].key);
        merge_entry(m, into, &from->entry[i], path);
        path->len = len;
        path->buf[len] = '\0';
    }
}

void cfgnode_merge_some(struct cfgnode *into, const struct cfgnode *from,
                        struct problems *p)
{
    struct merge m = {.root = into, .p = p};
    struct strbuf path = STRBUF_INIT;

    merge_tree(&m, into, from, &path);
    strbuf_release(&path);
}

static bool merge_or_not(struct cfgnode *into, const struct cfgnode *from, int before,
                         struct problems *p)
{
    struct snapshot s = {0};

    snapshot_take(&s, into);
    cfgnode_merge_some(into, from, p);
    snapshot_end(&s, p->nerror > before);
    return p->nerror == before;
}

bool cfgnode_merge(struct cfgnode *into, const struct cfgnode *from, struct problems *p)
{
    return merge_or_not(into, from, p->nerror, p);
}

bool cfgnode_merge_file(struct cfgnode *into, const char *path, struct problems *p)
{
    int before = p->nerror;
    struct cfgnode *from = yaml_read_file(path, NULL, p);
    bool ok = from && merge_or_not(into, from, before, p);

    cfgnode_free(from);
    return ok;
}

/* --- a list ---------------------------------------------------------------------------
 */

static struct cfgnode *parent_of(struct cfgnode *root, const char *key, const char **name)
{
    const char *dot = strrchr(key, '.');

    *name = dot ? dot + 1 : key;
    if (!dot)
        return root;

    char *section = xstrndup(key, (size_t)(dot - key));
    struct cfgnode_entry *e = cfgnode_find(root, section);

    free(section);
    return e ? e->node : NULL;
}

void cfgnode_merge_pair(struct cfgnode *into, const char *key, const struct value *v,
                        const char *where, struct problems *p)
{
    struct merge m = {.root = into, .p = p};
    const struct cfgnode_note *note = cfgnode_note_find(into, key);
    const char *name;
    struct cfgnode *parent = parent_of(into, key, &name);
    struct cfgnode_entry *e = parent ? cfgnode_entry(parent, name) : NULL;

    if (note) {
        const char *to = noted(&m, note, where);

        if (to)
            cfgnode_merge_pair(into, to, v, where, p);
    } else if (e && e->node) {
        problems_error(p, where, "%s is a section: name one of its keys", key);
    } else if (e) {
        set_leaf(&m, parent, e, key, v, where);
    } else if (parent && parent->new_allowed && *name) {
        new_leaf(&m, parent, name, key, v, where);
    } else {
        unknown_key(&m, key, where, false);
    }
}

bool cfgnode_merge_list(struct cfgnode *into, const struct value *item, int n,
                        struct problems *p)
{
    struct snapshot s = {0};
    int before = p->nerror;

    if (n % 2) {
        struct strbuf last = STRBUF_INIT;

        value_add_repr(&last, &item[n - 1]);
        problems_error(p, NULL, "a list of pairs has odd length: %s has no value",
                       last.buf);
        strbuf_release(&last);
        return false;
    }
    snapshot_take(&s, into);
    for (int i = 0; i < n; i += 2) {
        if (item[i].type == VALUE_STR)
            cfgnode_merge_pair(into, item[i].s, &item[i + 1], NULL, p);
        else
            problems_error(p, NULL, "a key must be a str, not a %s",
                           value_type_name(item[i].type));
    }
    snapshot_end(&s, p->nerror > before);
    return p->nerror == before;
}
