#include "config/print.h"

#include <string.h>

#include "config/dump.h"
#include "config/schema.h"

struct printer {
    struct strbuf *s;
    const struct config *cfg;
    int flags;
    const char *section; /* of the line before: "MODEL.SWIN" of MODEL.SWIN.APE, ... */
    size_t section_len;
    struct arena mem;
};

/* MODEL: and below it SWIN: where the key's sections differ from those before. */
static int open_sections(struct printer *pr, const char *key)
{
    const char *last = strrchr(key, '.');
    size_t len = last ? (size_t)(last - key) : 0, same = 0;
    int depth = 0;

    for (size_t i = 0; i < len; i++) {
        bool end = i + 1 == len || key[i + 1] == '.';

        if (i >= pr->section_len || key[i] != pr->section[i])
            break;
        if (end && (i + 1 == pr->section_len || pr->section[i + 1] == '.'))
            same = i + 1;
    }
    for (size_t start = 0; start < len; depth++) {
        size_t n = strcspn(key + start, ".");

        if (start + n > same)
            strbuf_addf(pr->s, "%s%*s%.*s:\n", depth || !pr->s->len ? "" : "\n",
                        2 * depth, "", (int)n, key + start);
        start += n + 1;
    }
    pr->section = key;
    pr->section_len = len;
    return depth;
}

static void add_comment(struct printer *pr, const struct schema *row, int indent)
{
    struct value def = schema_default(row, &pr->mem);

    strbuf_addf(pr->s, "%*s# %s (", indent, "", row->help);
    schema_add_type(pr->s, row);
    if (row->min < row->max) {
        strbuf_addstr(pr->s, !schema_is_open(row) ? " in " : " ");
        schema_add_range(pr->s, row);
    }
    strbuf_addstr(pr->s, "; default ");
    value_add_yaml(pr->s, &def);
    strbuf_addstr(pr->s, ")\n");
}

static void add_value(struct printer *pr, const struct schema *row,
                      const struct config_source *src)
{
    struct value v = schema_read(row, pr->cfg, &pr->mem);

    if (!strcmp(row->key, "BASE"))
        v = value_list(&pr->mem, VALUE_LIST, 0);
    if (src && src->raw) {
        struct value raw = value_str(&pr->mem, src->raw);

        value_add_yaml(pr->s, &raw);
    } else {
        value_add_yaml(pr->s, &v);
    }
    if (!(pr->flags & CONFIG_PRINT_WHERE) || !src || !src->where)
        return;
    strbuf_addstr(pr->s, "  # ");
    if (src->raw) {
        struct strbuf was = STRBUF_INIT;

        value_add_repr(&was, &v);
        yaml_add_comment(pr->s, was.buf);
        strbuf_addstr(pr->s, ", ");
        strbuf_release(&was);
    }
    yaml_add_comment(pr->s, src->where);
}

void config_print(struct strbuf *s, const struct config *cfg, int flags)
{
    struct printer pr = {.s = s, .cfg = cfg, .flags = flags, .section = ""};

    for (const struct schema *row = schema_table; row->key; row++) {
        struct value def, v;
        int depth;

        if (row->type == SCHEMA_GONE)
            continue;
        def = schema_default(row, &pr.mem);
        v = schema_read(row, cfg, &pr.mem);
        if (flags & CONFIG_PRINT_DIFF &&
            (value_equal(&def, &v) || !strcmp(row->key, "BASE")))
            continue;
        depth = open_sections(&pr, row->key);
        if (flags & CONFIG_PRINT_HELP)
            add_comment(&pr, row, 2 * depth);
        strbuf_addf(s, "%*s%s: ", 2 * depth, "",
                    pr.section_len ? row->key + pr.section_len + 1 : row->key);
        add_value(&pr, row, cfg->source ? &cfg->source[row - schema_table] : NULL);
        strbuf_addch(s, '\n');
    }
    arena_release(&pr.mem);
}
