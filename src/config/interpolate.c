/* Replaces ${KEY}, ${env:NAME}, and ${env:NAME,default} in the texts of a tree; $${ gives
 * ${. */
#include <stdlib.h>
#include <string.h>

#include "config/cfgnode.h"

enum { DEPTH_MAX = 20, TEXT_MAX = 65536 };

struct interpolation {
    struct cfgnode *tree;
    struct problems *p;
    const char *open[DEPTH_MAX]; /* keys that are being resolved */
    int depth;
};

static bool resolve(struct interpolation *ip, struct cfgnode_entry *e);

static bool add_env(struct interpolation *ip, const struct cfgnode_entry *e, char *name,
                    struct strbuf *out)
{
    char *comma = strchr(name, ',');
    const char *text;

    if (comma)
        *comma = '\0';
    text = getenv(name);
    if (!text && comma)
        text = comma + 1;
    if (!text) {
        problems_error(ip->p, e->origin, "%s: environment variable %s is not set",
                       e->name, name);
        return false;
    }
    strbuf_addstr(out, text);
    return true;
}

static bool add_key(struct interpolation *ip, const struct cfgnode_entry *e,
                    const char *name, struct strbuf *out)
{
    struct cfgnode_entry *other = ip->tree ? cfgnode_find(ip->tree, name) : NULL;

    if (!ip->tree) {
        problems_error(ip->p, e->origin,
                       "%s: ${%s}: only ${env:NAME} works in file names", e->name, name);
        return false;
    }
    if (!other || other->node) {
        problems_error(ip->p, e->origin, "%s: ${%s} is no key", e->name, name);
        return false;
    }
    for (int i = 0; i < ip->depth; i++) {
        if (strcmp(ip->open[i], name) != 0 && ip->depth < DEPTH_MAX)
            continue;
        problems_error(ip->p, e->origin, "%s: ${%s} refers to itself", e->name, name);
        return false;
    }
    if (other->pending && !resolve(ip, other))
        return false;
    value_add_str(out, &other->value);
    return true;
}

/* Appends the value for the text between ${ and }. */
static bool add_name(struct interpolation *ip, const struct cfgnode_entry *e,
                     const char *text, size_t len, struct strbuf *out)
{
    struct strbuf name = STRBUF_INIT;
    bool ok;

    strbuf_add(&name, text, len);
    ok = !strncmp(name.buf, "env:", 4) ? add_env(ip, e, name.buf + 4, out)
                                       : add_key(ip, e, name.buf, out);
    strbuf_release(&name);
    return ok;
}

static bool substitute(struct interpolation *ip, const struct cfgnode_entry *e,
                       const char *text, struct strbuf *out)
{
    const char *start;
    bool ok = true;

    while (ok && (start = strstr(text, "${"))) {
        bool literal = start > text && start[-1] == '$';
        size_t len = literal ? 1 : strcspn(start, "}");

        strbuf_add(out, text, (size_t)(start - text) - literal);
        if (literal)
            strbuf_addstr(out, "${");
        else if (start[len])
            ok = add_name(ip, e, start + 2, len - 2, out);
        else
            problems_error(ip->p, e->origin, "%s: ${ without }", e->name);
        if (!start[len])
            return false;
        text = start + len + 1;
    }
    strbuf_addstr(out, text);
    if (ok && out->len > TEXT_MAX)
        problems_error(ip->p, e->origin, "%s grows to %zu bytes, more than %d", e->name,
                       out->len, TEXT_MAX);
    return ok && out->len <= TEXT_MAX;
}

/* Sets *to to a copy of *v with every text substituted. */
static bool substitute_value(struct interpolation *ip, const struct cfgnode_entry *e,
                             const struct value *v, struct value *dst)
{
    bool list = value_has_items(v), ok = true;
    struct strbuf out = STRBUF_INIT;

    *dst = *v;
    if (list) {
        *dst = value_list(ip->tree->mem, v->type, v->list.n);
        dst->line = v->line;
        for (int i = 0; i < v->list.n; i++)
            ok = substitute_value(ip, e, &v->list.item[i], &dst->list.item[i]) && ok;
    } else if (v->text && strstr(v->text, "${")) {
        ok = substitute(ip, e, v->text, &out);
        *dst = value_str(ip->tree->mem, out.buf ? out.buf : "");
        dst->text = dst->s;
        dst->quoted = v->quoted;
        dst->line = v->line;
    }
    strbuf_release(&out);
    return ok;
}

/* The value keeps the raw text in .text, for the saved configuration. */
static bool resolve(struct interpolation *ip, struct cfgnode_entry *e)
{
    struct strbuf why = STRBUF_INIT;
    const char *raw = e->value.text;
    struct value in, v;
    bool ok;

    ip->open[ip->depth++] = e->name;
    ok = substitute_value(ip, e, &e->value, &in);
    ip->depth--;
    if (ok && (ok = coerce(ip->tree->mem, &e->decl, &in, &v, &why))) {
        e->value = v;
        e->value.text = raw;
        e->pending = false;
    } else if (why.len) {
        problems_error(ip->p, e->origin, "%s must be %s", e->name, why.buf);
    }
    strbuf_release(&why);
    return ok;
}

static void walk(struct interpolation *ip, const struct cfgnode *n)
{
    for (int i = 0; i < n->n; i++)
        if (n->entry[i].node)
            walk(ip, n->entry[i].node);
        else if (n->entry[i].pending)
            (void)resolve(ip, &n->entry[i]);
}

void cfgnode_interpolate(struct cfgnode *n, struct problems *p)
{
    walk(&(struct interpolation){.tree = n, .p = p}, n);
}

bool cfgnode_expand(const char *text, const char *name, const char *origin,
                    struct problems *p, struct strbuf *out)
{
    struct cfgnode_entry e = {.name = name, .origin = origin};

    return substitute(&(struct interpolation){.p = p}, &e, text, out);
}
