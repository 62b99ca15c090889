/* Sets the options of a model from keys: walks the tables of models/options.h. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "config/choice_tables.h"
#include "config/schema.h"
#include "dist/group.h"
#include "dist/launch.h"
#include "session/devices.h"
#include "session/losses.h"
#include "session/model_config.h"
#include "session/simmim.h"

/* Schema type of each option type. */
static const enum schema_type schema_types[] = {
    [OPTION_BOOL] = SCHEMA_BOOL,
    [OPTION_INT] = SCHEMA_INT,
    [OPTION_FLOAT] = SCHEMA_FLOAT,
    [OPTION_TEXT] = SCHEMA_STR,
    [OPTION_CHOICE] = SCHEMA_STR,
    [OPTION_BOOL_OPT] = SCHEMA_BOOL_OPT,
    [OPTION_FLOAT_OPT] = SCHEMA_FLOAT_OPT,
    [OPTION_INT_LIST] = SCHEMA_INT_LIST,
    [OPTION_FLOAT_LIST] = SCHEMA_FLOAT_LIST,
    [OPTION_INT_TABLE] = SCHEMA_INT_TABLE,
};

static const struct schema *row_of(const struct option *o)
{
    const struct schema *row = schema_find(schema_table, o->key);

    if (!row || row->type != schema_types[o->type] ||
        (o->type == OPTION_CHOICE) != (o->choices != NULL))
        BUG("the option %s is no such key of the schema", o->key);
    return row;
}

static struct named choice_at(const void *table, int i)
{
    const struct option_choice *choices = table;

    return (struct named){.name = choices[i].name};
}

static struct names choice_names(const struct option *o)
{
    return (struct names){.entry = choice_at, .table = o->choices};
}

static int choice_value(const struct option *o, const char *name)
{
    struct names names = choice_names(o);
    int i = names_find(&names, name);

    if (i < 0)
        BUG("%s was not checked", o->key);
    return o->choices[i].value;
}

static void fill(const struct option *table, const struct config *cfg, void *options,
                 struct arena *mem)
{
    for (const struct option *o = table; o && o->key; o++) {
        const struct value *v = config_get(cfg, o->key);
        const struct schema *row = row_of(o);
        void *member = (char *)options + o->offset;

        if (o->choices)
            *(int *)member = choice_value(o, v->s);
        else
            schema_bind(row, v, member, mem);
    }
}

static void add_list(struct strbuf *s, const struct int_list *list)
{
    strbuf_addch(s, '[');
    for (int i = 0; i < list->n; i++)
        strbuf_addf(s, "%s%" PRId64, i ? ", " : "", list->item[i]);
    strbuf_addch(s, ']');
}

/* Appends a member as the text of its key. */
static void add_member(struct strbuf *s, const struct option *o, const void *member)
{
    const struct float_opt *opt = member;
    const struct int_table *table = member;

    switch (o->type) {
    case OPTION_BOOL:
        strbuf_addstr(s, *(const bool *)member ? "True" : "False");
        return;
    case OPTION_INT:
        strbuf_addf(s, "%" PRId64, *(const int64_t *)member);
        return;
    case OPTION_FLOAT:
        value_add_double(s, *(const double *)member);
        return;
    case OPTION_FLOAT_OPT:
        if (opt->has)
            value_add_double(s, opt->value);
        else
            strbuf_addstr(s, "None");
        return;
    case OPTION_INT_LIST:
        add_list(s, member);
        return;
    case OPTION_INT_TABLE:
        for (int i = 0; i < table->n; i++) {
            strbuf_addstr(s, i ? ", " : "[");
            add_list(s, table->item + i);
        }
        strbuf_addch(s, ']');
        return;
    default:
        BUG("%s: no name of a model can set it", o->key);
    }
}

/* Sets one key unless it already has the name's value. */
static void preset(struct config *cfg, const struct option *o, const void *member,
                   const char *origin)
{
    struct strbuf text = STRBUF_INIT, now = STRBUF_INIT;

    add_member(&text, o, member);
    value_add_repr(&now, config_get(cfg, o->key));
    if (strcmp(text.buf, now.buf) != 0)
        config_preset(cfg, o->key, text.buf, origin);
    strbuf_release(&text);
    strbuf_release(&now);
}

