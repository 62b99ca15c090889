/*
 * Public weights on this machine: in the caches of the Hugging Face hub and of torch.hub,
 * where timm and torchvision put them (weights_fetch.h downloads what is missing).
 *
 *   hub    $HF_HUB_CACHE (of old $HUGGINGFACE_HUB_CACHE), else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else
 *          ~/.cache/huggingface/hub; in it models--OWNER--NAME/snapshots/COMMIT/FILE, with
 *          the commit in refs/main (or refs/REVISION); without refs/main, the only one
 *   torch  $TORCH_HOME/hub/checkpoints, else $XDG_CACHE_HOME/torch/hub/checkpoints, else
 *          ~/.cache/torch/hub/checkpoints; 8 digits of the name begin the file's SHA-256
 *
 * The hub comes first, unless TIMM_USE_OLD_CACHE is set.
 */
#ifndef TRAIN_WEIGHTS_CACHE_H
#define TRAIN_WEIGHTS_CACHE_H

#include "models/pretrained.h"

/* The file, a heap string; NULL: none of the places has it. */
char *weights_cache_find(const struct pretrained_request *r);
bool weights_torch_first(void); /* TIMM_USE_OLD_CACHE is set */
/* Where files are expected: `hub` in the snapshot of the hub, or by the URL's name. */
char *weights_cache_place(const struct pretrained_request *r, bool hub);
/* "https://...", of that file. */
char *weights_cache_url(const struct pretrained_request *r, bool hub);

/* Appends "resnet50.a1_in1k", or OWNER/NAME, and @REVISION. */
void weights_name(const struct pretrained_request *r, struct strbuf *s);
/* Appends that no cache has them, and what to fetch. */
void weights_say_missing(const struct pretrained_request *r, struct strbuf *why);
/* Appends "fetch https://... and save it as '...'", for who has no network here. */
void weights_say_by_hand(const struct pretrained_request *r, struct strbuf *why);

/*
 * The file that MODEL.PRETRAINED means, a heap string. NULL with the reason, in one line
 * with what to do: no such name, no such file, not in a cache.
 */
char *weights_path(const char *text, const char *model, struct strbuf *why);
/* The same for a file that is going to be read. Dies, also where the SHA-256 that a name
 * begins to spell, as those of the hub do, is not that of the file. */
char *weights_path_checked(const char *text, const char *model);

#endif
