/* A command line, one argument per line; files are not read. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/cmdline.h"
#include "config/config.h"
#include "config/print.h"
#include "config/schema.h"

enum { ARGS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cmd_flag flags[] = {{"--json", "FILE", "a file"},
                                            {"-q, --quiet", NULL, "a switch"},
                                            {NULL, NULL, NULL}};
    struct cmd_spec spec = {.schema = schema_table, .flags = flags, .max_args = 2};
    char *text = xmalloc(size + 1), *argv[ARGS], *rest;
    struct problems p = {0};
    struct cmdline line;
    int argc = 0;

    memcpy(text, data, size);
    text[size] = 0;
    for (char *s = strtok_r(text, "\n", &rest); s && argc < ARGS;
         s = strtok_r(NULL, "\n", &rest))
        if (*s != '@')
            argv[argc++] = s;
    cmdline_parse(&line, &spec, argc, argv, &p);
    if (line.ncfg == 0) {
        struct config cfg;

        if (config_load(&cfg, &line, &p)) {
            struct strbuf s = STRBUF_INIT;

            config_print(&s, &cfg, CONFIG_PRINT_ORIGIN);
            strbuf_release(&s);
        }
        config_release(&cfg);
    }
    cmdline_release(&line);
    problems_release(&p);
    free(text);
    return 0;
}
