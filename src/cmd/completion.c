/*
 * Prints shell completion scripts from the tables of verbs, flags, and keys. They complete
 * the verb, its flags, the values of a flag that has a list of them, keys, and files.
 *
 *   trainc help --completion bash >/etc/bash_completion.d/trainc
 *   trainc help --completion zsh >/usr/share/zsh/site-functions/_trainc
 *   trainc help --completion fish >/usr/share/fish/vendor_completions.d/trainc.fish
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/help.h"

/* Calls fn for each long or short name of a flag: twice for "-b, --batch-size". */
static void each_name(const char *flag, void (*fn)(const char *name, int len, void *arg),
                      void *arg)
{
    for (const char *cursor = flag; *cursor;) {
        int len = (int)strcspn(cursor, ", ");

        if (*cursor == '-')
            fn(cursor, len, arg);
        cursor += len;
        cursor += strspn(cursor, ", ");
    }
}

static void print_name(const char *name, int len, void *arg)
{
    (void)arg;
    printf("%.*s ", len, name);
}

static void print_negation(const char *name, int len, void *arg)
{
    (void)arg;
    if (len > 2 && name[1] == '-')
        printf("--no-%.*s ", len - 2, name + 2);
}

static bool is_switch(const struct schema *row)
{
    return row->type == SCHEMA_BOOL || row->type == SCHEMA_BOOL_OPT;
}

static void print_flags(const struct verb *v)
{
    for (const struct cmd_flag *f = v->flags; f && f->flag; f++)
        each_name(f->flag, print_name, NULL);
    for (const struct cmd_flag *f = help_common_flags(v); f->flag; f++)
        each_name(f->flag, print_name, NULL);
    for (const struct schema *row = schema_table; row->key; row++) {
        if (!row->flag || !verb_reads(v, row->key))
            continue;
        each_name(row->flag, print_name, NULL);
        if (is_switch(row))
            each_name(row->flag, print_negation, NULL);
        if (row->no_flag)
            each_name(row->no_flag, print_name, NULL);
        if (row->set_flag)
            each_name(row->set_flag, print_name, NULL);
    }
}

/* Prints the values that the key accepts, each followed by a space; returns their
 * number. */
static int print_values(const struct schema *row)
{
    struct names names;
    struct named value;
    int n = 0;

    for (const struct choice *c = row->choices; c && c->name; c++)
        if (!c->refuse && *c->name)
            n += printf("%s ", c->name) > 0;
    if (!row->choices && cmd_key_names(row->key, &names))
        for (int i = 0; (value = names.entry(names.table, i)).name; i++)
            if (!value.refuse && *value.name && !strpbrk(value.name, " *$`\"'"))
                n += printf("%s ", value.name) > 0;
    return n;
}

static bool has_values(const struct schema *row)
{
    struct names names;

    return row->flag && (row->choices || cmd_key_names(row->key, &names));
}

/* The shell's syntax for assignments and case statements. */
struct syntax {
    const char *assign, *equals, *end_assign;
    const char *begin_case, *in, *end_case;
    const char *label, *separator, *end_label, *end_branch;
};

static const struct syntax sh = {"",     "=\"", "\"", "case", " in",
                                 "esac", "",    "|",  ")",    " ;;"};
static const struct syntax fish = {"set ", " ",     "",  "switch", "",
                                   "end",  "case ", " ", ";",      ""};

struct pattern {
    const char *separator;
    bool follows; /* true after the first word */
};

static void print_pattern(const char *name, int len, void *arg)
{
    struct pattern *p = arg;

    printf("%s%.*s", p->follows ? p->separator : "", len, name);
    p->follows = true;
}

static void print_flags_of_verbs(const struct syntax *s)
{
    printf("    %s $verb%s\n", s->begin_case, s->in);
    for (int i = 0; verb_table[i]; i++) {
        printf("        %s%s%s %sflags%s", s->label, verb_table[i]->name, s->end_label,
               s->assign, s->equals);
        print_flags(verb_table[i]);
        printf("%s%s\n", s->end_assign, s->end_branch);
    }
    printf("    %s\n", s->end_case);
}

