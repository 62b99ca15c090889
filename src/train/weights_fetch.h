/*
 * Downloads public weights into the caches of weights_cache.h, in the layout of timm,
 * huggingface_hub, and torch.hub.
 *
 *   hub    blobs/ETAG, snapshots/COMMIT/FILE as a link to it, refs/REVISION; the partial
 *          file is blobs/ETAG.incomplete, the lock .locks/REPOSITORY/ETAG.lock
 *   torch  checkpoints/FILE; FILE.partial is both the partial file and the lock
 *
 * The hub is tried first, then the URL in the table of public weights (in reverse order
 * with TIMM_USE_OLD_CACHE). Files are verified with the hub's SHA-256 (X-Linked-ETag), or
 * with its first digits in the file's name. One of several processes downloads, and the
 * others wait. MODEL.OFFLINE and the variables of train/hub_env.h apply.
 */
#ifndef TRAIN_WEIGHTS_FETCH_H
#define TRAIN_WEIGHTS_FETCH_H

#include "config/config.h"
#include "models/pretrained.h"

struct problems;

/* Returns false and the reason if downloads are forbidden or impossible. */
bool weights_may_fetch(const struct config *cfg, struct strbuf *why);

/*
 * For check functions: returns the file that `text`, the value of `key`, names (the
 * caller frees it), NULL and a reason on failure, or NULL without a reason if
 * weights_fetch_wanted() will download it.
 */
char *weights_wanted(const struct config *cfg, const char *key, const char *text,
                     const char *model, struct strbuf *why);
/* Downloads the missing files, after all checks. Adds errors to `p`; returns false if it
 * has any. */
bool weights_fetch_wanted(const struct config *cfg, struct problems *p);

/* Returns the file, downloaded unless a cache has it (the caller frees it), or NULL and
 * the reason. */
char *weights_fetch(const struct config *cfg, const struct pretrained_request *r,
                    struct strbuf *why);
/* Downloads the config.json of a hub repository whose weights are in no cache. Returns
 * its path (the caller frees it), NULL and a reason on failure, or NULL without a reason
 * if there is none or downloads are forbidden. */
char *weights_fetch_config(const struct config *cfg, const struct pretrained_request *r,
                           struct strbuf *why);

#endif
