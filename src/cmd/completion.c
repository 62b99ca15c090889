/*
 * Completion of words in a shell, from the tables of verbs, flags and keys. Both scripts
 * ask for the verb, then for its flags, the values of a flag that has a list of them, or
 * a KEY; what is left are files.
 *
 *   trainc help --completion bash >/etc/bash_completion.d/trainc
 *   trainc help --completion zsh >/usr/share/zsh/site-functions/_trainc
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/help.h"

/* Each long or short name of a flag: "-b, --batch-size" -> two calls. */
static void each_name(const char *flag, void (*fn)(const char *name, int len, void *arg),
                      void *arg)
{
    for (const char *at = flag; *at;) {
        int len = (int)strcspn(at, ", ");

        if (*at == '-')
            fn(at, len, arg);
        at += len;
        at += strspn(at, ", ");
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

/* The values that a key's text may have, with a space after each; how many. */
static int print_values(const struct schema *row)
{
    struct names names;
    struct named value;
    int n = 0;

    for (const struct choice *c = row->choices; c && c->name; c++)
        if (!c->refuse && *c->name)
            n += printf("%s ", c->name) > 0;
    if (!row->choices && cmd_key_names(row->key, &names))
        for (int i = 0; (value = names.at(names.table, i)).name; i++)
            if (!value.refuse && *value.name && !strpbrk(value.name, " *$`\"'"))
                n += printf("%s ", value.name) > 0;
    return n;
}

static bool has_values(const struct schema *row)
{
    struct names names;

    return row->flag && (row->choices || cmd_key_names(row->key, &names));
}

static void print_pattern(const char *name, int len, void *arg)
{
    bool *first = arg;

    printf("%s%.*s", *first ? "" : "|", len, name);
    *first = false;
}

/* $words, $verbs, $keys and $values of what stands before: for both shells. */
static void print_tables(void)
{
    printf("    verbs=\"");
    for (int i = 0; verb_table[i]; i++)
        printf("%s ", verb_table[i]->name);
    printf("\"\n    keys=\"");
    for (const struct schema *row = schema_table; row->key; row++)
        printf("%s= ", row->key);
    printf("\"\n    case $verb in\n");
    for (int i = 0; verb_table[i]; i++) {
        printf("        %s) flags=\"", verb_table[i]->name);
        print_flags(verb_table[i]);
        printf("\" ;;\n");
    }
    printf("    esac\n    case $prev in\n");
    for (const struct schema *row = schema_table; row->key; row++) {
        bool first = true;

        if (!has_values(row))
            continue;
        printf("        ");
        each_name(row->flag, print_pattern, &first);
        printf(") values=\"");
        (void)print_values(row);
        printf("\" ;;\n");
    }
    printf("    esac\n");
}

static void print_bash(void)
{
    puts("# Completes the words of trainc in bash.\n"
         "_trainc() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local verb=train verbs keys flags values word\n"
         "    [ $COMP_CWORD -gt 1 ] && verb=${COMP_WORDS[1]}\n"
         "    case $verb in -*|*=*|@*) verb=train ;; esac");
    print_tables();
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
    print_tables();
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

void completion_print(const char *shell)
{
    if (!strcmp(shell, "bash"))
        print_bash();
    else if (!strcmp(shell, "zsh"))
        print_zsh();
    else
        usage("--completion knows bash and zsh, not '%s'", shell);
}
