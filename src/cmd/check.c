/* trainc check: finds problems in the images and labels of a data set. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/say.h"
#include "cmd/check_batch.h"
#include "cmd/check_labels.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "dataset/class_set.h"
#include "dataset/inspect.h"
#include "dataset/table.h"
#include "io/csv.h"
#include "session/plan.h"
#include "train/data_config.h"
#include "train/progress.h"
#include "train/segment_config.h"

enum { SPLITS = 2, SHOWN = 10 /* findings of a kind that are printed */ };

/* Kinds of findings. Those up to FIND_LEAK are errors; the others may be intended. */
enum find {
    FIND_DAMAGED,
    FIND_CLASHING,
    FIND_LEAK,
    FIND_DUPLICATE,
    FIND_TINY,
    FIND_EMPTY,
    FIND_WARNED,
    FINDS
};

static const struct {
    const char *name, *help;
} finds[FINDS] = {
    [FIND_DAMAGED] = {"damaged",
                      "cannot be read or decoded, or does not match its labels"},
    [FIND_CLASHING] = {"clashing", "the same file appears in two classes"},
    [FIND_LEAK] = {"leak", "a validation image that is also a training image"},
    [FIND_DUPLICATE] = {"duplicate", "the same file appears twice"},
    [FIND_TINY] = {"tiny", "the shorter side is below a quarter of the training size"},
    [FIND_EMPTY] = {"empty", "every pixel of the label map is ignored"},
    [FIND_WARNED] = {"warned", "damaged, but partly decoded"},
};

struct split {
    const char *name;
    struct dataset *d; /* NULL if the split is missing */
    struct inspected *found;
    double start;
    struct survey survey; /* of its label maps */
};

struct check {
    struct split split[SPLITS];
    int64_t count[FINDS];
    int64_t smallest; /* an image is tiny if its shorter side has fewer pixels */
    int refused, remarks;
    struct strbuf csv;
};

static void show_progress(int64_t done, int64_t total, void *arg)
{
    const struct split *s = arg;
    double seconds = clock_now() - s->start;

    /* Draws after every 32nd sample, and at the end. */
    if (done % 32 && done < total)
        return;
    progress_show(&(struct progress){
        .title = s->name,
        .done = done,
        .total = total,
        .seconds = seconds,
        .images_per_second = (double)done / (seconds + 1e-9),
        .postfix = "",
    });
}

static void report_finding(struct check *c, enum find what, const struct split *s,
                           int64_t i, const char *detail)
{
    struct strbuf name = STRBUF_INIT;

    dataset_describe(s->d, i, &name);
    if (c->count[what]++ < SHOWN)
        say("%-9s %s: %s\n", finds[what].name, name.buf, detail);
    csv_add_name(&c->csv, name.buf);
    strbuf_addf(&c->csv, ",%s,%s,", finds[what].name, s->name);
    csv_add_name(&c->csv, detail);
    strbuf_addch(&c->csv, '\n');
    strbuf_release(&name);
}

static void report_sample(struct check *c, const struct split *s, int64_t i)
{
    const struct inspected *f = &s->found[i];
    char size[64];

    (void)snprintf(size, sizeof(size), "%d x %d", f->w, f->h);
    if (f->why)
        report_finding(c, FIND_DAMAGED, s, i, f->why);
    else if (f->warning)
        report_finding(c, FIND_WARNED, s, i, f->warning);
    else if ((f->w < f->h ? f->w : f->h) < c->smallest)
        report_finding(c, FIND_TINY, s, i, size);
    if (!f->why && f->empty)
        report_finding(c, FIND_EMPTY, s, i, "no pixel of its label map has a class");
}

/* ---- duplicate files ---- */

struct place {
    uint64_t content;
    int split;
    int64_t sample;
};

