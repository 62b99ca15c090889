#include "tests/config/cmdline_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

const struct cmd_flag cmdline_own[] = {
    {"--json", "FILE", "a value"},
    {"-q, --quiet", NULL, "a switch"},
    {"-v, --verbose", NULL, "another"},
    {0},
};

enum { ARGC_MAX = 40 };

void cmdline_parse_words(struct cmdline *line, const struct cmd_spec *spec,
                         const char *words, struct problems *p)
{
    char *text = xstrdup(words), *argv[ARGC_MAX];
    int argc = 0;

    for (char *w = text, *next; *words && w; w = next) {
        next = strchr(w, '|');
        if (next)
            *next++ = '\0';
        assert_true(argc < ARGC_MAX);
        argv[argc++] = w;
    }
    cmdline_parse(line, spec, argc, argv, p);
    free(text);
}

static void add_sets(struct strbuf *s, const char *what, const struct cfgnode_pair *set,
                     int n)
{
    for (int i = 0; i < n; i++)
        strbuf_addf(s, "%s%s%s%s%s", s->len ? " " : "", what, set[i].name,
                    set[i].text ? "=" : "", set[i].text ? set[i].text : "");
}

static void add_words(struct strbuf *s, const char *what, const struct cmd_word *w, int n)
{
    for (int i = 0; i < n; i++)
        strbuf_addf(s, "%s%s%s", s->len ? " " : "", what, w[i].text);
}

void cmdline_show(struct strbuf *s, const struct cmdline *line)
{
    add_words(s, "cfg:", line->cfg, line->ncfg);
    add_sets(s, "opt:", line->opt, line->nopt);
    add_sets(s, "", line->flag, line->nflag);
    add_sets(s, "own:", line->command, line->ncommand);
    add_words(s, "arg:", line->arg, line->narg);
    add_words(s, "rest:", line->rest, line->nrest);
    strbuf_addstr(s, line->help ? " HELP" : "");
    strbuf_addstr(s, line->version ? " VERSION" : "");
    if (line->print)
        strbuf_addf(s, " PRINT%s", line->print);
}

/* Words written to overrides.txt must parse to the same settings. */
static void compare_again(const char *want, const struct cmdline *first,
                          const struct cmd_spec *spec)
{
    char *cursor = xasprintf("@%s", support_file("again.args", first->words));
    struct strbuf got = STRBUF_INIT;
    struct problems p = {0};
    struct cmdline line;

    cmdline_parse_words(&line, spec, cursor, &p);
    cmdline_show(&got, &line);
    if (strcmp(got.buf, want) != 0)
        fail_msg("again, %s is '%s', want '%s'", first->words, got.buf, want);
    strbuf_release(&got);
    problems_release(&p);
    cmdline_release(&line);
    free(cursor);
    support_cleanup();
}

void cmdline_compare(const struct cmdline_row *row, const struct cmd_spec *spec)
{
    struct strbuf got = STRBUF_INIT, says = STRBUF_INIT;
    struct problems p = {0};
    struct cmdline line;

    cmdline_parse_words(&line, spec, row->words, &p);
    cmdline_show(&got, &line);
    support_problems(&says, &p);
    if (strcmp(got.buf, row->want) != 0 || strcmp(says.buf, row->says) != 0)
        fail_msg("'%s' is '%s', want '%s'; says\n%swant\n%s", row->words, got.buf,
                 row->want, says.buf, row->says);
    if (*row->words)
        compare_again(row->want, &line, spec);
    strbuf_release(&got);
    strbuf_release(&says);
    cmdline_release(&line);
}
