#include "config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/problems.h"
#include "config/schema.h"

void config_init(struct config *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    for (const struct schema *row = schema_table; row->key; row++) {
        struct value v = schema_default(row, &cfg->mem);

        schema_bind(row, &v, cfg, &cfg->mem);
    }
}

void config_release(struct config *cfg)
{
    arena_release(&cfg->mem);
    memset(cfg, 0, sizeof(*cfg));
}

void config_set(struct config *cfg, const char *key, const char *text)
{
    const struct schema *row = schema_find(schema_table, key);
    struct strbuf why = STRBUF_INIT;
    struct value v;

    if (!row)
        usage("unknown key %s", key);

    struct decl d = schema_decl(row);
    struct value in = value_str(&cfg->mem, text);

    in.text = in.s;
    if (!coerce(&cfg->mem, &d, &in, &v, &why))
        usage("%s must be %s", key, why.buf);
    if (!schema_check(row, &v, &why))
        usage("%s %s", key, why.buf);
    schema_bind(row, &v, cfg, &cfg->mem);
    strbuf_release(&why);
}

const char *config_where(const struct config *cfg, const char *key)
{
    const struct schema *row = schema_find(schema_table, key);

    if (!row)
        BUG("no key %s", key);
    return cfg->source ? cfg->source[row - schema_table].where : NULL;
}

bool config_is_default(const struct config *cfg, const char *key)
{
    const struct schema *row = schema_find(schema_table, key);
    struct arena mem = {0};
    struct value is, def;
    bool same;

    if (!row)
        BUG("no key %s", key);
    is = schema_read(row, cfg, &mem);
    def = schema_default(row, &mem);
    same = value_equal(&is, &def);
    arena_release(&mem);
    return same;
}

static bool is_bad(const struct config *cfg, const char *key)
{
    return cfg->source && cfg->source[schema_find(schema_table, key) - schema_table].bad;
}

static const char *first_where(const struct config *cfg, const char *const *keys)
{
    const char *where = NULL;

    for (int i = 0; !where && keys[i]; i++)
        where = config_where(cfg, keys[i]);
    return where;
}

void config_blame(const struct config *cfg, struct problems *p, const char *const *keys,
                  const char *fmt, ...)
{
    char *text;
    va_list ap;

    for (int i = 0; keys[i]; i++)
        if (is_bad(cfg, keys[i]) || (cfg->doubt && !config_where(cfg, keys[i])))
            return;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    problems_error(p, first_where(cfg, keys), "%s", text);
    free(text);
}

void config_warn_unread(const struct config *cfg, struct problems *p, const char *key,
                        const char *why, ...)
{
    const char *where = config_where(cfg, key);
    char *text;
    va_list ap;

    if (!where || config_is_default(cfg, key))
        return;
    va_start(ap, why);
    if (vasprintf(&text, why, ap) < 0)
        abort();
    va_end(ap);
    problems_warn(p, where, "%s has no effect: %s", key, text);
    free(text);
}

void config_refuse(const struct config *cfg, const char *const *keys, const char *fmt,
                   ...)
{
    const char *where = first_where(cfg, keys);
    char *text;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    usage("%s%s%s", where ? where : "", where ? ": " : "", text);
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
