#include "config/flags.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"

static void add_name(struct flags *f, const char *name, const struct flag *flag, bool no)
{
    GROW(f->name, f->n, f->cap);
    f->name[f->n++] = (struct flag_name){name, flag, no};
}

/* Adds each name of "-b, --batch-size", and --no-x for a long name of a bool. */
static void add_names(struct flags *f, const char *names, const struct flag *flag,
                      bool no)
{
    char *list = arena_strdup(&f->mem, names);

    while (*list) {
        char *name = list;

        list += strcspn(list, ", ");
        while (*list && strchr(", ", *list))
            *list++ = '\0';
        add_name(f, name, flag, no);
        if (!no && flag_is_bool(flag) && !strncmp(name, "--", 2))
            add_name(f, arena_printf(&f->mem, "--no-%s", name + 2), flag, true);
    }
}

static void add_flag(struct flags *f, struct flag flag)
{
    const struct flag *copy = arena_copy(&f->mem, &flag, sizeof(flag));

    add_names(f, flag.names, copy, false);
    if (flag.row && flag.row->no_flag)
        add_names(f, flag.row->no_flag, copy, true);
}

void flags_init(struct flags *f, const struct cmd_spec *spec)
{
    *f = (struct flags){0};
    add_flag(f, (struct flag){FLAG_CFG, "-c, --cfg", NULL, NULL, NULL});
    add_flag(f, (struct flag){FLAG_OPTS, "--opts", NULL, NULL, NULL});
    add_flag(f, (struct flag){FLAG_PRINT, "--print-config", NULL, NULL, NULL});
    add_flag(f, (struct flag){FLAG_HELP, "-h, --help", NULL, NULL, NULL});
    add_flag(f, (struct flag){FLAG_VERSION, "--version", NULL, NULL, NULL});
    for (const struct cmd_flag *option = spec->flags; option && option->flag; option++)
        add_flag(f, (struct flag){FLAG_COMMAND, option->flag, NULL, option, NULL});
    for (const struct schema *row = spec->schema; row->key; row++) {
        if (row->flag)
            add_flag(f, (struct flag){FLAG_KEY, row->flag, row, NULL, NULL});
        if (row->set_flag)
            add_flag(f,
                     (struct flag){FLAG_KEY, row->set_flag, row, NULL, row->set_value});
    }
}

void flags_release(struct flags *f)
{
    free(f->name);
    arena_release(&f->mem);
}

bool flag_is_bool(const struct flag *flag)
{
    return flag->row &&
           (flag->row->type == SCHEMA_BOOL || flag->row->type == SCHEMA_BOOL_OPT);
}

bool flag_is_list(const struct flag *flag)
{
    return flag->row && schema_decl(flag->row).type == VALUE_LIST;
}

bool flag_wants_value(const struct flag *flag)
{
    if (flag->kind == FLAG_COMMAND)
        return flag->command->metavar != NULL;
    return flag->kind == FLAG_CFG ||
           (flag->kind == FLAG_KEY && !flag->value && !flag_is_bool(flag));
}

static char fold(char c)
{
    return c == '_' ? '-' : c;
}

bool flag_same_name(const char *text, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (fold(text[i]) != name[i] || (i < 2 && text[i] == '_'))
            return false;
    return true;
}

static bool same_meaning(const struct flag_name *a, const struct flag_name *b)
{
    return a->flag == b->flag && a->no == b->no;
}

static void ambiguous(const struct flags *f, const char *text, size_t len,
                      struct problems *p)
{
    struct strbuf s = STRBUF_INIT;

    for (int i = 0; i < f->n; i++)
        if (flag_same_name(text, f->name[i].name, len) &&
            strncmp(f->name[i].name, "--no-", 5) != 0)
            strbuf_addf(&s, "%s%s", s.len ? ", " : "", f->name[i].name);
    problems_error(p, NULL, "ambiguous option: %.*s could match %s", (int)len, text,
                   s.buf);
    strbuf_release(&s);
}

const struct flag_name *flags_exact(const struct flags *f, const char *text, size_t len)
{
    for (int i = 0; i < f->n; i++)
        if (flag_same_name(text, f->name[i].name, len) && !f->name[i].name[len])
            return &f->name[i];
    return NULL;
}

const struct flag_name *flags_find(const struct flags *f, const char *text, size_t len,
                                   struct problems *p, bool *several)
{
    const struct flag_name *found = flags_exact(f, text, len);

