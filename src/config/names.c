#include "config/names.h"

#include "config/config.h"
#include "config/schema.h"
#include "config/value.h"

static bool one_reads(const struct names *names, const char *const *also, const char *key)
{
    for (; also && *also; also++) {
        int row = names_find(names, *also);
        struct named other =
            row < 0 ? (struct named){0} : names->entry(names->table, row);

        if (row >= 0 && named_reads(&other, key))
            return true;
    }
    return false;
}

static void check_unread(const struct names *names, int row, const struct config *cfg,
                         struct problems *p, const char *key, const char *const *also)
{
    struct named entry = names->entry(names->table, row), other;

    for (int i = 0; (other = names->entry(names->table, i)).name; i++)
        for (const char *const *k = other.reads; k && *k; k++)
            if (!named_reads(&entry, *k) && !one_reads(names, also, *k))
                config_warn_unread(cfg, p, *k, "%s %s does not read it", key, entry.name);
}

bool names_check(const struct names *names, const struct config *cfg, struct problems *p,
                 const char *key)
{
    return names_check_also(names, cfg, p, key, NULL);
}

bool names_check_also(const struct names *names, const struct config *cfg,
                      struct problems *p, const char *key, const char *const *also)
{
    const char *value = config_get(cfg, key)->s;
    struct strbuf why = STRBUF_INIT;
    bool known = names_known(names, value, &why);
    int row = names_find(names, value);

    if (!known)
        config_blame(cfg, p, KEYS(key), "%s %s", key, why.buf);
    else if (row >= 0)
        check_unread(names, row, cfg, p, key, also);
    strbuf_release(&why);
    return known;
}

void names_add_type(struct strbuf *s, const struct schema *row, names_of_key *names_of)
{
    struct names names;

    if (names_of && !row->record && names_of(row->key, &names)) {
        strbuf_addf(s, "%sone of ", names.empty ? "empty or " : "");
        names_add(s, &names);
    } else {
        schema_add_type(s, row);
    }
}
