#include "config/cmdline.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/argword.h"
#include "config/atfile.h"
#include "config/flags.h"
#include "config/foreign.h"

enum { FILES_MAX = 100 };

struct parser {
    struct cmdline *line;
    const struct cmd_spec *spec;
    struct problems *p;
    struct flags flags;
    struct atword *word;
    int n, cap, i, nopts;
    int nfiles;     /* @files that were read */
    bool only_args; /* after -- */
};

/* --- words
 * -------------------------------------------------------------------------------- */

static void put_word(struct parser *ps, int at, struct atword w)
{
    GROW(ps->word, ps->n, ps->cap);
    memmove(ps->word + at + 1, ps->word + at, (size_t)(ps->n - at) * sizeof(w));
    ps->word[at] = w;
    ps->n++;
}

/* @FILE at the present place becomes the words of the file. */
static bool expand(struct parser *ps)
{
    struct atword at = ps->word[ps->i], *words;
    int n;

    if (ps->only_args || at.text[0] != '@' || !at.text[1])
        return false;
    if (++ps->nfiles > FILES_MAX) {
        problems_error(ps->p, at.where, "@%s: there are more than %d files of arguments",
                       at.text + 1, FILES_MAX);
        ps->n = ps->i;
        return true;
    }
    words = atfile_read(at.text + 1, at.file, at.where, &ps->line->mem, ps->p, &n);
    ps->n--;
    memmove(ps->word + ps->i, ps->word + ps->i + 1,
            (size_t)(ps->n - ps->i) * sizeof(*ps->word));
    for (int i = 0; i < n; i++)
        put_word(ps, ps->i + i, words[i]);
    free(words);
    return true;
}

/* The array with room for one more than `n` items: it doubles at each power of two. */
static void *roomy(struct arena *mem, const void *array, int n, size_t size)
{
    void *grown = arena_new(mem, (size_t)(n ? 2 * n : 1) * size);

    if (n)
        memcpy(grown, array, (size_t)n * size);
    return grown;
}

static bool is_full(int n)
{
    return !(n & (n - 1));
}

static void add_word(struct cmd_word **array, int *n, struct atword w, struct arena *mem)
{
    if (is_full(*n))
        *array = roomy(mem, *array, *n, sizeof(**array));
    (*array)[(*n)++] = (struct cmd_word){w.text, w.where};
}

static void add_set(struct cfgnode_pair **array, int *n, struct cfgnode_pair set,
                    struct arena *mem)
{
    if (is_full(*n))
        *array = roomy(mem, *array, *n, sizeof(**array));
    (*array)[(*n)++] = set;
}

/* Whether a word is an argument, or the value of a flag, rather than a flag. */
static bool is_value(struct parser *ps, const struct atword *w)
{
    const char *text = w->text;

    if (text[0] != '-' || !text[1] || ps->only_args)
        return true;
    if (!strcmp(text, "--"))
        return false;
    if (argword_is_number(text))
        return true;
    return strchr(text, ' ') && !flags_exact(&ps->flags, text, strcspn(text, "="));
}

static bool next_value(struct parser *ps, struct atword *w)
{
    if (ps->i >= ps->n || !is_value(ps, &ps->word[ps->i]))
        return false;
    *w = ps->word[ps->i++];
    return true;
}

/* --- flags
 * --------------------------------------------------------------------------------- */

static const char *slashed(struct parser *ps, const struct flag *flag)
{
    return flag_argument(flag, &ps->line->mem);
}

static void set_key(struct parser *ps, const struct flag_name *name, const char *text,
                    const struct atword *at)
{
    struct cmdline *line = ps->line;
    const struct flag *flag = name->flag;
    struct cfgnode_pair set = {.name = flag->row->key, .text = text};

    set.where =
        arena_strdup(&line->mem, name->no ? name->name : flag_long(flag, &line->mem));
    if (at->file)
        set.where = arena_printf(&line->mem, "%s: %s", at->where, set.where);
    if (flag_check(flag, text, &line->mem, ps->p))
        add_set(&line->flag, &line->nflag, set, &line->mem);
}

