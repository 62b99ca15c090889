/* ${KEY}, ${env:NAME} and ${env:NAME,default} in the texts of a tree. */
#include <stdlib.h>
#include <string.h>

#include "config/cfgnode.h"

enum { DEPTH_MAX = 20, TEXT_MAX = 65536 };

struct interpolation {
    struct cfgnode *tree;
    struct problems *p;
    const char *open[DEPTH_MAX]; /* the keys that are being resolved */
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
        problems_error(ip->p, e->where, "%s: the environment has no %s", e->name, name);
        return false;
    }
    strbuf_addstr(out, text);
    return true;
}

static bool add_key(struct interpolation *ip, const struct cfgnode_entry *e,
                    const char *name, struct strbuf *out)
{
    struct cfgnode_entry *other = cfgnode_find(ip->tree, name);

    if (!other || other->node) {
        problems_error(ip->p, e->where, "%s: ${%s} is no key", e->name, name);
        return false;
    }
    for (int i = 0; i < ip->depth; i++) {
        if (strcmp(ip->open[i], name) != 0 && ip->depth < DEPTH_MAX)
            continue;
        problems_error(ip->p, e->where, "%s: ${%s} leads back to itself", e->name, name);
        return false;
    }
    if (other->pending && !resolve(ip, other))
        return false;
    value_add_str(out, &other->value);
    return true;
}

static bool substitute(struct interpolation *ip, const struct cfgnode_entry *e,
                       struct strbuf *out)
{
    const char *text = e->value.text, *start;
    bool ok = true;

    for (; ok && (start = strstr(text, "${")); text = start + strcspn(start, "}") + 1) {
        size_t len = strcspn(start, "}");
        struct strbuf name = STRBUF_INIT;

        strbuf_add(out, text, (size_t)(start - text));
        if (!start[len]) {
            problems_error(ip->p, e->where, "%s: ${ without }", e->name);
            return false;
        }
        strbuf_add(&name, start + 2, len - 2);
        ok = !strncmp(name.buf, "env:", 4) ? add_env(ip, e, name.buf + 4, out)
                                           : add_key(ip, e, name.buf, out);
        strbuf_release(&name);
    }
    strbuf_addstr(out, text);
    if (ok && out->len > TEXT_MAX)
        problems_error(ip->p, e->where, "%s grows to %zu bytes, more than %d", e->name,
                       out->len, TEXT_MAX);
    return ok && out->len <= TEXT_MAX;
}

/* The value keeps the raw text in .text, for the saved configuration. */
static bool resolve(struct interpolation *ip, struct cfgnode_entry *e)
{
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    const char *raw = e->value.text;
    struct value v;
    bool ok;

    ip->open[ip->depth++] = e->name;
    ok = substitute(ip, e, &out);
    ip->depth--;
    if (ok) {
        struct value in = value_str(ip->tree->mem, out.buf);

        in.text = in.s;
        in.quoted = e->value.quoted;
        ok = coerce(ip->tree->mem, &e->decl, &in, &v, &why);
        if (ok) {
            e->value = v;
            e->value.text = raw;
            e->pending = false;
        } else {
            problems_error(ip->p, e->where, "%s must be %s", e->name, why.buf);
        }
    }
    strbuf_release(&out);
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
