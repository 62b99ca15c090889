#include "tests/cmd/verb_run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "config/cmdline.h"
#include "config/config.h"
#include "config/schema.h"

int verb_run(const struct verb *v, const char *const *words)
{
    struct cmd_spec spec = {
        .schema = schema_table, .flags = v->flags, .max_args = v->max_args};
    struct problems p = {0};
    struct cmdline line;
    struct config cfg;
    int n = 0, code = EXIT_USAGE, out = dup(1), null = open("/dev/null", O_WRONLY);
    char *argv[32];

    for (; words[n]; n++)
        argv[n] = xstrdup(words[n]);
    cmdline_parse(&line, &spec, n, argv, &p);
    if (config_load(&cfg, &line, &p) && v->check)
        v->check(&cfg, &line, &p);
    fflush(stdout);
    dup2(null, 1);
    if (!p.nerror)
        code = v->run(&cfg, &line);
    fflush(stdout);
    dup2(out, 1);
    close(out);
    close(null);
    config_release(&cfg);
    problems_release(&p);
    cmdline_release(&line);
    while (n)
        free(argv[--n]);
    return code;
}