/* Takes MODEL.TYPE from the name, unless the same or a later source sets both. */
static void preset_type(struct config *cfg)
{
    const struct model_family *f = model_family_of(cfg->model.name);
    struct strbuf origin = STRBUF_INIT;

    strbuf_addf(&origin, "MODEL.NAME %s", cfg->model.name);
    if (f && strcmp(f->type, cfg->model.type) != 0 &&
        config_is_later(cfg, "MODEL.NAME", "MODEL.TYPE"))
        config_set_for(cfg, "MODEL.TYPE", f->type, origin.buf);
    strbuf_release(&origin);
}

static void preset_number(struct config *cfg, const char *key, int value,
                          const char *origin)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "%d", value);
    config_preset(cfg, key, text.buf, origin);
    strbuf_release(&text);
}

/* Takes what a model from a file fixes: its images, classes, and weights. */
static void preset_file(struct config *cfg, const struct model *m, const char *origin)
{
    preset_number(cfg, "MODEL.NUM_CLASSES", m->classes, origin);
    preset_number(cfg, "MODEL.IN_CHANS", m->channels, origin);
    if (m->size && !m->height)
        preset_number(cfg, "DATA.IMG_SIZE", m->size, origin);
    if (m->height) {
        preset_number(cfg, "DATA.IMG_WIDTH", m->size, origin);
        preset_number(cfg, "DATA.IMG_HEIGHT", m->height, origin);
    }
    config_preset(cfg, "MODEL.PRETRAINED", m->name, origin);
}

/* Sets the type and, from the name of its file, the name of a network of MODEL.LAYERS,
 * unless the same or a later source sets them. */
static void preset_layers(struct config *cfg)
{
    const char *origin = config_origin(cfg, "MODEL.LAYERS"), *file = origin ? origin : "";
    const char *slash = memrchr(file, '/', strcspn(file, ":"));
    struct strbuf name = STRBUF_INIT;

    file = slash ? slash + 1 : file;
    strbuf_add(&name, file, strcspn(file, ".:"));
    if (!strchr(file, '.') || !name.len || strspn(file, "-."))
        strbuf_reset(&name), strbuf_addstr(&name, "layers");
    if (config_is_later(cfg, "MODEL.LAYERS", "MODEL.TYPE"))
        config_set_for(cfg, "MODEL.TYPE", layers_family.type, "MODEL.LAYERS");
    if (!config_origin(cfg, "MODEL.NAME") ||
        (model_family_of(cfg->model.name) &&
         config_is_later(cfg, "MODEL.LAYERS", "MODEL.NAME")))
        config_set_for(cfg, "MODEL.NAME", name.buf, "MODEL.LAYERS");
    strbuf_release(&name);
}

/* Takes the task from a custom model's name: simmim_pretrain. */
static void preset_task(struct config *cfg)
{
    const struct model_family *f = model_family_find(cfg->model.type);
    const struct model *m = f && f->custom ? model_custom(f, cfg->model.name) : NULL;
    struct strbuf origin = STRBUF_INIT;

    strbuf_addf(&origin, "MODEL.NAME %s", cfg->model.name);
    if (m && m->task)
        config_preset(cfg, "MODEL.TASK", m->task, origin.buf);
    if (cfg->model.task == TASK_SIMMIM)
        simmim_preset(cfg);
    strbuf_release(&origin);
}

/* Takes the loss from the task, unless the user names one. */
static void preset_loss(struct config *cfg)
{
    const char *loss = loss_default(cfg->model.task);
    struct strbuf origin = STRBUF_INIT;

    strbuf_addf(&origin, "MODEL.TASK %s", choices_tasks[cfg->model.task].name);
    if (!cfg->losses.n && strcmp(loss, cfg->train.loss.name) != 0 &&
        cfg->model.task != TASK_CLASSIFY && cfg->model.task != TASK_MULTILABEL)
        config_preset(cfg, "TRAIN.LOSS.NAME", loss, origin.buf);
    strbuf_release(&origin);
}

/* True if a model's row says nothing about this key. */
static bool is_empty(const struct option *o, const void *member)
{
    return o->type == OPTION_INT_LIST    ? !((const struct int_list *)member)->n
           : o->type == OPTION_INT_TABLE ? !((const struct int_table *)member)->n
                                         : false;
}

