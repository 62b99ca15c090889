/*
 * Folders, names, and URLs of public weights (weights_cache.h lists the environment
 * variables). The caller frees all strings, except those in the table.
 */
#ifndef TRAIN_WEIGHTS_PLACES_H
#define TRAIN_WEIGHTS_PLACES_H

#include "models/pretrained.h"

/* Names of weights files in a hub repository, in timm's order, ended by NULL. */
extern const char *const weights_hub_file[];

char *weights_hub_home(const char *name); /* ~/.cache/huggingface/NAME */
char *weights_hub_cache(void);            /* ~/.cache/huggingface/hub */
/* Returns models--OWNER--NAME in that cache. */
char *weights_hub_folder(const struct pretrained_request *r);
/* Returns the commit in refs/REVISION of the folder, or the revision itself. */
char *weights_commit(const char *folder, const char *revision);

char *weights_hub_page(const struct pretrained_request *r); /* ENDPOINT/OWNER/NAME */
char *weights_hub_url(const struct pretrained_request *r, const char *revision,
                      const char *file);

/* Returns the file in torch.hub's cache, named as in the URL, or NULL if the weights have
 * no URL. */
char *weights_torch_place(const struct pretrained_request *r);
/* Returns the number of digits of the SHA-256 in a file's name (NAME-14fe96d1.pth), or 0
 * if it has none; *hash points to them. */
size_t weights_hash_in_name(const char *path, const char **hash);

#endif
