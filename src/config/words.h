/*
 * The words that a user may write for keys with choices, and the values that they stand
 * for (config/choices.h). Keys that are texts have words without values: the list says
 * what is allowed. Each table ends with a row without name; the schema reads them.
 */
#ifndef CONFIG_WORDS_H
#define CONFIG_WORDS_H

#include "config/choices.h"

extern const struct choice words_amp_opt_levels[];
extern const struct choice words_amp_dtypes[];
extern const struct choice words_interpolations[];
extern const struct choice words_cache_modes[];
extern const struct choice words_on_errors[];
extern const struct choice words_caches[];
extern const struct choice words_label_kinds[];
extern const struct choice words_clip_modes[];
extern const struct choice words_ema_devices[];
extern const struct choice words_class_weights[];
extern const struct choice words_remodes[];
extern const struct choice words_mixup_modes[];
extern const struct choice words_crop_modes[];
extern const struct choice words_pad_modes[];
extern const struct choice words_hflip_modes[];
extern const struct choice words_aug_interpolations[];
extern const struct choice words_log_levels[];
extern const struct choice words_progresses[];

#endif
