#include "config/choice_tables.h"

#include <stddef.h>

#include "base/log.h"

const struct choice choices_amp_opt_levels[] = {
    {"", AMP_OPT_LEVEL_EMPTY, NULL}, {"O0", AMP_OPT_LEVEL_O0, NULL},
    {"O1", AMP_OPT_LEVEL_O1, NULL},  {"O2", AMP_OPT_LEVEL_O2, NULL},
    {"O3", AMP_OPT_LEVEL_O3, NULL},  {0},
};

const struct choice choices_amp_dtypes[] = {
    {"auto", AMP_DTYPE_AUTO, NULL},
    {"fp16", AMP_DTYPE_FP16, NULL},
    {"bf16", AMP_DTYPE_BF16, NULL},
    {"float16", AMP_DTYPE_FP16, NULL}, /* as in timm */
    {"bfloat16", AMP_DTYPE_BF16, NULL},
    {0},
};

const struct choice choices_hook_moments[] = {
    {"start", HOOK_START, NULL},
    {"step", HOOK_STEP, NULL},
    {"line", HOOK_LINE, NULL},
    {"epoch", HOOK_EPOCH, NULL},
    {"eval", HOOK_EVAL, NULL},
    {"checkpoint", HOOK_CHECKPOINT, NULL},
    {"end", HOOK_END, NULL},
    {"evaluation", HOOK_EVAL, NULL},
    {0},
};

const struct choice choices_interpolations[] = {
    {"bilinear", INTERPOLATION_BILINEAR, NULL},
    {"bicubic", INTERPOLATION_BICUBIC, NULL},
    {0},
};

const struct choice choices_placements[] = {
    {"host", PLACEMENT_HOST, NULL},
    {"device", PLACEMENT_DEVICE, NULL},
    {0},
};

const struct choice choices_fold_bn[] = {
    {"none", FOLD_BN_NONE, NULL},
    {"auto", FOLD_BN_AUTO, NULL},
    {"all", FOLD_BN_ALL, NULL},
    {0},
};

const struct choice choices_cache_modes[] = {
    {"no", CACHE_MODE_NO, NULL},
    {"full", CACHE_MODE_FULL, NULL},
    {"part", CACHE_MODE_PART, NULL},
    {0},
};

const struct choice choices_on_errors[] = {
    {"skip", ON_ERROR_SKIP, NULL},
    {"fail", ON_ERROR_FAIL, NULL},
    {0},
};

const struct choice choices_best_metrics[] = {
    {"auto", BEST_AUTO, NULL},
    {"loss", BEST_LOSS, NULL},
    {"top1", BEST_TOP1, NULL},
    {"top5", BEST_TOP5, NULL},
    {"acc", BEST_ACC, NULL},
    {"class_acc", BEST_CLASS_ACC, NULL},
    {"miou", BEST_MIOU, NULL},
    {"fwiou", BEST_FWIOU, NULL},
    {"balanced_acc", BEST_BALANCED_ACC, NULL},
    {"f1_macro", BEST_F1_MACRO, NULL},
    {"mcc", BEST_MCC, NULL},
    {"auroc", BEST_AUROC, NULL},
    {"mdice", BEST_MDICE, NULL},
    {"map", BEST_MAP, NULL},
    {"f1_micro", BEST_F1_MICRO, NULL},
    {"mae", BEST_MAE, NULL},
    {"rmse", BEST_RMSE, NULL},
    {"r2", BEST_R2, NULL},
    {"kappa", BEST_KAPPA, NULL},
    {"boundary_iou", BEST_BOUNDARY_IOU, NULL},
    {0},
};

const struct choice choices_samplers[] = {
    {"uniform", SAMPLER_UNIFORM, NULL},
    {"balanced", SAMPLER_BALANCED, NULL},
    {"sqrt", SAMPLER_SQRT, NULL},
    {"weights", SAMPLER_WEIGHTS, NULL},
    {0},
};

const struct choice choices_caches[] = {
    {"none", CACHE_NONE, NULL},
    {"encoded", CACHE_ENCODED, NULL},
    {"decoded", CACHE_DECODED, NULL},
    {"mmap", CACHE_MMAP, NULL},
    {0},
};

const struct choice choices_label_kinds[] = {
    {"ids", LABELS_IDS, NULL},
    {"train_ids", LABELS_TRAIN_IDS, NULL},
    {0},
};

