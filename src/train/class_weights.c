#include "train/class_weights.h"

#include <float.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "train/data_config.h"

/* Those with which the weights that are evaluated were trained, if their file has them.
 */
static bool from_checkpoint(const struct config *cfg, float *weight)
{
    const char *path = *cfg->model.resume ? cfg->model.resume : cfg->model.pretrained;
    struct strbuf why = STRBUF_INIT;
    struct safetensors file;
    const char *text;
    json_t *list;
    bool fits;

    if (!*path || safetensors_open(&file, path, &why)) {
        strbuf_release(&why); /* whoever loads the weights says it */
        return false;
    }
    text = safetensors_meta(&file, "class_weights");
    list = text ? json_parse(text, strlen(text), &why) : NULL;
    fits = list && (int64_t)json_array_size(list) == cfg->model.num_classes;
    for (size_t c = 0; fits && c < json_array_size(list); c++) {
        weight[c] = (float)json_number_value(json_array_get(list, c));
        fits = weight[c] >= 0 && weight[c] <= FLT_MAX;
    }
    if (fits)
        log_info("class weights: those of '%s'", path);
    json_decref(list);
    safetensors_close(&file);
    strbuf_release(&why);
    return fits;
}

/* From the training labels, which an evaluation opens for this alone. */
static void from_labels(const struct config *cfg, const struct dataset *train,
                        float *weight)
{
    struct dataset *own = train ? NULL : data_open(cfg, DATA_TRAIN);
    const struct dataset *d = train ? train : own;
    struct strbuf s = STRBUF_INIT;
    struct histogram h;

    if (!dataset_has_labels(d))
        usage("TRAIN.CLASS_WEIGHTS auto: '%s' has no label pictures", d->name);
    data_histogram(cfg, d, &h);
    histogram_weights(&h, d->nclass, cfg->train.class_weights_c, weight);
    for (int c = 0; c < d->nclass; c++)
        strbuf_addf(&s, "%s%s %.4g", c ? ", " : "", d->class_name[c], (double)weight[c]);
    log_info("class weights: %s", s.buf);
    strbuf_release(&s);
    dataset_close(own);
}

bool class_weights(const struct config *cfg, const struct dataset *train, float *weight)
{
    const struct float_list *w = &cfg->train.class_weights;

    if (!w->item && w->n == CLASS_WEIGHTS_AUTO &&
        (train || !from_checkpoint(cfg, weight)))
        from_labels(cfg, train, weight);
    for (int i = 0; w->item && i < w->n; i++)
        weight[i] = (float)w->item[i];
    return w->item || w->n == CLASS_WEIGHTS_AUTO;
}
