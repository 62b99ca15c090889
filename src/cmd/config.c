/* trainc config: print the configuration and where each value came from. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/say.h"
#include "cmd/cmd.h"
#include "config/cfgnode.h"
#include "config/dump.h"
#include "config/print.h"
#include "config/schema.h"
#include "session/devices.h"
#include "session/losses.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "train/data_config.h"

static const struct cmd_flag config_flags[] = {
    {"--diff", NULL, "print only keys that differ from the defaults"},
    {"--check", NULL, "print nothing; the exit code is 0 if the configuration is valid"},
    {"--plain", NULL, "print no comments"},
    {0},
};

/* True if the key of the row is `name` or lies in the section `name`. */
static bool is_below(const struct schema *row, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(row->key, name, len) && (!row->key[len] || row->key[len] == '.');
}

static void config_check_arg(const char *name, struct problems *p)
{
    const char *suggestion;

    for (const struct schema *row = schema_table; row->key; row++)
        if (is_below(row, name))
            return;
    suggestion = cfgnode_near(config_defaults(), name, true);
    if (suggestion)
        problems_error(p, NULL, "unknown key %s (did you mean %s?)", name, suggestion);
    else
        problems_error(p, NULL, "unknown key %s", name);
}

static void config_check_args(const struct config *cfg, const struct cmdline *line,
                              struct problems *p)
{
    (void)model_options_check(cfg, p);
    (void)names_check(&device_names, cfg, p, "DEVICE");
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    loss_check(cfg, NULL, p);
    data_check_names(cfg, p);
    data_check_keys(cfg, p);
    if (line->narg && cmdline_has(line, "--diff"))
        problems_error(p, "--diff", "has no effect with a KEY");
    for (int i = 0; i < line->narg; i++)
        config_check_arg(line->arg[i].text, p);
}

/* Prints "KEY: value" lines or, without `names`, only the values. */
static void print_keys(const struct config *cfg, const char *name, bool names)
{
    for (const struct schema *row = schema_table; row->key; row++) {
        struct strbuf s = STRBUF_INIT;

        if (!is_below(row, name))
            continue;
        if (names)
            strbuf_addf(&s, "%s: ", row->key);
        value_add_yaml(&s, config_get(cfg, row->key));
        strbuf_addch(&s, '\n');
        say_text(s.buf);
        strbuf_release(&s);
    }
}

static int config_run(struct config *cfg, const struct cmdline *line)
{
    struct strbuf s = STRBUF_INIT;
    bool names = false; /* true if an argument is a section: all lines then have names */
    int flags = 0;

    if (cmdline_has(line, "--check"))
        return EXIT_OK;
    if (cmdline_has(line, "--diff"))
        flags |= CONFIG_PRINT_DIFF;
    if (!cmdline_has(line, "--plain"))
        flags |= CONFIG_PRINT_HELP | CONFIG_PRINT_ORIGIN;
    for (int i = 0; i < line->narg; i++)
        names |= !schema_find(schema_table, line->arg[i].text);
    for (int i = 0; i < line->narg; i++)
        print_keys(cfg, line->arg[i].text, names);
    if (!line->narg) {
        config_print_names(&s, cfg, flags, cmd_key_names);
        say_text(s.buf);
    }
    strbuf_release(&s);
    return EXIT_OK;
}

const struct verb cmd_config = {
    .name = "config",
    .examples = (const char *const[]){"trainc config --cfg my.yaml",
                                      "trainc config --cfg my.yaml --diff", NULL},
    .help = "print the configuration and where each value came from",
    .about =
        "Prints all keys as YAML that --cfg can read, each with its meaning, its "
        "default, "
        "and the file, --opts pair, or flag that set it. With KEYs, prints only their "
        "values.",
    .args = "[KEY ...]",
    .max_args = 1000,
    .flags = config_flags,
    .check = config_check_args,
    .run = config_run,
};
