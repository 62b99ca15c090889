/* Merges of config/cfgnode.h: another tree, or a list of pairs, into a typed tree. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "config/cfgnode.h"
#include "config/foreign.h"

/* --- one key ------------------------------------------------------------------------ */

struct merge {
    struct cfgnode *root;
    struct problems *p;
};

/* Reports an unknown key. The key that was probably meant is marked as bad, which
 * suppresses further errors about it. */
static void unknown_key(struct merge *m, const char *key, const char *origin, bool flat,
                        bool section)
{
    int before = m->p->nerror;
    bool dotted = flat && strchr(key, '.') && cfgnode_find(m->root, key);
    const char *suggestion = dotted ? key : cfgnode_near(m->root, key, section);
    const char *here = suggestion ? NULL : foreign_name(key);
    struct cfgnode_entry *meant;

    if (dotted)
        problems_error(m->p, origin,
                       "unknown key '%s' (sections are nested: write %.*s: on one line "
                       "and the rest indented below it)",
                       key, (int)strcspn(key, "."), key);
    else if (suggestion)
        problems_error(m->p, origin, "unknown key %s (did you mean %s?)", key,
                       suggestion);
    else if (here)
        problems_error(m->p, origin, "unknown key %s (here: %s)", key, here);
    else
        problems_error(m->p, origin, "unknown key %s", key);
    meant = suggestion ? cfgnode_find(m->root, suggestion) : NULL;
    if (meant && !meant->node) {
        meant->bad = true;
        m->p->nkey += m->p->nerror - before;
    }
}

/* True if the value, or an item of the list, contains ${...}. */
static bool is_pending(const struct value *v)
{
    bool list = value_has_items(v);

    for (int i = 0; list && i < v->list.n; i++)
        if (is_pending(&v->list.item[i]))
            return true;
    return v->text && strstr(v->text, "${");
}

static void set_leaf(struct merge *m, struct cfgnode_entry *e, const struct value *v,
                     const char *origin)
{
    struct arena *mem = m->root->mem;
    bool later = is_pending(v);
    struct strbuf why = STRBUF_INIT;
    struct value out = later ? value_copy(mem, v) : value_none();
    int before = m->p->nerror;

    if (m->root->frozen) {
        problems_error(m->p, origin,
                       "attempted to change %s, but the configuration is frozen",
                       e->name);
    } else if (later || coerce(mem, &e->decl, v, &out, &why)) {
        if (e->origin && !value_equal(&e->value, &out))
            e->replaced = e->origin;
        e->value = out;
        e->origin = origin ? arena_strdup(mem, origin) : NULL;
        e->order = ++m->root->merged;
        e->pending = later;
        e->bad = false;
    } else {
        problems_error(m->p, origin, "%s must be %s", e->name, why.buf);
        e->bad = true;
        m->p->nkey += m->p->nerror - before;
    }
    strbuf_release(&why);
}

/* --- another tree ------------------------------------------------------------------- */

static void unknown_below(struct merge *m, const char *section,
                          const struct cfgnode_entry *e)
{
    char *name = section ? xasprintf("%s.%s", section, e->key) : xstrdup(e->key);

    unknown_key(m, name, e->origin, true, e->node);
    free(name);
}

/* `section` is the name of `dst`; NULL for the root. */
static void merge_tree(struct merge *m, struct cfgnode *dst, const struct cfgnode *src,
                       const char *section)
{
    static const struct value map = {.type = VALUE_NODE};

    for (int i = 0; i < src->n; i++) {
        const struct cfgnode_entry *e = &src->entry[i];
        struct cfgnode_entry *old = cfgnode_entry(dst, e->key);

        if (!old)
            unknown_below(m, section, e);
        else if (old->node && e->node)
            merge_tree(m, old->node, e->node, old->name);
        else if (old->node)
            problems_error(m->p, e->origin,
                           "%s is a section: write its keys indented below it",
                           old->name);
        else
            set_leaf(m, old, e->node ? &map : &e->value, e->origin);
    }
}

void cfgnode_merge(struct cfgnode *dst, const struct cfgnode *src, struct problems *p)
{
    merge_tree(&(struct merge){dst, p}, dst, src, NULL);
}

/* --- a list ------------------------------------------------------------------------- */

static void merge_pair(struct merge *m, const struct cfgnode_pair *pair)
{
    struct cfgnode_entry *e = cfgnode_find(m->root, pair->name);
    struct value v = {.type = VALUE_STR, .text = pair->text, .s = pair->text};

    if (!strcmp(pair->name, "BASE") || !strcmp(pair->name, "_BASE_"))
        problems_error(m->p, pair->origin,
                       "%s works in files only; name several --cfg files", pair->name);
    else if (!utf8_valid(pair->text))
        problems_error(m->p, pair->origin, "%s: the value is not valid UTF-8",
                       pair->name);
    else if (!e)
        unknown_key(m, pair->name, pair->origin, false, false);
    else if (e->node)
        problems_error(m->p, pair->origin, "%s is a section: name one of its keys",
                       pair->name);
    else
        set_leaf(m, e, &v, pair->origin);
}

void cfgnode_merge_list(struct cfgnode *dst, const struct cfgnode_pair *pair, int n,
                        struct problems *p)
{
    struct merge m = {.root = dst, .p = p};

    for (int i = 0; i < n; i++)
        merge_pair(&m, &pair[i]);
}
