/* trainc init: see cmd/init.h. */
#include "cmd/init.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hostmem.h"
#include "base/log.h"
#include "base/say.h"
#include "cmd/cmd.h"
#include "config/dump.h"
#include "config/schema.h"
#include "dataset/class_set.h"
#include "dataset/survey.h"
#include "session/job.h"
#include "session/model_config.h"

enum {
    TINY = 64,           /* largest median shorter side (pixels) for CIFAR models */
    MIN_SIDE = 16,       /* smallest input of CIFAR models */
    SMALL = 160,         /* largest median shorter side for inputs of 128, not 224 */
    SEGMENT_SIDE = 8,    /* input sides are multiples: ERFNet halves them three times */
    SEGMENT_WIDTH = 1024 /* largest input width */
};

struct printer {
    const struct init_layout *l;
    const struct init_facts *f;
    struct config *cfg; /* receives the printed values, to derive the other ones */
    struct job job;
};

/* Prints "  KEY: value  # why". */
__attribute__((format(printf, 3, 4))) static void
print_key(const char *key, const char *value, const char *why, ...)
{
    va_list ap;
    int n = say("%s: %s", key, value);

    say("%*s# ", n < 34 ? 34 - n : 1, "");
    va_start(ap, why);
    say_v(why, ap);
    va_end(ap);
    say("\n");
}

static void print_int_key(const char *key, int64_t v, const char *why)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, v);
    print_key(key, text, "%s", why);
}

static void print_raw_key(const char *key, const char *value, const char *why)
{
    print_key(key, value, "%s", why);
}

/* Prints text as YAML, in quotes if necessary. */
static void print_text_key(const char *key, const char *text, const char *why)
{
    struct value v = {.type = VALUE_STR, .s = text};
    struct strbuf s = STRBUF_INIT;

    value_add_yaml(&s, &v);
    print_key(key, s.buf, "%s", why);
    strbuf_release(&s);
}

static void print_head(const struct printer *p)
{
    const struct init_facts *f = p->f;

    say("# '%s': %s.\n", p->l->path, p->l->found);
    say("# %" PRId64 " training and %" PRId64 " validation images; of %d inspected "
        "images the median\n# size is %d x %d pixels, and the shortest side %d.\n",
        f->train, f->val, f->looked, f->width, f->height, f->shortest);
    if (p->l->unread_csv &&
        !(f->colors.file && !strcmp(p->l->unread_csv, f->colors.file)))
        say("# '%s', next to the images, is not read.\n", p->l->unread_csv);
    if (f->largest)
        say("# %d class%s: ", f->classes, f->classes == 1 ? "" : "es");
    if (f->largest && f->smallest == f->largest)
        say("%" PRId64 " images%s.\n", f->largest, f->classes == 1 ? "" : " each");
    else if (f->largest)
        say("%" PRId64 " (%s) to %" PRId64 " (%s) images each.\n", f->smallest,
            f->smallest_name, f->largest, f->largest_name);
    say("#\n#   trainc check --cfg THIS    reads every image once\n"
        "#   trainc --cfg THIS          trains\n");
}

static void print_data(const struct printer *p)
{
    const struct init_layout *l = p->l;
    const struct init_facts *f = p->f;
    double memory = (double)host_memory();
    struct strbuf bytes = STRBUF_INIT, total = STRBUF_INIT;

    strbuf_add_bytes(&bytes, f->bytes);
    strbuf_add_bytes(&total, memory);
    say("DATA:\n");
    print_text_key("  DATASET", l->storage->name, "the layout of the files");
    print_text_key("  DATA_PATH", l->path, "the folder");
    print_text_key("  TRAIN_SPLIT", l->train, *l->train ? "found" : "no splits found");
    if (l->values)
        print_text_key("  LABEL_COLUMN", l->value_columns.buf, "the targets");
    if (l->val)
        print_text_key("  VAL_SPLIT", l->val, "found");
    else if (f->val_fraction > 0)
        print_key("  VAL_FRACTION", f->val_fraction < 0.15 ? "0.1" : "0.2",
                  l->values
                      ? "no validation split found: uses this fraction of the images"
                      : "no validation split found: uses this fraction of each class");
    else
        print_text_key(
            "  VAL_SPLIT", l->train,
            "too few images for a validation set: SCORES ARE ON TRAINING IMAGES");
    print_raw_key("  NUM_WORKERS", "auto", "one loader thread per core");
    if (f->bytes < memory / 4)
        print_key("  CACHE", "decoded", "decoded images use %s of %s memory", bytes.buf,
                  total.buf);
    else
        print_key("  CACHE", "none", "decoded images would use %s of %s memory",
                  bytes.buf, total.buf);
    strbuf_release(&bytes);
    strbuf_release(&total);
}

