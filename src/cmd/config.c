/* trainc config: print the configuration and where each value came from. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "config/dump.h"
#include "config/print.h"
#include "config/schema.h"

static const struct cmd_flag config_flags[] = {
    {"--diff", NULL, "only what differs from the defaults"},
    {"--check", NULL, "print nothing: the exit code says whether all is well"},
    {"--plain", NULL, "without comments"},
    {0},
};

static void print_key(const struct config *cfg, const char *key)
{
    const struct schema *row = schema_find(schema_table, key);
    struct strbuf s = STRBUF_INIT;
    struct arena mem = {0};
    struct value v;

    if (!row || row->type == SCHEMA_GONE)
        usage("unknown key %s", key);
    v = schema_read(row, cfg, &mem);
    value_add_yaml(&s, &v);
    puts(s.buf);
    strbuf_release(&s);
    arena_release(&mem);
}

static int config_run(struct config *cfg, const struct cmdline *line)
{
    struct strbuf s = STRBUF_INIT;
    int flags = 0;

    if (cmdline_has(line, "--check"))
        return EXIT_OK;
    if (cmdline_has(line, "--diff"))
        flags |= CONFIG_PRINT_DIFF;
    if (!cmdline_has(line, "--plain"))
        flags |= CONFIG_PRINT_HELP | CONFIG_PRINT_WHERE;
    for (int i = 0; i < line->narg; i++)
        print_key(cfg, line->arg[i].text);
    if (!line->narg) {
        config_print(&s, cfg, flags);
        fputs(s.buf, stdout);
    }
    strbuf_release(&s);
    return EXIT_OK;
}

const struct verb cmd_config = {
    .name = "config",
    .help = "print the configuration and where each value came from",
    .about =
        "Prints all keys as YAML that can be given to --cfg again, each with what it "
        "means, its default and the file, --opts pair or flag that set it. With "
        "KEYs, prints their values alone.",
    .args = "[KEY ...]",
    .max_args = 1000,
    .flags = config_flags,
    .run = config_run,
};
