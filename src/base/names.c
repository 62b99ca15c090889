#include "base/names.h"

#include <string.h>
#include <strings.h>

#include "base/suggest.h"

void names_add(struct strbuf *s, const struct names *names)
{
    const char *separator = "";
    struct named row;

    for (int i = 0; (row = names->entry(names->table, i)).name; i++) {
        if (row.refuse)
            continue;
        strbuf_addf(s, "%s%s", separator, *row.name ? row.name : "''");
        separator = ", ";
    }
}

int names_find(const struct names *names, const char *name)
{
    struct named row;

    for (int i = 0; (row = names->entry(names->table, i)).name; i++)
        if (!row.pattern && !(names->any_case ? strcasecmp : strcmp)(row.name, name))
            return i;
    return -1;
}

static const char *nearest(const struct names *names, const char *wanted)
{
    struct suggest s;
    struct named row;

    suggest_init(&s, wanted);
    for (int i = 0; (row = names->entry(names->table, i)).name; i++)
        if (*row.name && !row.refuse && !row.pattern)
            suggest_try(&s, row.name);
    return s.best;
}

bool names_known(const struct names *names, const char *name, struct strbuf *why)
{
    int i = names_find(names, name);
    const char *refuse = i >= 0 ? names->entry(names->table, i).refuse : NULL,
               *suggestion;

    if (refuse)
        strbuf_addf(why, "%s %s", name, refuse);
    if (i >= 0 || (names->empty && !*name) || (names->more && names->more(name)))
        return !refuse;
    suggestion = nearest(names, name);
    strbuf_addf(why, "must be %sone of ", names->empty ? "empty or " : "");
    names_add(why, names);
    strbuf_addf(why, ", not '%s'", name);
    if (suggestion)
        strbuf_addf(why, " (did you mean %s?)", suggestion);
    return false;
}

bool named_reads(const struct named *row, const char *key)
{
    for (const char *const *k = row->reads; k && *k; k++)
        if (!strcmp(*k, key))
            return true;
    return false;
}