/* A key of the schema, alone or before a =: what comes before it ends there. */
static bool is_key(struct parser *ps, const char *text)
{
    int len = (int)strcspn(text, "=");

    if (text[len] && !argword_is_pair(text))
        return false;
    return schema_find(ps->spec->schema, arena_printf(&ps->line->mem, "%.*s", len, text));
}

static bool next_item(struct parser *ps, struct atword *w)
{
    const char *text = ps->i < ps->n ? ps->word[ps->i].text : NULL;

    if (!text || is_key(ps, text) ||
        !(is_value(ps, &ps->word[ps->i]) || argword_starts_number(text)))
        return false;
    *w = ps->word[ps->i++];
    return true;
}

/*
 * [2, 2] that the shell has cut into words is put together again, unless the key wants a
 * text. NULL: it does not end, and that is reported.
 */
static const char *whole_value(struct parser *ps, const char *key, const char *text,
                               const char *where)
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
        problems_error(ps->p, where, "%s: a bracket or a quote does not end in '%s'", key,
                       text);
        text = NULL;
    }
    strbuf_release(&s);
    return text;
}

/*
 * a b c of a list flag, as [a, b, c]; one value that is no list, as a list of it; [a, b]
 * in words, as one. NULL: reported.
 */
static const char *list_text(struct parser *ps, const struct flag *flag,
                             const char *first, bool more)
{
    struct strbuf s = STRBUF_INIT;
    struct atword w;
    const char *text = first;
    int n = 1;

    if (argword_is_open(first))
        return whole_value(ps, flag->row->key, first, slashed(ps, flag));
    strbuf_addf(&s, "[%s", first);
    while (more && ps->i < ps->n && !argword_is_bare_pair(ps->word[ps->i].text) &&
           next_value(ps, &w)) {
        strbuf_addf(&s, ", %s", w.text);
        n++;
    }
    strbuf_addch(&s, ']');
    if (n > 1 ||
        !(strpbrk(first, "[(,") || !strcmp(first, "None") || strstr(first, "${")))
        text = arena_strdup(&ps->line->mem, s.buf);
    strbuf_release(&s);
    return text;
}

static void opts(struct parser *ps, const struct flag *flag, const char *value);

/* `value` is what followed =, or NULL. */
static void use_flag(struct parser *ps, const struct flag_name *name, const char *value,
                     struct atword at)
{
    const struct flag *flag = name->flag;
    struct cmdline *line = ps->line;
    bool inline_value = value != NULL;
    struct atword w = {value, at.where, at.file};

    if (flag->kind == FLAG_OPTS) {
        opts(ps, flag, value);
        return;
    }
    if (flag_wants_value(flag)) {
        if (!value && !next_value(ps, &w)) {
            problems_error(ps->p, slashed(ps, flag), "expected %s",
                           flag_is_list(flag) ? "at least one argument" : "one argument");
            return;
        }
        value = w.text;
    } else if (value && (name->no || !flag_is_bool(flag)) &&
               !(flag->kind == FLAG_PRINT && !strcmp(value, "diff"))) {
        problems_error(ps->p, slashed(ps, flag), "ignored explicit argument '%s'", value);
        return;
    }
    switch (flag->kind) {
    case FLAG_KEY:
        if (flag->value)
            value = flag->value;
        else if (flag_is_bool(flag) && !value)
            value = name->no ? "False" : "True";
        else if (flag_is_list(flag))
            value = list_text(ps, flag, value, !inline_value);
        if (value)
            set_key(ps, name, value, &at);
        break;
    case FLAG_OWN:
        add_set(&line->own, &line->nown,
                (struct cfgnode_pair){flag->own->flag, value, at.where}, &line->mem);
        break;
    case FLAG_CFG:
        add_word(&line->cfg, &line->ncfg, w, &line->mem);
        break;
    case FLAG_PRINT:
        line->print = value ? value : "";
        break;
    default:
        if (!ps->p->nerror && flag->kind == FLAG_HELP)
            line->help = true;
        if (!ps->p->nerror && flag->kind == FLAG_VERSION)
            line->version = true;
    }
}

