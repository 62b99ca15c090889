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
#include "cmd/cmd.h"
#include "config/dump.h"

enum {
    TINY = 64,           /* up to this median shorter side, pixels: nets of CIFAR */
    SMALL = 160,         /* up to this: images of 128 pixels rather than 224 */
    FEW_IMAGES = 20000,  /* with fewer: ResNet-18 rather than 50 */
    GOAL_UPDATES = 10000, /* of a run from scratch */
    LEAST_EPOCHS = 10,
    MOST_EPOCHS = 100,
    SEGMENT_SIDE = 8,    /* sides are multiples of it: ERFNet halves them three times */
    SEGMENT_WIDTH = 1024 /* at most, pixels */
};

struct printer {
    const struct init_layout *l;
    const struct init_facts *f;
    int64_t batch, epochs, updates; /* updates: per epoch */
};

/* "  KEY: value  # why". */
__attribute__((format(printf, 3, 4))) static void put(const char *key, const char *value,
                                                      const char *why, ...)
{
    va_list ap;
    int n = printf("%s: %s", key, value);

    printf("%*s# ", n < 34 ? 34 - n : 1, "");
    va_start(ap, why);
    (void)vprintf(why, ap);
    va_end(ap);
    putchar('\n');
}

static void put_int(const char *key, int64_t v, const char *why)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, v);
    put(key, text, "%s", why);
}

static void put_raw(const char *key, const char *value, const char *why)
{
    put(key, value, "%s", why);
}

/* As YAML: in quotes if need be. */
static void put_text(const char *key, const char *text, const char *why)
{
    struct value v = {.type = VALUE_STR, .s = text};
    struct strbuf s = STRBUF_INIT;

    value_add_yaml(&s, &v);
    put(key, s.buf, "%s", why);
    strbuf_release(&s);
}

/* The largest power of two up to `most` that an epoch has at least 16 times; 2, or all
 * images, where they are fewer. */
static int64_t batch_of(int64_t images, int64_t most)
{
    int64_t batch = 2;

    while (batch < most && 32 * batch <= images)
        batch *= 2;
    return batch < images ? batch : images;
}

static void plan_run(struct printer *p, int64_t most_batch)
{
    p->batch = batch_of(p->f->train, most_batch);
    p->updates = p->f->train / p->batch;
    p->epochs = (GOAL_UPDATES + p->updates - 1) / p->updates;
    p->epochs = p->epochs < LEAST_EPOCHS  ? LEAST_EPOCHS
                : p->epochs > MOST_EPOCHS ? MOST_EPOCHS
                                          : p->epochs;
}

static void print_head(const struct printer *p)
{
    const struct init_facts *f = p->f;

    printf("# '%s': %s.\n", p->l->path, p->l->found);
    printf("# %" PRId64 " images for training, %" PRId64 " for validation; of %d that "
           "were looked at the\n# median is %d x %d pixels, the shortest side %d.\n",
           f->train, f->val, f->looked, f->width, f->height, f->shortest);
    if (f->most)
        printf("# %d classes, from %" PRId64 " images (%s) to %" PRId64 " (%s).\n",
               f->classes, f->least, f->least_name, f->most, f->most_name);
    printf("#\n#   trainc check --cfg THIS    reads every image once\n#   trainc --cfg "
           "THIS\n");
}

