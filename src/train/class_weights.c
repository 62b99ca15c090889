#include "train/class_weights.h"

#include "train/model_config.h"

void class_weights_check(const struct config *cfg, struct problems *p)
{
    const struct float_list *w = &cfg->train.class_weights;
    const char *where = config_where(cfg, "TRAIN.CLASS_WEIGHTS");
    double sum = 0;

    if (w->item && w->n != cfg->model.num_classes)
        problems_error(
            p, where, "TRAIN.CLASS_WEIGHTS has %d numbers, and MODEL.NUM_CLASSES is %lld",
            w->n, (long long)cfg->model.num_classes);
    for (int i = 0; w->item && i < w->n; i++)
        sum += w->item[i];
    if (w->item && !(sum > 0))
        problems_error(p, where, "TRAIN.CLASS_WEIGHTS are all zero");
}

bool class_weights(const struct config *cfg, const struct dataset *train, float *weight)
{
    const struct float_list *w = &cfg->train.class_weights;

    (void)train;
    for (int i = 0; w->item && i < w->n; i++)
        weight[i] = (float)w->item[i];
    return w->item != NULL;
}