static int by_content(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->content != y->content)
        return x->content < y->content ? -1 : 1;
    if (x->split != y->split)
        return x->split - y->split;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static void report_pair(struct check *c, const struct place *first,
                        const struct place *other)
{
    const struct split *a = &c->split[first->split], *b = &c->split[other->split];
    struct strbuf same_as = STRBUF_INIT;
    enum find what = FIND_DUPLICATE;

    if (first->split != other->split)
        what = FIND_LEAK;
    if (check_labels_differ(a->d, first->sample, b->d, other->sample))
        what = FIND_CLASHING;
    strbuf_addstr(&same_as, "the same as ");
    dataset_describe(a->d, first->sample, &same_as);
    report_finding(c, what, b, other->sample, same_as.buf);
    strbuf_release(&same_as);
}

static void report_duplicates(struct check *c)
{
    int64_t n = 0, all = 0;
    struct place *p;

    for (int k = 0; k < SPLITS; k++)
        all += c->split[k].d ? c->split[k].d->n : 0;
    p = xcalloc((size_t)all + 1, sizeof(*p));
    for (int k = 0; k < SPLITS; k++)
        for (int64_t i = 0; c->split[k].d && i < c->split[k].d->n; i++)
            if (c->split[k].found[i].content)
                p[n++] = (struct place){c->split[k].found[i].content, k, i};
    qsort(p, (size_t)n, sizeof(*p), by_content);
    for (int64_t first = 0, i = 1; i < n; i++) {
        if (p[i].content != p[first].content)
            first = i;
        else
            report_pair(c, &p[first], &p[i]);
    }
    free(p);
}

/* ---- summary ---- */

static void print_sizes(const struct split *s)
{
    int w[2] = {0, 0}, h[2] = {0, 0};

    for (int64_t i = 0; i < s->d->n; i++) {
        const struct inspected *f = &s->found[i];

        if (!f->w || f->why)
            continue;
        w[0] = !w[0] || f->w < w[0] ? f->w : w[0];
        h[0] = !h[0] || f->h < h[0] ? f->h : h[0];
        w[1] = f->w > w[1] ? f->w : w[1];
        h[1] = f->h > h[1] ? f->h : h[1];
    }
    say("%s: %" PRId64 " images, ", *s->name ? s->name : "training part", s->d->n);
    if (w[0] == w[1] && h[0] == h[1])
        say("%d x %d pixels", w[0], h[0]);
    else
        say("%d to %d wide and %d to %d high", w[0], w[1], h[0], h[1]);
}

static int print_findings(const struct check *c)
{
    bool any = false, wrong = false;

    for (int f = 0; f < FINDS; f++) {
        if (!c->count[f])
            continue;
        say("%" PRId64 " %s: %s\n", c->count[f], finds[f].name, finds[f].help);
        any = true;
        wrong = wrong || f <= FIND_LEAK;
    }
    if (!any && !c->refused)
        say("%s\n",
            c->remarks ? "no problems except the remarks above" : "no problems found");
    return wrong || c->refused ? EXIT_FAILED : EXIT_OK;
}

/* ---- data that training refuses ---- */

/* Reports the reason and frees it. Does nothing if `why` is NULL. */
static void report_refusal(struct check *c, char *why)
{
    if (!why)
        return;
    say("%-9s %s\n", "refused", why);
    strbuf_addstr(&c->csv, ",refused,,");
    csv_add_name(&c->csv, why);
    strbuf_addch(&c->csv, '\n');
    c->refused++;
    free(why);
}

/* Reports which values of the label maps DATA.LABEL_MAP replaces. */
static void report_label_map(struct check *c, const struct config *cfg,
                             const struct split *s)
{
    const struct int_table *map = &cfg->data.label_map;
    int64_t total = 0;

    for (int v = 0; v < 256; v++)
        total += s->survey.count[v];
    for (int i = 0; i < map->n && total; i++) {
        int64_t v = map->item[i].item[0], mapped = s->d->map[v];

        say("%-9s %s: DATA.LABEL_MAP changes the value %" PRId64 " to %" PRId64, "remark",
            s->name, v, map->item[i].item[1]);
        if (mapped < s->d->nclass)
            say(" ('%s', %.1f %% of all pixels)", s->d->class_name[mapped],
                100.0 * (double)s->survey.count[mapped] / (double)total);
        say("\n");
        c->remarks++;
    }
}