/* ---- classification ---- */

static int shorter_side(const struct init_facts *f)
{
    return f->width < f->height ? f->width : f->height;
}

static int input_size(const struct init_facts *f)
{
    int side = shorter_side(f), even = f->uniform ? side : side / 8 * 8;

    if (side > TINY)
        return side > SMALL ? 224 : 128;
    return even < MIN_SIDE ? MIN_SIDE : even;
}

static void print_balance(const struct init_facts *f)
{
    if (f->largest > 2 * f->smallest)
        say("  # The largest class has %.1f times as many images as the smallest, so "
            "always "
            "predicting it\n  # gives %.1f %% accuracy. Check the recall of each class "
            "in "
            "report.html.\n",
            (double)f->largest / (double)(f->smallest ? f->smallest : 1),
            100.0 * (double)f->largest / (double)f->train);
}

static void print_defaults(void)
{
    print_raw_key(
        "DEFAULTS", "job",
        "keys not set here depend on the task and data; see the end of this file");
}

/* Sets a key of the configuration. */
static void set_key(struct printer *p, const char *key, const char *value)
{
    config_set_for(p->cfg, key, value, "init");
}

static void set_int_key(struct printer *p, const char *key, int64_t value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    set_key(p, key, text);
}

/* Prints the derived values as comments, so that they still follow changes. */
static void print_derived_keys(struct printer *p)
{
    model_preset(p->cfg);
    job_preset_input(p->cfg);
    input_preset(p->cfg);
    job_preset(p->cfg, &p->job);
    say("#\n# DEFAULTS job now chooses these values; flags (--epochs, --lr, "
        "--pretrained, "
        "...) can\n# change them: see trainc config --cfg THIS. To fix a value, add its "
        "line to this file.\n");
    for (const struct schema *row = schema_table; row->key; row++) {
        const char *origin = config_origin(p->cfg, row->key);
        struct strbuf s = STRBUF_INIT;

        if (!origin || strncmp(origin, CONFIG_JOB_ORIGIN, strlen(CONFIG_JOB_ORIGIN)) != 0)
            continue;
        strbuf_addf(&s, "#   %s: ", row->key);
        value_add_yaml(&s, config_get(p->cfg, row->key));
        say("%-37s # %s\n", s.buf, origin + strlen(CONFIG_JOB_ORIGIN));
        strbuf_release(&s);
    }
}

static void print_classifier(struct printer *p)
{
    const struct init_facts *f = p->f;
    int size = input_size(f);
    char text[32];
    const char *why, *net = job_net(&p->job, &why);

    print_head(p);
    print_defaults();
    say("MODEL:\n");
    print_raw_key("  NAME", net, why);
    print_int_key("  NUM_CLASSES", f->classes,
                  p->l->values ? "one per target" : "counted");
    if (p->l->values)
        print_raw_key("  TASK", "regression", p->l->value_why.buf);
    else if (p->l->label_sets)
        print_raw_key("  TASK", "multilabel", "the table has several labels per image");
    else
        print_balance(f);
    if (f->gray)
        print_int_key("  IN_CHANS", 1, "all inspected images are gray");
    print_data(p);
    print_key("  IMG_SIZE", (snprintf(text, sizeof(text), "%d", size), text),
              "the median shorter side is %d%s", shorter_side(f),
              shorter_side(f) < size ? ", so images are enlarged" : "");
    set_key(p, "MODEL.NAME", net);
    if (p->l->label_sets)
        set_key(p, "MODEL.TASK", "multilabel");
    if (p->l->values)
        set_key(p, "MODEL.TASK", "regression");
    set_int_key(p, "MODEL.IN_CHANS", f->gray ? 1 : 3);
    set_int_key(p, "DATA.IMG_SIZE", size);
    print_derived_keys(p);
}