const struct choice choices_bias_tables[] = {
    {"auto", BIAS_TABLES_AUTO, NULL},
    {"timm", BIAS_TABLES_TIMM, NULL},
    {"microsoft", BIAS_TABLES_MICROSOFT, NULL},
    {0},
};

const struct choice choices_validates[] = {
    {"inline", VALIDATE_INLINE, NULL},
    {"background", VALIDATE_BACKGROUND, NULL},
    {"beside", VALIDATE_BACKGROUND, NULL}, /* its former name */
    {0},
};

const struct choice choices_clip_modes[] = {
    {"norm", CLIP_MODE_NORM, NULL},
    {"value", CLIP_MODE_VALUE, NULL},
    {0},
};

const struct choice choices_ema_devices[] = {
    {"device", EMA_DEVICE_DEVICE, NULL},
    {"cpu", EMA_DEVICE_CPU, NULL},
    {0},
};

const struct choice choices_swa_anneals[] = {
    {"cos", SWA_ANNEAL_COS, NULL},
    {"linear", SWA_ANNEAL_LINEAR, NULL},
    {0},
};

const struct choice choices_defaults[] = {
    {"auto", DEFAULTS_AUTO, NULL},
    {"job", DEFAULTS_JOB, NULL},
    {"swin", DEFAULTS_SWIN, NULL},
    {0},
};

const struct choice choices_pos_weight[] = {
    {"none", POS_WEIGHT_NONE, NULL},
    {"auto", POS_WEIGHT_AUTO, NULL},
    {0},
};

const struct choice choices_class_weights[] = {
    {"none", CLASS_WEIGHTS_NONE, NULL},
    {"auto", CLASS_WEIGHTS_AUTO, NULL},
    {"balanced", CLASS_WEIGHTS_BALANCED, NULL},
    {"effective", CLASS_WEIGHTS_EFFECTIVE, NULL},
    {0},
};

const struct choice choices_remodes[] = {
    {"pixel", 0, NULL},
    {"rand", 0, NULL},
    {"const", 0, NULL},
    {0},
};

const struct choice choices_mixup_modes[] = {
    {"batch", MIXUP_MODE_BATCH, NULL},
    {"pair", MIXUP_MODE_PAIR, NULL},
    {"elem", MIXUP_MODE_ELEM, NULL},
    {0},
};

const struct choice choices_tasks[] = {
    {"classify", TASK_CLASSIFY, NULL},     {"multilabel", TASK_MULTILABEL, NULL},
    {"regression", TASK_REGRESSION, NULL}, {"ordinal", TASK_ORDINAL, NULL},
    {"simmim", TASK_SIMMIM, NULL},         {0},
};

const struct choice choices_crop_modes[] = {
    {"auto", CROP_MODE_AUTO, NULL},
    {"rrc", CROP_MODE_RRC, NULL},
    {"pad", CROP_MODE_PAD, NULL},
    {"none", CROP_MODE_NONE, NULL},
    {0},
};

const struct choice choices_window_weights[] = {
    {"gaussian", WINDOW_WEIGHTS_GAUSSIAN, NULL},
    {"uniform", WINDOW_WEIGHTS_UNIFORM, NULL},
    {0},
};

const struct choice choices_pad_modes[] = {
    {"constant", PAD_MODE_CONSTANT, NULL},
    {"edge", PAD_MODE_EDGE, NULL},
    {"reflect", PAD_MODE_REFLECT, NULL},
    {"symmetric", PAD_MODE_SYMMETRIC, NULL},
    {0},
};

const struct choice choices_aug_interpolations[] = {
    {"same", AUG_INTERPOLATION_SAME, NULL},
    {"bilinear", AUG_INTERPOLATION_BILINEAR, NULL},
    {"bicubic", AUG_INTERPOLATION_BICUBIC, NULL},
    {"random", AUG_INTERPOLATION_RANDOM, NULL},
    {0},
};

const struct choice choices_hflip_modes[] = {
    {"random", HFLIP_MODE_RANDOM, NULL},
    {"alternate", HFLIP_MODE_ALTERNATE, NULL},
    {0},
};

const struct choice choices_log_levels[] = {
    {"error", LOG_ERROR, NULL},
    {"warning", LOG_WARNING, NULL},
    {"info", LOG_INFO, NULL},
    {"debug", LOG_DEBUG, NULL},
    {0},
};

const struct choice choices_progresses[] = {
    {"auto", PROGRESS_AUTO, NULL},
    {"on", PROGRESS_ON, NULL},
    {"off", PROGRESS_OFF, NULL},
    {0},
};
