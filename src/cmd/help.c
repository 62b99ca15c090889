/* trainc help, and --help of every verb, in the layout of argparse. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/suggest.h"
#include "cmd/help.h"
#include "config/dump.h"
#include "config/flags.h"
#include "config/schema.h"

enum { HELP_COLUMN = 24, WIDTH_MIN = 40 };

static int width(void)
{
    const char *columns = getenv("COLUMNS");
    long n = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;

    if (n <= 0 && isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
        n = size.ws_col;
    if (n <= 0 || n > 10000)
        n = 80;
    return n - 2 < WIDTH_MIN ? WIDTH_MIN : (int)n - 2;
}

void help_wrap(const char *text, int indent, int column)
{
    int max = width();

    while (*text) {
        int len = (int)strcspn(text, " ");

        if (column > indent && column + 1 + len > max) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        column += printf("%s%.*s", column > indent ? " " : "", len, text);
        text += len;
        text += strspn(text, " ");
    }
    putchar('\n');
}

void help_line(const char *name, const char *help)
{
    int column = printf("  %s", name);

    if (column > HELP_COLUMN - 2) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", HELP_COLUMN - column, "");
    help_wrap(help, HELP_COLUMN, HELP_COLUMN);
}

/* True if `trainc help KEY` explains each value on its own line. */
static bool has_lines(const char *key, struct names *names)
{
    return cmd_key_names(key, names) && names->entry(names->table, 0).help;
}

/* Prints a line per row: its names, separated by commas, and its help. */
static void help_rows(const struct names *names)
{
    struct strbuf s = STRBUF_INIT;
    struct named row, next;

    for (int i = 0; (row = names->entry(names->table, i)).name; i++) {
        next = names->entry(names->table, i + 1);
        if (row.refuse)
            continue;
        strbuf_addf(&s, "%s%s", s.len ? ", " : "", row.name);
        if (next.name && next.help == row.help)
            continue;
        help_line(s.buf, row.help);
        strbuf_reset(&s);
    }
    strbuf_release(&s);
}

/* --- flags -------------------------------------------------------------------------- */

static void add_metavar(struct strbuf *s, const struct schema *row)
{
    const char *last = strrchr(row->key, '.');
    const char *sep = "{";
    struct names names;
    struct named value;

    strbuf_addch(s, ' ');
    if (row->metavar) {
        strbuf_addstr(s, row->metavar);
    } else if (row->choices) {
        for (const struct choice *c = row->choices; c->name; c++) {
            if (c->refuse || !*c->name)
                continue;
            strbuf_addf(s, "%s%s", sep, c->name);
            sep = ",";
        }
        strbuf_addch(s, '}');
    } else if (cmd_key_names(row->key, &names)) {
        for (int i = 0; (value = names.entry(names.table, i)).name; i++) {
            if (value.refuse || !*value.name)
                continue;
            strbuf_addf(s, "%s%s", sep, value.name);
            sep = ",";
        }
        strbuf_addch(s, '}');
    } else {
        strbuf_addstr(s, last ? last + 1 : row->key);
        if (schema_decl(row).type == VALUE_LIST)
            strbuf_addstr(s, " ...");
    }
}

/* Appends ", --no-x" for each long name, and the row's no_flag, if any. */
static void add_negations(struct strbuf *s, const struct schema *row)
{
    for (const char *cursor = strstr(row->flag, "--"); cursor;
         cursor = strstr(cursor + 2, "--"))
        strbuf_addf(s, ", --no-%.*s", (int)strcspn(cursor + 2, ", "), cursor + 2);
    if (row->no_flag)
        strbuf_addf(s, ", %s", row->no_flag);
}

void help_add_names(struct strbuf *s, const struct schema *row)
{
    strbuf_addstr(s, row->flag);
    if (row->type == SCHEMA_BOOL || row->type == SCHEMA_BOOL_OPT)
        add_negations(s, row);
    else
        add_metavar(s, row);
    if (row->set_flag)
        strbuf_addf(s, ", %s", row->set_flag);
}

