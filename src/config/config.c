#include "config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/cfgnode.h"
#include "config/problems.h"
#include "config/schema.h"

static void bind(struct config *cfg, const struct schema *row)
{
    if (row->field)
        schema_bind(row, config_get(cfg, row->key), (char *)cfg + row->offset,
                    cfg->tree->mem);
}

void config_bind(struct config *cfg, struct cfgnode *tree)
{
    *cfg = (struct config){.tree = tree};
    for (const struct schema *row = schema_table; row->key; row++)
        bind(cfg, row);
}

void config_release(struct config *cfg)
{
    cfgnode_free(cfg->tree);
    *cfg = (struct config){0};
}

static void set(struct config *cfg, const char *key, const char *text, const char *origin)
{
    struct cfgnode_pair pair = {key, text, origin};
    struct problems p = {0};

    cfgnode_defrost(cfg->tree);
    cfgnode_merge_list(cfg->tree, &pair, 1, &p);
    cfgnode_interpolate(cfg->tree, &p);
    config_check(cfg->tree, &p);
    cfgnode_freeze(cfg->tree);
    if (p.nerror)
        usage("%s", p.item[0].text);
    problems_release(&p);
    bind(cfg, schema_find(schema_table, key));
}

void config_set(struct config *cfg, const char *key, const char *text)
{
    set(cfg, key, text, NULL);
}

void config_set_for(struct config *cfg, const char *key, const char *text,
                    const char *origin)
{
    set(cfg, key, text, arena_strdup(cfg->tree->mem, origin));
}

void config_preset(struct config *cfg, const char *key, const char *text,
                   const char *origin)
{
    if (!config_origin(cfg, key))
        config_set_for(cfg, key, text, origin);
}

static const struct cfgnode_entry *entry(const struct config *cfg, const char *key)
{
    const struct cfgnode_entry *e = cfgnode_find(cfg->tree, key);

    if (!e || e->node)
        BUG("no key %s", key);
    return e;
}

const struct value *config_get(const struct config *cfg, const char *key)
{
    return &entry(cfg, key)->value;
}

const char *config_origin(const struct config *cfg, const char *key)
{
    return entry(cfg, key)->origin;
}

bool config_is_given(const struct config *cfg, const char *key)
{
    const char *origin = config_origin(cfg, key);

    return origin && strncmp(origin, CONFIG_JOB_ORIGIN, strlen(CONFIG_JOB_ORIGIN)) != 0;
}

bool config_is_default(const struct config *cfg, const char *key)
{
    return value_equal(config_get(cfg, key), config_default(key));
}

static const char *first_origin(const struct config *cfg, const char *const *keys)
{
    const char *origin = NULL;

    for (int i = 0; !origin && keys[i]; i++)
        origin = config_origin(cfg, keys[i]);
    return origin;
}

void config_blame(const struct config *cfg, struct problems *p, const char *const *keys,
                  const char *fmt, ...)
{
    char *text;
    va_list ap;

    for (int i = 0; keys[i]; i++)
        if (entry(cfg, keys[i])->bad || (cfg->doubt && !config_origin(cfg, keys[i])))
            return;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    problems_error(p, first_origin(cfg, keys), "%s", text);
    free(text);
}

void config_warn_unread(const struct config *cfg, struct problems *p, const char *key,
                        const char *why, ...)
{
    const char *origin = config_origin(cfg, key);
    char *text;
    va_list ap;

    if (!config_is_given(cfg, key) || config_is_default(cfg, key))
        return;
    va_start(ap, why);
    if (vasprintf(&text, why, ap) < 0)
        abort();
    va_end(ap);
    problems_unread(p, origin, key, "%s", text);
    free(text);
}

void config_refuse(const struct config *cfg, const char *const *keys, const char *fmt,
                   ...)
{
    const char *origin = first_origin(cfg, keys);
    char *text;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    usage("%s%s%s", origin ? origin : "", origin ? ": " : "", text);
}

int config_height(const struct config *cfg)
{
    return (int)(cfg->data.img_height ? cfg->data.img_height : cfg->data.img_size);
}

int config_width(const struct config *cfg)
{
    return (int)(cfg->data.img_width ? cfg->data.img_width : cfg->data.img_size);
}

int config_amp_level(const struct config *cfg)
{
    if (cfg->amp_opt_level == AMP_OPT_LEVEL_EMPTY)
        return cfg->amp_enable ? AMP_OPT_LEVEL_O1 : AMP_OPT_LEVEL_O0;
    return cfg->amp_opt_level;
}
