/*
 * A file that appears whole or not at all. Bytes go to PATH.tmp in the same directory;
 * commit fsyncs it, renames it over PATH and fsyncs the directory, so that after a crash
 * at any point PATH is either the old file or the new one.
 *
 *   struct atomic_file f;
 *   struct strbuf why = STRBUF_INIT;
 *
 *   atomic_open(&f, "last.safetensors");
 *   atomic_write(&f, data, len);            as often as needed
 *   if (atomic_commit(&f, &why))
 *       warn("%s", why.buf);                the old file is intact, the .tmp is gone
 *
 * Errors stick: after the first one, open, write and pwrite do nothing, and commit tells
 * which call failed first. It must follow open. If only the last step fails, the fsync of
 * the directory, the new file is in place, complete, and commit still reports the error.
 *
 * What lies at PATH.tmp is removed, a link itself and not what it points at, and the file
 * is made anew (O_EXCL), so nobody else has it open.
 *
 * A link to a file stays one: the file is what appears whole. What is no file (a pipe,
 * /dev/null, /dev/stdout, /dev/fd/N) is written as it is, since renaming would put a file
 * there.
 */
#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

#define ATOMIC_ENDING ".tmp" /* of the file on its way; a killed process leaves it */

struct atomic_file {
    char *path, *tmp;
    int fd;
    int err;            /* errno of the first failure */
    const char *failed; /* what it was: "write" */
    bool as_it_is;      /* no file: bytes go to PATH itself */
};

/* Where atomic_open writes: `*tmp`, which becomes `*to`; NULL: `*to` as it is. Heap
 * strings. */
void atomic_names(const char *path, char **to, char **tmp);

/* An empty file in the place of any other, open to write: -1 with errno. May be called in
 * a handler of signals. */
int atomic_make(const char *path);

void atomic_open(struct atomic_file *f, const char *path);
void atomic_write(struct atomic_file *f, const void *data, size_t len);
/* Overwrites earlier bytes, as for a header that is known only at the end. */
void atomic_pwrite(struct atomic_file *f, const void *data, size_t len, size_t offset);
/* 0, or -1 with errno set and the reason, with the path, appended to `why` (or NULL). */
int atomic_commit(struct atomic_file *f, struct strbuf *why);

/* All of it at once. -1 with errno; then `path` is what it was, and the .tmp is gone. */
int atomic_write_file(const char *path, const void *data, size_t len);
/* The same where other processes may write the file at the same time: the last one wins.
 * The bytes go to PATH.RANDOM.tmp, so that hosts that share a folder do not meet. */
int atomic_write_shared(const char *path, const void *data, size_t len);
/* The same for a path that a user names: "-" is the standard output. */
int atomic_write_out(const char *path, const void *data, size_t len);
/* Keeps the standard output for atomic_write_out alone if `path` is "-", so that another
 * program can read it: what is printed goes to standard error from here on. -1 with
 * errno. NULL is no path. */
int atomic_keep_out(const char *path);

#endif