void help_add_text(struct strbuf *s, const struct schema *row)
{
    struct names names;

    strbuf_addf(s, "%s: %s (", row->key, row->help);
    if (has_lines(row->key, &names))
        strbuf_addf(s, "`trainc help %s` lists them; ", row->key);
    strbuf_addstr(s, "default: ");
    value_add_yaml(s, config_default(row->key));
    strbuf_addf(s, "%s)", schema_use(row));
}

void help_flag(const struct schema *row)
{
    struct strbuf name = STRBUF_INIT, help = STRBUF_INIT;

    help_add_names(&name, row);
    help_add_text(&help, row);
    help_line(name.buf, help.buf);
    strbuf_release(&name);
    strbuf_release(&help);
}

/* --- keys --------------------------------------------------------------------------- */

static void help_readers(const char *key)
{
    struct strbuf s = STRBUF_INIT;

    cmd_add_readers(&s, key);
    if (s.len) {
        printf("  read by");
        help_wrap(s.buf, 2, 9);
    }
    strbuf_release(&s);
}

/* Prints a line per key of the dicts in a list. */
static void help_record(const struct schema *record)
{
    for (const struct schema *r = record; r && r->key; r++) {
        struct strbuf s = STRBUF_INIT;

        strbuf_addf(&s, "%s (", r->help);
        schema_add_type(&s, r);
        if (r->min < r->max) {
            strbuf_addstr(&s, !schema_is_open(r) ? " in " : " ");
            schema_add_range(&s, r);
        }
        strbuf_addf(&s, "%s%s)", r->required ? "; required" : "; default ",
                    r->required         ? ""
                    : r->def && *r->def ? r->def
                                        : "''");
        help_line(r->key, s.buf);
        strbuf_release(&s);
    }
}

static void help_key(const struct schema *row)
{
    struct strbuf s = STRBUF_INIT;
    struct names names;
    bool lines = has_lines(row->key, &names);

    printf("%s\n", row->key);
    printf("  ");
    help_wrap(row->help, 2, 2);
    names_add_type(&s, row, lines ? NULL : cmd_key_names);
    if (row->min < row->max) {
        strbuf_addstr(&s, !schema_is_open(row) ? " in " : " ");
        schema_add_range(&s, row);
    }
    strbuf_addstr(&s, "; default ");
    value_add_yaml(&s, config_default(row->key));
    if (row->flag)
        strbuf_addf(&s, "; flag %s", row->flag);
    if (row->set_flag)
        strbuf_addf(&s, "; %s sets %s", row->set_flag, row->set_value);
    printf("  ");
    help_wrap(s.buf, 2, 2);
    if (row->no_effect)
        printf("  no effect: %s\n", row->no_effect);
    if (row->unsupported)
        printf("  only the default is supported: %s\n", row->unsupported);
    help_readers(row->key);
    help_record(row->record);
    if (lines)
        help_rows(&names);
    strbuf_release(&s);
}

/* Prints all keys of a section (`trainc help train`, any case) and returns their number. */
static int help_section(const char *name)
{
    size_t len = strlen(name);
    int n = 0;

    for (const struct schema *row = schema_table; row->key; row++) {
        if (strncasecmp(row->key, name, len) != 0 ||
            (row->key[len] && row->key[len] != '.'))
            continue;
        help_key(row);
        n++;
    }
    return n;
}

/* Returns the row of a flag, with or without dashes (lr, batch_size, --batch-size), or
 * NULL. */
static const struct schema *row_of_flag(const char *name)
{
    size_t len;

    name += strspn(name, "-");
    len = strlen(name);
    for (const struct schema *row = schema_table; row->key; row++)
        for (const char *f = row->flag; f && (f = strstr(f, "--")); f += 2)
            if (flag_same_name(name, f + 2, len) && (!f[2 + len] || f[2 + len] == ','))
                return row;
    return NULL;
}

/* Prints the keys with this part between dots (`trainc help base_lr`, `trainc help
 * optimizer`) and returns their number. */
static int help_part(const char *name)
{
    size_t len = strlen(name);
    int n = 0;

    for (const struct schema *row = schema_table; row->key; row++) {
        const char *part = row->key;

        while (part &&
               (strncasecmp(part, name, len) != 0 || (part[len] && part[len] != '.')))
            part = strchr(part, '.') ? strchr(part, '.') + 1 : NULL;
        if (part)
            help_key(row);
        n += part != NULL;
    }
    return n;
}