    *several = false;
    if (found)
        return found;
    if (len < 3 || strncmp(text, "--", 2) != 0)
        return NULL;
    for (int i = 0; i < f->n; i++) {
        const struct flag_name *name = &f->name[i];

        /* Flags that disable something are not guessed. */
        if (!flag_same_name(text, name->name, len) || !strncmp(name->name, "--no-", 5))
            continue;
        if (found && !same_meaning(found, name)) {
            ambiguous(f, text, len, p);
            *several = true;
            return NULL;
        }
        if (!found)
            found = name;
    }
    if (found)
        problems_note(p, NULL, "%.*s is short for %s", (int)len, text, found->name);
    return found;
}

const char *flags_suggest(const struct flags *f, const char *text, struct arena *mem)
{
    char *word = arena_strdup(mem, text);
    struct suggest s;

    word[strcspn(word, "=")] = '\0';
    suggest_init(&s, word);
    for (int i = 0; i < f->n && !strncmp(word, "--", 2); i++)
        if (!strncmp(f->name[i].name, "--", 2))
            suggest_try(&s, f->name[i].name);
    return s.best ? arena_strdup(mem, s.best) : NULL;
}

const char *flag_long(const struct flag *flag, struct arena *mem)
{
    const char *start = strstr(flag->names, "--");
    char *name = arena_strdup(mem, start ? start : flag->names);

    name[strcspn(name, ", ")] = '\0';
    return name;
}

static const char *join_names(const struct flag *flag, struct arena *mem)
{
    struct strbuf s = STRBUF_INIT;
    const char *text;

    for (const char *c = flag->names; *c; c++)
        if (*c == ',')
            strbuf_addch(&s, '/');
        else if (*c != ' ')
            strbuf_addch(&s, *c);
    text = arena_strdup(mem, s.buf);
    strbuf_release(&s);
    return text;
}

const char *flag_argument(const struct flag *flag, struct arena *mem)
{
    return arena_printf(mem, "argument %s", join_names(flag, mem));
}

/* Removes leading zeros of decimal digits: -007 is -7, but 0x10 and 0.5 do not change. */
static const char *without_zeros(const char *text, struct arena *mem)
{
    const char *digits = text + (*text == '-' || *text == '+');
    size_t zeros = strspn(digits, "0"), n = strspn(digits, "0123456789");

    if (digits[n] || n < 2 || !zeros)
        return text;
    return arena_printf(mem, "%s%s", *text == '-' ? "-" : "",
                        digits + (zeros < n ? zeros : n - 1));
}

const char *flag_text(const struct flag *flag, const char *text, struct arena *mem)
{
    struct strbuf s = STRBUF_INIT;
    struct value v = value_str(mem, text);

    if (flag->row->type == SCHEMA_INT)
        return without_zeros(text, mem);
    if (flag->row->type != SCHEMA_STR || !strchr("'\"", *text) || !*text)
        return text;
    value_add_repr(&s, &v);
    text = arena_strdup(mem, s.buf);
    strbuf_release(&s);
    return text;
}

static bool check_choice(const struct flag *flag, const char *word, struct arena *mem,
                         struct problems *p)
{
    const struct choice *c = flag->row->choices;
    const char *suggestion = schema_near_choice(c, word);
    struct strbuf s = STRBUF_INIT;

    while (c->name && strcmp(c->name, word) != 0)
        c++;
    if (!c->name) {
        schema_add_choices(&s, flag->row->choices);
        problems_error(p, flag_argument(flag, mem),
                       "invalid choice: '%s' (choose from %s)%s%s%s", word, s.buf,
                       suggestion ? ", maybe you meant '" : "",
                       suggestion ? suggestion : "", suggestion ? "'?" : "");
    }
    strbuf_release(&s);
    return c->name != NULL;
}

bool flag_check(const struct flag *flag, const char *text, struct arena *mem,
                struct problems *p)
{
    const struct schema *row = flag->row;
    struct decl d = schema_decl(row);
    struct strbuf why = STRBUF_INIT;
    struct value in = value_str(mem, text), v;

    in.text = in.s;
    if (strstr(text, "${"))
        return true;
    if (coerce(mem, &d, &in, &v, &why))
        return !row->choices || v.type != VALUE_STR || check_choice(flag, v.s, mem, p);
    if (d.type == VALUE_LIST)
        problems_error(p, flag_argument(flag, mem), "must be %s", why.buf);
    else
        problems_error(p, flag_argument(flag, mem), "invalid %s value: '%s'",
                       value_type_name(d.type), text);
    strbuf_release(&why);
    return false;
}
