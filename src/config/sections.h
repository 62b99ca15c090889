/*
 * struct config, a field for each key, and its sections: DATA, MODEL, TRAIN, ... What a
 * key means is said in its row in config/schema.c.
 */
#ifndef CONFIG_SECTIONS_H
#define CONFIG_SECTIONS_H

#include "base/fields.h"

struct value;

struct config_amp {
    int dtype;
    const char *loss_scale; /* "dynamic" or a number */
    double init_scale, growth_factor, backoff_factor;
    int64_t growth_interval, num_losses;
    double min_scale;
    int64_t max_skips, inject_overflow_at;
    struct bool_opt keep_batchnorm_fp32, master_weights;
    struct str_list fp32, half;
};

struct config_cuda {
    bool graph;
};

struct config_cudnn {
    bool benchmark, deterministic, allow_tf32, fuse;
    int64_t workspace_limit;
    const char *cache;
};

struct config_dist {
    double timeout;
    int64_t bucket_mb;
    bool half_gradients, shard_optimizer, shard_experts;
};

struct config_debug {
    bool redzones;
};

struct config_quant {
    bool enable, first, last;
    struct str_list keep;
    const char *method;
    double percentile;
};

struct config_data {
    int64_t batch_size;
    const char *data_path, *dataset, *index_dir;
    int64_t img_size, img_height, img_width; /* see config_height, config_width */
    int interpolation;
    bool zip_mode;
    int cache_mode, decode, resize;
    bool pin_memory;
    int64_t num_workers, mask_patch_size;
    double mask_ratio;
    const char *train_split, *val_split;
    int64_t train_num_samples, val_num_samples;
    double val_fraction, fraction;
    const char *fold, *group;
    const char *label_separator;
    const char *image_column, *label_column, *split_column, *image_folder;
    const char *weight_column;
    int sampler;
    int64_t split_seed, max_val_images;
    int64_t val_batch_size;
    struct float_list mean, std;
    double crop_pct;
    int on_error;
    double max_bad_share;
    int64_t max_pixels, max_bytes, prefetch;
    bool load_truncated_images, exif_rotate;
    const char *range; /* base/value_range.h */
    bool shuffle, drop_last;
    int64_t shuffle_shards;
    int cache;
    bool check_classes;
    int64_t first_class;
    const char *class_set;
    struct str_list class_names;
    int labels;
    struct int_table label_map;
    struct str_list class_colors, ignored_colors;
    bool reduce_zero_label;
};

/* Keys of a family, MODEL.FAMILY.*, have no fields: session/model_options.c. */
struct config_model {
    const char *type, *name, *eval, *backbone, *pretrained, *pretrained_backbone, *resume,
        *teacher, *teacher_model;
    const struct value *layers, *blocks; /* lists, for src/layers */
    bool offline;
    struct str_list head, pretrained_skip;
    int pretrained_tables; /* enum bias_tables */
    int task;              /* TASK_CLASSIFY */
    int64_t num_classes, in_chans, output_stride, skip_strides;
    bool features_only;
    struct int_list out_indices;
    double drop_rate, drop_path_rate, label_smoothing;
    struct float_opt aux_weight;
    bool sync_bn;
    int64_t sync_bn_group;
    int fold_bn; /* FOLD_BN_* */
    bool gelu_tanh;
    const char *init;
};

struct config_train {
    int64_t start_epoch, epochs, warmup_epochs;
    struct float_opt warmup_share;
    double weight_decay, base_lr, warmup_lr, min_lr, clip_grad;
    bool auto_resume;
    int64_t accumulation_steps;
    bool use_checkpoint;
    double layer_decay;
    int clip_mode;
    bool scale_lr;
    int64_t scale_lr_base;
    bool weight_decay_1d;
    struct str_list freeze;
    int64_t freeze_epochs;
    struct float_opt freeze_lr;
    struct str_list freeze_head;
    struct float_list class_weights; /* or a word: CLASS_WEIGHTS_NONE */
    double class_weights_c, class_weights_beta;
    int best_metric;
    int64_t early_stop, max_steps, eval_freq, save_steps, keep_checkpoints,
        signal_exit_code;
    int validate;
    const char *validate_device;
    struct {
        const char *name;
        int64_t decay_epochs, patience_epochs;
        double decay_rate;
        bool warmup_prefix;
        double gamma;
        struct int_list multisteps;
        double power, pct_start, div_factor, final_div_factor;
    } lr_scheduler;
    struct {
        const char *name;
        struct float_opt target_thresh;
        bool sum_classes;
        double logit_adjust;
        double gamma_pos, gamma_neg, clip;
        double delta;
        struct float_list pos_weight; /* or a word: POS_WEIGHT_NONE */
    } loss;
    struct {
        const char *name;
        double eps;
        struct float_list betas;
        double momentum;
        bool nesterov;
        double alpha, trust_coeff;
        bool trust_clip, always_adapt;
        struct record_list groups; /* of struct config_group */
    } optimizer;
    struct {
        bool enable;
        double decay, ramp_steps;
        int device;
    } ema;
    struct {
        bool enable;
        int64_t start;
        struct float_opt lr;
        int anneal;
        int64_t anneal_epochs, bn_batches;
    } swa;
    struct {
        bool save_master;
    } moe;
};

struct config_aug {
    double color_jitter;
    const char *auto_augment;
    double reprob;
    const char *remode;
    int64_t recount, repeats;
    double mixup, cutmix;
    struct float_list cutmix_minmax; /* .item NULL: None */
    double mixup_prob, mixup_switch_prob;
    int mixup_mode;
    int64_t mixup_off_epoch;
    struct float_list scale, ratio;
    double hflip, vflip, mosaic;
    int crop_mode;
    int64_t pad_crop, shift;
    int pad_mode, hflip_mode, interpolation;
    struct float_list resize_scale;
    bool on_device;
    struct record_list list; /* of struct config_augment, config/records.h */
};

struct config_test {
    bool crop, shrink, sequential, shuffle;
    const char *tta;
    struct float_list scales;
    double window_overlap;
    int window_weights;
    bool boundary_iou;
    double boundary_width;
};

struct config_log {
    int level;
    bool tensorboard, report;
    int progress;
    int64_t images;
};

struct config {
    struct str_list base;
    bool enable_amp, amp_enable;
    int amp_opt_level; /* as given; config_amp_level() resolves it */
    const char *output, *tag;
    int64_t save_freq, print_freq, seed;
    struct record_list hooks;  /* of struct config_hook, config/records.h */
    struct record_list losses; /* of struct config_loss */
    bool eval_mode, throughput_mode;
    int64_t local_rank;
    bool fused_window_process, fused_layernorm;
    const char *device; /* auto, cpu, ref, cuda, cuda:N, h100, h200, or FILE.json */
    int64_t threads, version;
    int defaults;

    struct config_amp amp;
    struct config_cuda cuda;
    struct config_cudnn cudnn;
    struct config_debug debug;
    struct config_quant quant;
    struct config_dist dist;
    struct config_data data;
    struct config_model model;
    struct config_train train;
    struct config_aug aug;
    struct config_test test;
    struct config_log log;

    /* Not keys; last. */
    struct cfgnode *tree; /* frozen: what the fields were made from, and what set it */
    const char *words;    /* the command line's, see config/cmdline.h; NULL: none */
    bool from_file;       /* a file of --cfg, or of weights, has set keys */
    bool doubt; /* something was not understood: what has no place may have been meant */
};

#endif
