#include "train/class_weights.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "config/problems.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "train/data_config.h"

/* Reads a checkpoint's class weights. Returns false if it has none for `classes`
 * classes. */
static bool read_saved(const struct safetensors *file, int64_t classes, float *weight)
{
    const char *text = safetensors_meta(file, "class_weights");
    struct strbuf why = STRBUF_INIT;
    json_t *list = text ? json_parse(text, strlen(text), &why) : NULL;
    bool fits = list && (int64_t)json_array_size(list) == classes;

    for (size_t c = 0; fits && c < json_array_size(list); c++) {
        weight[c] = (float)json_number_value(json_array_get(list, c));
        fits = weight[c] >= 0 && weight[c] <= FLT_MAX;
    }
    json_decref(list);
    strbuf_release(&why);
    return fits;
}

void class_weights_compare(const struct safetensors *file, const float *weight,
                           int64_t classes)
{
    float *saved = xcalloc((size_t)classes, sizeof(*saved));
    bool has = read_saved(file, classes, saved), same = has == (weight != NULL);

    for (int64_t c = 0; same && has && c < classes; c++)
        same = saved[c] == weight[c];
    if (!same)
        log_warning("'%s' was trained with different class weights: using those of this "
                    "run's labels and configuration",
                    file->in.path);
    free(saved);
}

/* Reads the class weights with which the evaluated model was trained; returns false if
 * its file has none. */
static bool from_checkpoint(const struct config *cfg, float *weight)
{
    const char *path = *cfg->model.resume ? cfg->model.resume : cfg->model.pretrained;
    struct strbuf why = STRBUF_INIT;
    struct safetensors file;
    bool fits;

    if (!*path || safetensors_open(&file, path, &why)) {
        if (*cfg->model.resume) /* fail before counting labels in vain */
            die("MODEL.RESUME: %s", why.buf);
        strbuf_release(&why); /* a PyTorch file; loading the weights reports errors */
        return false;
    }
    fits = read_saved(&file, cfg->model.num_classes, weight);
    if (fits)
        log_info("class weights: taken from '%s'", path);
    safetensors_close(&file);
    strbuf_release(&why);
    return fits;
}

/* True if the training labels exist; warns otherwise, because an evaluation does not
 * require them. */
static bool have_labels(const struct config *cfg)
{
    struct problems p = {0};
    bool found;

    data_check_split(cfg, DATA_TRAIN, &p);
    found = !p.nerror;
    if (!found)
        log_warning(
            "TRAIN.CLASS_WEIGHTS: using weight 1 for every class in the loss: the "
            "weights file has no class weights and the training labels are "
            "missing: %s",
            p.item[0].text);
    problems_release(&p);
    return found;
}

/* n / (classes that occur * n_k), as scikit-learn's compute_class_weight("balanced"). */
static void balance(const int64_t *count, int classes, float *weight)
{
    int64_t total = 0;
    int present = 0;

    for (int k = 0; k < classes; k++) {
        total += count[k];
        present += count[k] > 0;
    }
    for (int k = 0; k < classes; k++)
        weight[k] =
            count[k] ? (float)((double)total / (double)present / (double)count[k]) : 0;
}

/* Computes weights from the training labels; `train` is NULL in an evaluation, which
 * opens the data only for this. */
static void from_labels(const struct config *cfg, const struct dataset *train,
                        float *weight)
{
    bool counted = false;
    struct dataset *opened = train ? NULL : data_open(cfg, DATA_TRAIN);
    const struct dataset *d = train ? train : opened;
    struct strbuf s = STRBUF_INIT;
    struct histogram h;

    if (!dataset_has_labels(d))
        usage("TRAIN.CLASS_WEIGHTS: '%s' has no label maps", d->name);
    data_histogram(cfg, d, &h);
    if (cfg->train.class_weights.n == CLASS_WEIGHTS_BALANCED)
        balance(h.count, d->nclass, weight);
    else
        histogram_weights(&h, d->nclass, cfg->train.class_weights_c, weight);
    for (int c = 0; c < d->nclass; c++) {
        strbuf_addf(&s, "%s%s %.4g", c ? ", " : "", d->class_name[c], (double)weight[c]);
        counted |= weight[c] > 0;
    }
    if (!counted)
        die("TRAIN.CLASS_WEIGHTS: all pixels of the label maps of '%s' are ignored",
            d->name);
    log_info("class weights: %s", s.buf);
    strbuf_release(&s);
    dataset_close(opened);
}

