#include "session/model_config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "config/value.h"
#include "image/label.h"
#include "layers/family.h"
#include "models/backbone.h"
#include "ops/cross_entropy.h"
#include "session/losses.h"
#include "session/task_config.h"

/* A rate of 1 would drop everything. */
static void check_rate(const struct config *cfg, struct problems *p, const char *key,
                       double rate)
{
    if (!(rate < 1))
        config_blame(cfg, p, KEYS(key), "%s must be below 1, not %g", key, rate);
}

/* Defaults are Swin's, so a default is accepted everywhere; a changed value must not be
 * silently ignored. */
static void check_unused(const struct config *cfg, struct problems *p, const char *key,
                         double value, const char *why)
{
    if (value > 0 && !config_is_default(cfg, key))
        config_blame(cfg, p, KEYS(key), "%s %g: %s %s", key, value, cfg->model.name, why);
}

static void check_class_weights(const struct config *cfg, struct problems *p)
{
    const struct float_list *w = &cfg->train.class_weights;
    const char *origin = config_origin(cfg, "TRAIN.CLASS_WEIGHTS");
    double sum = 0;

    if (w->item && w->n != cfg->model.num_classes)
        problems_error(
            p, origin,
            "TRAIN.CLASS_WEIGHTS has %d numbers, and MODEL.NUM_CLASSES is %lld", w->n,
            (long long)cfg->model.num_classes);
    for (int i = 0; w->item && i < w->n; i++)
        sum += w->item[i];
    if (w->item && !(sum > 0))
        problems_error(p, origin, "all TRAIN.CLASS_WEIGHTS are zero");
}

void model_check_labels(const struct config *cfg, struct problems *p)
{
    if (cfg->model.num_classes > LABEL_CLASSES)
        config_blame(cfg, p, KEYS("MODEL.NUM_CLASSES"),
                     "MODEL.NUM_CLASSES %lld: label maps have at most %d classes "
                     "(--num-classes N)",
                     (long long)cfg->model.num_classes, LABEL_CLASSES);
}

static void check_segment(const struct config *cfg, struct problems *p)
{
    static const char *const pixels = "labels pixels, which are not mixed or smoothed";
    static const char *const mixes[] = {"AUG.MIXUP_PROB", "AUG.MIXUP_SWITCH_PROB",
                                        "AUG.MIXUP_MODE", "AUG.MIXUP_OFF_EPOCH"};

    model_check_labels(cfg, p);
    check_unused(cfg, p, "AUG.MIXUP", cfg->aug.mixup, pixels);
    check_unused(cfg, p, "AUG.CUTMIX", cfg->aug.cutmix, pixels);
    check_unused(cfg, p, "AUG.CUTMIX_MINMAX",
                 cfg->aug.cutmix_minmax.item ? cfg->aug.cutmix_minmax.item[1] : 0,
                 pixels);
    for (int i = 0; i < 4 && (cfg->aug.mixup > 0 || cfg->aug.cutmix > 0); i++)
        config_warn_unread(cfg, p, mixes[i], "%s %s", cfg->model.name, pixels);
    check_unused(cfg, p, "MODEL.LABEL_SMOOTHING", cfg->model.label_smoothing, pixels);
    check_class_weights(cfg, p);
    if (!cfg->train.class_weights.item &&
        cfg->train.class_weights.n == CLASS_WEIGHTS_EFFECTIVE)
        config_blame(cfg, p, KEYS("TRAIN.CLASS_WEIGHTS"),
                     "TRAIN.CLASS_WEIGHTS effective counts images, and %s labels pixels",
                     cfg->model.name);
    if (cfg->train.loss.logit_adjust > 0)
        config_blame(cfg, p, KEYS("TRAIN.LOSS.LOGIT_ADJUST"),
                     "TRAIN.LOSS.LOGIT_ADJUST is for classes of whole images, and %s "
                     "labels pixels",
                     cfg->model.name);
}

