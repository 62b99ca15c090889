/* trainc check --show-batch: a contact sheet of the first batch of training. */
#ifndef CMD_CHECK_BATCH_H
#define CMD_CHECK_BATCH_H

#include "config/config.h"

/*
 * Writes the first images of the first epoch, as the loader augments them, to a PNG file,
 * and prints the row, column, class, and name of each. Label maps are painted next
 * to their images. Dies if the file cannot be written or the loader fails.
 */
void check_show_batch(struct config *cfg, const char *path);

#endif
