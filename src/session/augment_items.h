/*
 * AUG.LIST: from the items of the configuration to a list of augmentations
 * (image/augment_list.h). The list replaces the other augmentations between the crop and
 * mixup.
 */
#ifndef SESSION_AUGMENT_ITEMS_H
#define SESSION_AUGMENT_ITEMS_H

#include "config/config.h"
#include "config/problems.h"
#include "image/augment_list.h"

/* True if AUG.LIST has items. */
bool augment_items_any(const struct config *cfg);

/* True if AUG.LIST has items and this key has no effect for that reason. */
bool augment_items_replace(const struct config *cfg, const char *key);

/* Reports unknown operations and fields, values out of range, and keys without effect. */
void augment_items_check(const struct config *cfg, bool label_maps, struct problems *p);

/* Requires keys that augment_items_check() has accepted. */
void augment_items_of_config(const struct config *cfg, struct augment_list *l);

#endif
