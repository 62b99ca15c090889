/* trainc models --pretrained: the public weights that can be named. */
#ifndef CMD_MODELS_PRETRAINED_H
#define CMD_MODELS_PRETRAINED_H

#include <stdbool.h>

#include "config/config.h"

/* Those whose name, with or without tag, matches, and does not match `exclude` (NULL:
 * none); of a single one all that is known. Ends with usage() if there is none. */
void models_list_pretrained(const char *glob, const char *exclude, bool cached);

/* Downloads the weights that MODEL.PRETRAINED would mean, if they are in no cache, and
 * prints their place. Dies if it cannot. */
void models_download(const struct config *cfg, const char *name);

#endif
