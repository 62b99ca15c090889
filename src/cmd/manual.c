/*
 * Prints manual pages with man(7) macros, from the tables of --help:
 * `trainc help --man [VERB] >trainc-VERB.1`.
 */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "cmd/help.h"

/* Prints a line with roff's special characters escaped. */
static void print_escaped(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
    }
    putchar('\n');
}

static void put_option(const char *name, const char *help)
{
    puts(".TP");
    fputs(".B ", stdout);
    print_escaped(name);
    print_escaped(help);
}

static void put_flags(const struct cmd_flag *flags)
{
    for (; flags && flags->flag; flags++) {
        struct strbuf name = STRBUF_INIT;

        strbuf_addf(&name, "%s%s%s", flags->flag, flags->metavar ? " " : "",
                    flags->metavar ? flags->metavar : "");
        put_option(name.buf, flags->help);
        strbuf_release(&name);
    }
}

static void put_keys(const struct verb *v)
{
    puts(".SH FLAGS OF KEYS");
    for (const struct schema *row = schema_table; row->key; row++) {
        struct strbuf name = STRBUF_INIT, help = STRBUF_INIT;

        if (!row->flag || !verb_reads(v, row->key))
            continue;
        help_add_names(&name, row);
        help_add_text(&help, row);
        put_option(name.buf, help.buf);
        strbuf_release(&name);
        strbuf_release(&help);
    }
}

static void print_exit_status(void)
{
    puts(".SH EXIT STATUS\n"
         "0: success. 1: failure. 2: the command line or the configuration is invalid; "
         "nothing was changed. 128 + N: stopped by signal N.");
}

static void put_title(const char *name, const char *help)
{
    printf(".TH %s 1 \"\" \"trainc %s\" \"User Commands\"\n.SH NAME\n%s \\- ", name,
           TRAINC_VERSION, name);
    print_escaped(help);
}

static void put_overview(void)
{
    put_title("trainc", "train image models from a YAML file");
    puts(".SH SYNOPSIS\n.B trainc\n[\\fIVERB\\fR] [\\fIoptions\\fR] "
         "[\\fIKEY\\fR=\\fIVALUE\\fR ...]\n"
         ".SH DESCRIPTION\n"
         "Merges the defaults, the files of \\-\\-cfg, and the flags into one "
         "configuration "
         "and runs the verb with it. The default verb is train.\n.SH VERBS");
    for (int i = 0; verb_table[i]; i++)
        put_option(verb_table[i]->name, verb_table[i]->help);
    puts(".SH OPTIONS OF ALL VERBS");
    put_flags(help_common_flags(NULL));
    puts(".SH KEYS");
    for (const struct schema *row = schema_table; row->key; row++)
        put_option(row->key, row->help);
    print_exit_status();
}

void manual_print(const struct verb *v)
{
    struct strbuf name = STRBUF_INIT;

    if (!v) {
        put_overview();
        return;
    }
    strbuf_addf(&name, "trainc-%s", v->name);
    put_title(name.buf, v->help);
    printf(".SH SYNOPSIS\n.B trainc %s\n[\\fIoptions\\fR] %s [\\fIKEY\\fR=\\fIVALUE\\fR "
           "...]\n.SH DESCRIPTION\n",
           v->name, v->args ? v->args : "");
    print_escaped(v->about ? v->about : v->help);
    puts(".SH OPTIONS");
    put_flags(v->flags);
    put_flags(help_common_flags(v));
    put_keys(v);
    print_exit_status();
    puts(".SH SEE ALSO\n.BR trainc (1)");
    strbuf_release(&name);
}
