/* The arguments of the node that is being mapped. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pt2/host.h"

void pt2_refuse(struct pt2_import *c, const char *fmt, ...)
{
    const struct pt2_node *n = c->node;
    char text[256];
    va_list ap;

    if (c->why->len)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n)
        strbuf_addf(c->why, "node '%s'%s%s%s: %s: %s", n->name, *n->module ? " of '" : "",
                    n->module, *n->module ? "'" : "", n->target, text);
    else
        strbuf_addstr(c->why, text);
}

/* Returns an argument that is not None, and consumes it; or NULL. */
static const struct pt2_arg *find(struct pt2_import *c, const char *name)
{
    for (int i = 0; i < c->node->nin; i++)
        if (!strcmp(c->node->in[i].name, name)) {
            c->used |= 1ull << i;
            return c->node->in[i].arg.kind == PT2_NONE ? NULL : &c->node->in[i].arg;
        }
    return NULL;
}

bool pt2_has(const struct pt2_import *c, const char *name)
{
    for (int i = 0; i < c->node->nin; i++)
        if (!strcmp(c->node->in[i].name, name))
            return c->node->in[i].arg.kind != PT2_NONE;
    return false;
}

void pt2_ignore(struct pt2_import *c, const char *name)
{
    (void)find(c, name);
}

static void wrong(struct pt2_import *c, const char *name)
{
    pt2_refuse(c, "the argument '%s' is of a kind that is not supported", name);
}

static struct pt2_value *value(struct pt2_import *c, const char *name)
{
    struct pt2_value *v = strmap_get(&c->value, name);

    if (!v)
        pt2_refuse(c, "it reads '%s', which no earlier node makes", name);
    return v;
}

/* Returned after a refusal, so that mappings need not check each argument. */
static struct pt2_value *nothing(struct pt2_import *c)
{
    return arena_new(&c->b->g->arena, sizeof(struct pt2_value));
}

struct pt2_value *pt2_any_or_mask(struct pt2_import *c, const char *name)
{
    const struct pt2_arg *a = find(c, name);
    struct pt2_value *v = a && a->kind == PT2_TENSOR ? value(c, a->name) : NULL;

    if (!a || a->kind != PT2_TENSOR || (v && v->kind == PT2_VALUE_NUMBER)) {
        wrong(c, name);
        v = NULL;
    }
    return v ? v : nothing(c);
}

/* The value as a tensor of the graph if it is a constant. Made once, unless the constant
 * changes. */
static struct pt2_value *shown(struct pt2_import *c, struct pt2_value *v)
{
    if (v->kind != PT2_VALUE_CONSTANT || c->why->len)
        return v;
    if (!v->shown || v->shown_writes != v->host->writes) {
        v->shown = arena_new(&c->b->g->arena, sizeof(*v));
        *v->shown = pt2_host_show(c, v);
        v->shown_writes = v->host->writes;
    }
    return v->shown;
}

struct pt2_value *pt2_tensor_or_mask(struct pt2_import *c, const char *name)
{
    return shown(c, pt2_any_or_mask(c, name));
}

struct pt2_value *pt2_any(struct pt2_import *c, const char *name)
{
    struct pt2_value *v = pt2_any_or_mask(c, name);

    if (v->kind == PT2_VALUE_TENSOR || v->kind == PT2_VALUE_CONSTANT)
        return v;
    pt2_refuse(c, "random numbers that are not drop path");
    return nothing(c);
}

struct pt2_value *pt2_tensor(struct pt2_import *c, const char *name)
{
    struct pt2_value *v = pt2_tensor_or_mask(c, name);

    if (v->kind == PT2_VALUE_TENSOR)
        return v;
    pt2_refuse(c, "random numbers that are not drop path");
    return nothing(c);
}

bool pt2_is_tensor(struct pt2_import *c, const char *name)
{
    for (int i = 0; i < c->node->nin; i++)
        if (!strcmp(c->node->in[i].name, name))
            return c->node->in[i].arg.kind == PT2_TENSOR;
    return false;
}

struct pt2_value *pt2_optional(struct pt2_import *c, const char *name)
{
    if (pt2_is_tensor(c, name))
        return pt2_tensor(c, name);
    if (!pt2_has(c, name))
        pt2_ignore(c, name);
    return NULL;
}

static int64_t resolve(struct pt2_import *c, const struct pt2_int *i)
{
    const struct pt2_value *v = i->name ? value(c, i->name) : NULL;

    if (!i->name)
        return i->value;
    if (v && v->kind != PT2_VALUE_NUMBER)
        pt2_refuse(c, "'%s' is not an integer", i->name);
    return v ? v->number : 0;
}

