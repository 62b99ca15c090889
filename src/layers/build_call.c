/* The ops and blocks of MODEL.LAYERS; layers/build.c has the lists. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "layers/build_parts.h"
#include "ops/image.h"

enum { LAYERS_MAX = 20000 };

const struct value *build_find_block(struct build *c, const char *name)
{
    const struct value *blocks = c->s->blocks;

    for (int i = 0; blocks && i < blocks->list.n; i++) {
        const struct value *v = &blocks->list.item[i];
        const struct value *name_value =
            v->type == VALUE_MAP ? value_of_key(v, "name") : NULL;

        if (name_value && name_value->type == VALUE_STR && !strcmp(name_value->s, name))
            return v;
    }
    return NULL;
}

static struct tensor *call_op(struct list *l, const struct layer *y,
                              const struct layer_op *op)
{
    struct build *c = l->c;
    struct strbuf why = STRBUF_INIT;
    struct layer_call call = {
        .b = c->b, .layer = y->full, .op = op, .in = y->in, .nin = y->nin, .why = &why};
    struct layer_names names = *l->names;
    struct tensor *x = NULL;

    names.in_channels = tensor_channels(y->in[0]);
    layer_read_arguments(&call, &names, y->map);
    if (!why.len && (y->nin < op->min_in || y->nin > op->max_in))
        layer_refuse(&call, "%s has %d input%s, not %d", op->name,
                     y->nin < op->min_in ? op->min_in : op->max_in,
                     (y->nin < op->min_in ? op->min_in : op->max_in) == 1 ? "" : "s",
                     y->nin);
    if (!why.len)
        x = op->build(&call);
    if (why.len)
        build_fail(c, "layer '%s': %s", y->full, why.buf);
    strbuf_release(&why);
    if (!x)
        return NULL;
    if (c->last && c->last != x && tensor_is_image(c->last) &&
        c->last->dim[IMAGE_H] * c->last->dim[IMAGE_W] > 1)
        c->features = c->last;
    c->last = x;
    c->last_name = y->full;
    return x;
}

static struct layer_name *find_name(struct layer_names *names, const char *name)
{
    for (int i = 0; i < names->n; i++)
        if (!strcmp(names->item[i].name, name))
            return &names->item[i];
    return NULL;
}

static void refuse_argument(struct list *l, const struct layer *y,
                            const struct layer_names *names, const char *key)
{
    struct suggest s;

    suggest_init(&s, key);
    for (int i = 0; i < names->n; i++)
        suggest_try(&s, names->item[i].name);
    build_fail(l->c, "layer '%s': block %s has no argument '%s'%s%s%s", y->full, y->op,
               key, s.best ? " (did you mean " : "", s.best ? s.best : "",
               s.best ? "?)" : "");
}

/* Sets the arguments of a block from the layer. */
static bool read_block_arguments(struct list *l, const struct layer *y,
                                 struct layer_names *names)
{
    struct layer_names outer = *l->names;

    outer.in_channels = tensor_channels(y->in[0]);
    for (int i = 0; y->map->type == VALUE_MAP && i < y->map->list.n; i += 2) {
        const char *key = y->map->list.item[i].s;
        struct layer_name *argument = find_name(names, key);

        if (argument)
            *argument = (struct layer_name){
                argument->name, layer_resolve(&outer, &y->map->list.item[i + 1]),
                .given = true};
        else if (!layer_is_common_key(key))
            refuse_argument(l, y, names, key);
    }
    names->in_channels = outer.in_channels;
    for (int k = 0; k < names->n; k++) {
        struct layer_name *argument = &names->item[k];

        if (argument->value.type == VALUE_NONE)
            build_fail(l->c, "layer '%s': block %s needs the argument %s", y->full, y->op,
                       argument->name);
        else if (!argument->given) /* a default may be an expression of the others */
            argument->value = layer_resolve(names, &argument->value);
    }
    return !build_failed(l->c);
}

/* Refuses keys of a block other than these. */
static bool check_block(struct build *c, const char *name, const struct value *block)
{
    static const char *const keys[] = {"name", "args", "inputs", "layers", NULL};

    for (int i = 0; i < block->list.n; i += 2) {
        bool known = false;

        for (int k = 0; keys[k]; k++)
            known |= !strcmp(keys[k], block->list.item[i].s);
        if (!known)
            build_fail(c,
                       "block '%s': unknown key '%s'; a block has name, args, inputs, "
                       "and layers",
                       name, block->list.item[i].s);
    }
    return !build_failed(c);
}

