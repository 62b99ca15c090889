/*
 * The options of a model: those shared by all families, and a struct per family. Both are
 * filled from the configuration by walking a table of keys (session/model_options.c), the
 * only place that defines a family's keys. Defaults, ranges, and help of the keys are in
 * config/schema.c.
 *
 * A family declares its keys in its own header and file:
 *
 *   struct swin_options {
 *      int64_t window_size;
 *      struct int_list depths;      DEPTHS [2, 2, 6, 2]
 *      struct float_opt qk_scale;   None: .has is false
 *      int pooling;                 a choice, one of enum swin_pooling
 *   };
 *
 *   static const struct option_choice poolings[] = {
 *      {"avg", SWIN_POOLING_AVG}, {"token", SWIN_POOLING_TOKEN}, {0}};
 *   static const struct option options[] = {
 *      OPTION("MODEL.SWIN.WINDOW_SIZE", struct swin_options, window_size),
 *      OPTION("MODEL.SWIN.DEPTHS", struct swin_options, depths),
 *      OPTION("MODEL.SWIN.QK_SCALE", struct swin_options, qk_scale),
 *      OPTION_CHOICES("MODEL.SWIN.POOLING", struct swin_options, pooling, poolings),
 *      {0}};
 *
 *   const struct model_family swin_family = {
 *      .options = options, .options_size = sizeof(struct swin_options), ...};
 *
 * and the schema has a row FAMILY_ROW(KEY, TYPE, ...) per key, where a choice is a
 * string: only the table here has its names.
 */
#ifndef MODELS_OPTIONS_H
#define MODELS_OPTIONS_H

#include <stddef.h>

#include "base/fields.h"
#include "ops/init.h"

struct model_stages;

enum option_type {
    OPTION_BOOL = 1,
    OPTION_INT,
    OPTION_FLOAT,
    OPTION_TEXT,
    OPTION_CHOICE, /* an int; .choices has the values of the names */
    OPTION_BOOL_OPT,
    OPTION_FLOAT_OPT,
    OPTION_INT_LIST,
    OPTION_FLOAT_LIST,
    OPTION_INT_TABLE
};

struct option_choice {
    const char *name; /* NULL ends the array */
    int value;
};

struct option {
    const char *key; /* NULL ends the table */
    size_t offset;   /* of the member */
    enum option_type type;
    const struct option_choice *choices;
};

/* .type comes from the member, so the row and the struct cannot differ. */
#define OPTION_OF(KEY, s, member)                                                        \
    .key = (KEY), .offset = offsetof(s, member),                                         \
    .type = _Generic(((s *)0)->member,                                                   \
                     bool: OPTION_BOOL,                                                  \
                     int64_t: OPTION_INT,                                                \
                     double: OPTION_FLOAT,                                               \
                     const char *: OPTION_TEXT,                                          \
                     int: OPTION_CHOICE,                                                 \
                     struct bool_opt: OPTION_BOOL_OPT,                                   \
                     struct float_opt: OPTION_FLOAT_OPT,                                 \
                     struct int_list: OPTION_INT_LIST,                                   \
                     struct float_list: OPTION_FLOAT_LIST,                               \
                     struct int_table: OPTION_INT_TABLE)
#define OPTION(KEY, s, member)                                                           \
    {                                                                                    \
        OPTION_OF(KEY, s, member)                                                        \
    }
#define OPTION_CHOICES(KEY, s, member, names)                                            \
    {                                                                                    \
        OPTION_OF(KEY, s, member), .choices = (names)                                    \
    }

/* Zero is the model's default, so {.classes = 10} is complete. */
struct model_options {
    int64_t classes;
    double drop_rate; /* of the dropout before the classifier */
    double drop_path; /* of the last block; block i of n has drop_path * i / (n - 1) */
    int init;         /* enum init_rule: weights of convolutions and linear layers */
    int64_t output_stride; /* image size / map size is at most this; 0: no limit */
    int64_t skip_strides;  /* how many of the first strides are 1, for small images */
    struct float_opt aux_weight; /* of the family's auxiliary heads; without: its own */
    int64_t processes;           /* that train together; 0: 1 */
    const char *backbone;        /* a model's name; "" or NULL: the row's own */
    /* A backbone as in segmentation-models-pytorch, where that differs from timm: dilation
     * (models/blocks.h, net_stage()), and where the stages end. */
    bool dilates_first, smp_stages;
    /* ResNet: the last norm of a residual branch starts at 1, as in torchvision, whose
     * networks are the backbones of its own and smp's nets, instead of 0. */
    bool branches_start_at_one;
    /* MODEL.TASK simmim: targets are normalized by the mean and deviation of a window of
     * norm_window x norm_window pixels. */
    bool norm_target;
    int64_t norm_window;
    /* Which patches are masked (models/masking.h); NULL: none, the net returns logits. */
    struct tensor *cells;
    /* The struct of the model's family; NULL: all defaults of the model. */
    const void *family;
    struct model_stages *stages; /* requested stages (models/stages.h), or NULL */
};

/* Keys of the shared options; model_family.reads lists those that a family uses. */
extern const struct option model_common_options[];

/* Returns NULL if the table, which may be NULL, has no such key. */
const struct option *option_find(const struct option *table, const char *key);

#endif
