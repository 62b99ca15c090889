/*
 * Finds public weights on this machine, in the caches of the Hugging Face hub and
 * torch.hub, where timm and torchvision store them (weights_fetch.h downloads missing
 * ones).
 *
 *   hub    $HF_HUB_CACHE (formerly $HUGGINGFACE_HUB_CACHE), else $HF_HOME/hub, else
 *          $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. Files are
 *          models--OWNER--NAME/snapshots/COMMIT/FILE; refs/main (or refs/REVISION) has
 *          the commit. Without refs/main, the only snapshot with weights is used
 *   torch  $TORCH_HOME/hub/checkpoints, else $XDG_CACHE_HOME/torch/hub/checkpoints, else
 *          ~/.cache/torch/hub/checkpoints; file names have the first 8 digits of the
 *          SHA-256
 *
 * The hub comes first, unless TIMM_USE_OLD_CACHE is set.
 */
#ifndef TRAIN_WEIGHTS_CACHE_H
#define TRAIN_WEIGHTS_CACHE_H

#include "models/pretrained.h"

/* All strings returned below must be freed by the caller. */

/* Returns the file, or NULL if no cache has it. */
char *weights_cache_find(const struct pretrained_request *r);
bool weights_torch_first(void); /* True if TIMM_USE_OLD_CACHE is set. */
/* Returns the path where a download would store the file: in the snapshot of the hub with
 * `hub`, else in torch.hub's cache under the name in the URL. */
char *weights_cache_place(const struct pretrained_request *r, bool hub);
/* Returns the URL of that file. */
char *weights_cache_url(const struct pretrained_request *r, bool hub);

/* Appends "resnet50.a1_in1k", or OWNER/NAME, and @REVISION. */
void weights_name(const struct pretrained_request *r, struct strbuf *s);
/* Appends that no cache has the weights, and how to download them. */
void weights_say_missing(const struct pretrained_request *r, struct strbuf *why);
/* Appends "download https://... and save it as '...'", for machines without a network. */
void weights_say_by_hand(const struct pretrained_request *r, struct strbuf *why);

/*
 * Returns the file that a value of MODEL.PRETRAINED names, or NULL and one line with the
 * reason and what to do: unknown name, missing file, not in a cache.
 */
char *weights_path(const char *text, const char *model, struct strbuf *why);
/* The same for a file that is about to be read. Dies on failure, and if the file's
 * SHA-256 does not start with the digits in its name. */
char *weights_path_checked(const char *text, const char *model);

#endif
