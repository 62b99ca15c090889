#include "layers/build_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "ops/image.h"

enum { DEPTH = 32, REPEAT_MAX = 1000 };

/* ---- errors ---- */

/* Writes "net.yaml:14" of an origin "net.yaml:3:5", and other origins as they are. */
static void write_origin(struct build *c)
{
    const char *o = c->origin ? c->origin : "";
    size_t len = strlen(o), n = len;

    for (int i = 0; i < 2; i++) {
        size_t digits = 0;

        while (digits < n && o[n - digits - 1] >= '0' && o[n - digits - 1] <= '9')
            digits++;
        if (!digits || digits + 1 >= n || o[n - digits - 1] != ':')
            n = 0;
        else
            n -= digits + 1;
    }
    if (n && c->line)
        (void)snprintf(c->location, 256, "%.*s:%d", (int)n, o, c->line);
    else
        (void)snprintf(c->location, 256, "%s", o);
}

void build_fail(struct build *c, const char *fmt, ...)
{
    va_list ap;

    if (c->why->len)
        return;
    va_start(ap, fmt);
    strbuf_addv(c->why, fmt, ap);
    va_end(ap);
    write_origin(c);
}

bool build_failed(const struct build *c)
{
    return c->why->len;
}

/* ---- texts of the configuration ---- */

/* Returns the text of a key of a mapping, or NULL if it is missing or refused. */
static const char *text_of(struct build *c, const struct value *map, const char *key)
{
    const struct value *v = value_of_key(map, key);

    if (v && v->type != VALUE_STR && !v->text)
        build_fail(c, "%s must be a str", key);
    return !v || build_failed(c) ? NULL : v->type == VALUE_STR ? v->s : v->text;
}

bool build_is_name(const char *s)
{
    size_t len = strlen(s), n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");

    return len && n == len && len < 200 && *s != '.' && s[len - 1] != '.' &&
           !strstr(s, "..");
}

const char *build_joined(struct build *c, const char *a, const char *b)
{
    return arena_printf(&c->b->g->arena, "%s%s", a, b);
}

/* ---- references ---- */

static struct output *find_output(struct list *l, const char *name)
{
    for (int i = l->n - 1; i >= 0; i--)
        if (!strcmp(l->out[i].name, name))
            return &l->out[i];
    return NULL;
}

/* Returns the line of a later layer of this name, or 0. */
static int line_of_later(struct list *l, const char *name)
{
    for (int i = l->n - l->nin; i < l->value->list.n; i++) {
        const struct value *v = &l->value->list.item[i];
        const struct value *name_value =
            v->type == VALUE_MAP ? value_of_key(v, "name") : NULL;

        if (name_value && name_value->type == VALUE_STR && !strcmp(name_value->s, name))
            return v->line ? v->line : -1;
    }
    return 0;
}

static void refuse_reference(struct list *l, const char *layer, const char *name)
{
    struct suggest s;
    int later = line_of_later(l, name);

    suggest_init(&s, name);
    for (int i = 0; i < l->n; i++)
        suggest_try(&s, l->out[i].name);
    if (later)
        build_fail(l->c, "layer '%s': from: '%s' comes later", layer, name);
    else if (s.best)
        build_fail(l->c, "layer '%s': from: there is no layer '%s' (did you mean %s?)",
                   layer, name, s.best);
    else
        build_fail(l->c, "layer '%s': from: there is no layer '%s' before it in its list",
                   layer, name);
}

static struct tensor *refer(struct list *l, const char *layer, const struct value *v)
{
    const char *name = v->type == VALUE_STR ? v->s : v->text;
    struct output *o = name ? find_output(l, name) : NULL;

    if (!name)
        build_fail(l->c,
                   "layer '%s': from must be the name of a layer or a list of names",
                   layer);
    else if (!o)
        refuse_reference(l, layer, name);
    if (!o)
        return NULL;
    o->used = true;
    return o->x;
}

/* Reads `from`, or takes the layer before. Returns the number of inputs; 0: refused. */
static int read_inputs(struct list *l, const char *layer, const struct value *map,
                       struct tensor *in[LAYER_INPUTS])
{
    const struct value *src = map->type == VALUE_MAP ? value_of_key(map, "from") : NULL;
    bool many = src && (src->type == VALUE_LIST || src->type == VALUE_TUPLE);
    int n = many ? src->list.n : 1;
    struct output *before = &l->out[l->n > l->nin ? l->n - 1 : 0];