bool class_weights(const struct config *cfg, const struct dataset *train, float *weight)
{
    const struct float_list *w = &cfg->train.class_weights;

    if (!w->item && w->n != CLASS_WEIGHTS_NONE &&
        (train || !from_checkpoint(cfg, weight))) {
        if (!train && !have_labels(cfg))
            return false;
        from_labels(cfg, train, weight);
    }
    for (int i = 0; w->item && i < w->n; i++)
        weight[i] = (float)w->item[i];
    return w->item || w->n != CLASS_WEIGHTS_NONE;
}

/* ---- classes of whole images ---- */

static int64_t *count_images(const struct dataset *train)
{
    int64_t *count = xcalloc((size_t)train->nclass, sizeof(*count));

    for (int64_t i = 0; i < train->n; i++)
        if (dataset_label(train, i) >= 0 && dataset_label(train, i) < train->nclass)
            count[dataset_label(train, i)]++;
    return count;
}

/* (1 - b) / (1 - b^n), divided by the mean over the classes that occur. */
static void weigh_effective(const int64_t *count, int classes, double beta, float *weight)
{
    double sum = 0, present = 0;

    for (int k = 0; k < classes; k++) {
        double w = !count[k]   ? 0
                   : beta == 1 ? 1 / (double)count[k]
                               : (1 - beta) / (1 - pow(beta, (double)count[k]));

        weight[k] = (float)w;
        sum += w;
        present += count[k] > 0;
    }
    for (int k = 0; k < classes; k++)
        weight[k] = (float)((double)weight[k] * present / sum);
}

static void log_factors(const char *what, const struct dataset *d, const float *factor)
{
    enum { SHOWN = 20 };
    struct strbuf s = STRBUF_INIT;

    for (int k = 0; k < d->nclass && k < SHOWN; k++)
        strbuf_addf(&s, "%s%s %.4g", k ? ", " : "", d->class_name[k], (double)factor[k]);
    log_info("%s: %s%s", what, s.buf, d->nclass > SHOWN ? ", ..." : "");
    strbuf_release(&s);
}

bool class_weights_of_images(const struct config *cfg, const struct dataset *train,
                             float *weight)
{
    const struct float_list *w = &cfg->train.class_weights;
    int64_t *count;

    for (int i = 0; w->item && i < w->n; i++)
        weight[i] = (float)w->item[i];
    if (w->item || w->n == CLASS_WEIGHTS_NONE)
        return w->item;
    count = count_images(train);
    if (w->n == CLASS_WEIGHTS_EFFECTIVE)
        weigh_effective(count, train->nclass, cfg->train.class_weights_beta, weight);
    else
        balance(count, train->nclass, weight);
    free(count);
    log_factors("class weights", train, weight);
    return true;
}

bool class_bias_of_images(const struct config *cfg, const struct dataset *train,
                          float *bias)
{
    double tau = cfg->train.loss.logit_adjust, total = 0;
    int64_t *count;

    if (!(tau > 0))
        return false;
    count = count_images(train);
    for (int k = 0; k < train->nclass; k++)
        total += (double)(count[k] ? count[k] : 1);
    for (int k = 0; k < train->nclass; k++)
        bias[k] = (float)(tau * log((double)(count[k] ? count[k] : 1) / total));
    free(count);
    log_factors("logit adjustment", train, bias);
    return true;
}

/* Counts the images with and without each label. */
static void count_targets(const struct dataset *train, int64_t *positives,
                          int64_t *negatives)
{
    uint8_t *target = xcalloc((size_t)train->nclass, sizeof(*target));

    for (int64_t i = 0; i < train->n; i++) {
        dataset_targets(train, i, target);
        for (int k = 0; k < train->nclass; k++) {
            positives[k] += target[k] == 1;
            negatives[k] += target[k] == 0;
        }
    }
    free(target);
}

void pos_weights_of_images(struct config *cfg, const struct dataset *train)
{
    const struct float_list *w = &cfg->train.loss.pos_weight;
    struct strbuf list = STRBUF_INIT;
    int64_t *positives, *negatives;
    float *weight;

    if (w->item || w->n != POS_WEIGHT_AUTO)
        return;
    positives = xcalloc((size_t)train->nclass, sizeof(*positives));
    negatives = xcalloc((size_t)train->nclass, sizeof(*negatives));
    weight = xcalloc((size_t)train->nclass, sizeof(*weight));
    count_targets(train, positives, negatives);
    for (int k = 0; k < train->nclass; k++) {
        weight[k] = positives[k] ? (float)negatives[k] / (float)positives[k] : 1;
        strbuf_addf(&list, "%s%.9g", k ? ", " : "[", (double)weight[k]);
    }
    strbuf_addstr(&list, "]");
    log_factors("positive weights", train, weight);
    config_set(cfg, "TRAIN.LOSS.POS_WEIGHT", list.buf);
    strbuf_release(&list);
    free(positives);
    free(negatives);
    free(weight);
}
