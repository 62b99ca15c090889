/* A configuration file: if it loads, its printed form loads again as the same
 * configuration. */
#include "fuzz.h"

#include <string.h>

#include "config/cmdline.h"
#include "config/config.h"
#include "config/print.h"
#include "config/schema.h"

static bool load(struct config *cfg, const char *path)
{
    struct cmd_word file = {path, "argument 2"};
    struct cmdline line = {.cfg = &file, .ncfg = 1};
    struct problems p = {0};
    bool good = config_load(cfg, &line, &p);

    fuzz_expect(good == (p.nerror == 0), "a configuration is bad if there are errors");
    problems_release(&p);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct config cfg;

    if (load(&cfg, fuzz_file(data, size))) {
        config_print(&first, &cfg, CONFIG_PRINT_DIFF);
        config_release(&cfg);
        fuzz_expect(load(&cfg, fuzz_file(first.buf, first.len)), "what is printed loads");
        config_print(&second, &cfg, CONFIG_PRINT_DIFF);
        fuzz_expect(!strcmp(first.buf, second.buf), "and is the same");
    }
    config_release(&cfg);
    strbuf_release(&first);
    strbuf_release(&second);
    return 0;
}
