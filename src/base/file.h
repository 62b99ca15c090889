/*
 * Files and paths. Functions return -1 with errno on errors. base/atomic.h writes whole
 * files.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Largest file that is read as a whole: lists of ImageNet-22K have several hundred MB. */
#define FILE_MAX ((size_t)4 << 30)
/* errno for a device, a FIFO, or a socket instead of a file; for a folder: EISDIR. */
#define FILE_NOT_REGULAR EBADFD

/* Reads the whole file, NUL-terminated; *len gets its size. Returns NULL with errno on
 * errors. Files of a foreign data set may be links to anything: reads only regular files
 * of at most FILE_MAX or `most` bytes (otherwise FILE_NOT_REGULAR, EFBIG). */
char *file_read(const char *path, size_t *len);
char *file_read_limit(const char *path, size_t max, size_t *len);
/* Same for a pipe or a device given by the user: <(command), /dev/stdin. */
char *file_read_stream(const char *path, size_t max, size_t *len);
/* Opens a regular file for reading; returns NULL with errno on errors. */
FILE *file_open(const char *path);
/* strerror(), extended by the errors above. */
const char *file_strerror(int error);

/* Checks before hours of work that a file can be written. Returns NULL, or the reason. */
const char *file_not_writable(const char *path);

/* Writes everything to an open file, also if signals interrupt it. */
int file_write(int fd, const void *data, size_t len);

bool file_exists(const char *path);
bool file_same(const char *a, const char *b); /* same file or folder under two names */
bool file_is_dir(const char *path);
/* Copies `src` to `dst` and syncs it, completely or not at all: -1 with errno. */
int file_copy(const char *src, const char *dst);
/*
 * Locks an open file against other processes (flock), waiting up to `seconds`, because
 * the owner may be stopped. Returns -1 with EWOULDBLOCK after that, and another errno if
 * the file system has no locks.
 */
int file_flock(int fd, double seconds);
int file_fsync_dir_of(const char *path);
int dir_make_all(const char *path); /* mkdir -p */

/* Heap strings: "a/b", the part before the last slash ("." if none). */
char *path_join(const char *dir, const char *name);
char *path_dirname(const char *path);
char *path_home(const char *path);            /* ~ and ~/x become $HOME, as in a shell */
const char *path_basename(const char *path);  /* into `path` */
const char *path_extension(const char *path); /* ".jpg", or "" */

/* Returns the names in a directory in byte order, without . and ..; *n < 0: cannot be
 * read (errno). */
char **dir_list(const char *path, int *n);
void dir_list_free(char **names, int n);

#endif