static void check_training_data(struct check *c, struct config *cfg)
{
    const struct dataset *train = c->split[0].d, *val = c->split[1].d;
    const char *key;

    for (int k = 0; k < SPLITS; k++)
        if (c->split[k].d && (k == 0 || dataset_has_labels(c->split[k].d))) {
            report_refusal(c,
                           survey_judge(&c->split[k].survey, c->split[k].d, &c->remarks));
            report_label_map(c, cfg, &c->split[k]);
        }
    report_refusal(c, data_misfit(cfg, train, val, &key));
    if (train && config_origin(cfg, "DATA.BATCH_SIZE"))
        report_refusal(c, plan_too_few(cfg, data_epoch_images(cfg, train->n), 1));
}

/* Returns NULL if the split exists; otherwise a heap string that says what is missing.
 * Reports other problems of the split as remarks of *c, unless c is NULL. */
static char *missing_split(const struct config *cfg, enum data_split index,
                           struct check *c)
{
    struct problems p = {0};
    char *text = NULL;

    data_check_split(cfg, index, &p);
    for (int i = 0; i < p.n && !text; i++)
        if (p.item[i].kind == PROBLEM_ERROR) {
            text = xstrdup(p.item[i].text);
        } else if (c) {
            say("%-9s %s\n", "remark", p.item[i].text);
            c->remarks++;
        }
    problems_release(&p);
    return text;
}

static void read_split(struct check *c, const struct config *cfg, enum data_split index)
{
    struct split *s = &c->split[index];
    char *none;
    struct inspect_options o = {
        .limits = data_limits(cfg),
        .threads = data_workers(cfg),
        .survey = &s->survey,
        .progress = show_progress,
        .arg = s,
    };

    none = missing_split(cfg, index, c);
    s->name = index == DATA_TRAIN ? cfg->data.train_split : cfg->data.val_split;
    if (none) { /* a single split can still be checked and evaluated */
        log_warning("the split '%s' is missing, so training would fail: %s", s->name,
                    none);
        c->remarks++;
        free(none);
        return;
    }
    s->d = data_open(cfg, index);
    s->start = clock_now();
    s->found = inspect(s->d, &o);
    progress_wipe();
    print_sizes(s);
    check_print_labels(s->d, s->found);
    say("\n");
    (void)fflush(stdout);
    for (int64_t i = 0; i < s->d->n; i++)
        report_sample(c, s, i);
}

/* True if any value of a label map may be a class: neither a class set nor
 * MODEL.NUM_CLASSES is configured. */
static bool any_class(struct config *cfg)
{
    const struct class_set *set = segment_class_set(cfg);
    char n[16];

    if (!segment_config(cfg) || config_origin(cfg, "MODEL.NUM_CLASSES"))
        return false;
    (void)snprintf(n, sizeof(n), "%d", set ? set->n : LABEL_CLASSES);
    config_set(cfg, "MODEL.NUM_CLASSES", n);
    return !set;
}

/* Sets the number of classes to the largest value in the label maps plus one. */
static void count_classes(struct check *c, struct config *cfg)
{
    int top = 0;
    char n[16];

    for (int k = 0; k < SPLITS; k++)
        for (int v = top; v < LABEL_CLASSES; v++)
            top = c->split[k].survey.count[v] ? v : top;
    for (int k = 0; k < SPLITS; k++) {
        struct dataset *d = c->split[k].d;

        for (int i = top + 1; d && i < d->nclass; i++)
            free(d->class_name[i]);
        if (d)
            d->nclass = top + 1;
    }
    (void)snprintf(n, sizeof(n), "%d", top + 1);
    config_set(cfg, "MODEL.NUM_CLASSES", n);
    say("label maps: the largest class value is %d (MODEL.NUM_CLASSES is not set)\n",
        top);
}