static void check_classify(const struct config *cfg, struct problems *p)
{
    static const char *const pixels = "it is for label maps";
    const struct float_list *w = &cfg->train.class_weights;
    bool weighted = w->item || w->n != CLASS_WEIGHTS_NONE,
         adjusted = cfg->train.loss.logit_adjust > 0;

    check_class_weights(cfg, p);
    config_warn_unread(cfg, p, "TRAIN.CLASS_WEIGHTS_C", "%s", pixels);
    if ((weighted || adjusted) && cfg->model.num_classes > CROSS_ENTROPY_WEIGHTS)
        config_blame(cfg, p,
                     KEYS(weighted ? "TRAIN.CLASS_WEIGHTS" : "TRAIN.LOSS.LOGIT_ADJUST"),
                     "%s works for at most %d classes, and MODEL.NUM_CLASSES is %lld",
                     weighted ? "TRAIN.CLASS_WEIGHTS" : "TRAIN.LOSS.LOGIT_ADJUST",
                     CROSS_ENTROPY_WEIGHTS, (long long)cfg->model.num_classes);
    config_warn_unread(cfg, p, "LOG.IMAGES",
                       "%s classifies whole images, which have no label maps to draw",
                       cfg->model.name);
    if (config_height(cfg) != cfg->data.img_size ||
        config_width(cfg) != cfg->data.img_size)
        config_blame(cfg, p, KEYS("DATA.IMG_HEIGHT", "DATA.IMG_WIDTH"),
                     "DATA.IMG_HEIGHT and DATA.IMG_WIDTH are for segmentation: the input "
                     "of %s is a square of DATA.IMG_SIZE",
                     cfg->model.name);
}

static int pick(const struct model *m, const struct model_options *o,
                const struct config *cfg, int out[MODEL_STAGES], struct model_stages *all,
                struct strbuf *why)
{
    model_stages_list(m, o, (int)cfg->model.in_chans, config_height(cfg),
                      config_width(cfg), all);
    return model_stages_pick(&cfg->model.out_indices, all->n, m->family->default_stages,
                             out, why);
}

int model_stages_of_config(const struct config *cfg, int out[MODEL_STAGES],
                           struct model_stages *all)
{
    struct arena mem = {0};
    struct strbuf why = STRBUF_INIT;
    struct model_stages any;
    struct model_options o;
    int n;

    if (!cfg->model.features_only)
        return 0;
    o = model_options_of_config(cfg, &mem);
    n = pick(model_of_config(cfg), &o, cfg, out, all ? all : &any, &why);
    if (!n)
        BUG("MODEL.OUT_INDICES was not checked: %s", why.buf);
    arena_release(&mem);
    return n;
}

static void check_stages(const struct model *m, const struct model_options *o,
                         const struct config *cfg, struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    struct model_stages all;
    int out[MODEL_STAGES];

    if (!pick(m, o, cfg, out, &all, &why))
        config_blame(cfg, p, KEYS("MODEL.OUT_INDICES"), "MODEL.OUT_INDICES of %s: %s",
                     m->name, why.buf);
    strbuf_release(&why);
}

void model_check_whole(const struct config *cfg, struct problems *p)
{
    if (cfg->model.features_only)
        config_blame(cfg, p, KEYS("MODEL.FEATURES_ONLY"),
                     "MODEL.FEATURES_ONLY omits the classifier, which this command "
                     "needs: use it with trainc features or trainc summary");
}

void model_check_answers(const struct config *cfg, struct problems *p)
{
    if (cfg->model.task == TASK_SIMMIM)
        config_blame(cfg, p, KEYS("MODEL.TASK"),
                     "MODEL.TASK simmim only pre-trains a net, which has no answers: "
                     "fine-tune it with --pretrained CHECKPOINT first");
}

/* Warns if the last layers of a classifier see a single pixel. */
static void warn_small_images(const struct model *m, const struct model_options *o,
                              const struct config *cfg, struct problems *p)
{
    enum { USUAL = 32 }; /* the largest reduction of the nets here */
    int height = config_height(cfg), width = config_width(cfg);
    int side = height < width ? height : width, reduction;
    struct model_stages all;
    bool skips = false;

    if (m->family->task != MODEL_CLASSIFY || m->channels || side >= USUAL)
        return;
    model_stages_list(m, o, (int)cfg->model.in_chans, height, width, &all);
    reduction = all.n ? all.stage[all.n - 1].reduction : 0;
    if (reduction <= side)
        return;
    for (int i = 0; m->family->reads[i]; i++)
        skips = skips || !strcmp(m->family->reads[i], "MODEL.SKIP_STRIDES");
    problems_warn(p, config_origin(cfg, "DATA.IMG_SIZE"),
                  "%s divides the sides of images by %d, so its last layers see a single "
                  "pixel of images of %d x %d%s",
                  m->name, reduction, width, height,
                  skips ? "; MODEL.SKIP_STRIDES leaves out the first strides" : "");
}

