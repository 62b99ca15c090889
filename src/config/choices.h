/*
 * The values of keys with choices. A constant's name is the last part of the key and the
 * user's word; config/choice_tables.c maps words to values.
 */
#ifndef CONFIG_CHOICES_H
#define CONFIG_CHOICES_H

struct choice {
    const char *name; /* NULL ends the array */
    int value;
    const char *refuse; /* why a known word is not supported, or NULL */
};

enum { /* AMP_OPT_LEVEL; '': see AMP_ENABLE */
       AMP_OPT_LEVEL_EMPTY = -1,
       AMP_OPT_LEVEL_O0,
       AMP_OPT_LEVEL_O1,
       AMP_OPT_LEVEL_O2,
       AMP_OPT_LEVEL_O3
};

/* AMP.DTYPE */
enum { AMP_DTYPE_AUTO, AMP_DTYPE_FP16, AMP_DTYPE_BF16 };

/* HOOKS, at: as in train/hooks.h */
enum {
    HOOK_START,
    HOOK_STEP,
    HOOK_LINE,
    HOOK_EPOCH,
    HOOK_EVAL,
    HOOK_CHECKPOINT,
    HOOK_END,
    HOOK_MOMENTS
};

/* DATA.INTERPOLATION */
enum { INTERPOLATION_BILINEAR, INTERPOLATION_BICUBIC };

/* DATA.ON_ERROR: skip a damaged file, or end the run */
enum { ON_ERROR_SKIP, ON_ERROR_FAIL };
enum {
    BEST_AUTO, /* others in the order of enum score in train/scores.h */
    BEST_LOSS,
    BEST_TOP1,
    BEST_TOP5,
    BEST_ACC,
    BEST_CLASS_ACC,
    BEST_MIOU,
    BEST_FWIOU,
    BEST_BALANCED_ACC,
    BEST_F1_MACRO,
    BEST_MCC,
    BEST_AUROC,
    BEST_MDICE,
    BEST_MAP,
    BEST_F1_MICRO,
    BEST_MAE,
    BEST_RMSE,
    BEST_R2,
    BEST_KAPPA,
    BEST_BOUNDARY_IOU
};
enum { SAMPLER_UNIFORM, SAMPLER_BALANCED, SAMPLER_SQRT, SAMPLER_WEIGHTS };

/* DATA.CACHE: nothing, encoded image files, decoded images, or decoded images in a file
 * that processes share */
enum { CACHE_NONE, CACHE_ENCODED, CACHE_DECODED, CACHE_MMAP };

/* DATA.DECODE: where */
enum { PLACEMENT_HOST, PLACEMENT_DEVICE };

/* MODEL.FOLD_BN */
enum { FOLD_BN_NONE, FOLD_BN_AUTO, FOLD_BN_ALL };

/* DATA.CACHE_MODE, Swin's cache of zip files: none, all, or this process's share */
enum { CACHE_MODE_NO, CACHE_MODE_FULL, CACHE_MODE_PART };

/* DATA.LABELS: values of Cityscapes' label files */
enum { LABELS_IDS, LABELS_TRAIN_IDS };

/* MODEL.PRETRAINED_TABLES */
enum bias_tables { BIAS_TABLES_AUTO, BIAS_TABLES_TIMM, BIAS_TABLES_MICROSOFT };

/* TRAIN.VALIDATE */
enum { VALIDATE_INLINE, VALIDATE_BACKGROUND };
/* TRAIN.CLIP_MODE */
enum { CLIP_MODE_NORM, CLIP_MODE_VALUE };

/* TRAIN.CLASS_WEIGHTS, unless it is a list */
enum {
    CLASS_WEIGHTS_NONE,
    CLASS_WEIGHTS_AUTO,
    CLASS_WEIGHTS_BALANCED,
    CLASS_WEIGHTS_EFFECTIVE
};

/* TRAIN.LOSS.POS_WEIGHT, unless it is a list */
enum { POS_WEIGHT_NONE, POS_WEIGHT_AUTO };

/* DATA.NUM_WORKERS auto */
enum { NUM_WORKERS_AUTO = -1 };

/* DATA.BATCH_SIZE auto */
enum { BATCH_SIZE_AUTO = 0 };

/* TRAIN.EMA.DEVICE: on the device of the run, or in host memory */
enum { EMA_DEVICE_DEVICE, EMA_DEVICE_CPU };
enum { SWA_ANNEAL_COS, SWA_ANNEAL_LINEAR };
enum { DEFAULTS_AUTO, DEFAULTS_JOB, DEFAULTS_SWIN };

/* AUG.MIXUP_MODE: one coefficient per batch, pair of samples, or sample */
enum { MIXUP_MODE_BATCH, MIXUP_MODE_PAIR, MIXUP_MODE_ELEM };

/* MODEL.TASK */
enum { TASK_CLASSIFY, TASK_MULTILABEL, TASK_REGRESSION, TASK_ORDINAL, TASK_SIMMIM };

enum { /* AUG.CROP_MODE; AUTO: PAD if AUG.PAD_CROP > 0, else RRC */
       CROP_MODE_AUTO,
       CROP_MODE_RRC,  /* RandomResizedCrop */
       CROP_MODE_PAD,  /* pad by AUG.PAD_CROP pixels, then crop DATA.IMG_SIZE at random */
       CROP_MODE_NONE, /* as in validation */
};

/* TEST.WINDOW_WEIGHTS */
enum { WINDOW_WEIGHTS_GAUSSIAN, WINDOW_WEIGHTS_UNIFORM };

/* AUG.PAD_MODE, in the order of enum pad_mode in image/pad_crop.h */
enum { PAD_MODE_CONSTANT, PAD_MODE_EDGE, PAD_MODE_REFLECT, PAD_MODE_SYMMETRIC };

enum {                       /* AUG.HFLIP_MODE */
       HFLIP_MODE_RANDOM,    /* drawn independently in each epoch */
       HFLIP_MODE_ALTERNATE, /* odd epochs flip the images that even ones do not */
};

enum {                         /* AUG.INTERPOLATION */
       AUG_INTERPOLATION_SAME, /* as DATA.INTERPOLATION */
       AUG_INTERPOLATION_BILINEAR,
       AUG_INTERPOLATION_BICUBIC,
       AUG_INTERPOLATION_RANDOM /* drawn for each image */
};

/* LOG.LEVEL has the values of enum log_level in base/log.h. */

/* LOG.PROGRESS; AUTO: a bar if stderr is a terminal */
enum { PROGRESS_AUTO, PROGRESS_ON, PROGRESS_OFF };

#endif
