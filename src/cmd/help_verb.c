/* trainc help VERB and trainc VERB --help: prints the help of one verb. */
#include <string.h>

#include "base/say.h"
#include "cmd/help.h"

static const struct cmd_flag common_flags[] = {
    {"-c, --cfg", "FILE",
     "YAML configuration (-: standard input); may be repeated, later files override "
     "earlier ones"},
    {"--opts", "KEY VALUE ...",
     "set any key (KEY=VALUE works, too); `trainc help KEY` explains a key"},
    {"@FILE", NULL, "read more arguments from a file"},
    {"--print-config", NULL,
     "print the configuration and exit; =diff: only keys that differ from the defaults"},
    {"-h, --help", NULL, "show this help and exit"},
    {"--version", NULL, "show the version and exit"},
    {0},
};

const struct cmd_flag *help_common_flags(const struct verb *v)
{
    static const struct cmd_flag help_alone[] = {
        {"-h, --help", NULL, "show this help and exit"}, {0}};

    return v && v->main && v->reads ? help_alone : common_flags;
}

static void help_flags(const struct cmd_flag *flags)
{
    struct strbuf name = STRBUF_INIT;

    for (; flags && flags->flag; flags++) {
        strbuf_reset(&name);
        strbuf_addf(&name, "%s%s%s", flags->flag, flags->metavar ? " " : "",
                    flags->metavar ? flags->metavar : "");
        help_line(name.buf, flags->help);
    }
    strbuf_release(&name);
}

/* True for the keys whose flags most runs of the verb use. */
static bool is_usual(const struct verb *v, const char *key)
{
    static const char *const usual[] = {"DATA.DATA_PATH",
                                        "DATA.DATASET",
                                        "DATA.BATCH_SIZE",
                                        "DATA.IMG_SIZE",
                                        "DATA.NUM_WORKERS",
                                        "MODEL.NAME",
                                        "MODEL.NUM_CLASSES",
                                        "MODEL.PRETRAINED",
                                        "MODEL.RESUME",
                                        "TRAIN.EPOCHS",
                                        "TRAIN.BASE_LR",
                                        "TRAIN.OPTIMIZER.NAME",
                                        "OUTPUT",
                                        "TAG",
                                        "DEVICE",
                                        "SEED"};

    if (v->evaluates && !strncmp(key, "TRAIN.", 6))
        return false;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (!strcmp(usual[i], key))
            return true;
    return false;
}

static int unusual_flags(const struct verb *v)
{
    int n = 0;

    for (const struct schema *row = schema_table; row->key; row++)
        n += row->flag && verb_reads(v, row->key) && !is_usual(v, row->key);
    return n;
}

static void help_keys(const struct verb *v, bool all)
{
    enum { FEW = 5 }; /* up to this number, all flags are shown */
    int left_out = all || unusual_flags(v) <= FEW ? 0 : unusual_flags(v);
    const char *section = "";
    size_t len = 0;

    for (const struct schema *row = schema_table; row->key; row++) {
        const char *dot = strchr(row->key, '.');
        size_t n = dot ? (size_t)(dot - row->key) : 0;

        if (!row->flag || !verb_reads(v, row->key))
            continue;
        if (left_out && !is_usual(v, row->key))
            continue;
        if (row->key[0] && (n != len || strncmp(section, row->key, n) != 0))
            say("\n%.*s:\n", (int)n, row->key);
        else if (!*section)
            say("\nrun:\n");
        section = row->key;
        len = n;
        help_flag(row);
    }
    if (left_out)
        say("\n%d more flags: trainc help %s --all. To explain a key: trainc help KEY\n",
            left_out, v->name);
}

void help_verb(const struct verb *v, bool all)
{
    say("usage: trainc %s [options]%s%s%s\n\n", v->name, v->args ? " " : "",
        v->args ? v->args : "", v->main && v->reads ? "" : " [KEY=VALUE ...]");
    help_wrap(v->about ? v->about : v->help, 0, 0);
    say("\n%s:\n", v->examples[1] ? "examples" : "example");
    for (const char *const *e = v->examples; *e; e++)
        say("  %s\n", *e);
    say("\noptions:\n");
    help_flags(v->flags);
    help_flags(help_common_flags(v));
    help_keys(v, all);
}
