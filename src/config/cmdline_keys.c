#include "config/cmdline_parser.h"

#include <string.h>

#include "config/argword.h"

void parser_set_key(struct parser *ps, const struct flag_name *name, const char *text,
                    const struct atword *word)
{
    struct cmdline *line = ps->line;
    const struct flag *flag = name->flag;
    struct cfgnode_pair set = {.name = flag->row->key};

    set.text = flag_text(flag, text, &line->mem);
    set.origin =
        arena_strdup(&line->mem, name->no ? name->name : flag_long(flag, &line->mem));
    if (word->file)
        set.origin = arena_printf(&line->mem, "%s: %s", word->origin, set.origin);
    if (flag_check(flag, set.text, &line->mem, ps->p))
        cmdline_add_set(&line->flag, &line->nflag, set, &line->mem);
}

bool parser_is_key(struct parser *ps, const char *text)
{
    int len = (int)strcspn(text, "=");

    if (text[len] && !argword_is_pair(text))
        return false;
    return schema_find(ps->spec->schema, arena_printf(&ps->line->mem, "%.*s", len, text));
}

static bool next_item(struct parser *ps, struct atword *w)
{
    const char *text = ps->i < ps->n ? ps->word[ps->i].text : NULL;

    if (!text || parser_is_key(ps, text) ||
        !(parser_is_value(ps, &ps->word[ps->i]) || argword_starts_number(text)))
        return false;
    *w = ps->word[ps->i++];
    return true;
}

/*
 * Joins a list such as [2, 2] that the shell has split into words, unless the key is a
 * text. Reports an unclosed list and returns NULL.
 */
static const char *whole_value(struct parser *ps, const char *key, const char *text,
                               const char *origin)
{
    const struct schema *row = schema_find(ps->spec->schema, key);
    enum value_type type = row ? schema_decl(row).type : VALUE_LIST;
    struct strbuf s = STRBUF_INIT;
    struct atword w;

    if (type == VALUE_STR || !argword_is_open(text))
        return text;
    strbuf_addstr(&s, text);
    while (argword_is_open(s.buf) && next_item(ps, &w))
        strbuf_addf(&s, " %s", w.text);
    text = arena_strdup(&ps->line->mem, s.buf);
    if (row && type == VALUE_LIST && argword_is_open(text)) {
        problems_error(ps->p, origin, "%s: a bracket or a quote does not end in '%s'",
                       key, text);
        text = NULL;
    }
    strbuf_release(&s);
    return text;
}

/* True if the text is only ${KEY}, which may stand for a list. */
static bool is_reference(const char *text)
{
    const char *end = strchr(text, '}');

    return !strncmp(text, "${", 2) && end && !end[1];
}

/* True if the word is allowed in place of a list: TRAIN.CLASS_WEIGHTS auto. */
static bool is_choice(const struct schema *row, const char *text)
{
    for (const struct choice *c = row->choices; c && c->name; c++)
        if (!strcmp(c->name, text))
            return true;
    return false;
}

const char *parser_list_text(struct parser *ps, const struct flag *flag,
                             const char *first, bool more)
{
    struct strbuf s = STRBUF_INIT;
    struct atword w;
    const char *text = first;
    int n = 1;

    if (argword_is_open(first))
        return whole_value(ps, flag->row->key, first,
                           flag_argument(flag, &ps->line->mem));
    strbuf_addf(&s, "[%s", first);
    while (more && ps->i < ps->n && !argword_is_bare_pair(ps->word[ps->i].text) &&
           parser_next_value(ps, &w)) {
        strbuf_addf(&s, ", %s", w.text);
        n++;
    }
    strbuf_addch(&s, ']');
    if (n > 1 || !(strpbrk(first, "[(,") || !strcmp(first, "None") ||
                   is_reference(first) || is_choice(flag->row, first)))
        text = arena_strdup(&ps->line->mem, s.buf);
    strbuf_release(&s);
    return text;
}

static void set_opt(struct parser *ps, const char *key, const char *value,
                    const struct atword *word, bool bare)
{
    struct cmdline *line = ps->line;
    struct cfgnode_pair set = {.name = key, .origin = word->origin};

    if (word->file)
        set.origin = arena_printf(&line->mem, "%s: --opts", word->origin);
    else if (!bare)
        set.origin = arena_printf(&line->mem, "--opts #%d", ++ps->nopts);
    set.text = whole_value(ps, key, value, set.origin);
    if (set.text)
        cmdline_add_set(&line->opt, &line->nopt, set, &line->mem);
}

void parser_pair(struct parser *ps, struct atword w, bool bare)
{
    char *key = arena_strdup(&ps->line->mem, w.text);
    size_t len = strcspn(key, "=");

    key[len] = '\0';
    set_opt(ps, key, w.text + len + 1, &w, bare);
}

/* Reads the next key of --opts, after expanding @FILE. */
static bool next_key(struct parser *ps, struct atword *w)
{
    while (ps->i < ps->n && parser_expand(ps))
        ;
    return parser_next_value(ps, w);
}

void parser_opts(struct parser *ps, const struct flag *flag, const char *value)
{
    struct atword w = {value, ps->word[ps->i - 1].origin, ps->word[ps->i - 1].file}, v;
    const char *taken = NULL; /* "TAG SEED": the first key that was taken as a value */
    int n = 0;

    for (bool more = value || next_key(ps, &w); more; more = next_key(ps, &w), n++) {
        if (argword_is_pair(w.text)) {
            parser_pair(ps, w, false);
        } else if (!parser_next_value(ps, &v)) {
            problems_error(ps->p, flag_argument(flag, &ps->line->mem),
                           "key %s has no value%s%s%s", w.text, taken ? " (is '" : "",
                           taken ? taken : "", taken ? "' meant?)" : "");
        } else if (parser_is_key(ps, v.text) && argword_is_pair(v.text)) {
            problems_error(ps->p, flag_argument(flag, &ps->line->mem),
                           "key %s has no value before %s (%s=%s, if that is it)", w.text,
                           v.text, w.text, v.text);
        } else {
            if (!taken && parser_is_key(ps, v.text))
                taken = arena_printf(&ps->line->mem, "%s %s", w.text, v.text);
            set_opt(ps, w.text, v.text, &w, false);
        }
    }
    if (!n)
        problems_error(ps->p, flag_argument(flag, &ps->line->mem),
                       "expected at least one argument");
}
