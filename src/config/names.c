#include "config/names.h"

#include <string.h>

#include "base/suggest.h"
#include "config/config.h"
#include "config/problems.h"
#include "config/schema.h"

static const char *name_at(const struct names *names, int i)
{
    return names->at(names->table, i);
}

void names_add(struct strbuf *s, const struct names *names)
{
    const char *name;

    for (int i = 0; (name = name_at(names, i)); i++)
        strbuf_addf(s, "%s%s", i ? ", " : "", *name ? name : "''");
}

int names_find(const struct names *names, const char *name)
{
    const char *other;

    for (int i = 0; (other = name_at(names, i)); i++)
        if (!strcmp(other, name))
            return i;
    return -1;
}

static const char *nearest(const struct names *names, const char *wanted)
{
    struct suggest s;
    const char *name;

    suggest_init(&s, wanted);
    for (int i = 0; (name = name_at(names, i)); i++)
        if (*name)
            suggest_try(&s, name);
    return s.best;
}

bool names_check(const struct names *names, const struct config *cfg, struct problems *p,
                 const char *key, const char *value)
{
    struct value v = {.type = VALUE_STR, .s = value};
    struct strbuf why = STRBUF_INIT;
    const char *near;

    if (names_find(names, value) >= 0)
        return true;
    near = nearest(names, value);
    strbuf_addf(&why, "%s must be one of ", key);
    names_add(&why, names);
    strbuf_addstr(&why, ", not ");
    value_add_repr(&why, &v);
    if (near)
        strbuf_addf(&why, " (did you mean %s?)", near);
    config_blame(cfg, p, KEYS(key), "%s", why.buf);
    strbuf_release(&why);
    return false;
}

void names_add_type(struct strbuf *s, const struct schema *row, names_of_key *names_of)
{
    struct names names;

    if (names_of && names_of(row->key, &names)) {
        strbuf_addstr(s, "one of ");
        names_add(s, &names);
    } else {
        schema_add_type(s, row);
    }
}
