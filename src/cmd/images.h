/*
 * The images that a verb is asked to look at: files as they are, and of folders the
 * images below them, at any depth, in byte order.
 */
#ifndef CMD_IMAGES_H
#define CMD_IMAGES_H

#include "config/cmdline.h"
#include "config/problems.h"

struct images {
    const char *out; /* a folder that is passed over below others; NULL: none */
    char **path;
    const char **name; /* in the path: what follows the folder that was named */
    int n, cap;
};

/* Ends with usage() where a folder has no images. */
void images_add(struct images *im, const char *path);
void images_of_args(struct images *im, const struct cmdline *line);
void images_release(struct images *im);

/* For check(): there are some, and each file is there. */
void images_check(const struct cmdline *line, struct problems *p);

#endif
