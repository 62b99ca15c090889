/* trainc models --pretrained: lists and downloads public weights. */
#ifndef CMD_MODELS_PRETRAINED_H
#define CMD_MODELS_PRETRAINED_H

#include <stdbool.h>

#include "config/config.h"

/* Lists the weights whose name, with or without tag, matches glob but not exclude (or
 * NULL); prints details if there is only one. Exits with usage() if there is none. */
void models_list_pretrained(const char *glob, const char *exclude, bool cached);

/* Downloads the weights that `name` means in MODEL.PRETRAINED unless they are cached, and
 * prints their path. Exits on failure. */
void models_download(const struct config *cfg, const char *name);

#endif
