#include "config/cmdline.h"

#include <string.h>

#include "config/flags.h"

bool cmdline_is_opts(const char *origin)
{
    return strstr(origin, "--opts") || !strncmp(origin, "argument ", 9);
}

const char *cmdline_peek(int argc, char **argv, const char *flag)
{
    size_t len = strlen(flag);

    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (flag_same_name(argv[i], flag, len) && (!argv[i][len] || argv[i][len] == '='))
            return argv[i][len] ? argv[i] + len + 1 : i + 1 < argc ? argv[i + 1] : "";
    return NULL;
}

static const struct cfgnode_pair *find_command_flag(const struct cmdline *line,
                                                    const char *flag)
{
    size_t len = strlen(flag);

    for (int i = line->ncommand - 1; i >= 0; i--) {
        const char *cursor = strstr(line->command[i].name, flag);

        if (cursor && (!cursor[len] || cursor[len] == ','))
            return &line->command[i];
    }
    return NULL;
}

const char *cmdline_value(const struct cmdline *line, const char *flag)
{
    const struct cfgnode_pair *set = find_command_flag(line, flag);

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
    return find_command_flag(line, flag) != NULL;
}
