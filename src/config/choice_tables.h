/*
 * The words of keys with choices, and their values (config/choices.h). Words of keys that
 * are texts have no values; the list only says what is allowed. Each table ends with a
 * row without a name. The schema reads them.
 */
#ifndef CONFIG_CHOICE_TABLES_H
#define CONFIG_CHOICE_TABLES_H

#include "config/choices.h"

extern const struct choice choices_amp_opt_levels[];
extern const struct choice choices_amp_dtypes[];
extern const struct choice choices_hook_moments[];
extern const struct choice choices_interpolations[];
extern const struct choice choices_cache_modes[];
extern const struct choice choices_placements[];
extern const struct choice choices_fold_bn[];
extern const struct choice choices_on_errors[];
extern const struct choice choices_bias_tables[];
extern const struct choice choices_validates[];
extern const struct choice choices_samplers[];
extern const struct choice choices_best_metrics[];
extern const struct choice choices_caches[];
extern const struct choice choices_label_kinds[];
extern const struct choice choices_clip_modes[];
extern const struct choice choices_ema_devices[];
extern const struct choice choices_swa_anneals[];
extern const struct choice choices_defaults[];
extern const struct choice choices_class_weights[];
extern const struct choice choices_pos_weight[];
extern const struct choice choices_remodes[];
extern const struct choice choices_mixup_modes[];
extern const struct choice choices_crop_modes[];
extern const struct choice choices_tasks[];
extern const struct choice choices_window_weights[];
extern const struct choice choices_pad_modes[];
extern const struct choice choices_hflip_modes[];
extern const struct choice choices_aug_interpolations[];
extern const struct choice choices_log_levels[];
extern const struct choice choices_progresses[];

#endif
