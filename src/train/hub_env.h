/*
 * What the environment says about downloads, with the names that huggingface_hub reads.
 *
 *   HF_ENDPOINT                          in place of https://huggingface.co
 *   HF_TOKEN, HUGGING_FACE_HUB_TOKEN     else the file HF_TOKEN_PATH, else $HF_HOME/token
 *   HF_HUB_DISABLE_IMPLICIT_TOKEN        no token is sent
 *   HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE nothing is asked of the network
 *   HF_HUB_DOWNLOAD_TIMEOUT              seconds without a byte (10)
 *   HF_HUB_DISABLE_PROGRESS_BARS, HF_HUB_DISABLE_SYMLINKS
 *
 * and of trainc: TRAINC_MIRROR, a server with the same paths in place of https://HOST of
 * files outside the hub.
 */
#ifndef TRAIN_HUB_ENV_H
#define TRAIN_HUB_ENV_H

#include <stdbool.h>

/* Without a slash at the end; heap string. It may be no good address. */
char *hub_endpoint(void);
/* A heap string; NULL: none, or one that no header can hold. */
char *hub_token(void);
int hub_timeout(void);
/* The variable that forbids the network; NULL: none does. */
const char *hub_offline(void);
/* True if the variable is 1, on, yes, or true in any case. */
bool hub_is_set(const char *name);

/* https://HOST/PATH at TRAINC_MIRROR, if that is set; a heap string. */
char *hub_mirrored(const char *url);

#endif
