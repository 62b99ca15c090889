/*
 * The input images of a verb: the named files, and all images below the named folders, in
 * byte order.
 */
#ifndef CMD_IMAGES_H
#define CMD_IMAGES_H

#include "config/cmdline.h"
#include "config/problems.h"

struct images {
    const char *out; /* a folder to skip below others, or NULL */
    char **path;
    const char **name; /* points into the path, after the named folder */
    int n, cap;
};

/* Exits with usage() if a folder has no images. */
void images_add(struct images *im, const char *path);
void images_of_args(struct images *im, const struct cmdline *line);
void images_release(struct images *im);

/* For verb.check: reports missing arguments and files that do not exist. */
void images_check(const struct cmdline *line, struct problems *p);

#endif