static void print_data(const struct printer *p)
{
    const struct init_layout *l = p->l;
    const struct init_facts *f = p->f;
    double memory = (double)host_memory();
    struct strbuf bytes = STRBUF_INIT, of = STRBUF_INIT;

    strbuf_add_bytes(&bytes, f->bytes);
    strbuf_add_bytes(&of, memory);
    printf("DATA:\n");
    put_text("  DATASET", l->storage->name, "how the files lie");
    put_text("  DATA_PATH", l->path, "the folder");
    put_text("  TRAIN_SPLIT", l->train, *l->train ? "found" : "there are no splits");
    if (l->val)
        put_text("  VAL_SPLIT", l->val, "found");
    else if (!*l->train)
        put_text("  VAL_SPLIT", "",
                 "SCORES ARE OF THE TRAINING IMAGES: init --lists FOLDER makes a split");
    else
        put_text("  VAL_SPLIT", l->train,
                 "NONE WAS FOUND: scores are of the training images");
    put_int("  BATCH_SIZE", p->batch, "what an epoch has at least 16 times, and fits");
    put_raw("  NUM_WORKERS", "auto", "as many loader threads as cores");
    if (f->bytes < memory / 4)
        put("  CACHE", "decoded", "decoded images take %s of %s", bytes.buf, of.buf);
    else
        put("  CACHE", "none", "decoded images would take %s of %s", bytes.buf, of.buf);
    strbuf_release(&bytes);
    strbuf_release(&of);
}

/* ---- a class per image ---- */

struct choice_of_net {
    const char *name, *why;
    int size; /* pixels */
    int64_t batch;
    bool small; /* a net of CIFAR */
};

static int shorter_side(const struct init_facts *f)
{
    return f->width < f->height ? f->width : f->height;
}

static struct choice_of_net choose_net(const struct init_facts *f)
{
    int side = shorter_side(f);
    struct choice_of_net c = {"resnet50", "many images: depth pays", 224, 128, false};

    if (side <= TINY) {
        int size = side / 8 * 8;

        return (struct choice_of_net){"resnet20", "images this small want the nets of CIFAR",
                                      size < 16 ? 16 : size, 128, true};
    }
    if (f->train < FEW_IMAGES)
        c = (struct choice_of_net){
            "resnet18", "few images: --pretrained resnet18.a1_in1k is worth more than "
                        "depth",
            224, 64, false};
    if (side <= SMALL) {
        c.size = 128;
        c.batch = 128;
    }
    return c;
}

static void print_balance(const struct init_facts *f)
{
    if (f->most > 2 * f->least)
        printf("  # The largest class has %.1f times the images of the smallest: always "
               "guessing it\n  # is right in %.1f %%. Look at the recall of each class "
               "in report.html.\n",
               (double)f->most / (double)(f->least ? f->least : 1),
               100.0 * (double)f->most / (double)f->train);
}

static void print_classifier_train(const struct printer *p, bool small)
{
    double decay = 1 - 1 / fmax(20, (double)p->updates * 2);
    char text[32];

    printf("TRAIN:\n");
    put("  EPOCHS", (snprintf(text, sizeof(text), "%" PRId64, p->epochs), text),
        "%" PRId64 " updates of %" PRId64 " images per epoch; %d in all would be enough, "
        "and %d epochs at the most",
        p->updates, p->batch, GOAL_UPDATES, MOST_EPOCHS);
    put_int("  WARMUP_EPOCHS", p->epochs / 20 > 1 ? p->epochs / 20 : 1,
            "a twentieth of them");
    put_raw("  BASE_LR", "0.1", "SGD from scratch, for SCALE_LR_BASE images per update; "
                                 "0.01 with pretrained weights");
    put_raw("  WARMUP_LR", "0.001", "where the warm-up begins");
    put_raw("  MIN_LR", "0.0", "where the cosine ends");
    put_int("  SCALE_LR_BASE", small ? 128 : 256,
            "the batch that BASE_LR is for: scaled to yours");
    put_raw("  WEIGHT_DECAY", small ? "5.0e-4" : "1.0e-4", "as in the recipes of configs/");
    put_raw("  CLIP_GRAD", "0.0", "SGD with batch norm does not need it");
    printf("  OPTIMIZER:\n");
    put_raw("    NAME", "sgd", "convolutions learn best with it");
    put_raw("    NESTEROV", "True", "as in the recipes of configs/");
    printf("  EMA:\n");
    put_raw("    ENABLE", "True", "EMA weights score better at no cost");
    (void)snprintf(text, sizeof(text), "%.4f", decay);
    put_raw("    DECAY", text, "over the last two epochs");
}

