#include "config/print.h"

#include <string.h>

#include "config/cfgnode.h"
#include "config/dump.h"
#include "config/schema.h"

struct printer {
    struct strbuf *s;
    int flags;
    names_of_key *names_of;
    const char *section; /* section of the previous line: "MODEL.SWIN" for
                          * MODEL.SWIN.APE */
    size_t section_len;
};

/* Writes the section lines (MODEL:, and SWIN: below) that differ from the previous
 * key's. */
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
    strbuf_addf(pr->s, "%*s# %s (", indent, "", row->help);
    names_add_type(pr->s, row, pr->names_of);
    if (row->min < row->max) {
        strbuf_addstr(pr->s, !schema_is_open(row) ? " in " : " ");
        schema_add_range(pr->s, row);
    }
    strbuf_addstr(pr->s, "; default ");
    value_add_yaml(pr->s, config_default(row->key));
    strbuf_addf(pr->s, "%s)\n", schema_use(row));
}

/* Escapes ${ in texts as $${, so that it is not read as a reference. */
static struct value escaped(struct arena *mem, const struct value *v)
{
    bool list = value_has_items(v);
    struct value dst = list ? value_list(mem, v->type, v->list.n) : *v;
    struct strbuf s = STRBUF_INIT;

    for (int i = 0; list && i < v->list.n; i++)
        dst.list.item[i] = escaped(mem, &v->list.item[i]);
    if (v->type == VALUE_STR && strstr(v->s, "${")) {
        for (const char *c = v->s; *c; c++)
            strbuf_addf(&s, "%s%c", c[0] == '$' && c[1] == '{' ? "$" : "", *c);
        dst.s = arena_strdup(mem, s.buf);
    }
    strbuf_release(&s);
    return dst;
}

/* Writes a list of layers in a line each, so that a network can be read. */
static void add_items(struct printer *pr, const struct value *list, int indent)
{
    for (int i = 0; i < list->list.n; i++) {
        strbuf_addf(pr->s, "\n%*s- ", indent, "");
        value_add_yaml(pr->s, &list->list.item[i]);
    }
}

static void add_origin(struct printer *pr, const struct cfgnode_entry *e, bool replaced)
{
    if (!(pr->flags & CONFIG_PRINT_ORIGIN) || !e->origin)
        return;
    strbuf_addstr(pr->s, "  # ");
    if (replaced) {
        struct strbuf was = STRBUF_INIT;

        value_add_repr(&was, &e->value);
        yaml_add_comment(pr->s, was.buf);
        strbuf_addstr(pr->s, ", ");
        strbuf_release(&was);
    }
    yaml_add_comment(pr->s, e->origin);
    if (e->replaced) {
        strbuf_addstr(pr->s, ", over ");
        yaml_add_comment(pr->s, e->replaced);
    }
}

static void add_value(struct printer *pr, const struct cfgnode_entry *e, int indent)
{
    const struct value empty = {.type = VALUE_LIST};
    const struct value *v = &e->value;
    bool replaced = v->text && strstr(v->text, "${");
    struct arena mem = {0};
    struct value raw = {.type = VALUE_STR, .s = v->text};

    if (!strcmp(e->name, "BASE"))
        v = &empty;
    if (!replaced)
        raw = escaped(&mem, v);
    if (e->decl.item == VALUE_OTHER && raw.type == VALUE_LIST && raw.list.n) {
        pr->s->buf[--pr->s->len] = '\0'; /* the space after the colon */
        add_origin(pr, e, replaced);
        add_items(pr, &raw, indent);
    } else {
        value_add_yaml(pr->s, &raw);
        add_origin(pr, e, replaced);
    }
    arena_release(&mem);
}

void config_print(struct strbuf *s, const struct config *cfg, int flags)
{
    config_print_names(s, cfg, flags, NULL);
}

void config_print_names(struct strbuf *s, const struct config *cfg, int flags,
                        names_of_key *names_of)
{
    struct printer pr = {.s = s, .flags = flags, .names_of = names_of, .section = ""};

    for (const struct schema *row = schema_table; row->key; row++) {
        int depth;

        if (flags & CONFIG_PRINT_DIFF &&
            (config_is_default(cfg, row->key) || !strcmp(row->key, "BASE")))
            continue;
        depth = open_sections(&pr, row->key);
        if (flags & CONFIG_PRINT_HELP)
            add_comment(&pr, row, 2 * depth);
        strbuf_addf(s, "%*s%s: ", 2 * depth, "",
                    pr.section_len ? row->key + pr.section_len + 1 : row->key);
        add_value(&pr, cfgnode_find(cfg->tree, row->key), 2 * depth + 2);
        strbuf_addch(s, '\n');
    }
}