/* -b3, -b=3, -qb3: letters of one dash. false: the first is no flag. */
static bool short_flags(struct parser *ps, struct atword at)
{
    const char *c = at.text + 1;

    for (; *c; c++) {
        char name[3] = {'-', *c, '\0'};
        const struct flag_name *f = flags_exact(&ps->flags, name, 2);

        if (!f && c == at.text + 1)
            return false;
        if (!f) {
            problems_error(ps->p, NULL, "unrecognized arguments: -%s", c);
            return true;
        }
        if (flag_wants_value(f->flag) || c[1] == '=') {
            use_flag(ps, f, c[1] ? c + 1 + (c[1] == '=') : NULL, at);
            return true;
        }
        use_flag(ps, f, NULL, at);
    }
    return true;
}

/* A flag of another trainer, with the values behind it: what there is instead is said. */
static bool say_foreign(struct parser *ps, const struct atword *at, const char *here,
                        bool value)
{
    struct strbuf s = STRBUF_INIT;
    struct atword w;

    if (!here)
        return false;
    strbuf_addstr(&s, at->text);
    while (value && ps->i < ps->n && !argword_is_bare_pair(ps->word[ps->i].text) &&
           next_value(ps, &w))
        strbuf_addf(&s, " %s", w.text);
    problems_error(ps->p, at->file ? at->where : NULL,
                   "unrecognized arguments: %s (here: %s)", s.buf, here);
    strbuf_release(&s);
    return true;
}

static bool flag(struct parser *ps, struct atword at)
{
    size_t len = strcspn(at.text, "=");
    const struct flag_name *name = flags_exact(&ps->flags, at.text, len);
    bool value, several;
    const char *here = name ? NULL : foreign_flag(at.text, &value);

    if (here && say_foreign(ps, &at, here, value))
        return true;
    name = flags_find(&ps->flags, at.text, len, ps->p, &several);
    if (name)
        use_flag(ps, name, at.text[len] ? at.text + len + 1 : NULL, at);
    else if (several && !at.text[len])
        (void)next_value(ps, &at); /* of the ambiguous flag: no second mistake */
    if (name || several)
        return true;
    here = foreign_key(ps->spec->schema, at.text, &ps->line->mem);
    if (here && say_foreign(ps, &at, here, !at.text[len]))
        return true;
    return at.text[1] != '-' && short_flags(ps, at);
}

/* --- --opts
 * ---------------------------------------------------------------------------------- */

static void set_opt(struct parser *ps, const char *key, const char *value,
                    const struct atword *at)
{
    struct cmdline *line = ps->line;
    struct cfgnode_pair set = {.name = key};

    ps->nopts++;
    set.where = at->file ? arena_printf(&line->mem, "%s: --opts", at->where)
                         : arena_printf(&line->mem, "--opts #%d", ps->nopts);
    set.text = whole_value(ps, key, value, set.where);
    if (set.text)
        add_set(&line->opt, &line->nopt, set, &line->mem);
}

static void pair(struct parser *ps, struct atword w)
{
    char *key = arena_strdup(&ps->line->mem, w.text);
    size_t len = strcspn(key, "=");

    key[len] = '\0';
    set_opt(ps, key, w.text + len + 1, &w);
}

/* The next key of --opts, after @FILE there was replaced by its words. */
static bool next_key(struct parser *ps, struct atword *w)
{
    while (ps->i < ps->n && expand(ps))
        ;
    return next_value(ps, w);
}

static void opts(struct parser *ps, const struct flag *flag, const char *value)
{
    struct atword w = {value, ps->word[ps->i - 1].where, ps->word[ps->i - 1].file}, v;
    int n = 0;

    for (bool more = value || next_key(ps, &w); more; more = next_key(ps, &w), n++) {
        if (argword_is_pair(w.text))
            pair(ps, w);
        else if (next_value(ps, &v))
            set_opt(ps, w.text, v.text, &w);
        else
            problems_error(ps->p, slashed(ps, flag), "key %s has no value", w.text);
    }
    if (!n)
        problems_error(ps->p, slashed(ps, flag), "expected at least one argument");
}

/* --- the whole line
 * ----------------------------------------------------------------------------- */

