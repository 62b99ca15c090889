/*
 * Environment variables for downloads. These are the ones that huggingface_hub reads:
 *
 *   HF_ENDPOINT                          replaces https://huggingface.co
 *   HF_TOKEN, HUGGING_FACE_HUB_TOKEN     else the file HF_TOKEN_PATH, else $HF_HOME/token
 *   HF_HUB_DISABLE_IMPLICIT_TOKEN        sends no token
 *   HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE forbid network access
 *   HF_HUB_DOWNLOAD_TIMEOUT              seconds without receiving data (default 10)
 *   HF_HUB_DISABLE_PROGRESS_BARS, HF_HUB_DISABLE_SYMLINKS
 *
 * trainc adds TRAINC_MIRROR: a server with the same paths that replaces https://HOST for
 * files outside the hub.
 */
#ifndef TRAIN_HUB_ENV_H
#define TRAIN_HUB_ENV_H

#include <stdbool.h>

/* Returns the hub's URL without a trailing slash, not validated; the caller frees it. */
char *hub_endpoint(void);
/* Returns the token, which the caller frees, or NULL if there is none or if it is not
 * valid in an HTTP header. */
char *hub_token(void);
int hub_timeout(void); /* Returns seconds. */
/* Returns the variable that forbids network access, or NULL if none does. */
const char *hub_offline(void);
/* True if the variable is 1, on, yes, or true in any case. */
bool hub_is_set(const char *name);

/* Returns the URL with https://HOST replaced by TRAINC_MIRROR if that is set; the caller
 * frees it. */
char *hub_mirrored(const char *url);

#endif