    if (n < 1 || n > LAYER_INPUTS) {
        build_fail(l->c, "layer '%s': from must have 1 to %d names, not %d", layer,
                   LAYER_INPUTS, n);
        return 0;
    }
    if (!src) {
        before->used = true;
        in[0] = before->x;
    }
    for (int i = 0; src && i < n && !build_failed(l->c); i++)
        in[i] = refer(l, layer, many ? &src->list.item[i] : src);
    return build_failed(l->c) ? 0 : n;
}

/* ---- lists ---- */

/* Reads the op: NULL for a list of layers, or if it is refused. A block's argument may
 * name it. */
static const char *read_op(struct list *l, const struct value *v, const char *name)
{
    const struct value *op = v->type == VALUE_MAP ? value_of_key(v, "op") : v;
    const struct value *nested = v->type == VALUE_MAP ? value_of_key(v, "layers") : NULL;
    struct value dst;

    if (!op && !nested && v->list.n == 2 && v->list.item[1].type == VALUE_MAP)
        build_fail(l->c,
                   "layer '%s' has no op: write {name: %s, op: ...} for '%s: {...}'",
                   name, v->list.item[0].s, v->list.item[0].s);
    else if (!op && !nested)
        build_fail(l->c, "layer '%s' has no op", name);
    else if (op && nested)
        build_fail(l->c, "layer '%s' has an op and layers, which are the op of a list",
                   name);
    if (!op || build_failed(l->c))
        return NULL;
    dst = layer_resolve(l->names, op);
    if (dst.type != VALUE_STR) {
        build_fail(l->c, "layer '%s': op must be the name of an op or a block", name);
        return NULL;
    }
    return dst.s;
}

static int read_repeat(struct list *l, const struct value *v, const char *name)
{
    const struct value *repeat = v->type == VALUE_MAP ? value_of_key(v, "repeat") : NULL;
    struct value dst = repeat ? layer_resolve(l->names, repeat) : value_int(0);

    if (repeat && (dst.type != VALUE_INT || dst.i < 1 || dst.i > REPEAT_MAX))
        build_fail(l->c, "layer '%s': repeat must be an int from 1 to %d", name,
                   REPEAT_MAX);
    return (int)dst.i;
}

/* Checks the name of a layer: of its form, and new in its list. */
static void check_name(struct list *l, const char *name)
{
    const struct output *o = find_output(l, name);

    if (!build_is_name(name))
        build_fail(l->c,
                   "layer '%.60s': a name has letters, digits, _, and dots between them",
                   name);
    else if (o && o < l->out + l->nin)
        build_fail(l->c, "layer '%s': this is the name of an input", name);
    else if (o)
        build_fail(l->c, "layer '%s': the layer in line %d has this name", name, o->line);
}

static void add_output(struct list *l, const char *name, struct tensor *x, int line)
{
    l->out[l->n++] = (struct output){.name = name, .x = x, .line = line};
}

/* Builds item i. Returns its output, or NULL. */
static struct tensor *build_item(struct list *l, int i)
{
    struct build *c = l->c;
    const struct value *v = &l->value->list.item[i];
    struct layer y = {.map = v};
    int repeat;
    struct tensor *x = NULL;

    c->line = v->line;
    if (v->type != VALUE_MAP && v->type != VALUE_STR)
        build_fail(c, "layer %d of '%s' must be the name of an op, or a dict", i,
                   *l->prefix ? l->prefix : "MODEL.LAYERS");
    y.name = !build_failed(c) && v->type == VALUE_MAP ? text_of(c, v, "name") : NULL;
    if (!y.name)
        y.name = arena_printf(&c->b->g->arena, "%d", i);
    if (!build_failed(c))
        check_name(l, y.name);
    if (build_failed(c))
        return NULL;
    y.full = build_joined(c, l->prefix, y.name);
    y.op = read_op(l, v, y.full);
    repeat = build_failed(c) ? 0 : read_repeat(l, v, y.full);
    y.nin = build_failed(c) ? 0 : read_inputs(l, y.full, v, y.in);
    if (repeat && y.nin > 1)
        build_fail(c, "layer '%s': repeat is for layers with 1 input, not %d", y.full,
                   y.nin);
    for (int r = 0; !build_failed(c) && r < (repeat ? repeat : 1); r++) {
        struct layer one = y;

        c->line = v->line;
        if (repeat)
            one.full = arena_printf(&c->b->g->arena, "%s.%d", y.full, r);
        if (x)
            one.in[0] = x;
        x = build_call(l, &one);
    }
    if (!build_failed(c))
        add_output(l, y.name, x, v->line);
    return build_failed(c) ? NULL : x;
}