void help_overview(void)
{
    puts("usage: trainc [VERB] [options]\n\nTrains image models from a YAML file.\n\n"
         "verbs:");
    for (int i = 0; verb_table[i]; i++)
        help_line(verb_table[i]->name, verb_table[i]->help);
    puts("\nThe default VERB is the first. `trainc help VERB` shows a verb's options, "
         "`trainc\nhelp KEY` a configuration key, and `trainc help TRAIN` a section.");
}

/* True if the text contains the word, ignoring case. text may be NULL. */
static bool has_word(const char *text, const char *word)
{
    return text && strcasestr(text, word);
}

/* n: the number of matches printed before this one. */
static void print_match(int n, const char *word, const char *name, const char *help)
{
    if (!n)
        printf("no key, flag, or verb is named \"%s\"; it occurs in the help of:\n",
               word);
    help_line(name, help);
}

/* Prints the verbs, flags, and keys with the word in their name or help; returns their
 * number. */
static int help_search(const char *word)
{
    int n = 0;

    for (int i = 0; verb_table[i]; i++) {
        const struct verb *v = verb_table[i];

        if (has_word(v->name, word) || has_word(v->help, word))
            print_match(n++, word, v->name, v->help);
        for (const struct cmd_flag *f = v->flags; f && f->flag; f++) {
            struct strbuf name = STRBUF_INIT;

            strbuf_addf(&name, "%s %s", v->name, f->flag);
            if (has_word(f->flag, word) || has_word(f->help, word))
                print_match(n++, word, name.buf, f->help);
            strbuf_release(&name);
        }
    }
    for (const struct schema *row = schema_table; row->key; row++)
        if (has_word(row->key, word) || has_word(row->flag, word) ||
            has_word(row->help, word))
            print_match(n++, word, row->key, row->help);
    return n;
}

/* Words of other programs and of papers, and what does it here. */
static const struct {
    const char *words; /* separated by spaces */
    const char *help;
} subjects[] = {
    {"multilabel multi-label",
     "several labels per image: DATA.DATASET csv with MODEL.TASK multilabel "
     "(docs/multilabel.md)"},
    {"regression regress age mae rmse r2 mse huber",
     "numbers instead of classes, from columns of a table: DATA.DATASET csv with "
     "MODEL.TASK regression (docs/regression.md)"},
    {"ordinal ordered grades kappa qwk corn coral",
     "classes with an order, such as grades: MODEL.TASK ordinal, with the quadratic "
     "weighted kappa (docs/regression.md)"},
    {"imbalance imbalanced oversampling weighted",
     "classes of different sizes: DATA.SAMPLER, TRAIN.CLASS_WEIGHTS, "
     "TRAIN.LOSS.LOGIT_ADJUST (docs/imbalance.md)"},
    {"f1 mcc auc auroc roc balanced",
     "every validation of up to 256 classes prints balanced accuracy, macro F1, MCC, and "
     "AUROC; TRAIN.BEST_METRIC f1_macro selects the best checkpoint by one of them"},
    {"threshold thresholds",
     "trainc predict --threshold P reports only classes that are at least so likely; "
     "MODEL.TASK multilabel selects a threshold per class and stores it in the "
     "checkpoint"},
    {"tta test-time",
     "trainc eval and trainc predict: --tta hflip (TEST.TTA) averages views of each "
     "image"},
    {"knn k-nn neighbor neighbors embedding embeddings",
     "trainc features --pool writes a vector per image; --knn 20 classifies with them"},
    {"slide sliding window windows multi-scale",
     "trainc eval and trainc predict: TEST.SCALES segments whole images in windows"},
    {"ensemble ensembles", "trainc eval and trainc predict: --weights A B C"},
    {"averaging", "trainc average RUN --best 3 --out FILE; TRAIN.SWA"},
    {"soup", "trainc average --greedy SWEEP --out FILE"},
    {"update_bn bn-batches", "trainc average A B --bn-batches 100 --out FILE; TRAIN.SWA"},
    {"unfreeze fine_tune backbonefinetuning", "TRAIN.FREEZE_EPOCHS"},
    {"kfold k-fold cross-validation cv",
     "DATA.FOLD 1/5; trainc sweep --grid DATA.FOLD=..."},
    {"augmentation augmentations", "AUG.LIST, and the other keys of `trainc help AUG`"},
    {"csv tsv jsonl table kaggle",
     "DATA.DATASET csv reads tables; trainc predict --submission FILE writes one "
     "(docs/tables.md)"},
    {"parquet", "scripts/parquet.py converts Parquet files with images to tar files"},
};