static void print_classifier(struct printer *p)
{
    const struct init_facts *f = p->f;
    struct choice_of_net c = choose_net(f);
    char text[32];

    plan_run(p, c.batch);
    print_head(p);
    printf("MODEL:\n");
    put_raw("  NAME", c.name, c.why);
    put_int("  NUM_CLASSES", f->classes, "counted");
    print_balance(f);
    if (f->grey)
        put_int("  IN_CHANS", 1, "no image that was looked at has colours");
    put_raw("  DROP_PATH_RATE", "0.0", "for deep nets");
    put_raw("  LABEL_SMOOTHING", "0.1", "calibrated, and forgives wrong labels");
    print_data(p);
    put("  IMG_SIZE", (snprintf(text, sizeof(text), "%d", c.size), text),
        "the median of the shorter side is %d%s", shorter_side(f),
        shorter_side(f) < c.size ? ": enlarged" : "");
    put_raw("  CROP_PCT", c.small ? "1.0" : "0.875",
             c.small ? "every pixel counts" : "the usual crop in the centre");
    print_classifier_train(p, c.small);
    printf("AUG:\n");
    if (c.small)
        put_int("  PAD_CROP", c.size / 8, "shifts instead of random crops");
    put_raw("  COLOR_JITTER", f->grey ? "0.0" : "0.2", f->grey ? "grey" : "mild");
    put_raw("  AUTO_AUGMENT", "none", "stronger than a few thousand images need; "
                                       "rand-m9-mstd0.5-inc1 for long runs");
    put_raw("  REPROB", "0.0", "random erasing: for long runs");
    put_raw("  MIXUP", f->train < FEW_IMAGES ? "0.2" : "0.0",
             f->train < FEW_IMAGES ? "few images: mixed ones are more" : "many images");
    put_raw("  CUTMIX", "0.0", "what MIXUP does, stronger: for long runs");
}

/* ---- label maps ---- */

/* The class set of storages whose label maps always have the same. */
static const struct {
    const char *storage, *set;
    int classes;
} sets[] = {{"cityscapes", "cityscapes19", 19}, {"voc", "voc21", 21}};

static const char *set_of(const struct init_layout *l, int *classes)
{
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
        if (!strcmp(l->storage->name, sets[i].storage)) {
            *classes = sets[i].classes;
            return sets[i].set;
        }
    return NULL;
}

static void print_shares(const struct init_facts *f)
{
    printf("  # Shares of the pixels by value:");
    for (int v = 0; v <= f->top; v++)
        printf("%s %d: %.1f %%", v % 6 ? "," : "\n  #  ", v, 100 * f->share[v]);
    printf("%s\n", f->has_ignored ? "; 255 is ignored" : "");
}

static bool is_uneven(const struct init_facts *f)
{
    double least = 1, most = 0;

    for (int v = 0; v <= f->top; v++) {
        least = f->share[v] > 0 ? fmin(least, f->share[v]) : least;
        most = fmax(most, f->share[v]);
    }
    return most > 3 * least;
}

static void print_segment_train(const struct printer *p)
{
    printf("TRAIN:\n");
    put_int("  EPOCHS", p->epochs, "about 10000 updates, where that is not too many epochs");
    put_int("  WARMUP_EPOCHS", 0, "Adam starts without");
    put_raw("  BASE_LR", "1.0e-3", "Adam on ERFNet with this batch");
    put_raw("  MIN_LR", "0.0", "where the schedule ends");
    put_raw("  SCALE_LR", "False", "the rate is for this batch");
    put_raw("  WEIGHT_DECAY", "1.0e-4", "as in ERFNet's own recipe");
    put_raw("  WEIGHT_DECAY_1D", "True", "the same");
    put_raw("  CLIP_GRAD", "0.0", "the same");
    if (is_uneven(p->f))
        put_raw("  CLASS_WEIGHTS", "auto",
                 "the classes' pixels differ by more than 3 to 1: rare ones count more");
    printf("  LR_SCHEDULER:\n");
    put_raw("    NAME", "poly", "usual for segmentation");
    printf("  OPTIMIZER:\n");
    put_raw("    NAME", "adam", "the same");
    printf("  EMA:\n");
    put_raw("    ENABLE", "True", "EMA weights score better at no cost");
    put_raw("    DECAY", "0.998", "over some hundred updates");
}

