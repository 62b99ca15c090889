#include "config/cmdline_parser.h"

#include <string.h>

#include "config/argword.h"
#include "config/foreign.h"

/* Processes a flag. `value` is the text after =, or NULL. */
static void use_flag(struct parser *ps, const struct flag_name *name, const char *value,
                     struct atword word)
{
    const struct flag *flag = name->flag;
    struct cmdline *line = ps->line;
    bool inline_value = value != NULL;
    struct atword w = {value, word.origin, word.file};

    if (flag->kind == FLAG_OPTS) {
        parser_opts(ps, flag, value);
        return;
    }
    if (flag_wants_value(flag)) {
        bool given = value || parser_next_value(ps, &w);

        if (!given && flag->row && flag->row->bare) {
            w.text = flag->row->bare;
        } else if (!given) {
            problems_error(ps->p, flag_argument(flag, &ps->line->mem), "expected %s",
                           flag_is_list(flag) ? "at least one argument" : "one argument");
            return;
        }
        value = w.text;
    } else if (value && (name->no || !flag_is_bool(flag)) &&
               !(flag->kind == FLAG_PRINT && !strcmp(value, "diff"))) {
        problems_error(ps->p, flag_argument(flag, &ps->line->mem),
                       "ignored explicit argument '%s'", value);
        return;
    }
    switch (flag->kind) {
    case FLAG_KEY:
        if (flag->value)
            value = flag->value;
        else if (flag_is_bool(flag) && !value)
            value = name->no ? "False" : "True", ps->switch_flag = name;
        else if (flag_is_list(flag))
            value = parser_list_text(ps, flag, value, !inline_value);
        if (value)
            parser_set_key(ps, name, value, &word);
        break;
    case FLAG_COMMAND:
        cmdline_add_set(&line->command, &line->ncommand,
                        (struct cfgnode_pair){flag->command->flag, value, word.origin},
                        &line->mem);
        break;
    case FLAG_CFG:
        cmdline_add_word(&line->cfg, &line->ncfg, w, &line->mem);
        break;
    case FLAG_PRINT:
        line->print = value ? value : "";
        break;
    default:
        if (ps->p->nerror == ps->nforeign && flag->kind == FLAG_HELP)
            line->help = true;
        if (ps->p->nerror == ps->nforeign && flag->kind == FLAG_VERSION)
            line->version = true;
    }
}

/* Converts ++amp to --amp, and +b3 to -b3, unless flags ++amp and +b exist. */
static struct atword dashed(struct parser *ps, struct atword w)
{
    bool word = parser_is_prefix(ps, w.text[1]);
    char *text;

    if (w.text[0] == '-' ||
        flags_exact(&ps->flags, w.text, word ? strcspn(w.text, "=") : 2))
        return w;
    text = arena_strdup(&ps->line->mem, w.text);
    for (int i = 0; i < 2 && parser_is_prefix(ps, text[i]); i++)
        text[i] = '-';
    w.text = text;
    return w;
}

/* Parses -b3, -b=3, or -qb3: letters after one dash. Returns false if the first is not a
 * flag. */
static bool short_flags(struct parser *ps, struct atword word)
{
    const char *c = word.text + 1;

    for (; *c; c++) {
        char name[3] = {word.text[0], *c, '\0'};
        const struct flag_name *f = flags_exact(&ps->flags, name, 2);

        if (!f && c == word.text + 1)
            return false;
        if (!f && ps->spec->keep_unknown) {
            word.text = arena_printf(&ps->line->mem, "%c%s", name[0], c);
            cmdline_add_word(&ps->line->rest, &ps->line->nrest, word, &ps->line->mem);
            return true;
        }
        if (!f) {
            problems_error(ps->p, NULL, "unrecognized arguments: %c%s", name[0], c);
            return true;
        }
        if (flag_wants_value(f->flag) || c[1] == '=') {
            use_flag(ps, f, c[1] ? c + 1 + (c[1] == '=') : NULL, word);
            return true;
        }
        use_flag(ps, f, NULL, word);
    }
    return true;
}

/* Reports a flag of another trainer, with its values and what to use instead. Returns
 * false if it is not known. */
static bool report_foreign(struct parser *ps, const struct atword *word, const char *here,
                           bool value)
{
    struct strbuf s = STRBUF_INIT;
    struct atword w;
    int before;

    if (!here || ps->spec->keep_unknown)
        return false;
    strbuf_addstr(&s, word->text);
    while (value && ps->i < ps->n && !argword_is_bare_pair(ps->word[ps->i].text) &&
           parser_next_value(ps, &w))
        strbuf_addf(&s, " %s", w.text);
    before = ps->p->nerror;
    problems_error(ps->p, word->file ? word->origin : NULL,
                   "unrecognized arguments: %s (here: %s)", s.buf, here);
    ps->nforeign += ps->p->nerror - before;
    strbuf_release(&s);
    return true;
}

static bool flag(struct parser *ps, struct atword word)
{
    size_t len = strcspn(word.text, "=");
    const struct flag_name *name = flags_exact(&ps->flags, word.text, len);
    bool value, several;
    const char *here = name ? NULL : foreign_flag(word.text, &value);
    const char *own = foreign_verb_flag(word.text);

    if (here && own && flags_exact(&ps->flags, own, strcspn(own, " ")))
        here = own;
    if (here && report_foreign(ps, &word, here, value))
        return true;
    name = flags_find(&ps->flags, word.text, len, ps->p, &several);
    if (name)
        use_flag(ps, name, word.text[len] ? word.text + len + 1 : NULL, word);
    else if (several && !word.text[len])
        (void)parser_next_value(ps, &word); /* skip the ambiguous flag's value, to avoid a
                                           * second error */
    if (name || several)
        return true;
    here = foreign_key(ps->spec->schema, word.text, &ps->line->mem);
    if (here && report_foreign(ps, &word, here, !word.text[len]))
        return true;
    return word.text[1] != '-' && short_flags(ps, word);
}

bool parser_flag(struct parser *ps, struct atword word)
{
    return flag(ps, dashed(ps, word));
}