/* Reads the names of a block's inputs. Returns their number; 0: refused. */
static int read_input_names(struct build *c, const char *block, const struct value *v,
                            const char *name[LAYER_INPUTS])
{
    int n = v && v->type == VALUE_LIST ? v->list.n : 0;

    name[0] = "input";
    if (!v)
        return 1;
    for (int i = 0; i < n && i < LAYER_INPUTS; i++) {
        name[i] = v->list.item[i].type == VALUE_STR ? v->list.item[i].s : "";
        if (!build_is_name(name[i]))
            n = 0;
    }
    if (n < 1 || n > LAYER_INPUTS)
        build_fail(c, "block '%s': inputs must be a list of 1 to %d names", block,
                   LAYER_INPUTS);
    return build_failed(c) ? 0 : n;
}

static struct tensor *call_block(struct list *l, const struct layer *y,
                                 const struct value *block)
{
    struct build *c = l->c;
    const struct value *args = value_of_key(block, "args"),
                       *layers = value_of_key(block, "layers");
    bool has_args = args && args->type == VALUE_MAP;
    struct layer_names names = {.n = has_args ? args->list.n / 2 : 0,
                                .classes = l->names->classes};
    const char *input[LAYER_INPUTS], *origin = c->origin;
    int nin, line = c->line;
    struct tensor *x = NULL;

    c->called[block - c->s->blocks->list.item] = true;
    c->origin = c->s->blocks_origin;
    c->line = block->line;
    if (args && !has_args && !(args->type == VALUE_NONE))
        build_fail(c, "block '%s': args must be a dict of names and defaults", y->op);
    nin = check_block(c, y->op, block)
              ? read_input_names(c, y->op, value_of_key(block, "inputs"), input)
              : 0;
    c->origin = origin;
    c->line = line;
    if (nin && nin != y->nin)
        build_fail(c, "layer '%s': block %s has %d input%s, not %d", y->full, y->op, nin,
                   nin == 1 ? "" : "s", y->nin);
    if (build_failed(c))
        return NULL;
    names.item = xcalloc((size_t)names.n + 1, sizeof(*names.item));
    for (int i = 0; i < names.n; i++)
        names.item[i] = (struct layer_name){.name = args->list.item[2 * i].s,
                                            .value = args->list.item[2 * i + 1]};
    if (read_block_arguments(l, y, &names)) {
        c->origin = c->s->blocks_origin;
        c->line = block->line;
        x = build_list(c, layers, build_joined(c, y->full, "."), &names, input, y->in,
                       nin);
        for (int i = 0; i < names.n && !build_failed(c); i++)
            if (!names.item[i].used)
                build_fail(c, "block '%s': nothing uses its argument %s", y->op,
                           names.item[i].name);
        c->origin = origin;
        c->line = line;
    }
    free(names.item);
    return build_failed(c) ? NULL : x;
}

struct tensor *build_call(struct list *l, const struct layer *y)
{
    struct build *c = l->c;
    const struct value *nested =
        y->map->type == VALUE_MAP ? value_of_key(y->map, "layers") : NULL;
    const struct value *block = y->op ? build_find_block(c, y->op) : NULL;
    struct strbuf hint = STRBUF_INIT;
    struct layer_op op;
    struct tensor *x = NULL;
    static const char *const input[] = {"input"};

    if (++c->nlayers > LAYERS_MAX)
        build_fail(c, "layer '%s': more than %d layers", y->full, LAYERS_MAX);
    else if (strmap_has(&c->layers, y->full))
        build_fail(c, "layer '%s': another layer has this name", y->full);
    if (build_failed(c))
        return NULL;
    strmap_put(&c->layers, y->full, c);
    if (nested) {
        for (int i = 0; i < y->map->list.n; i += 2)
            if (!layer_is_common_key(y->map->list.item[i].s))
                build_fail(c, "layer '%s': a list of layers has no argument '%s'",
                           y->full, y->map->list.item[i].s);
        if (!build_failed(c) && y->nin != 1)
            build_fail(c, "layer '%s': a list of layers has 1 input, not %d", y->full,
                       y->nin);
        return build_failed(c) ? NULL
                               : build_list(c, nested, build_joined(c, y->full, "."),
                                            l->names, input, y->in, 1);
    }
    if (layer_op_find(y->op, &op, &hint)) {
        if (block)
            build_fail(c, "layer '%s': block '%s' has the name of an op; rename it",
                       y->full, y->op);
        else
            x = call_op(l, y, &op);
    } else if (block) {
        x = call_block(l, y, block);
    } else {
        build_fail(c, "layer '%s': unknown op '%s'%s", y->full, y->op, hint.buf);
    }
    strbuf_release(&hint);
    return build_failed(c) ? NULL : x;
}