static void check_used(struct list *l)
{
    for (int i = 0; i < l->n - 1; i++) {
        if (l->out[i].used)
            continue;
        if (i < l->nin)
            build_fail(l->c, "%s%.*s%snothing uses its input '%s'",
                       *l->prefix ? "layer '" : "",
                       *l->prefix ? (int)strlen(l->prefix) - 1 : 0, l->prefix,
                       *l->prefix ? "': " : "", l->out[i].name);
        l->c->line = l->out[i].line;
        build_fail(l->c, "layer '%s%s': nothing uses it", l->prefix, l->out[i].name);
    }
}

struct tensor *build_list(struct build *c, const struct value *list, const char *prefix,
                          struct layer_names *names, const char *const *input,
                          struct tensor *const *in, int nin)
{
    struct list l = {.c = c, .value = list, .prefix = prefix, .names = names, .nin = nin};
    struct tensor *x = NULL;
    bool is_list = list && (list->type == VALUE_LIST || list->type == VALUE_TUPLE);

    if (c->depth >= DEPTH)
        build_fail(c,
                   "layer '%.60s...': more than %d lists within each other; does a block "
                   "contain itself?",
                   prefix, DEPTH);
    else if (!is_list || !list->list.n)
        build_fail(c, "%s%.*s%sthere are no layers, and so no output",
                   *prefix ? "layer '" : "", *prefix ? (int)strlen(prefix) - 1 : 0,
                   prefix, *prefix ? "': " : "");
    if (build_failed(c))
        return NULL;
    c->depth++;
    l.out = xcalloc((size_t)(list->list.n + nin), sizeof(*l.out));
    for (int i = 0; i < nin; i++)
        add_output(&l, input[i], in[i], 0);
    for (int i = 0; i < list->list.n && !build_failed(c); i++)
        x = build_item(&l, i);
    if (!build_failed(c))
        check_used(&l);
    c->depth--;
    free(l.out);
    return build_failed(c) ? NULL : x;
}

/* Refuses blocks without a name or with one that another has. */
static void check_block_names(struct build *c)
{
    const struct value *blocks = c->s->blocks;

    c->origin = c->s->blocks_origin;
    for (int i = 0; blocks && i < blocks->list.n && !build_failed(c); i++) {
        const struct value *v = &blocks->list.item[i];
        const char *name = v->type == VALUE_MAP ? text_of(c, v, "name") : NULL;

        c->line = v->line;
        if (build_failed(c))
            return;
        if (!name)
            build_fail(
                c, "block %d of MODEL.BLOCKS must be a dict with a name and layers", i);
        else if (build_find_block(c, name) != v)
            build_fail(c, "block '%s': another block has this name", name);
    }
}

static void check_blocks_called(struct build *c)
{
    const struct value *blocks = c->s->blocks;

    c->origin = c->s->blocks_origin;
    for (int i = 0; blocks && i < blocks->list.n && !build_failed(c); i++) {
        c->line = blocks->list.item[i].line;
        if (!c->called[i])
            build_fail(c, "block '%s': no layer uses it",
                       value_of_key(&blocks->list.item[i], "name")->s);
    }
}

struct layers_built layers_build(struct builder *b, const struct layers_source *s,
                                 int64_t classes, struct tensor *x, struct strbuf *why)
{
    static const char *const input[] = {"input"};
    struct layers_built built = {.location = ""};
    struct build c = {.b = b, .s = s, .classes = classes, .why = why};
    struct layer_names names = {.classes = classes};

    c.location = built.location;
    c.called = xcalloc(s->blocks ? (size_t)s->blocks->list.n + 1 : 1, sizeof(*c.called));
    check_block_names(&c);
    c.origin = s->layers_origin;
    c.line = 0;
    if (!build_failed(&c))
        built.output = build_list(&c, s->layers, "", &names, input, &x, 1);
    if (!build_failed(&c)) {
        check_blocks_called(&c);
        built.output = build_failed(&c) ? NULL : built.output;
    }
    built.features = c.features;
    if (built.output) {
        c.origin = s->layers_origin;
        c.line = s->layers->list.item[s->layers->list.n - 1].line;
        built.last = c.last_name;
        write_origin(&c);
    }
    strmap_release(&c.layers);
    free(c.called);
    return built;
}