static void print_values_of_flags(const struct syntax *s)
{
    printf("    %s $prev%s\n", s->begin_case, s->in);
    for (const struct schema *row = schema_table; row->key; row++) {
        struct pattern p = {.separator = s->separator};

        if (!has_values(row))
            continue;
        printf("        %s", s->label);
        each_name(row->flag, print_pattern, &p);
        printf("%s %svalues%s", s->end_label, s->assign, s->equals);
        (void)print_values(row);
        printf("%s%s\n", s->end_assign, s->end_branch);
    }
    printf("    %s\n", s->end_case);
}

/* Prints code that sets $verbs and $keys, and $flags and $values for $verb and $prev. */
static void print_tables(const struct syntax *s)
{
    printf("    %sverbs%s", s->assign, s->equals);
    for (int i = 0; verb_table[i]; i++)
        printf("%s ", verb_table[i]->name);
    printf("%s\n    %skeys%s", s->end_assign, s->assign, s->equals);
    for (const struct schema *row = schema_table; row->key; row++)
        printf("%s= ", row->key);
    printf("%s\n", s->end_assign);
    print_flags_of_verbs(s);
    print_values_of_flags(s);
}

static void print_bash(void)
{
    puts("# Completes the words of trainc in bash.\n"
         "_trainc() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local verb=train verbs keys flags values word\n"
         "    [ $COMP_CWORD -gt 1 ] && verb=${COMP_WORDS[1]}\n"
         "    case $verb in -*|*=*|@*) verb=train ;; esac");
    print_tables(&sh);
    puts("    if [ -n \"$values\" ]; then\n"
         "        COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
         "    elif [[ $cur == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
         "    elif [[ $cur == [A-Z]* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$keys\" -- \"$cur\"))\n"
         "        compopt -o nospace 2>/dev/null\n"
         "    elif [ $COMP_CWORD = 1 ]; then\n"
         "        COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
         "    fi\n"
         "}\n"
         "complete -o default -F _trainc trainc");
}

static void print_zsh(void)
{
    puts("#compdef trainc\n"
         "# Completes the words of trainc in zsh.\n"
         "_trainc() {\n"
         "    local cur=${words[CURRENT]} prev=${words[CURRENT-1]}\n"
         "    local verb=train verbs keys flags values\n"
         "    (( CURRENT > 2 )) && verb=${words[2]}\n"
         "    case $verb in -*|*=*|@*) verb=train ;; esac");
    print_tables(&sh);
    puts("    if [[ -n $values ]]; then\n"
         "        compadd -- ${=values}\n"
         "    elif [[ $cur == -* ]]; then\n"
         "        compadd -- ${=flags}\n"
         "    elif [[ $cur == [A-Z]* ]]; then\n"
         "        compadd -S '' -- ${=keys}\n"
         "    elif (( CURRENT == 2 )); then\n"
         "        compadd -- ${=verbs}\n"
         "    else\n"
         "        _files\n"
         "    fi\n"
         "}\n"
         "_trainc \"$@\"");
}

static void print_fish(void)
{
    puts("# Completes the words of trainc in fish.\n"
         "function __trainc_words\n"
         "    set -l cur (commandline -ct)\n"
         "    set -l words (commandline -opc)\n"
         "    set -l verb train\n"
         "    set -l prev $words[-1]\n"
         "    set -l verbs\n"
         "    set -l keys\n"
         "    set -l flags\n"
         "    set -l values\n"
         "    if test (count $words) -gt 1; and not string match -qr -- '^-|=|^@' "
         "$words[2]\n"
         "        set verb $words[2]\n"
         "    end");
    print_tables(&fish);
    puts("    if test -n \"$values\"\n"
         "        printf '%s\\n' $values\n"
         "    else if string match -q -- '-*' $cur\n"
         "        printf '%s\\n' $flags\n"
         "    else if string match -qr -- '^[A-Z]' $cur\n"
         "        printf '%s\\n' $keys\n"
         "    else if test (count $words) = 1\n"
         "        printf '%s\\n' $verbs\n"
         "    else\n"
         "        __fish_complete_path $cur\n"
         "    end\n"
         "end\n"
         "complete -c trainc -f -a '(__trainc_words)'");
}

void completion_print(const char *shell)
{
    if (!strcmp(shell, "bash"))
        print_bash();
    else if (!strcmp(shell, "zsh"))
        print_zsh();
    else if (!strcmp(shell, "fish"))
        print_fish();
    else
        usage("--completion: unknown shell '%s'; choose bash, zsh, or fish", shell);
}
