/*
 * Atomic replacement of a file. Bytes go to PATH.tmp in the same directory; commit fsyncs
 * it, renames it to PATH, and fsyncs the directory, so that after a crash at any point
 * PATH is either the complete old file or the complete new one.
 *
 *   struct atomic_file f;
 *   struct strbuf why = STRBUF_INIT;
 *
 *   atomic_open(&f, "last.safetensors");
 *   atomic_write(&f, data, len);            as often as needed
 *   if (atomic_commit(&f, &why))
 *      warn("%s", why.buf);                the old file is intact, the .tmp is gone
 *
 * Errors stick: after the first one, open, write, and pwrite do nothing, and commit
 * reports the call that failed first. commit must follow open. If only the last step
 * fails, the fsync of the directory, the complete new file is in place, and commit still
 * reports the error.
 *
 * An existing PATH.tmp is removed (a link itself, not its target) and created again
 * (O_EXCL), so no other process has it open.
 *
 * A link to a file stays a link: its target is replaced. A pipe or device (/dev/null,
 * /dev/stdout, /dev/fd/N) is written directly, because renaming would replace it by a
 * file.
 */
#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

#define ATOMIC_ENDING ".tmp" /* of the temporary file; a killed process leaves it */

struct atomic_file {
    char *path, *tmp;
    int fd;
    int err;            /* errno of the first failure */
    const char *failed; /* the call that failed: "write" */
    bool as_it_is;      /* pipe or device: bytes go to PATH directly */
};

/* Gets the names of atomic_open: writes `*tmp`, which becomes `*to`; NULL: writes `*to`
 * directly. Heap strings. */
void atomic_names(const char *path, char **dst, char **tmp);

/* Creates an empty file, replacing any other, open for writing; returns -1 with errno on
 * errors. Async-signal-safe. */
int atomic_make(const char *path);

void atomic_open(struct atomic_file *f, const char *path);
void atomic_write(struct atomic_file *f, const void *data, size_t len);
/* Overwrites earlier bytes, for example a header that is known only at the end. */
void atomic_pwrite(struct atomic_file *f, const void *data, size_t len, size_t offset);
/* Returns 0, or -1 with errno and the reason, including the path, appended to `why` (may
 * be NULL). */
int atomic_commit(struct atomic_file *f, struct strbuf *why);

/* Writes a whole file. On failure returns -1 with errno; `path` is unchanged, and the
 * .tmp is gone. */
int atomic_write_file(const char *path, const void *data, size_t len);
/* Same if other processes may write the file at the same time: the last one wins. The
 * bytes go to PATH.RANDOM.tmp, so that hosts that share a folder do not collide. */
int atomic_write_shared(const char *path, const void *data, size_t len);
/* Same for a path given by a user: "-" is the standard output. */
int atomic_write_out(const char *path, const void *data, size_t len);
/* If `path` is "-", reserves the standard output for atomic_write_out, so that another
 * program can read it: other output goes to standard error from here on. Returns -1 with
 * errno on errors. NULL is no path. */
int atomic_keep_out(const char *path);

#endif