void model_preset(struct config *cfg)
{
    struct strbuf text = STRBUF_INIT;

    if (cfg->model.layers->list.n)
        preset_layers(cfg);
    else
        preset_type(cfg);

    const struct model *m = model_lookup(cfg, &text);
    const struct option *o = m && m->family->arch_is_options ? m->family->options : NULL;

    strbuf_reset(&text);
    if (m)
        strbuf_addf(&text, "MODEL.NAME %s", m->name);
    if (m && m->graph)
        preset_file(cfg, m, text.buf);
    else if (m && m->family->blamed && m->classes)
        preset_number(cfg, "MODEL.NUM_CLASSES", m->classes, text.buf);
    for (; o && o->key; o++) {
        const char *member = (const char *)m->arch + o->offset;

        if (!is_empty(o, member))
            preset(cfg, o, member, text.buf);
    }
    strbuf_release(&text);
    preset_task(cfg);
    preset_loss(cfg);
}

/* Returns the number of processes of the run. Before they meet, when configurations are
 * checked, it is what the launcher or DEVICE says. */
static int count_processes(const struct config *cfg)
{
    int world = dist_world(), launched = dist_launched().world;

    return world > 1 ? world : launched > 1 ? launched : device_count(cfg);
}

struct model_options model_options_of_config(const struct config *cfg, struct arena *mem)
{
    const struct model_family *f = model_of_config(cfg)->family;
    struct model_options o = {0};

    fill(model_common_options, cfg, &o, mem);
    o.processes = count_processes(cfg);
    if (cfg->model.task == TASK_ORDINAL && f->task == MODEL_CLASSIFY && o.classes > 1)
        o.classes--; /* ops/corn.h */
    if (f->options) {
        void *family = arena_new(mem, f->options_size);

        fill(f->options, cfg, family, mem);
        o.family = family;
    }
    return o;
}

static bool check_choices(const struct option *table, const struct config *cfg,
                          struct problems *p)
{
    bool ok = true;

    for (const struct option *o = table; o && o->key; o++) {
        struct names names = choice_names(o);

        if (o->choices && !names_check(&names, cfg, p, o->key))
            ok = false;
    }
    return ok;
}

static bool heeds(const struct model_family *f, const char *key)
{
    for (int i = 0; f->reads[i]; i++)
        if (!strcmp(f->reads[i], key))
            return true;
    return false;
}

static bool is_off(const struct value *v)
{
    return v->type == VALUE_BOOL    ? !v->b
           : v->type == VALUE_FLOAT ? v->f == 0
                                    : v->type == VALUE_STR && !*v->s;
}

/* Defaults are Swin's, so a default is accepted everywhere; a changed value must not be
 * silently ignored. */
static void check_common(const struct model_family *f, const struct config *cfg,
                         struct problems *p)
{
    for (const struct option *o = model_common_options; o->key; o++) {
        const struct value *v = config_get(cfg, o->key);
        struct strbuf text = STRBUF_INIT;

        value_add_str(&text, v);
        if (!heeds(f, o->key) && !is_off(v) && !config_is_default(cfg, o->key))
            config_blame(cfg, p, KEYS(o->key),
                         "%s %s does not apply to models of MODEL.TYPE %s", o->key,
                         text.buf, f->type);
        strbuf_release(&text);
    }
}

/* MODEL.RESNET.STEM belongs to MODEL.TYPE resnet. */
static void check_unread(const struct model_family *f, const struct config *cfg,
                         struct problems *p)
{
    for (const struct schema *row = schema_table; row->key; row++) {
        const char *dot = strchr(row->key, '.');
        bool family = dot && strchr(dot + 1, '.') && !strncmp(row->key, "MODEL.", 6);

        if (family && !row->no_effect && !option_find(f->options, row->key) &&
            !option_find(model_common_options, row->key))
            config_warn_unread(cfg, p, row->key, "this MODEL.TYPE does not read it");
    }
}

bool model_options_check(const struct config *cfg, struct problems *p)
{
    const struct model_family *f = model_family_find(cfg->model.type);
    bool ok = check_choices(model_common_options, cfg, p);

    for (int i = 0; model_families[i]; i++)
        ok &= check_choices(model_families[i]->options, cfg, p);
    if (f)
        check_common(f, cfg, p);
    if (f && !p->nerror)
        check_unread(f, cfg, p);
    return ok;
}

bool model_key_names(const char *key, struct names *names)
{
    const struct option *o = option_find(model_common_options, key);

    for (int i = 0; !o && model_families[i]; i++)
        o = option_find(model_families[i]->options, key);
    if (o && o->choices)
        *names = choice_names(o);
    return o && o->choices;
}