int64_t pt2_int(struct pt2_import *c, const char *name, int64_t otherwise)
{
    const struct pt2_arg *a = find(c, name);

    if (!a)
        return otherwise;
    if (a->kind != PT2_INT)
        wrong(c, name);
    return a->kind == PT2_INT ? resolve(c, a->ints) : otherwise;
}

int pt2_count(struct pt2_import *c, const char *name, int otherwise)
{
    int64_t n = pt2_int(c, name, otherwise);

    if (n >= 0 && n <= PT2_MOST)
        return (int)n;
    pt2_refuse(c, "the argument '%s' is out of range", name);
    return otherwise;
}

double pt2_number(struct pt2_import *c, const char *name, double otherwise)
{
    const struct pt2_arg *a = find(c, name);

    if (!a)
        return otherwise;
    if (a->kind == PT2_INT)
        return (double)resolve(c, a->ints);
    if (a->kind == PT2_FLAG)
        return a->flag;
    if (a->kind != PT2_FLOAT)
        wrong(c, name);
    return a->kind == PT2_FLOAT ? a->number : otherwise;
}

bool pt2_flag(struct pt2_import *c, const char *name, bool otherwise)
{
    const struct pt2_arg *a = find(c, name);

    if (!a)
        return otherwise;
    if (a->kind != PT2_FLAG)
        wrong(c, name);
    return a->kind == PT2_FLAG ? a->flag : otherwise;
}

const char *pt2_text(struct pt2_import *c, const char *name, const char *otherwise)
{
    const struct pt2_arg *a = find(c, name);

    if (!a)
        return otherwise;
    if (a->kind != PT2_TEXT)
        wrong(c, name);
    return a->kind == PT2_TEXT ? a->name : otherwise;
}

int pt2_ints(struct pt2_import *c, const char *name, int64_t dst[PT2_DIMS])
{
    const struct pt2_arg *a = find(c, name);
    bool fits =
        a && (a->kind == PT2_INTS || a->kind == PT2_INT || a->n == 0) && a->n <= PT2_DIMS;

    if (a && !fits)
        wrong(c, name);
    for (int i = 0; fits && i < a->n; i++)
        dst[i] = resolve(c, &a->ints[i]);
    return fits ? a->n : 0;
}

bool pt2_pair(struct pt2_import *c, const char *name, int dst[2])
{
    int64_t v[PT2_DIMS];
    int n = pt2_ints(c, name, v);

    if (n > 2)
        pt2_refuse(c, "the argument '%s' has %d numbers", name, n);
    for (int i = 0; n && i < 2; i++) {
        int64_t one = v[n == 2 ? i : 0];

        if (one < 0 || one > PT2_MOST)
            pt2_refuse(c, "the argument '%s' is out of range", name);
        dst[i] = (int)one;
    }
    return n > 0;
}

/* Values without elements are left out. */
static struct pt2_value **list_of(struct pt2_import *c, const char *name, int *n,
                                  enum pt2_value_kind kind)
{
    const struct pt2_arg *a = find(c, name);
    int all = a && a->kind == PT2_TENSORS ? a->n : 0;
    struct pt2_value **v =
        arena_new(&c->b->g->arena, (size_t)(all + 1) * sizeof(struct pt2_value *));

    *n = 0;
    for (int i = 0; i < all; i++) {
        struct pt2_value *one = a->names[i] ? value(c, a->names[i]) : NULL;

        if (one && one->kind == PT2_VALUE_VOID)
            continue;
        if (one && kind == PT2_VALUE_TENSOR)
            one = shown(c, one);
        if (!one || one->kind != kind) {
            wrong(c, name);
            one = nothing(c);
        }
        v[(*n)++] = one;
    }
    if (!*n) {
        wrong(c, name);
        v[(*n)++] = nothing(c);
    }
    return v;
}

struct pt2_value **pt2_tensors(struct pt2_import *c, const char *name, int *n)
{
    return list_of(c, name, n, PT2_VALUE_TENSOR);
}

struct pt2_value **pt2_constants(struct pt2_import *c, const char *name, int *n)
{
    return list_of(c, name, n, PT2_VALUE_CONSTANT);
}

const struct pt2_arg *pt2_argument(struct pt2_import *c, const char *name)
{
    return find(c, name);
}

int pt2_dim(struct pt2_import *c, int64_t dim, int ndim)
{
    int64_t pos = dim < 0 ? dim + ndim : dim;

    if (pos >= 0 && pos < ndim)
        return (int)pos;
    pt2_refuse(c, "there is no dim %lld of %d", (long long)dim, ndim);
    return 0;
}