/* Prints what does it, for a word of `subjects`; false if it is none. */
static bool help_subject(const char *topic)
{
    size_t len = strlen(topic);

    for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
        for (const char *w = subjects[i].words; *w; w += strspn(w, " ")) {
            size_t n = strcspn(w, " ");

            if (n == len && !strncasecmp(w, topic, n)) {
                help_line(topic, subjects[i].help);
                return true;
            }
            w += n;
        }
    return false;
}

/* Prints trainc's verb for another program's, such as train for fit. Returns false for
 * other words. */
static bool help_elsewhere(const char *topic)
{
    const struct verb *v = islower((unsigned char)*topic) ? verb_elsewhere(topic) : NULL;
    struct strbuf s = STRBUF_INIT;

    if (!v)
        return false;
    strbuf_addf(&s, "trainc %s (`trainc help %s`): %s", v->name, v->name, v->help);
    help_line(topic, s.buf);
    strbuf_release(&s);
    return true;
}

static void help_topic(const char *topic, bool all)
{
    bool elsewhere;
    struct suggest s;

    for (int i = 0; verb_table[i]; i++) {
        if (!strcmp(verb_table[i]->name, topic) && islower((unsigned char)*topic)) {
            help_verb(verb_table[i], all);
            return;
        }
    }
    elsewhere = help_elsewhere(topic);
    if (help_layers(topic) || help_section(topic))
        return;
    if (row_of_flag(topic)) {
        help_key(row_of_flag(topic));
        return;
    }
    if (help_subject(topic) || help_part(topic) || elsewhere ||
        (strlen(topic) > 2 && help_search(topic)))
        return;
    suggest_init(&s, topic);
    for (int i = 0; verb_table[i]; i++)
        suggest_try(&s, verb_table[i]->name);
    for (const struct schema *row = schema_table; row->key; row++)
        suggest_try(&s, row->key);
    if (s.best)
        usage("no verb or key is named %s (did you mean %s?)", topic, s.best);
    usage("no verb or key is named %s", topic);
}

static int help_run(struct config *cfg, const struct cmdline *line_)
{
    const char *shell = cmdline_value(line_, "--completion");
    const char *page = cmdline_value(line_, "--markdown");
    bool man = cmdline_has(line_, "--man");

    (void)cfg;
    if (shell)
        completion_print(shell);
    if (page)
        markdown_print(page);
    if (man)
        manual_print(line_->narg ? verb_named(line_->arg[0].text) : NULL);
    for (int i = 0; i < line_->narg && !man; i++)
        help_topic(line_->arg[i].text, cmdline_has(line_, "--all"));
    if (!line_->narg && !shell && !page && !man)
        help_overview();
    return EXIT_OK;
}

static const struct cmd_flag help_flags_own[] = {
    {"--all", NULL, "with a VERB: show all its flags"},
    {"--completion", "SHELL", "print a completion script for bash, zsh, or fish"},
    {"--markdown", "PAGE",
     "print a page of the documentation: keys (all keys), flags (equivalents of other "
     "programs' flags), or layers (ops of MODEL.LAYERS)"},
    {"--man", NULL, "print the manual page of a VERB, or of trainc"},
    {0},
};

static const char *const help_reads[] = {NULL};

const struct verb cmd_help = {
    .name = "help",
    .examples =
        (const char *const[]){"trainc help TRAIN.BASE_LR", "trainc help warmup", NULL},
    .help = "explain a verb, key, or section, or search the help for a word",
    .args = "[VERB | KEY | SECTION | WORD]",
    .max_args = 100,
    .flags = help_flags_own,
    .reads = help_reads,
    .run = help_run,
};
