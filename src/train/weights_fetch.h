/*
 * Public weights that are in no cache are downloaded into it, as timm, huggingface_hub,
 * and torch.hub find them there.
 *
 *   hub    blobs/ETAG, snapshots/COMMIT/FILE as a link to it, refs/REVISION; the partial
 *          file is blobs/ETAG.incomplete, the lock .locks/REPOSITORY/ETAG.lock
 *   torch  checkpoints/FILE; FILE.partial is both
 *
 * The hub comes first, then the URL of the table of public weights (with
 * TIMM_USE_OLD_CACHE the other way round). The SHA-256 is that of the hub
 * (X-Linked-ETag), or begins in the file's name. Of several processes one downloads, and
 * the others wait. MODEL.OFFLINE and the variables of train/hub_env.h apply.
 */
#ifndef TRAIN_WEIGHTS_FETCH_H
#define TRAIN_WEIGHTS_FETCH_H

#include "config/config.h"
#include "models/pretrained.h"

struct problems;

/* False with the reason if nothing may or can be downloaded. */
bool weights_may_fetch(const struct config *cfg, struct strbuf *why);

/*
 * For check functions: the file that `text`, the value of `key`, means, a heap string.
 * NULL with a reason; NULL without one if it is going to be downloaded.
 */
char *weights_wanted(const struct config *cfg, const char *key, const char *text,
                     const char *model, struct strbuf *why);
/* After all checks: downloads what they want. False after mistakes, which are added. */
bool weights_fetch_wanted(const struct config *cfg, struct problems *p);

/* The file, downloaded if it is in no cache, a heap string; NULL and the reason. */
char *weights_fetch(const struct config *cfg, const struct pretrained_request *r,
                    struct strbuf *why);
/* The config.json of a repository of the hub whose weights are in no cache; NULL without
 * a reason if there is none, or if nothing may be downloaded. */
char *weights_fetch_config(const struct config *cfg, const struct pretrained_request *r,
                           struct strbuf *why);

#endif
