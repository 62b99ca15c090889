#include "session/fold.h"

#include "session/plan.h"

/* Shares of the theoretical rates that kernels reach, and the seconds of the small ones. */
#define BANDWIDTH_SHARE 0.88
#define PRODUCT_SHARE   0.6
#define FP32_SHARE      0.5
#define SMALL_KERNELS   16e-6

struct fold_choice fold_choice(const struct config *cfg, const struct backend *backend,
                               struct device *dev)
{
    struct fold_choice f = {.all = cfg->model.fold_bn == FOLD_BN_ALL};

    f.any = f.all ||
            (cfg->model.fold_bn == FOLD_BN_AUTO && cfg->cudnn.fuse &&
             backend->folds_norms && backend->limits && backend->limits(dev, &f.limits));
    return f;
}

static double longer(double a, double b)
{
    return a > b ? a : b;
}

bool fold_pays(const struct device_limits *l, const struct norm_fold_layer *layer)
{
    double in = (double)layer->in, out = (double)layer->out, rows = (double)layer->rows;
    double cores = layer->type == DTYPE_F32 ? l->tf32 : l->half;
    double bandwidth = l->bandwidth * BANDWIDTH_SHARE;
    double narrow = rows * in * (double)dtype_size(layer->type) / bandwidth;
    double wide = rows * out * (double)dtype_size(layer->type) / bandwidth;
    double product = 2 * rows * in * in / ((cores > 0 ? cores : l->fp32) * PRODUCT_SHARE);
    double small = 4 * in * in * out / (l->fp32 * FP32_SHARE) + SMALL_KERNELS;

    return 7 * wide > longer(narrow, product) + longer(3 * narrow, product) + small;
}

static bool pays(void *arg, const struct norm_fold_layer *layer)
{
    const struct fold_choice *f = arg;

    return f->all || fold_pays(&f->limits, layer);
}

int fold_norms(struct graph *g, const struct plan *p)
{
    struct fold_choice f = p->fold;
    enum dtype type = p->level == AMP_O0 ? DTYPE_F32 : p->half;

    /* rounded weights have readers that only round them (build_update.c) */
    return f.any && !plan_rounds(p) ? norm_fold_lower(g, type, pays, &f) : 0;
}
