/*
 * Folders, names, and addresses of public weights (weights_cache.h says which environment
 * variables count). All strings are of the heap, but for the table.
 */
#ifndef TRAIN_WEIGHTS_PLACES_H
#define TRAIN_WEIGHTS_PLACES_H

#include "models/pretrained.h"

/* The names of weights in a repository of the hub, in timm's order; NULL ends them. */
extern const char *const weights_hub_file[];

char *weights_hub_home(const char *name); /* ~/.cache/huggingface/NAME */
char *weights_hub_cache(void);            /* ~/.cache/huggingface/hub */
/* models--OWNER--NAME in it. */
char *weights_hub_folder(const struct pretrained_request *r);
/* The commit that refs/REVISION of the folder names, or the revision itself. */
char *weights_commit(const char *folder, const char *revision);

char *weights_hub_page(const struct pretrained_request *r); /* ENDPOINT/OWNER/NAME */
char *weights_hub_url(const struct pretrained_request *r, const char *revision,
                      const char *file);

/* The file of torch.hub's cache, by the name in the URL; NULL: these have no URL. */
char *weights_torch_place(const struct pretrained_request *r);
/* How many digits of its SHA-256 the name of a file tells (NAME-14fe96d1.pth), and where
 * they are; 0: none. */
size_t weights_hash_in_name(const char *path, const char **hash);

#endif