/* Runs the family's own checks of options and images. */
static void check_family(const struct model *m, const struct config *cfg,
                         struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    struct arena mem = {0};
    struct model_options o = model_options_of_config(cfg, &mem);
    static const char *const backbone[] = {"MODEL.BACKBONE", NULL};
    const char *const *keys = NULL;

    if (m->backbone && !backbone_of(m, &o, &why))
        keys = backbone;
    else if (m->family->check)
        keys = m->family->check(m, &o, config_height(cfg), config_width(cfg), &why);
    if (keys && m->family->blamed && m->family->blamed(m))
        problems_error(p, m->family->blamed(m), "%s", why.buf);
    else if (keys)
        config_blame(cfg, p, keys, "%s", why.buf);
    else if (cfg->model.features_only)
        check_stages(m, &o, cfg, p);
    else
        config_warn_unread(cfg, p, "MODEL.OUT_INDICES", "MODEL.FEATURES_ONLY is False");
    if (!keys)
        warn_small_images(m, &o, cfg, p);
    arena_release(&mem);
    strbuf_release(&why);
}

/* Returns how many keys are set that describe a model independent of its name. */
static int custom_keys_set(const struct config *cfg, const struct model_family *f)
{
    int n = 0;

    for (int i = 0; f->custom_keys[i]; i++)
        n += config_origin(cfg, f->custom_keys[i]) != NULL;
    return n;
}

/* The model without its evaluation graph, and without MODEL.HEAD. */
static const struct model *lookup_training(const struct config *cfg, struct strbuf *why)
{
    const struct layers_source source = {
        .layers = cfg->model.layers,
        .blocks = cfg->model.blocks,
        .layers_origin = config_origin(cfg, "MODEL.LAYERS"),
        .blocks_origin = config_origin(cfg, "MODEL.BLOCKS"),
    };

    if (cfg->model.layers->list.n)
        return layers_model(&source, cfg->model.name, (int)cfg->model.in_chans);
    return model_find(cfg->model.type, cfg->model.name, why);
}

/* The model without MODEL.HEAD. */
static const struct model *lookup_graphs(const struct config *cfg, struct strbuf *why)
{
    const struct model *m = lookup_training(cfg, why);

    return m && *cfg->model.eval ? model_pair(m, cfg->model.eval, why) : m;
}

const struct model *model_lookup(const struct config *cfg, struct strbuf *why)
{
    const struct model *m = lookup_graphs(cfg, why);

    return m && cfg->model.head.n && m->family->choose_heads
               ? m->family->choose_heads(m, &cfg->model.head, why)
               : m;
}

/* Refuses a model by name next to a network of MODEL.LAYERS, and blocks without one. */
static void check_layers(const struct config *cfg, struct problems *p)
{
    if (!cfg->model.layers->list.n)
        config_warn_unread(cfg, p, "MODEL.BLOCKS", "MODEL.LAYERS is empty");
    else if (strcmp(cfg->model.type, layers_family.type) != 0)
        config_blame(
            cfg, p, KEYS("MODEL.TYPE", "MODEL.LAYERS"),
            "MODEL.TYPE is %s, and MODEL.LAYERS describes another network: remove "
            "one of them",
            cfg->model.type);
    else if (model_family_of(cfg->model.name))
        config_blame(
            cfg, p, KEYS("MODEL.NAME", "MODEL.LAYERS"),
            "MODEL.NAME %s is a model, and MODEL.LAYERS describes another network: "
            "remove one of them",
            cfg->model.name);
}

/* Finds the model by name or by the keys of a custom one. Returns NULL with the reason in
 * `why`. */
static const struct model *find(const struct config *cfg, struct strbuf *why)
{
    const struct model *m = model_lookup(cfg, why);
    const struct model_family *f = model_family_find(cfg->model.type);
    int set;

    if (m || !f || !f->custom_keys || *cfg->model.eval)
        return m;
    set = custom_keys_set(cfg, f);
    if (set && !f->custom_keys[set])
        return model_custom(f, cfg->model.name);
    if (set)
        strbuf_addf(why, "; a %s with another name needs", f->type);
    for (int i = 0; set && f->custom_keys[i]; i++)
        if (!config_origin(cfg, f->custom_keys[i]))
            strbuf_addf(why, " %s", f->custom_keys[i]);
    return NULL;
}

