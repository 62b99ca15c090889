#include "config/cmdline.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/argword.h"
#include "config/cmdline_parser.h"
#include "config/foreign.h"

static void unrecognized(struct parser *ps)
{
    struct strbuf s = STRBUF_INIT;
    const struct cmdline *line = ps->line;

    for (int i = 0; i < line->nrest; i++)
        strbuf_addf(&s, " %s", line->rest[i].text);
    for (int i = 0; i < line->nrest; i++) {
        const char *text = line->rest[i].text;
        const char *suggestion =
            *text == '-' ? flags_suggest(&ps->flags, text, &ps->line->mem) : NULL;
        const char *path = *text == '-' ? NULL : foreign_path(text);

        if (path)
            strbuf_addf(&s, " ('%s' is %s)", text, path);
        if (suggestion && strcmp(suggestion, text) != 0)
            strbuf_addf(&s, " (did you mean %s?)", suggestion);
    }
    problems_error(ps->p, NULL, "unrecognized arguments:%s", s.buf);
    strbuf_release(&s);
}

/* Skips what would be the value of an unknown flag, so that it is not taken as an
 * argument. */
static void unknown_flag(struct parser *ps, struct atword w)
{
    struct cmdline *line = ps->line;
    const char *suggestion = flags_suggest(&ps->flags, w.text, &line->mem);
    const struct flag_name *meant =
        suggestion ? flags_exact(&ps->flags, suggestion, strlen(suggestion)) : NULL;
    bool open = !strchr(w.text, '=') && ps->i < ps->n;
    const char *next = open ? ps->word[ps->i].text : "";

    cmdline_add_word(&line->rest, &line->nrest, w, &line->mem);
    open = open && !argword_is_bare_pair(next);
    if (open && (meant ? flag_wants_value(meant->flag) : argword_starts_number(next)) &&
        parser_next_value(ps, &w))
        cmdline_add_word(&line->rest, &line->nrest, w, &line->mem);
}

/* Reports --amp false: a value that is not attached to its switch would be an
 * argument. */
static bool report_switch(struct parser *ps, const struct flag_name *switch_flag,
                          const char *text)
{
    if (ps->only_args ||
        (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0))
        return false;
    problems_error(ps->p, flag_argument(switch_flag->flag, &ps->line->mem),
                   "write the value of a switch after =: --%s=%s",
                   flag_long(switch_flag->flag, &ps->line->mem) + 2, text);
    return true;
}

static void word(struct parser *ps)
{
    const struct flag_name *switch_flag = ps->switch_flag;
    struct cmdline *line = ps->line;
    struct atword w;

    if (parser_expand(ps))
        return;
    ps->switch_flag = NULL;
    w = ps->word[ps->i++];
    if (!ps->only_args && !strcmp(w.text, "--"))
        ps->only_args = true;
    else if (!parser_is_value(ps, &w) && parser_flag(ps, w))
        ;
    else if (parser_is_value(ps, &w) && !ps->only_args && argword_is_bare_pair(w.text) &&
             !(ps->spec->keep_unknown && !parser_is_key(ps, w.text)))
        parser_pair(ps, w, true);
    else if (switch_flag && report_switch(ps, switch_flag, w.text))
        ;
    else if (parser_is_value(ps, &w) && line->narg < ps->spec->max_args)
        cmdline_add_word(&line->arg, &line->narg, w, &line->mem);
    else if (!parser_is_value(ps, &w))
        unknown_flag(ps, w);
    else
        cmdline_add_word(&line->rest, &line->nrest, w, &line->mem);
}

/* Appends an argument as in a file of arguments: in quotes, unless it is a plain word. */
static void add_quoted(struct strbuf *s, const char *text)
{
    char quote = strchr(text, '\'') ? '"' : '\'';

    if (*text && !strpbrk(text, " \t\r\n#'\"\\")) {
        strbuf_addstr(s, text);
        return;
    }
    strbuf_addch(s, quote);
    for (; *text; text++) {
        if (quote == '"' && strchr("\"\\", *text))
            strbuf_addch(s, '\\');
        strbuf_addch(s, *text);
    }
    strbuf_addch(s, quote);
}

static const char *all_words(const struct parser *ps)
{
    struct strbuf s = STRBUF_INIT;
    const char *text;

    for (int i = 0; i < ps->n; i++) {
        strbuf_addstr(&s, i ? " " : "");
        add_quoted(&s, ps->word[i].text);
    }
    text = arena_strdup(&ps->line->mem, s.buf);
    strbuf_release(&s);
    return text;
}

void cmdline_parse(struct cmdline *line, const struct cmd_spec *spec, int argc,
                   char **argv, struct problems *p)
{
    struct parser ps = {.line = line, .spec = spec, .p = p};

    *line = (struct cmdline){0};
    flags_init(&ps.flags, spec);
    for (int i = 0; i < argc; i++)
        parser_put(&ps, i,
                   (struct atword){arena_strdup(&line->mem, argv[i]),
                                   arena_printf(&line->mem, "argument %d", i + 1), NULL});
    while (ps.i < ps.n && !line->help && !line->version)
        word(&ps);
    if (line->nrest && !spec->keep_unknown && !line->help && !line->version)
        unrecognized(&ps);
    line->words = all_words(&ps);
    flags_release(&ps.flags);
    free(ps.word);
}

void cmdline_release(struct cmdline *line)
{
    arena_release(&line->mem);
    *line = (struct cmdline){0};
}
