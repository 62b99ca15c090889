/*
 * Arguments from a file, for @FILE: words as in a shell ('...', "...", \, also at the end
 * of a line), from # to the end of the line a comment.
 */
#ifndef CONFIG_ATFILE_H
#define CONFIG_ATFILE_H

#include "base/arena.h"
#include "config/problems.h"

/* A file that is being read, for the check of cycles; NULL: the command line itself. */
struct atfile {
    const char *path, *real;
    const struct atfile *parent;
};

struct atword {
    const char *text, *where;
    const struct atfile *file;
};

/*
 * The words of file `path`, relative to the file that names it. The array is the
 * caller's to free; all else is in `mem`. NULL: reported, with *n = 0.
 */
struct atword *atfile_read(const char *path, const struct atfile *parent,
                           const char *where, struct arena *mem, struct problems *p,
                           int *n);

#endif