static int check_run(struct config *cfg, const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct check c = {0};
    const char *sheet = cmdline_value(line, "--show-batch");
    bool any = any_class(cfg);
    int h = config_height(cfg), w = config_width(cfg), code;

    if (sheet) {
        check_show_batch(cfg, sheet);
        return EXIT_OK;
    }
    c.smallest = (h < w ? h : w) / 4;
    strbuf_addstr(&c.csv, "image,finding,split,detail\n");
    progress_init(cfg->log.progress);
    for (int k = 0; k < SPLITS; k++)
        read_split(&c, cfg, (enum data_split)k);
    report_duplicates(&c);
    if (any)
        count_classes(&c, cfg);
    check_training_data(&c, cfg);
    code = print_findings(&c);
    if (out && atomic_write_out(out, c.csv.buf, c.csv.len))
        die("cannot write '%s': %s", out, strerror(errno));
    for (int k = 0; k < SPLITS; k++) {
        inspect_free(c.split[k].found, c.split[k].d ? c.split[k].d->n : 0);
        dataset_close(c.split[k].d);
    }
    strbuf_release(&c.csv);
    return code;
}

static bool shows_batch(const struct cmdline *line)
{
    return cmdline_has(line, "--show-batch");
}

static void check_check(const struct config *cfg, const struct cmdline *line,
                        struct problems *p)
{
    char *train, *val;

    segment_by_data();
    data_check(cfg, p);
    run_check_writable(line, "--out", WRITTEN_TABLE, p);
    if (shows_batch(line)) {
        run_check_writable(line, "--show-batch", WRITTEN_IMAGE, p);
        if (cmdline_has(line, "--out"))
            problems_error(p, NULL,
                           "--out cannot be combined with --show-batch, which finds no "
                           "problems");
        if (!p->nerror)
            data_check_split(cfg, DATA_TRAIN, p);
        return;
    }
    train = p->nerror ? NULL : missing_split(cfg, DATA_TRAIN, NULL);
    val = p->nerror ? NULL : missing_split(cfg, DATA_VAL, NULL);
    if (train && val)
        data_check_split(cfg, DATA_TRAIN, p);
    free(train);
    free(val);
}

static const struct cmd_flag check_flags[] = {
    {"--out", "FILE", "write all findings as CSV (the terminal shows ten of each kind)"},
    {"--show-batch", "FILE.png",
     "write the first augmented training images, with their label maps, to FILE.png, "
     "print "
     "their classes, and exit"},
    {0},
};

static const char *const check_reads[] = {
    "DATA.",          "MODEL.NAME",   "MODEL.TYPE", "MODEL.TASK", "MODEL.NUM_CLASSES",
    "MODEL.IN_CHANS", "LOG.PROGRESS", "AUG.",       "SEED",       NULL};

const struct verb cmd_check = {
    .name = "check",
    .examples =
        (const char *const[]){"trainc check --cfg my.yaml",
                              "trainc check --cfg my.yaml --out findings.csv",
                              "trainc check --cfg my.yaml --show-batch batch.png", NULL},
    .help = "read every image and label once, and list problems",
    .about =
        "Reads both splits of DATA.DATA_PATH as training does, with DATA.NUM_WORKERS "
        "threads. Lists files that are damaged, do not match their label maps, are tiny, "
        "or appear twice, in two classes, or in both splits (byte for byte); label maps "
        "in which every pixel is ignored; and data that training would refuse. The exit "
        "code is 1 if training would refuse the data, or if a file is damaged, in two "
        "classes, or in both splits.",
    .flags = check_flags,
    .reads = check_reads,
    .reads_splits = true,
    .trains = shows_batch,
    .check = check_check,
    .run = check_run,
};