const struct model *backbone_of_config(const struct config *cfg, struct strbuf *why)
{
    struct strbuf unused = STRBUF_INIT;
    const struct model *m = find(cfg, &unused);
    struct model_options o = {.backbone = cfg->model.backbone};

    strbuf_release(&unused);
    return m ? backbone_of(m, &o, why) : NULL;
}

enum model_task model_task_of_config(const struct config *cfg, const struct model *m)
{
    static const enum model_task task[] = {
        [TASK_CLASSIFY] = MODEL_CLASSIFY,     [TASK_MULTILABEL] = MODEL_MULTILABEL,
        [TASK_REGRESSION] = MODEL_REGRESSION, [TASK_ORDINAL] = MODEL_ORDINAL,
        [TASK_SIMMIM] = MODEL_SIMMIM,
    };

    return m->family->task == MODEL_CLASSIFY ? task[cfg->model.task] : m->family->task;
}

/* Returns the keys to blame if there is no such model. */
static const char *const *keys_of_model(const struct config *cfg)
{
    static const char *const eval[] = {"MODEL.EVAL", NULL},
                             *const head[] = {"MODEL.HEAD", NULL},
                             *const name[] = {"MODEL.NAME", "MODEL.TYPE", NULL},
                             *const type[] = {"MODEL.TYPE", "MODEL.NAME", NULL};
    struct strbuf unused = STRBUF_INIT;
    bool whole = cfg->model.head.n && lookup_graphs(cfg, &unused),
         trained = *cfg->model.eval && lookup_training(cfg, &unused);

    strbuf_release(&unused);
    return whole                                ? head
           : trained                            ? eval
           : model_family_find(cfg->model.type) ? name
                                                : type;
}

void model_check(const struct config *cfg, struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = find(cfg, &why);

    if (!m)
        config_blame(cfg, p, keys_of_model(cfg), "%s", why.buf);
    else if (m->family->task == MODEL_SEGMENT)
        check_segment(cfg, p);
    else
        check_classify(cfg, p);
    check_layers(cfg, p);
    if (m && cfg->model.head.n && !m->family->choose_heads)
        config_blame(cfg, p, KEYS("MODEL.HEAD"),
                     "MODEL.HEAD does not apply to models of MODEL.TYPE %s, which have "
                     "heads of their own",
                     m->family->type);
    if (m && !m->family->layers &&
        (cfg->train.layer_decay < 1 || cfg->train.layer_decay > 1))
        config_blame(cfg, p, KEYS("TRAIN.LAYER_DECAY"),
                     "TRAIN.LAYER_DECAY %g: the order of the layers of %s is unknown",
                     cfg->train.layer_decay, m->name);
    task_check(cfg, m, p);
    loss_check(cfg, m, p);
    if (model_options_check(cfg, p) && m)
        check_family(m, cfg, p);
    input_check(cfg, p);
    check_rate(cfg, p, "MODEL.DROP_RATE", cfg->model.drop_rate);
    check_rate(cfg, p, "MODEL.DROP_PATH_RATE", cfg->model.drop_path_rate);
    strbuf_release(&why);
}

const struct model *model_of_config(const struct config *cfg)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = find(cfg, &why);

    if (!m)
        usage("%s", why.buf);
    strbuf_release(&why);
    return m;
}

const struct model *teacher_find(const struct config *cfg, struct strbuf *why)
{
    const char *name = cfg->model.teacher_model;
    const struct model_family *f = *name ? model_family_of(name) : NULL;

    if (!*name)
        return find(cfg, why);
    if (!f)
        strbuf_addf(why, "there is no model '%s' (`trainc models` lists them)", name);
    return f ? model_find(f->type, name, why) : NULL;
}

const struct model *teacher_of_config(const struct config *cfg)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = teacher_find(cfg, &why);

    if (!m)
        usage("MODEL.TEACHER_MODEL: %s", why.buf);
    strbuf_release(&why);
    return m;
}

uint8_t model_mean_byte(const struct config *cfg, int channel)
{
    double v = rint(255 * input_mean(cfg, channel));

    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}
