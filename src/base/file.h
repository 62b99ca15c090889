/*
 * Files and paths. What fails returns -1 with errno set. Whole files are written by
 * base/atomic.h.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The largest file that is read whole: lists of ImageNet-22K have some hundred MB. */
#define FILE_MOST ((size_t)4 << 30)
/* errno of a device, a FIFO, or a socket in the place of a file; of a folder: EISDIR. */
#define FILE_NOT_REGULAR EBADFD

/* The whole file, NUL-terminated; *len gets its size. NULL with errno on failure. Files of
 * a foreign data set may be links to anything: only regular files of at most FILE_MOST or
 * `most` bytes are read (else FILE_NOT_REGULAR, EFBIG). */
char *file_read(const char *path, size_t *len);
char *file_read_most(const char *path, size_t most, size_t *len);
/* The same of a pipe or a device that the user names: <(command), /dev/stdin. */
char *file_read_stream(const char *path, size_t most, size_t *len);
/* For reading; NULL with errno on failure, also of what is not a regular file. */
FILE *file_open(const char *path);
/* strerror(), with words for the errors above. */
const char *file_strerror(int error);

/* Before hours of work: can a file be written there? NULL, or why not. */
const char *file_not_writable(const char *path);

/* All of it, to an open file; a signal does not end it half-way. */
int file_write(int fd, const void *data, size_t len);

bool file_exists(const char *path);
bool file_same(const char *a, const char *b); /* one file or folder under two names */
bool file_is_dir(const char *path);
/* `to` becomes a whole copy of `from` on the disk, or is not there: -1 and errno. */
int file_copy(const char *from, const char *to);
/*
 * Locks an open file against other processes (flock), waiting at most so many seconds: who
 * has it may be stopped. Returns -1 with EWOULDBLOCK then, and another errno where the file
 * system has no locks.
 */
int file_flock(int fd, double seconds);
int file_fsync_dir_of(const char *path);
int dir_make_all(const char *path); /* mkdir -p */

/* Heap strings: "a/b", the part before the last slash ("." if none). */
char *path_join(const char *dir, const char *name);
char *path_dirname(const char *path);
char *path_home(const char *path);            /* ~ and ~/x in $HOME, as a shell has it */
const char *path_basename(const char *path);  /* into `path` */
const char *path_extension(const char *path); /* ".jpg", or "" */

/* Names in a directory in byte order, without . and ..; *n < 0: cannot be read (errno). */
char **dir_list(const char *path, int *n);
void dir_list_free(char **names, int n);

#endif