static void print_segment(struct printer *p)
{
    const struct init_facts *f = p->f;
    int classes = f->classes;
    const char *set = set_of(p->l, &classes);
    double scale = f->width > SEGMENT_WIDTH ? (double)SEGMENT_WIDTH / f->width : 1;
    int w = (int)(f->width * scale) / SEGMENT_SIDE * SEGMENT_SIDE;
    int h = (int)(f->height * scale) / SEGMENT_SIDE * SEGMENT_SIDE;

    plan_run(p, 8);
    print_head(p);
    printf("MODEL:\n");
    put_raw("  NAME", "erfnet", "label maps: a class per pixel");
    put_int("  NUM_CLASSES", classes, set ? "those of DATA.CLASS_SET"
                                          : "values 0 to the largest that was seen");
    print_shares(f);
    print_data(p);
    if (set)
        put_raw("  CLASS_SET", set, "what this layout holds");
    put_int("  IMG_WIDTH", w > SEGMENT_SIDE ? w : SEGMENT_SIDE,
            scale < 1 ? "the median is wider: at most 1024" : "the median, a multiple of 8");
    put_int("  IMG_HEIGHT", h > SEGMENT_SIDE ? h : SEGMENT_SIDE, "the same");
    put_raw("  INTERPOLATION", "bilinear", "as in ERFNet's own recipe");
    put_raw("  MEAN", "[0.0, 0.0, 0.0]", "pixels in [0, 1], neither shifted");
    put_raw("  STD", "[1.0, 1.0, 1.0]", "nor scaled");
    print_segment_train(p);
    printf("AUG:\n");
    put_raw("  RESIZE_SCALE", "[0.75, 1.5]", "things come near and far");
    put_raw("  COLOR_JITTER", "0.2", "mild");
}

static int init_run(struct config *cfg, const struct cmdline *line)
{
    char *path = realpath(line->arg[0].text, NULL);
    struct init_layout l;
    struct init_facts f;
    struct printer p = {.l = &l, .f = &f};

    (void)cfg;
    init_layout(&l, path ? path : line->arg[0].text, cmdline_value(line, "--lists"));
    init_look(&f, &l);
    if (l.label_maps)
        print_segment(&p);
    else
        print_classifier(&p);
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
        problems_error(p, NULL, "which folder? trainc init DIR");
    else if (!file_is_dir(line->arg[0].text))
        problems_error(p, NULL, "'%s' is no folder", line->arg[0].text);
}

static const struct cmd_flag init_flags[] = {
    {"--lists", "FOLDER",
     "write train.txt and val.txt there, for images without splits, or with label maps "
     "in a folder beside them"},
    {0},
};

static const char *const init_reads[] = {NULL};

const struct verb cmd_init = {
    .name = "init",
    .help = "look at a folder of images and print a configuration for them",
    .about =
        "Finds out how the images of DIR lie (splits, classes, label maps), looks at "
        "some hundred of them, and prints a configuration that trains on them, with the "
        "reason for each value as a comment: trainc init DIR >my.yaml. It is a start, "
        "not a verdict.",
    .args = "DIR",
    .max_args = 1,
    .flags = init_flags,
    .reads = init_reads,
    .check = init_check,
    .run = init_run,
};