/* ---- label maps ---- */

/* Storages with a fixed class set. */
static const struct {
    const char *storage, *set;
    int classes;
} sets[] = {{"cityscapes", "cityscapes19", 19}, {"voc", "voc21", 21}};

/* Returns the class set of the storage, or the one that the files tell, or NULL. */
static const char *class_set_of(const struct init_layout *l, const struct init_facts *f,
                                int *classes)
{
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
        if (!strcmp(l->storage->name, sets[i].storage)) {
            *classes = sets[i].classes;
            return sets[i].set;
        }
    if (!f->set)
        return NULL;
    *classes = f->set->n;
    return f->set->name;
}

static void print_shares(const struct init_facts *f)
{
    say("  # Percentage of pixels by label value:");
    for (int v = 0; v <= f->top; v++) {
        if (v % 6 == 0)
            say("\n  #  ");
        say("%s %d: %.1f %%", v % 6 ? "," : "", v, 100 * f->share[v]);
    }
    say("%s\n", f->has_ignored ? "; 255 is ignored" : "");
}

static bool is_uneven(const struct init_facts *f)
{
    double smallest = 1, largest = 0;

    for (int v = 0; v <= f->top; v++) {
        smallest = f->share[v] > 0 ? fmin(smallest, f->share[v]) : smallest;
        largest = fmax(largest, f->share[v]);
    }
    return largest > 3 * smallest;
}

static void print_colors(const struct init_colors *c)
{
    char *names = init_colors_yaml(c, INIT_CLASS_NAMES);
    char *ignored = init_colors_yaml(c, INIT_IGNORED_COLORS);
    char *colors = init_colors_yaml(c, INIT_CLASS_COLORS);
    const char *file = c->file ? path_basename(c->file) : NULL;

    print_key("  CLASS_COLORS", colors, file ? "from '%s'" : "found in the label maps",
              file);
    if (names)
        print_key("  CLASS_NAMES", names, "from '%s'", file ? file : "");
    if (ignored)
        print_key("  IGNORED_COLORS", ignored, "not a class in '%s'", file ? file : "");
    free(colors);
    free(ignored);
    free(names);
}

/* Prints the keys that map label values to classes. */
static void print_values(const struct init_facts *f, const char *set)
{
    if (f->colors.maps)
        print_colors(&f->colors);
    else if (set)
        print_raw_key("  CLASS_SET", set, "the classes of this data set");
    else if (f->binary)
        print_raw_key("  LABEL_MAP", "[[255, 1]]",
                      "255 becomes class 1; otherwise it would be ignored");
}

static void print_segment(struct printer *p)
{
    const struct init_facts *f = p->f;
    int classes = f->classes;
    const char *set = f->colors.maps ? NULL : class_set_of(p->l, f, &classes);
    double scale = f->width > SEGMENT_WIDTH ? (double)SEGMENT_WIDTH / f->width : 1;
    int w = (int)(f->width * scale) / SEGMENT_SIDE * SEGMENT_SIDE;
    int h = (int)(f->height * scale) / SEGMENT_SIDE * SEGMENT_SIDE;

    print_head(p);
    print_defaults();
    say("MODEL:\n");
    print_raw_key("  NAME", "erfnet", "label maps: a class per pixel");
    print_int_key("  NUM_CLASSES", classes,
                  set              ? "from DATA.CLASS_SET"
                  : f->colors.maps ? "from DATA.CLASS_COLORS"
                  : f->binary      ? "masks of 0 and 255: two classes"
                                   : "label values 0 to the largest one found");
    print_shares(f);
    print_data(p);
    print_values(f, set);
    print_int_key("  IMG_WIDTH", w > SEGMENT_SIDE ? w : SEGMENT_SIDE,
                  scale < 1 ? "the median is wider; limited to 1024"
                            : "the median, rounded down to a multiple of 8");
    print_int_key("  IMG_HEIGHT", h > SEGMENT_SIDE ? h : SEGMENT_SIDE,
                  scale < 1 ? "the median, scaled like the width"
                            : "the median, rounded down to a multiple of 8");
    if (is_uneven(f)) {
        say("TRAIN:\n");
        print_raw_key("  CLASS_WEIGHTS", "auto",
                      "some classes have over 3 times more pixels: rare ones weigh more");
    }
    set_key(p, "MODEL.NAME", "erfnet");
    set_int_key(p, "DATA.IMG_WIDTH", w > SEGMENT_SIDE ? w : SEGMENT_SIDE);
    set_int_key(p, "DATA.IMG_HEIGHT", h > SEGMENT_SIDE ? h : SEGMENT_SIDE);
    print_derived_keys(p);
}

