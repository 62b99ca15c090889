/*
 * The configuration of a run, typed: what every other module reads. A field is spelled
 * as its key in lower case: TRAIN.BASE_LR is cfg->train.base_lr. Types, ranges, defaults
 * and help are in the one table of config/schema.c; a new key is a row there and a field
 * here.
 *
 *   struct config cfg;
 *   config_init(&cfg);                           every key at its default
 *   config_set(&cfg, "TRAIN.BASE_LR", "0.1");    one key, from text
 *   config_release(&cfg);
 *
 * Integers are int64_t, numbers double, texts const char * (never NULL), a key with
 * choices an int that holds one of the enum values of config/choices.h. Texts and lists
 * live in cfg->mem; a test may point a field at memory of its own. Values are the input:
 * nothing here is scaled by batch size or resolved to a path.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "config/choices.h"

struct int_list {
    const int64_t *item;
    int n;
};

struct float_list {
    const double *item; /* NULL: None, where the key may be None */
    int n;
};

struct str_list {
    const char *const *item;
    int n;
};

struct int_table {
    const struct int_list *item;
    int n;
};

/* A value that may be None; `value` is zero then. */
struct float_opt {
    double value;
    bool has;
};

struct bool_opt {
    bool value, has;
};

/* MODEL.SWIN, MODEL.SWINV2, MODEL.SWIN_MLP and MODEL.SWIN_MOE; not all keys in each. */
struct config_swin {
    int64_t patch_size, in_chans, embed_dim;
    struct int_list depths, num_heads;
    int64_t window_size;
    double mlp_ratio;
    bool qkv_bias, ape, patch_norm;
    struct float_opt qk_scale;
    struct int_list pretrained_window_sizes;
    bool mlp_fc2_bias;
    double init_std;
    struct int_table moe_blocks;
    int64_t num_local_experts, top_value;
    double capacity_factor;
    bool cosine_router, normalize_gate, use_bpr, is_gshard_loss;
    double gate_noise;
    int64_t cosine_router_dim;
    double cosine_router_init_t, moe_drop, aux_loss_weight;
};

struct config {
    struct str_list base;
    bool enable_amp, amp_enable;
    int amp_opt_level; /* as given; config_amp_level() resolves it */
    const char *output, *tag;
    int64_t save_freq, print_freq, seed;
    bool eval_mode, throughput_mode;
    int64_t local_rank;
    bool fused_window_process, fused_layernorm;
    const char *device; /* auto, cpu, ref, cuda or cuda:N */
    int64_t threads, version;

    struct config_amp {
        int dtype;
        const char *loss_scale; /* "dynamic" or a number */
        double init_scale, growth_factor, backoff_factor;
        int64_t growth_interval;
        double min_scale;
        int64_t max_skips;
    } amp;

    struct config_data {
        int64_t batch_size;
        const char *data_path, *dataset;
        int64_t img_size;
        int interpolation;
        bool zip_mode;
        const char *cache_mode;
        bool pin_memory;
        int64_t num_workers, mask_patch_size;
        double mask_ratio;
        const char *train_split, *val_split;
        int64_t val_batch_size;
        struct float_list mean, std;
        double crop_pct;
        int on_error;
        double max_bad_share;
        int64_t max_pixels, max_bytes, prefetch;
        int cache;
        bool check_classes;
    } data;

    struct config_model {
        const char *type, *name, *pretrained, *resume;
        int64_t num_classes, in_chans;
        double drop_rate, drop_path_rate, label_smoothing;
        int init;
        struct {
            int stem, shortcut;
            struct bool_opt zero_init_last;
        } resnet;
        struct config_swin swin, swinv2, swin_moe, swin_mlp;
        struct {
            struct {
                bool enable;
                int64_t patch_size;
            } norm_target;
        } simmim;
    } model;

    struct config_train {
        int64_t start_epoch, epochs, warmup_epochs;
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
        int64_t max_steps, eval_freq, save_steps, keep_checkpoints, signal_exit_code;
        struct {
            int name;
            int64_t decay_epochs;
            double decay_rate;
            bool warmup_prefix;
            double gamma;
            struct int_list multisteps;
            double power, pct_start, div_factor, final_div_factor;
        } lr_scheduler;
        struct {
            int name;
            double eps;
            struct float_list betas;
            double momentum;
            bool nesterov;
            double alpha;
        } optimizer;
        struct {
            bool enable;
            double decay, ramp_steps;
            int device;
        } ema;
        struct {
            bool save_master;
        } moe;
    } train;

    struct config_aug {
        double color_jitter;
        const char *auto_augment;
        double reprob;
        const char *remode;
        int64_t recount;
        double mixup, cutmix;
        struct float_list cutmix_minmax; /* .item NULL: None */
        double mixup_prob, mixup_switch_prob;
        int mixup_mode;
        int64_t mixup_off_epoch;
        struct float_list scale, ratio;
        double hflip;
        int crop_mode;
        int64_t pad_crop;
    } aug;

    struct config_test {
        bool crop, sequential, shuffle;
    } test;

    struct config_log {
        int level;
        bool tensorboard;
        int progress;
        int64_t images;
    } log;

    /* Not keys; last. What config_load knows of each row of schema_table; else NULL. */
    struct config_source {
        const char *where; /* "configs/a.yaml:3:5", "--opts #2", "--lr"; NULL: default */
        const char *raw;   /* the text before ${...} was replaced; NULL: none was */
    } * source;
    struct arena mem;
};

void config_init(struct config *cfg);
void config_release(struct config *cfg);

/* For programs and tests. Dies if the key is unknown or the value not allowed. */
void config_set(struct config *cfg, const char *key, const char *text);

/* What set the key: "configs/a.yaml:3:5", "--opts #2", "--lr"; NULL: it is the default.
 */
const char *config_where(const struct config *cfg, const char *key);

/*
 * Rules between keys, once each is good by itself: AMP_ENABLE against AMP_OPT_LEVEL, the
 * milestones and the warm-up, ... config_load calls it.
 */
struct problems;
void config_check_rules(const struct config *cfg, struct problems *p);

/*
 * AMP_ENABLE and AMP_OPT_LEVEL as one level: 0 to 3, Apex's O0 to O3. An empty level is
 * O1 when AMP is enabled and O0 when not.
 */
int config_amp_level(const struct config *cfg);

#endif