static void unrecognized(struct parser *ps)
{
    struct strbuf s = STRBUF_INIT;
    const struct cmdline *line = ps->line;

    for (int i = 0; i < line->nrest; i++)
        strbuf_addf(&s, " %s", line->rest[i].text);
    for (int i = 0; i < line->nrest; i++) {
        const char *text = line->rest[i].text;
        const char *near =
            *text == '-' ? flags_suggest(&ps->flags, text, &ps->line->mem) : NULL;
        const char *path = *text == '-' ? NULL : foreign_path(text);

        if (path)
            strbuf_addf(&s, " ('%s' is %s)", text, path);
        if (near && strcmp(near, text) != 0)
            strbuf_addf(&s, " (did you mean %s?)", near);
    }
    problems_error(ps->p, NULL, "unrecognized arguments:%s", s.buf);
    strbuf_release(&s);
}

/* What would be the value of a flag that is not known is no argument of its own. */
static void unknown_flag(struct parser *ps, struct atword w)
{
    struct cmdline *line = ps->line;
    const char *near = flags_suggest(&ps->flags, w.text, &line->mem);
    const struct flag_name *meant =
        near ? flags_exact(&ps->flags, near, strlen(near)) : NULL;
    bool open = !strchr(w.text, '=') && ps->i < ps->n;
    const char *next = open ? ps->word[ps->i].text : "";

    add_word(&line->rest, &line->nrest, w, &line->mem);
    open = open && !argword_is_bare_pair(next);
    if (open && (meant ? flag_wants_value(meant->flag) : argword_starts_number(next)) &&
        next_value(ps, &w))
        add_word(&line->rest, &line->nrest, w, &line->mem);
}

static void word(struct parser *ps)
{
    struct cmdline *line = ps->line;
    struct atword w;

    if (expand(ps))
        return;
    w = ps->word[ps->i++];
    if (!ps->only_args && !strcmp(w.text, "--"))
        ps->only_args = true;
    else if (!is_value(ps, &w) && flag(ps, w))
        ;
    else if (is_value(ps, &w) && !ps->only_args && argword_is_bare_pair(w.text))
        pair(ps, w);
    else if (is_value(ps, &w) && line->narg < ps->spec->max_args)
        add_word(&line->arg, &line->narg, w, &line->mem);
    else if (!is_value(ps, &w))
        unknown_flag(ps, w);
    else
        add_word(&line->rest, &line->nrest, w, &line->mem);
}

void cmdline_parse(struct cmdline *line, const struct cmd_spec *spec, int argc,
                   char **argv, struct problems *p)
{
    struct parser ps = {.line = line, .spec = spec, .p = p};

    *line = (struct cmdline){0};
    flags_init(&ps.flags, spec);
    for (int i = 0; i < argc; i++)
        put_word(&ps, i,
                 (struct atword){arena_strdup(&line->mem, argv[i]),
                                 arena_printf(&line->mem, "argument %d", i + 1), NULL});
    while (ps.i < ps.n && !line->help && !line->version)
        word(&ps);
    if (line->nrest && !line->help && !line->version)
        unrecognized(&ps);
    flags_release(&ps.flags);
    free(ps.word);
}

void cmdline_release(struct cmdline *line)
{
    arena_release(&line->mem);
    *line = (struct cmdline){0};
}

static const struct cfgnode_pair *own(const struct cmdline *line, const char *flag)
{
    size_t len = strlen(flag);

    for (int i = line->nown - 1; i >= 0; i--) {
        const char *at = strstr(line->own[i].name, flag);

        if (at && (!at[len] || at[len] == ','))
            return &line->own[i];
    }
    return NULL;
}

const char *cmdline_value(const struct cmdline *line, const char *flag)
{
    const struct cfgnode_pair *set = own(line, flag);

    return set ? set->text : NULL;
}

const char *cmdline_key(const struct cmdline *line, const char *key)
{
    const char *text = NULL;

    for (int i = 0; i < line->nopt; i++)
        if (!strcmp(line->opt[i].name, key))
            text = line->opt[i].text;
    for (int i = 0; i < line->nflag; i++)
        if (!strcmp(line->flag[i].name, key))
            text = line->flag[i].text;
    return text;
}

bool cmdline_has(const struct cmdline *line, const char *flag)
{
    return own(line, flag) != NULL;
}