/* Warns about data that training would refuse or warn about. */
static void warn_about_data(const struct init_layout *l, const struct init_facts *f)
{
    enum { MAPS = 64 };
    static const int64_t binary[2] = {255, 1};
    static const struct int_list row = {binary, 2};
    int classes = f->classes;
    const char *set = l->label_maps ? class_set_of(l, f, &classes) : NULL;
    struct dataset_source s = init_source(l, l->train, classes);
    struct survey survey = {0};
    int warnings = 0;
    struct dataset *d;
    char *why;

    s.labels.set = f->colors.maps ? init_colors_set(&f->colors)
                   : set          ? class_set_find(set)
                                  : NULL;
    if (f->binary && !set)
        s.labels.replace = (struct int_table){&row, 1};
    log_mute(true); /* init_look() has already logged these messages */
    d = l->storage->open(&s);
    log_mute(false);
    if (l->label_maps)
        survey_labels(&survey, d, NULL, MAPS);
    why = survey_judge(&survey, d, &warnings);
    if (why)
        log_warning("%s", why);
    free(why);
    dataset_close(d);
}

static int init_run(struct config *cfg, const struct cmdline *line)
{
    char *path = realpath(line->arg[0].text, NULL);
    struct init_layout l;
    struct init_facts f;
    struct printer p = {.l = &l, .f = &f, .cfg = cfg};

    init_layout(&l, path ? path : line->arg[0].text, cmdline_value(line, "--lists"),
                cmdline_value(line, "--as"));
    init_look(&f, &l);
    p.job = (struct job){.images = f.train,
                         .side = f.width < f.height ? f.width : f.height,
                         .uniform = f.uniform,
                         .glyphs = f.glyphs,
                         .world = 1};
    if (l.label_maps)
        print_segment(&p);
    else
        print_classifier(&p);
    (void)fflush(stdout);
    warn_about_data(&l, &f);
    init_facts_release(&f);
    init_layout_release(&l);
    free(path);
    return EXIT_OK;
}

static void init_check(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    (void)cfg;
    if (!line->narg)
        problems_error(p, NULL, "no folder given: trainc init DIR");
    else if (!file_is_dir(line->arg[0].text))
        problems_error(p, NULL, "'%s' is not a folder", line->arg[0].text);
}

static const struct cmd_flag init_flags[] = {
    {"--lists", "FOLDER",
     "for images without splits: write train.txt and val.txt to FOLDER"},
    {"--as", "STORAGE", "read the folder as this DATA.DATASET instead of guessing"},
    {0},
};

static const char *const init_reads[] = {NULL};

const struct verb cmd_init = {
    .name = "init",
    .examples = (const char *const[]){"trainc init photos >my.yaml",
                                      "trainc init --lists lists photos >my.yaml", NULL},
    .help = "inspect a folder of images and print a configuration for it",
    .about =
        "Detects the layout of DIR (splits, classes, label maps), inspects some hundred "
        "images, and prints a configuration that trains on them, with the reason for "
        "each value as a comment: trainc init DIR >my.yaml. Use it as a starting point.",
    .args = "DIR",
    .max_args = 1,
    .flags = init_flags,
    .reads = init_reads,
    .check = init_check,
    .run = init_run,
};
