/*
 * Arguments from a file, for @FILE: words as in a shell ('...', "...", and \, also at the
 * end of a line); # starts a comment.
 */
#ifndef CONFIG_ATFILE_H
#define CONFIG_ATFILE_H

#include "base/arena.h"
#include "config/problems.h"

/* A file that is being read, for detecting cycles; NULL: the command line itself. */
struct atfile {
    const char *path, *real;
    const struct atfile *parent;
};

struct atword {
    const char *text, *origin;
    const struct atfile *file;
};

/*
 * Returns the words of file `path`, which is relative to the file that names it. The
 * caller frees the array; everything else is in `mem`. On failure reports the error, sets
 * *n = 0, and returns NULL.
 */
struct atword *atfile_read(const char *path, const struct atfile *parent,
                           const char *origin, struct arena *mem, struct problems *p,
                           int *n);

#endif
